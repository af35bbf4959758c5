"""Tests of templates from Python; `tests/python.rs` runs them on the software GPU."""

import ctypes
import gc
import os
import unittest
import weakref

import overtake_gpu
from test_overtake import WithDispatcher

SIZE = 16 << 10


class Work:
    """The arguments of a replay."""

    def __init__(self, device, seed):
        self.source, self.target = (device.made("cuMemHostAlloc", ctypes.c_size_t(SIZE), 0) for _ in range(2))
        self.device = device.made("cuMemAlloc_v2", ctypes.c_size_t(SIZE))
        ctypes.memset(self.source, seed, SIZE)
        self.priority = None


class Templates(WithDispatcher):
    def test_replays_have_arguments_and_priorities(self):
        template, seen = overtake_gpu.Template(), []

        @template.upload("upload")
        def up(lane, work):
            work.priority = lane.priority
            lane.copy(work.device, work.source, SIZE, overtake_gpu.HOST_TO_DEVICE)

        @template.download("download", after=[up])
        def down(lane, work):
            lane.copy(work.target, work.device, SIZE, overtake_gpu.DEVICE_TO_HOST)

        template.host("note", lambda work: seen.append(ctypes.string_at(work.target, SIZE)), after=[down])
        works, last = [Work(self.device, seed) for seed in range(1, 6)], None
        for at, work in enumerate(works):
            last = template.replay(self.tasks, work, priority=at + 1, after=[last] if last else [])
        last.wait()
        self.assertEqual(seen, [bytes([seed]) * SIZE for seed in range(1, 6)])
        self.assertTrue(all(work.priority >= at + 1 for at, work in enumerate(works)))
        self.assertRaisesRegex(overtake_gpu.Error, '"late" in a new one', template.light, "late", print)
        kept = [weakref.ref(work) for work in works]
        del works, work, last
        self.tasks.wait()
        self.dispatcher.close()
        gc.collect()
        self.assertEqual([each() for each in kept], [None] * 5)

    def test_a_fixed_template_is_one_launch(self):
        template, device, called = overtake_gpu.Template(), self.device.made("cuMemAlloc_v2", ctypes.c_size_t(SIZE)), []

        def fill(lane, arguments):
            called.append(arguments)
            stream, count = ctypes.c_void_p(lane.stream), ctypes.c_size_t(SIZE // 4)
            self.device.must("cuMemsetD32Async", ctypes.c_void_p(device), 0x01010101, count, stream)

        template.kernel("again", fill, after=[template.kernel("set", fill)])
        replays = [template.fix().replay(self.tasks, 1)] + [template.replay(self.tasks, at) for at in (2, 3)]
        for replay in replays:
            replay.wait()
        self.assertEqual(called, [1, 1])
        counts = self.dispatcher.statistics()
        self.assertEqual([counts["graph_launches"], counts["graph_fallbacks"]], [3, 0])
        self.assertRaisesRegex(overtake_gpu.Error, "before its first replay", template.fix)

    def test_a_failure_names_its_task(self):
        template, other = overtake_gpu.Template(), overtake_gpu.Template()

        def fails(arguments):
            raise ValueError(arguments)

        step = template.host("fails", fails, priority=2)
        self.assertRaisesRegex(ValueError, "another template", other.host, "after", print, after=[step])
        replay = template.replay(self.tasks, "the cable is out")
        with self.assertRaisesRegex(overtake_gpu.TaskError, '"fails" failed: ValueError: the cable is out') as raised:
            replay.wait()
        self.assertIsInstance(raised.exception.__cause__, ValueError)

    def test_times_of_computations(self):
        with open(os.environ["KERNELS_PTX"]) as file:
            image = file.read()
        for measures in (False, True):
            with self.dispatcher.arrays(measures=measures) as arrays:
                add = arrays.kernel(image, "work_add", "const pointer, const pointer, discard pointer, uint32")
                source, total = arrays.array_of([1.0] * 1024), arrays.array(1024)
                for _ in range(3):
                    add(4, 256)(source, source, total, 1024)
                arrays.wait()
                rows = arrays.times()
            self.assertEqual(len(rows), int(measures))
        row = rows[0]
        self.assertEqual((row["name"], row["bytes"], row["device"], row["count"]), ("work_add", 3 * 4096, 0, 3))
        self.assertTrue(0 < row["least_us"] <= row["mean_us"])


if __name__ == "__main__":
    unittest.main()
