"""Tests of pipelines from Python; `tests/python.rs` runs them on the software GPU."""

import ctypes
import math
import os
import re
import signal
import threading
import time
import unittest

import overtake_gpu
from overtake_gpu import _calls
from test_overtake import WithDispatcher

SIZE = 64 << 10


class Pipelines(WithDispatcher):
    def line(self, **options):
        return self.tasks.pipeline("camera", SIZE, stages=2, **options)

    def test_frames_come_in_order_with_their_bytes(self):
        for is_handed_over in (False, True):
            line, marked = self.line(priority=3, period=0.001, deadline=60), []

            def shoot():
                with line.producer as producer:
                    for number in range(12):
                        with producer.acquire() as frame:
                            frame.bytes[:] = bytes([number + 1]) * SIZE
                            frame.upload()
                            if is_handed_over:
                                frame.hand_over()

            camera = threading.Thread(target=shoot)
            camera.start()
            for number, frame in enumerate(line.consumer):
                with frame:
                    self.assertEqual((frame.number, frame.size, frame.priority), (number, SIZE, 3))
                    frame.complete()
                    frame.bytes[:] = bytes(SIZE)
                    mark = frame.kernel("mark", lane_fills(self.device, frame.device))
                    down = frame.download()
                    frame.host_task("note", lambda: marked.append(frame.number), after=[mark, down]).wait()
                    down.wait()
                    self.assertEqual(bytes(frame.bytes[4:]), bytes([number + 1]) * (SIZE - 4))
            camera.join()
            self.tasks.wait()
            counts = line.statistics()
            self.assertEqual((counts["frames"], counts["delivered"], counts["under_way"]), (12, 12, 0))
            records = line.take_records()
            self.assertEqual([record["number"] for record in records], marked)
            for record in records:
                self.assertEqual(record["end"], "delivered")
                times = [record[name] for name in ("captured_ns", "committed_ns", "taken_ns", "ended_ns")]
                self.assertTrue(times[0] > 0 and times == sorted(times), times)
            self.assertEqual(line.take_records(), [])

    def test_frames_are_dropped_by_policy(self):
        policies = ("drop-newest", 0, "full"), ("drop-oldest", 1, "replaced"), ("latest-only", 2, "replaced")
        for behind, number, end in policies:
            line = self.line(behind=behind)
            for turn in range(3):
                frame = line.producer.acquire()
                if frame is None:
                    self.assertEqual((behind, turn), ("drop-newest", 2))
                else:
                    frame.bytes[0] = turn
                    frame.commit()
            with line.consumer.wait() as frame:
                self.assertEqual((frame.number, frame.bytes[0]), (number, number))
            self.assertEqual(line.take_records()[0]["end"], end)

    def test_a_frame_that_is_late_or_given_up_is_counted(self):
        line = self.line(behind="drop-newest", deadline=1e-9)
        line.producer.acquire().commit()
        with self.assertRaises(KeyError), line.producer.acquire():
            raise KeyError("the block is left")
        self.assertRaises(TimeoutError, line.consumer.wait, 0)
        counts = line.statistics()
        self.assertEqual((counts["overdue"], counts["given_up"], counts["delivered"]), (1, 1, 0))
        line = self.line(deadline=0.001)
        with line.producer.acquire() as frame:
            frame.captured(ago=0.001_001)
        line.consumer.wait().release()
        self.assertEqual(line.statistics()["late"], 1)

    def test_failures_and_ends_reach_the_other_end(self):
        line = self.line()

        def fails(lane):
            raise ValueError("the cable is out")

        with line.producer.acquire() as frame:
            frame.kernel("upload", fails)
        with self.assertRaisesRegex(
            overtake_gpu.FrameError, 'frame 0 of pipeline "camera" failed.*the cable is out'
        ) as raised:
            line.consumer.wait()
        self.assertIsInstance(raised.exception.__cause__, ValueError)
        self.assertRaisesRegex(TimeoutError, "overtake_pipeline_wait", line.consumer.wait, 0)
        self.assertRaises(TimeoutError, line.consumer.wait, 0.001)
        line.producer.acquire().commit()
        with line.consumer.wait():
            self.assertRaisesRegex(overtake_gpu.Error, "release it before the next", line.consumer.wait)
        line.producer.leave()
        self.assertRaises(overtake_gpu.Ended, line.consumer.wait)
        self.assertEqual(list(line.consumer), [])
        line = self.line()
        del line.consumer
        self.assertRaises(overtake_gpu.Ended, line.producer.acquire)

    def test_the_cause_of_a_frame_error_is_that_of_its_first_failure(self):
        line, started = self.line(), threading.Event()

        def fails(text, *waits):
            for event in waits:
                event.wait(20)
            started.set()
            raise ValueError(text)

        for number in range(300):  # no exception is kept for ever
            with line.producer.acquire() as frame:
                if number % 100 == 1:
                    first = frame.host_task("first", lambda: fails(f"the first of {number}"))
                    frame.host_task("behind", lambda: fails("not run"), after=first)
                    frame.host_task("later", lambda: fails("later", started))
            if number % 100 == 1:
                with self.assertRaisesRegex(overtake_gpu.FrameError, f"the first of {number}") as raised:
                    line.consumer.wait()
                self.assertEqual(str(raised.exception.__cause__), f"the first of {number}")
                started.clear()
            else:
                line.consumer.wait().release()
        with line.producer.acquire() as frame:
            frame.upload()
        with line.consumer.wait() as frame:
            frame.host_task("consumes", lambda: fails("no disk"))
        with self.assertRaisesRegex(overtake_gpu.FrameError, "no disk") as raised:
            for _ in range(20):  # one of the next frames is in that stage
                line.producer.acquire(timeout=20).commit()
                line.consumer.wait(timeout=20).release()
        self.assertEqual(str(raised.exception.__cause__), "no disk")

    def test_an_end_that_a_function_leaves_is_left(self):
        for leave in (lambda line: line.consumer.leave(), lambda line: delattr(line, "consumer")):
            line = self.line()
            self.tasks.host("leaves", lambda: leave(line)).wait()
            with self.assertRaises(overtake_gpu.Ended):
                while True:
                    line.producer.acquire(timeout=20).commit()

    def test_times_that_have_passed(self):
        line = self.line()
        for timeout in (0, -1, -1e300, -math.inf):
            self.assertRaisesRegex(TimeoutError, re.escape(f"within {timeout} s"), line.consumer.wait, timeout)
        self.assertRaises(ValueError, line.consumer.wait, math.nan)
        frame = line.producer.acquire(timeout=1e300)
        self.assertRaisesRegex(ValueError, "ago is -1", frame.captured, -1)
        frame.captured(1e300)
        frame.commit()
        self.assertEqual(line.consumer.wait(timeout=math.inf).number, 0)
        self.assertRaisesRegex(ValueError, "deadline is -5", self.line, deadline=-5)
        self.assertRaisesRegex(overtake_gpu.Error, "places is 0", overtake_gpu.Admission, 0)

    def test_ctrl_c_ends_a_wait(self):
        line = self.line()
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        self.assertRaises(KeyboardInterrupt, line.consumer.wait)

    def test_the_bytes_of_a_frame_end_with_it(self):
        line = self.line()
        with line.producer.acquire() as frame:
            seen = frame.bytes
        self.assertRaises(ValueError, lambda: seen[0])
        for keep in (lambda view: view[1:3], memoryview):
            with self.assertRaisesRegex(BufferError, "copy what is to stay"):
                with line.consumer.wait() as frame:
                    kept = keep(frame.bytes)
            del kept
            line.producer.acquire().commit()
        with self.assertRaises(KeyError):  # and not the error about what it keeps
            with line.consumer.wait() as frame:
                kept = frame.bytes[1:]
                raise KeyError
        del kept
        self.assertEqual(line.statistics()["delivered"], 3)

    def test_functions_of_a_frame_use_its_bytes_behind_it(self):
        line = self.line()

        def fill(frame):
            time.sleep(0.05)
            frame.bytes[:4] = b"late"

        with line.producer.acquire() as filled:
            filled.host_task("fill", lambda: fill(filled))
        with line.consumer.wait() as frame:
            self.assertEqual(bytes(frame.bytes[:4]), b"late")

    def test_bytes_that_the_program_releases_end_no_frame(self):
        line = self.line()
        with line.producer.acquire() as frame:
            frame.bytes.release()
        self.assertEqual(line.consumer.wait(timeout=5).number, 0)

    def test_a_frame_whose_bytes_are_in_use_stays_in_hand(self):
        line = self.line()
        for first in (b"a", b"b"):
            line.producer.acquire().bytes[:1] = first  # its object goes: the next one gives it up
        self.assertEqual(line.statistics()["given_up"], 1)
        seen = line.producer.acquire().bytes
        self.assertEqual(line.statistics()["given_up"], 2)
        for timeout in (0, 0.001, 0):  # a refusal leaves it as it is
            self.assertRaisesRegex(overtake_gpu.Error, "in hand: .* before the next", line.producer.acquire, timeout)
        self.assertRaises(ValueError, line.producer.acquire, math.nan)
        self.assertRaisesRegex(overtake_gpu.Error, "in hand: .* before the next", line.producer.acquire, 0)
        del seen
        frame = line.producer.acquire(0)
        frame.bytes.release()
        self.assertRaisesRegex(overtake_gpu.Error, "in hand: .* before the next", line.producer.acquire, 0)
        frame.commit()
        view = line.consumer.wait().bytes
        self.assertRaisesRegex(overtake_gpu.Error, "release it before the next", line.consumer.wait, 0)
        del view
        self.assertRaises(TimeoutError, line.consumer.wait, 0)
        self.assertEqual(line.statistics()["delivered"], 1)

    def test_an_end_that_fails_tells_its_own_reason(self):
        line = self.line(behind="drop-oldest")
        line.producer.acquire().commit()
        line.producer.acquire().commit()
        with self.assertRaises(overtake_gpu.Ended), line.producer.acquire() as frame:
            line.consumer.leave()
            frame.commit()
        line = self.line(behind="drop-oldest")
        for end in (overtake_gpu.Frame.commit, overtake_gpu.Frame.hand_over, overtake_gpu.Frame.give_up):
            with self.assertRaises(KeyboardInterrupt), line.producer.acquire() as frame:
                _calls._interrupts.append(KeyboardInterrupt())
                end(frame)
            with line.producer.acquire(0) as frame:
                frame.give_up()

    def test_a_frame_whose_end_is_interrupted_is_lost(self):
        line, call = self.line(), _calls.call

        def interrupted(*_):
            raise KeyboardInterrupt

        for behind in (False, True):
            frame = line.producer.acquire()
            _calls.call = (lambda *each: (call(*each), interrupted())) if behind else interrupted
            try:
                self.assertRaises(KeyboardInterrupt, frame.give_up)
            finally:
                _calls.call = call
            with line.producer.acquire(0) as other:  # though the program has the object of the first one
                other.give_up()
        self.assertEqual(line.statistics()["given_up"], 4)

    def test_a_frame_keeps_what_it_needs(self):
        line = self.line()
        frame = line.producer.acquire()
        del line
        frame.bytes[:4] = b"late"
        self.assertEqual(bytes(frame.bytes[:4]), b"late")
        frame.upload().wait()

    def test_pipelines_share_an_admission(self):
        admission = overtake_gpu.Admission(1)
        one, other = (self.line(behind="latest-only", admission=admission) for _ in range(2))
        del admission  # the pipelines keep it
        for line in (one, other):
            line.producer.acquire().commit()
        with one.consumer.wait():
            self.assertRaises(TimeoutError, other.consumer.wait, 0)
            other.producer.acquire().commit()
        with other.consumer.wait() as frame:
            self.assertEqual(frame.number, 1)
        self.assertEqual(other.statistics()["replaced"], 1)
        self.assertRaisesRegex(overtake_gpu.Error, "places is 0", overtake_gpu.Admission, 0)

    def test_wrong_options_are_named(self):
        known = "behind is 'sometimes': it is one of block, drop-newest, drop-oldest, latest-only"
        self.assertRaisesRegex(ValueError, known, self.line, behind="sometimes")
        self.assertRaisesRegex(overtake_gpu.Error, "stages is 255", self.tasks.pipeline, "camera", SIZE, stages=255)


def lane_fills(device, address):
    """The first word of a frame, on the device."""
    target, one = ctypes.c_void_p(address), ctypes.c_size_t(1)
    return lambda lane: device.must("cuMemsetD32Async", target, 7, one, ctypes.c_void_p(lane.stream))


if __name__ == "__main__":
    unittest.main()
