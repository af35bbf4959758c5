"""Tests of the package `overtake_gpu`; `tests/python.rs` runs each class in the surroundings that it needs."""

import builtins
import contextlib
import ctypes
import logging
import signal
import threading
import unittest
import unittest.mock
import warnings

import overtake_gpu
from overtake_gpu import _lib

# A shell has it ignored in what it starts in the background.
signal.signal(signal.SIGINT, signal.default_int_handler)


class FakeTorchStream:
    cuda_stream = 0x1000


class FakeCupyStream:
    ptr = 0x2000


class FakeNumbaStream:
    handle = ctypes.c_void_p(0x3000)


class FakeCudaCoreStream:
    def __cuda_stream__(self):
        return (0, 0x4000)


class WithoutLibrary(unittest.TestCase):
    def test_everything_is_a_no_op_and_one_warning_says_so(self):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            with overtake_gpu.priority(5):
                overtake_gpu.set_stream_priority(FakeTorchStream(), 1)
            overtake_gpu.open()
            overtake_gpu.close()
            overtake_gpu.set_rules("")
            self.assertEqual(overtake_gpu.statistics(), {})
            self.assertEqual(overtake_gpu.report(), {})
            self.assertEqual(overtake_gpu.stream_priority(0), 0)
            self.assertEqual(overtake_gpu.priorities(), 0)
        self.assertEqual([warning.category for warning in said], [RuntimeWarning])
        self.assertIn("cargo xtask install", str(said[0].message))
        self.assertEqual(said[0].filename, __file__)
        self.assertFalse(overtake_gpu.available())
        self.assertIsNone(overtake_gpu.deployment())
        self.assertIsNone(overtake_gpu.version())

    def test_strictness_and_copies_raise(self):
        with self.assertRaises(overtake_gpu.Unavailable):
            with overtake_gpu.priority(5, strict=True):
                self.fail("the block must not run")
        for call in (overtake_gpu.statistics, overtake_gpu.open, overtake_gpu.priorities):
            self.assertRaises(overtake_gpu.Unavailable, call, strict=True)
        self.assertRaises(overtake_gpu.Unavailable, overtake_gpu.memcpy_async, 0, 0, 0)
        self.assertRaises(overtake_gpu.Unavailable, overtake_gpu.CopyQueue, 0, 1, 8)

    def test_a_star_import_has_every_name_and_replaces_no_builtin(self):
        names = {}
        exec("from overtake_gpu import *", names)
        missing = [name for name in overtake_gpu.__all__ if name not in names]
        self.assertEqual(missing, [])
        replaced = [name for name in overtake_gpu.__all__ if hasattr(builtins, name)]
        self.assertEqual(replaced, [])
        self.assertIn("Template", names)
        self.assertTrue(callable(overtake_gpu.open))

    def test_handles_of_streams(self):
        expected = [(None, 0), (7, 7), (FakeTorchStream(), 0x1000), (FakeCupyStream(), 0x2000)]
        expected += [(FakeNumbaStream(), 0x3000), (FakeCudaCoreStream(), 0x4000)]
        for stream, handle in expected:
            self.assertEqual(overtake_gpu.stream_handle(stream), handle)
        self.assertRaises(TypeError, overtake_gpu.stream_handle, "stream")


class Device:
    """Just enough of the driver API to copy."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.context = ctypes.c_void_p()
        self.must("cuInit", 0)
        self.must("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), 0)
        self.must("cuCtxSetCurrent", self.context)

    def must(self, name, *arguments):
        code = getattr(self.cuda, name)(*arguments)
        if code != 0:
            raise RuntimeError(f"{name}: {code}")

    def made(self, name, *arguments):
        made = ctypes.c_void_p()
        self.must(name, ctypes.byref(made), *arguments)
        return made.value


class WithDispatcher(unittest.TestCase):
    """The cases of another file, each with a device and a dispatcher of its own."""

    def setUp(self):
        self.device = Device()
        self.dispatcher = overtake_gpu.Dispatcher()
        self.tasks = self.dispatcher.tasks()

    def tearDown(self):
        self.dispatcher.close()
        overtake_gpu.close()


class WithLibrary(unittest.TestCase):
    def name_of_refusal(self, call):
        with self.assertRaises(overtake_gpu.Error) as raised:
            call()
        return raised.exception.name

    def setUp(self):
        warnings.simplefilter("ignore")

    def thread_priority(self):
        """The priority in the library: after a scope it is the earlier one."""
        library, before = _lib.load(), ctypes.c_int(-1)
        library.overtake_set_thread_priority(0, ctypes.byref(before))
        library.overtake_set_thread_priority(before, None)
        return before.value

    def test_outside_the_drop_in_one_warning_says_so(self):
        self.assertEqual(overtake_gpu.deployment(), "c")
        _lib._said.clear()
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for _ in range(2):
                with overtake_gpu.priority(5):
                    pass
        self.assertEqual([each.filename for each in said], [__file__])
        self.assertIn("overtake run", str(said[0].message))

    def test_scopes_nest_and_belong_to_threads(self):
        seen = []
        with overtake_gpu.priority(3) as outer, overtake_gpu.priority(7):
            thread = threading.Thread(target=lambda: seen.append(self.thread_priority()))
            thread.start()
            thread.join()
            seen.append(self.thread_priority())
            with outer:
                seen.append(self.thread_priority())
        self.assertEqual(seen, [0, 7, 3])
        with self.assertRaises(ZeroDivisionError), overtake_gpu.priority(5):
            raise ZeroDivisionError
        self.assertEqual(self.thread_priority(), 0)

    def test_scopes_of_an_exit_stack(self):
        with self.assertRaises(ZeroDivisionError), contextlib.ExitStack() as stack:
            stack.enter_context(overtake_gpu.priority(3))
            stack.enter_context(overtake_gpu.priority(4))
            self.assertEqual(self.thread_priority(), 4)
            raise ZeroDivisionError
        self.assertEqual(self.thread_priority(), 0)

    def test_decorated_functions(self):
        @overtake_gpu.priority(6)
        def urgent():
            return self.thread_priority()

        self.assertEqual((urgent(), urgent(), self.thread_priority()), (6, 6, 0))

    def test_errors_have_numbers_names_and_words(self):
        with self.assertRaises(overtake_gpu.Error) as raised:
            with overtake_gpu.priority(99):
                self.fail("the block must not run")
        self.assertEqual((raised.exception.code, raised.exception.name), (-1, "OVERTAKE_ERROR_INVALID_ARGUMENT"))
        self.assertEqual(self.thread_priority(), 0)

    def test_copies_and_statistics(self):
        device, size = Device(), 300000
        source = device.made("cuMemHostAlloc", ctypes.c_size_t(size), 0)
        target = device.made("cuMemHostAlloc", ctypes.c_size_t(size), 0)
        middle = device.made("cuMemAlloc_v2", ctypes.c_size_t(size))
        stream = device.made("cuStreamCreate", 1)
        ctypes.memmove(source, bytes(range(250)) * (size // 250), size)
        overtake_gpu.open()
        overtake_gpu.set_stream_priority(stream, 4)
        self.assertEqual(overtake_gpu.stream_priority(stream), 4)
        overtake_gpu.memcpy_async(middle, source, size, stream, kind=overtake_gpu.HOST_TO_DEVICE)
        overtake_gpu.memcpy_async(target, middle, size, stream, level=7)
        device.must("cuStreamSynchronize", ctypes.c_void_p(stream))
        self.assertEqual(ctypes.string_at(target, size), ctypes.string_at(source, size))
        sums = overtake_gpu.statistics()
        self.assertGreaterEqual(sum(sums[name] for name in sums if name.endswith("_bytes")), 2 * size)
        self.assertEqual(overtake_gpu.report()["deployment"], "c")
        overtake_gpu.set_stream_priority(stream, 0)
        overtake_gpu.close()

    def test_copy_queues(self):
        device, size, count = Device(), 4096, 20
        source, target = (device.made("cuMemHostAlloc", ctypes.c_size_t(count * size), 0) for _ in range(2))
        middle = device.made("cuMemAlloc_v2", ctypes.c_size_t(count * size))
        stream = device.made("cuStreamCreate", 1)
        ctypes.memmove(source, bytes(range(1, 241)) * (count * size // 240), count * size // 240 * 240)
        for reserve in (1 << 40, -1):
            with self.assertRaisesRegex(overtake_gpu.Error, "copies, at most 1048576"):
                overtake_gpu.CopyQueue(stream, 1, reserve)
        with overtake_gpu.CopyQueue(stream, 1, count) as queue:
            for at in range(0, count * size, size):
                queue.copy(middle + at, source + at, size, overtake_gpu.HOST_TO_DEVICE)
            queue.flush()
            queue.set(middle, 0x02020202, size)
            queue.flush()
            for at in range(0, count * size, size):
                queue.copy(target + at, middle + at, size)
            queue.literal()
            with self.assertRaisesRegex(overtake_gpu.Error, "multiples of 4 only"):
                queue.copy(target, middle, 6)
            library = queue._library
            with unittest.mock.patch.object(library, "overtake_copy_queue_close", return_value=-10):
                self.assertEqual(self.name_of_refusal(queue.close), "OVERTAKE_ERROR_REFUSED")
        device.must("cuStreamSynchronize", ctypes.c_void_p(stream))
        self.assertEqual(ctypes.string_at(target, size), b"\x02" * size)
        rest = (count - 1) * size
        self.assertEqual(ctypes.string_at(target + size, rest), ctypes.string_at(source + size, rest))
        self.assertEqual(self.name_of_refusal(queue.flush), "OVERTAKE_ERROR_INVALID_HANDLE")
        with overtake_gpu.CopyQueue(stream, 1, 1) as queue:
            pass
        with self.assertRaisesRegex(overtake_gpu.Error, "priority 99"):
            with overtake_gpu.priority(99):
                pass
        del queue
        self.assertIn(b"priority 99", library.overtake_last_error())
        overtake_gpu.CopyQueue(stream, 1, count).copy(middle, source, size)  # it is lost
        overtake_gpu.close()


class WithMessages(unittest.TestCase):
    """In surroundings with an option that is not understood: the first start of the layer says so."""

    def test_messages_reach_a_function_and_leave_it(self):
        heard, arrived = [], threading.Event()

        def listen(level, text):
            heard.append((level, text))
            arrived.set()

        overtake_gpu.set_log_callback(listen)
        self.assertTrue(arrived.wait(30))
        overtake_gpu.set_log_callback(None)
        self.assertEqual([level for level, _ in heard], [logging.WARNING])
        self.assertIn("teleport", heard[0][1])


class WithoutDriver(unittest.TestCase):
    def test_opening_says_what_is_missing(self):
        self.assertTrue(overtake_gpu.available())
        self.assertRegex(overtake_gpu.version(), r"^\d+\.\d+\.\d+$")
        with self.assertRaises(overtake_gpu.Error) as raised:
            overtake_gpu.open()
        self.assertGreater(len(str(raised.exception)), 20)
        warnings.simplefilter("ignore")
        with overtake_gpu.priority(5):
            pass


class NamedDriver(unittest.TestCase):
    def test_a_device_is_opened_by_the_driver_that_is_named(self):
        with overtake_gpu.Dispatcher(devices=[0]) as dispatcher:
            self.assertEqual(dispatcher.tasks().host("task", lambda: 7).result(20), 7)

    def test_without_a_context_the_error_has_the_cure(self):
        text = "no current context: make one current before"
        self.assertRaisesRegex(overtake_gpu.Error, text, overtake_gpu.Dispatcher)


if __name__ == "__main__":
    unittest.main()
