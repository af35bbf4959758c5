"""Tests of arrays from Python; `tests/python.rs` runs them on the software GPU."""

import array
import ctypes
import gc
import operator
import os
import signal
import subprocess
import sys
import threading
import time
import types
import unittest
import unittest.mock
import weakref

import overtake_gpu
from overtake_gpu import _arrays, _calls as calls, _dispatcher, _exchange as exchange
from overtake_gpu import discard, read, read_write, relaxed, write
from test_overtake import WithDispatcher

COUNT = 4096
BYTES = 4 * COUNT


def kernels():
    """The kernels of the crate overtake-workloads, in PTX."""
    with open(os.environ["KERNELS_PTX"], encoding="utf-8") as text:
        return text.read()


class Stranger:
    """Memory of another library, as far as the protocol shows it."""

    def __init__(self, device, values, stream=1, **changes):
        self.memory = device.made("cuMemAlloc_v2", ctypes.c_size_t(BYTES))
        source = (ctypes.c_float * COUNT)(*values)
        device.must("cuMemcpyHtoD_v2", ctypes.c_uint64(self.memory), source, ctypes.c_size_t(BYTES))
        interface = {"shape": (COUNT,), "typestr": "<f4", "data": (self.memory, False), "version": 3}
        self.__cuda_array_interface__ = {**interface, "stream": stream, **changes}

    def values(self, device):
        seen = (ctypes.c_float * COUNT)()
        device.must("cuMemcpyDtoH_v2", seen, ctypes.c_uint64(self.memory), ctypes.c_size_t(BYTES))
        return list(seen)


class FakeStream:
    def __init__(self, handle):
        self.cuda_stream = handle


class Producer:
    """The same by DLPack."""

    def __init__(self, stranger, shape=(64, 64)):
        self.view = exchange.View(stranger.memory, shape, "float32", 0, stranger)
        self.streams = []

    def __dlpack_device__(self):
        return self.view.__dlpack_device__()

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        return self.view.__dlpack__(stream=stream)


class Arrays(WithDispatcher):
    def setUp(self):
        super().setUp()
        self.arrays = self.dispatcher.arrays()
        self.add = self.arrays.kernel(kernels(), "work_add", "const pointer, const pointer, pointer, uint32")

    def sum_of(self, left, right, total, **options):
        return self.add(COUNT // 256, 256, **options)(left, right, total, COUNT)

    def test_a_token_is_an_order_alone(self):
        token, seen, may_end = self.arrays.token(), [], threading.Event()

        def first(none):
            may_end.wait(20)
            seen.append(("first", len(none)))

        held = self.arrays.host("first", first, overtake_gpu.write(token))
        launch = lambda lane, none: seen.append(("second", none.shape[0]))
        self.arrays.launch("second", launch, overtake_gpu.read(token))
        third = self.arrays.host("third", lambda none: seen.append(("third", len(none))), overtake_gpu.write(token))
        self.assertEqual((seen, token.shape, token.nbytes), ([], (0,), 0))
        may_end.set()
        third.wait()
        self.assertEqual(seen, [("first", 0), ("second", 0), ("third", 0)])
        held.wait()
        with token.read() as none:
            self.assertEqual(len(none), 0)
        text = "a reduction has an element_type|reduces to a token"
        self.assertRaisesRegex(overtake_gpu.Error, text, self.arrays.host, "sum", print, overtake_gpu.reduce(token))

    def test_mistakes_are_named_with_their_cure(self):
        x = self.arrays.array_of([1, 2])
        for submit in (self.arrays.host, self.arrays.launch):
            text = r"sum takes uses of arrays, such as overtake_gpu.read\(array\): Array is none"
            self.assertRaisesRegex(TypeError, text, submit, "sum", print, read(x), x)
        text = "selection is 'nearest': it is one of min-transfer-size, single-gpu, "
        self.assertRaisesRegex(ValueError, text, self.dispatcher.arrays, selection="nearest")
        text = "operator is 'mean': it is one of sum, min, max"
        self.assertRaisesRegex(ValueError, text, overtake_gpu.reduce, x, "mean")

    def test_the_exception_by_which_a_library_refuses_a_tensor_is_the_programs(self):
        x = self.arrays.array_of([1.0])
        with x.on_device() as view:
            # The call has the only reference to the capsule, which goes with the exception set.
            self.assertRaisesRegex(TypeError, "PyCapsule", lambda: operator.index(view.__dlpack__()))
        self.assertEqual(exchange._given, {})

    def test_an_access_in_a_cycle_that_nobody_has_keeps_nothing_back(self):
        def loses(access):
            cycle = [access]
            cycle.append(cycle)

        stranger, x = Stranger(self.device, [1.0] * COUNT), self.arrays.array_of([1.0] * COUNT)
        adopted, released = self.arrays.adopt(stranger), self.arrays.adopt(Stranger(self.device, [2.0] * COUNT))
        self.sum_of(x, x, adopted)
        gc.disable()
        try:
            loses(x.change())
            x[0] = 2.0
            loses(released.read())
            released.release()
            loses(adopted.change())
            self.arrays.close()
        finally:
            gc.enable()
        self.assertEqual(stranger.values(self.device), [2.0] * COUNT)

    def test_numpy_gets_a_copy_of_an_array(self):
        numpy = types.SimpleNamespace(array=lambda elements, dtype: (elements.shape, elements.tolist(), dtype))
        x = self.arrays.array((2, 2))
        self.arrays.host("fill", lambda elements: elements.cast("B").__setitem__(slice(None), bytes(16)), discard(x))
        with unittest.mock.patch.dict(sys.modules, numpy=numpy):
            self.assertEqual(x.__array__("int32"), ((2, 2), [[0, 0], [0, 0]], "int32"))
            self.assertEqual(x.__array__(copy=True)[2], None)
            self.assertRaisesRegex(ValueError, "numpy gets a copy", x.__array__, copy=False)

    def test_the_order_and_the_copies_follow_from_the_arguments(self):
        x, y = self.arrays.array_of(range(COUNT)), self.arrays.array(COUNT)
        z = self.arrays.array((64, 64))
        self.sum_of(x, x, y, priority=3)
        self.sum_of(y, x, z)
        self.assertEqual((z[1, 2], z.shape, len(z), z.nbytes), (3 * 66, (64, 64), 64, BYTES))
        self.assertEqual(y[5:8], [10, 12, 14])
        counts = self.arrays.statistics()
        self.assertEqual((counts["uploads"], counts["upload_bytes"], counts["downloads"]), (1, BYTES, 2))
        y[0], y[1:4] = 100, [1, 2, 3]
        y[4:6] = 9
        self.assertEqual(y.tolist()[:7], [100, 1, 2, 3, 9, 9, 12])
        with self.assertRaises(ValueError):
            y[0:2] = [1]
        self.sum_of(x, y, z).wait()
        self.assertEqual(z[0, 3], 6)
        self.arrays.wait()

    def test_types_and_buffers(self):
        for values in (array.array("i", [1, -2, 3]), array.array("d", [0.5, 2.5]), array.array("Q", [1 << 60])):
            made = self.arrays.array_of(values)
            self.assertEqual(made.tolist(), values.tolist())
        self.assertEqual(self.arrays.array_of(b"\1\2").dtype, "uint8")
        self.assertEqual(self.arrays.array(3, "torch.int64").nbytes, 24)
        self.assertRaisesRegex(TypeError, "arrays of complex64 are not known", self.arrays.array, 3, "complex64")
        made = self.arrays.array(4, "int16")
        with made.overwrite() as elements:
            elements[:] = memoryview(array.array("h", [4, 3, 2, 1]))
        with made.read(first=1, count=2) as elements:
            self.assertTrue(elements.readonly)
            self.assertEqual(elements.tolist(), [3, 2])

    def test_functions_of_the_host_and_of_the_device(self):
        data, total = self.arrays.array(COUNT, "uint8"), self.arrays.array(1, "uint64")

        def fill(lane, half):
            stream, value = ctypes.c_void_p(lane.stream), ctypes.c_ubyte(3)
            self.assertEqual((half.shape, half.__cuda_array_interface__["typestr"]), ((COUNT // 2,), "|u1"))
            place, count = ctypes.c_uint64(half.address), ctypes.c_size_t(COUNT // 2)
            self.device.must("cuMemsetD8Async", place, value, count, stream)

        def add_up(elements, sums):
            sums[0] = sum(elements)
            return "added"

        data[:] = 1
        self.arrays.launch("fill", fill, discard(data, COUNT // 2), priority=5, retries=1)
        added = self.arrays.host("add up", add_up, read(data), discard(total))
        self.assertEqual((added.result(), total[0]), ("added", COUNT // 2 + 3 * (COUNT // 2)))
        view = data.view(COUNT // 2 - 2, (2, 2))
        self.assertEqual(view.tolist(), [[1, 1], [3, 3]])

    def test_serial_submissions_return_when_the_computation_has_ended(self):
        with overtake_gpu.Dispatcher() as dispatcher, dispatcher.arrays(serial=True) as arrays:
            x = arrays.array_of([1.0] * COUNT)
            ended = arrays.host("slow", lambda elements: time.sleep(0.05), read_write(x)).done()
            failed = arrays.host("fails", lambda elements: 1 / 0, read(x))
            self.assertTrue(ended and failed.done())
            self.assertRaisesRegex(overtake_gpu.Error, "ZeroDivisionError", failed.wait)

    def test_accesses_keep_later_computations_back(self):
        x, y = self.arrays.array_of([1.0] * COUNT), self.arrays.array(COUNT)
        with x.change() as elements:
            elements[3] = 7
            waits = self.sum_of(x, x, y)
            self.assertFalse(waits.done())
        self.assertEqual(y[3], 14)

    def test_accesses_end_with_their_time_or_with_ctrl_c(self):
        source = Stranger(self.device, [2] * COUNT)
        x, y = self.arrays.array_of([1.0] * COUNT), self.arrays.adopt(source)
        held = self.sum_of(x, x, y, held=1)
        accesses = (y.read, y.change, y.overwrite, y.on_device, lambda **options: y.on_device(discard, **options))
        for access in accesses:
            for timeout in (0.06, 0, -1):
                start = time.monotonic()
                with self.assertRaisesRegex(TimeoutError, f"elements have not come within {timeout} s"):
                    access(timeout=timeout)
                self.assertTrue(timeout <= time.monotonic() - start < 20)
        for wait in (*accesses, lambda: y[3], y.tolist, lambda: y.__setitem__(3, 5.0)):
            threading.Timer(0.06, signal.raise_signal, [signal.SIGINT]).start()
            self.assertRaises(KeyboardInterrupt, wait)
        held.release()
        with y.read(timeout=20) as elements:
            self.assertEqual(elements[9], 2)
        y.release()
        self.assertEqual(source.values(self.device), [2.0] * COUNT)

    def test_ctrl_c_beside_the_end_of_a_wait_leaves_the_array_as_it_was(self):
        source = Stranger(self.device, [2] * COUNT)
        x, y = self.arrays.array_of([1.0] * COUNT), self.arrays.adopt(source)
        for mode in (y.overwrite, lambda: y.on_device(discard)):
            held = self.sum_of(x, x, y, held=1)

            def interrupt():
                signal.raise_signal(signal.SIGINT)
                held.release()

            timer = threading.Timer(0.06, interrupt)
            timer.start()
            self.assertRaises(KeyboardInterrupt, mode)
            timer.join()
            held.wait(timeout=20)
            with y.read(timeout=20) as elements:
                self.assertEqual(set(elements.tolist()), {2.0})

    def test_memory_of_another_library_is_used_where_it_lies(self):
        source, target = Stranger(self.device, [1.5] * COUNT), Stranger(self.device, [0] * COUNT)
        x, y = self.arrays.adopt(source), self.arrays.adopt(Producer(target))
        self.assertEqual((x.shape, y.shape, y.dtype), ((COUNT,), (64, 64), "float32"))
        self.sum_of(x, x, y)
        with y.on_device() as seen:
            self.assertEqual(seen.address, target.memory)
            self.assertEqual(seen.__cuda_array_interface__["data"], (target.memory, False))
            with self.assertRaisesRegex(overtake_gpu.Error, "frozen for code outside"):
                self.sum_of(x, x, y)
        synchronized = []

        class Stream:
            def synchronize(self):
                synchronized.append(1)

        with y.on_device(read_write, stream=Stream()) as seen:
            waits = self.sum_of(x, x, y)
            self.assertFalse(waits.done() or synchronized)
        waits.wait()
        self.assertEqual(synchronized, [1])
        counts = self.arrays.statistics()
        self.assertEqual((counts["uploads"], counts["downloads"]), (0, 0))
        self.assertEqual(target.values(self.device), [3.0] * COUNT)
        y[0, 5] = 8
        y.release()
        self.assertEqual(target.values(self.device)[4:7], [3, 8, 3])

    def test_memory_is_kept_until_no_computation_uses_it(self):
        source = Stranger(self.device, [1] * COUNT)
        kept = weakref.ref(source)
        producer = Producer(source)
        x, y = self.arrays.adopt(producer), self.arrays.array(COUNT)
        self.assertEqual(producer.streams, [1], "the producer makes the default stream wait")
        held = self.sum_of(x, x, y, held=1)
        del source, producer, x
        gc.collect()
        self.assertIsNotNone(kept())
        held.release()
        self.assertEqual(y[0], 2)
        self.arrays.close()
        self.dispatcher.close()
        gc.collect()
        self.assertIsNone(kept())

    def test_capsules(self):
        x = self.arrays.array_of([1.0, 2.0])
        with x.on_device() as view:
            before = len(exchange._given)
            capsule = view.__dlpack__(stream=7, max_version=(1, 0))
            self.assertEqual((len(exchange._given), view.__dlpack_device__()), (before + 1, (2, 0)))
            del capsule
            self.assertEqual(len(exchange._given), before, "a capsule that is not used frees its tensor")
            taken = exchange._by_dlpack(view)
            self.assertEqual((taken.address, taken.shape, taken.dtype), (view.address, (2,), "float32"))
            self.assertEqual(len(exchange._given), before + 1)
            del taken
            self.assertEqual(len(exchange._given), before, "its user frees it")

    def test_memory_that_cannot_be_taken(self):
        odd = Stranger(self.device, [0] * COUNT, shape=(32, 64), strides=(512, 4))
        self.assertRaisesRegex(ValueError, "make it contiguous", self.arrays.adopt, odd)
        odd = Stranger(self.device, [0] * COUNT, typestr="<c8")
        self.assertRaisesRegex(TypeError, "<c8", self.arrays.adopt, odd)
        self.assertRaisesRegex(TypeError, "int has neither", self.arrays.adopt, 5)
        even = Stranger(self.device, [2] * COUNT, shape=(64, 64), strides=(256, 4))
        self.assertEqual(self.arrays.adopt(even)[63, 63], 2)

    def test_the_default_stream_is_waited_for(self):
        word = ctypes.c_uint32.from_address(self.device.made("cuMemHostAlloc", ctypes.c_size_t(4096), 0))
        word.value = 0
        source, at = Stranger(self.device, [1] * COUNT), ctypes.c_uint64(ctypes.addressof(word))
        self.device.must("cuStreamWaitValue32_v2", None, at, 1, 0)
        self.device.must("cuMemsetD8Async", ctypes.c_uint64(source.memory), ctypes.c_ubyte(0), BYTES, None)
        found = []
        adopts = threading.Thread(target=lambda: found.append(self.arrays.adopt(source, stream=FakeStream(0))))
        adopts.start()
        adopts.join(0.2)
        self.assertTrue(adopts.is_alive(), "work of the default stream is not over")
        word.value = 1
        adopts.join(20)
        self.assertEqual(found[0][5], 0)
        streams = [exchange.borrowed(owner, 0).stream for owner in (source, Producer(source))]
        self.assertEqual(streams, [1, 1])

    def test_memory_is_adopted_on_its_device(self):
        with overtake_gpu.Dispatcher(devices=(0, 1)) as dispatcher, dispatcher.arrays() as arrays:
            context = ctypes.c_void_p()
            self.device.must("cuCtxGetCurrent", ctypes.byref(context))
            other = _dispatcher._primary_contexts([1])[0]
            self.device.must("cuCtxSetCurrent", ctypes.c_void_p(other))
            source = Stranger(self.device, [3] * COUNT)
            self.device.must("cuCtxSetCurrent", context)
            adopted = arrays.adopt(source)
            with adopted.on_device(device=1) as view:
                self.assertEqual((view.address, view.device), (source.memory, 1))
            self.assertEqual(arrays.statistics()["between_devices"], 0)
            spec = _arrays._AdoptSpec(ctypes.sizeof(_arrays._AdoptSpec), 1, 0, 0, source.memory, COUNT)
            spec.element_bytes = 4
            with self.assertRaisesRegex(overtake_gpu.Error, "is on device 1, and device 0 of the dispatcher is 0"):
                calls.made("array_adopt", arrays._handle, spec)
        self.assertRaisesRegex(ValueError, r"on device 1, and the dispatcher has \(0,\)", self.arrays.adopt, source)

    def test_other_streams_wait_for_a_launch_and_it_for_them(self):
        word = ctypes.c_uint32.from_address(self.device.made("cuMemHostAlloc", ctypes.c_size_t(4096), 0))
        word.value = 0
        own = self.device.made("cuStreamCreate", 1)
        x, at = self.arrays.array_of([1.0] * COUNT), ctypes.c_uint64(ctypes.addressof(word))
        seen = []

        def launch(lane, view):
            seen.append((view.__cuda_array_interface__["stream"], lane.stream))
            view.__dlpack__(stream=-1)
            view.__dlpack__(stream=own, max_version=(1, 0), dl_device=(2, 0), copy=False)
            for wrong in ({"copy": True}, {"dl_device": (1, 0)}, {"stream": 0}):
                self.assertRaises(BufferError, view.__dlpack__, **wrong)
            self.device.must("cuStreamWaitValue32_v2", ctypes.c_void_p(own), at, 1, 0)
            place = ctypes.c_uint64(view.address)
            self.device.must("cuMemsetD8Async", place, ctypes.c_ubyte(0), BYTES, ctypes.c_void_p(own))

        task = self.arrays.launch("own stream", launch, write(x))
        self.assertRaises(TimeoutError, task.wait, 0.2)
        word.value = 1
        self.assertEqual(x[7], 0)
        self.assertEqual(seen[0][0], seen[0][1])
        with x.on_device() as view:
            self.assertIsNone(view.__cuda_array_interface__["stream"])

    def test_contents_become_elements_of_the_type(self):
        made = self.arrays.array_of(array.array("i", [1, -2, 3]), "float32")
        self.assertEqual((made.dtype, made.tolist()), ("float32", [1, -2, 3]))
        square = memoryview(array.array("d", [0.5, 1, 1.5, 2])).cast("B").cast("d", (2, 2))
        self.assertEqual(self.arrays.array_of(square, "float32").tolist(), [[0.5, 1], [1.5, 2]])
        self.assertEqual(self.arrays.array_of(memoryview(array.array("h", range(6)))[::2], "int64").tolist(), [0, 2, 4])
        self.assertEqual(self.arrays.array_of(memoryview(array.array("h", range(6)))[::2]).tolist(), [0, 2, 4])
        rows = (ctypes.c_int16 * 2 * 2)((1, -2), (3, 4))
        for contents in (rows, (ctypes.c_double * 2 * 2)((1, -2), (3, 4))):
            for dtype in ("float32", "int16" if contents is rows else "float64", None):
                self.assertEqual(self.arrays.array_of(contents, dtype).tolist(), [[1, -2], [3, 4]])
        cure = "^array_of: element 1 is {}, and {} has no such element: convert it, or pass another dtype$"
        for kind, contents, dtype, text in (
            (TypeError, array.array("d", [0, 0.5]), "int32", "0.0"),
            (TypeError, (ctypes.c_float * 2)(0, 0.5), "int64", "0.0"),
            (ValueError, array.array("q", [1, 1 << 40]), "int32", str(1 << 40)),
            (ValueError, (ctypes.c_int * 2)(1, -1), "uint8", "-1"),
            (TypeError, [1, "x"], "int32", "'x'"),
            (ValueError, [1, "x"], "float32", "'x'"),
        ):
            text = cure.format(text, dtype).replace("element 1", "element 0" if text == "0.0" else "element 1")
            self.assertRaisesRegex(kind, text, self.arrays.array_of, contents, dtype)
        for contents in (memoryview(b"abc").cast("c"), (ctypes.c_char * 2)(), (ctypes.c_int32.__ctype_be__ * 2)()):
            text = "^array_of: elements of format '.*' are not known: pass a list of numbers, or one of the types bool"
            self.assertRaisesRegex(TypeError, text, self.arrays.array_of, contents, "int32")

    def test_elements_end_with_their_block(self):
        x = self.arrays.array_of([1.0, 2.0, 3.0])
        with x.read() as elements:
            pass
        self.assertRaises(ValueError, lambda: elements[0])
        with self.assertRaisesRegex(BufferError, "copy what is to stay"):
            with x.read() as elements:
                kept = elements[1:]
        del kept
        with self.assertRaises(KeyError):  # and not the error about what it keeps
            with x.change() as elements:
                kept = elements[1:]
                raise KeyError
        keeps = []
        with self.assertRaisesRegex(overtake_gpu.TaskError, "BufferError.*copy what is to stay"):
            self.arrays.host("keeps", lambda elements: keeps.append(elements[:2]), read(x)).wait()
        passes = self.arrays.host("passes", lambda elements: keeps.append(elements), read(x))
        passes.wait()
        self.assertRaises(ValueError, lambda: keeps[1][0])
        self.assertEqual(x[0:2], [1, 2])

    def test_elements_that_the_program_releases_keep_no_array(self):
        x = self.arrays.array_of([1.0, 2.0, 3.0])
        with x.change() as elements:
            elements.release()
        self.arrays.host("after", lambda elements: elements.release(), write(x)).wait(timeout=5)

    def test_a_kernel_keeps_the_function_of_another_library(self):
        class Function:
            def __init__(self, pointer):
                self.ptr = pointer

        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.device.must("cuModuleLoadData", ctypes.byref(module), kernels().encode())
        self.device.must("cuModuleGetFunction", ctypes.byref(function), module, b"work_add")
        theirs = Function(function.value)
        kept = weakref.ref(theirs)
        add = self.arrays.kernel_of(theirs, "add", "const pointer, const pointer, pointer, uint32")
        del theirs
        gc.collect()
        self.assertIsNotNone(kept())
        x = self.arrays.array_of([1.0] * COUNT)
        add(COUNT // 256, 256)(x, x, x, COUNT)
        self.assertEqual(x[0], 2)
        del add
        gc.collect()
        self.assertIsNone(kept())

    def test_an_end_tells_of_results_that_are_lost(self):
        for is_raised in (False, True):
            lost, kept = (Stranger(self.device, [1] * COUNT) for _ in range(2))
            with self.assertRaises(KeyError if is_raised else overtake_gpu.Error) as raised:
                with self.dispatcher.arrays() as arrays:
                    x, y = arrays.adopt(lost), arrays.adopt(kept)
                    arrays.host("parse", lambda elements: {}["width"], discard(x))
                    y[0] = 5
                    if is_raised:
                        raise KeyError
            self.assertTrue(is_raised or "KeyError: 'width'" in str(raised.exception))
            self.assertEqual(kept.values(self.device)[:2], [5, 1])

    def test_signatures(self):
        with self.assertRaisesRegex(ValueError, "'long'"):
            self.arrays.kernel(kernels(), "work_add", "const pointer, long")
        with self.assertRaisesRegex(TypeError, "takes 4 arguments, and 1 are given"):
            self.add(1, 1)(1)
        named = "left: in pointer float, right: const pointer float, sum: discard pointer float, count: uint32"
        add = self.arrays.kernel(kernels().encode(), "work_add", named)
        x, y = self.arrays.array_of([1.0] * COUNT), self.arrays.array(COUNT)
        add((4, 1, 1), 256, name="named")(x, x, y, COUNT).wait()
        add(4, 256)(read(x, 0, 256), read(x, 256, 256), write(y, 512, 256), 256)
        with self.assertRaisesRegex(overtake_gpu.Error, "relaxed uses are for the device"):
            self.arrays.host("no", print, relaxed(x))
        narrow = self.arrays.kernel(kernels(), "work_add", "pointer, pointer, pointer, uint64")
        with self.assertRaisesRegex(overtake_gpu.TaskError, "argument 4 has 4 bytes, and 8 are given"):
            narrow(1, 1)(x, x, y, 1).wait()

    def test_reductions_by_kernels_and_functions(self):
        with overtake_gpu.Dispatcher() as dispatcher, dispatcher.arrays() as arrays:
            ones, totals = arrays.array_of([1.0] * COUNT), arrays.array_of([10.0] * COUNT)

            def add(source, target):
                for index in range(0, COUNT, 512):
                    target[index] += source[index]

            def raise_to(target):
                target[0] = max(target[0], 99)

            for _ in range(4):
                arrays.host("adds", add, read(ones), overtake_gpu.reduce(totals))
            arrays.host("raises", raise_to, overtake_gpu.reduce(totals, "max", 0, 1))
            self.assertEqual((totals[0], totals[1], totals[512]), (99.0, 10.0, 14.0))
            self.assertRaises(TypeError, arrays.host, "none", add, overtake_gpu.reduce(arrays.array(4, "float16")))

    def test_several_devices(self):
        with overtake_gpu.Dispatcher(devices=(0, 1)) as dispatcher, dispatcher.arrays() as arrays:
            add = arrays.kernel(kernels(), "work_add", "const pointer, const pointer, discard pointer, uint32")
            ones, twos, threes = arrays.array_of([1.0] * COUNT), arrays.array(COUNT), arrays.array(COUNT)
            add(COUNT // 256, 256, on=0)(ones, ones, twos, COUNT)
            # Bytes on their way are fetched from a farther place, if they are there already.
            arrays.wait()
            add(COUNT // 256, 256, on=1)(ones, twos, threes, COUNT)
            seen = []
            arrays.launch("look", lambda lane, view: seen.append((lane.device, view.device)), read(threes), on=1)
            self.assertEqual(threes[COUNT - 1], 3.0)
            arrays.wait()
            self.assertEqual((seen, arrays.statistics()["between_devices"]), ([(1, 1)], 2))
            with threes.on_device(device=1) as view:
                self.assertEqual(view.__dlpack_device__(), (2, 1))
            self.assertRaises(overtake_gpu.Error, add(1, 1, on=2), ones, ones, twos, 1)
        self.assertRaises(ValueError, overtake_gpu.Dispatcher, devices=(0, 99))

    def test_an_interpreter_that_ends_frees_what_is_left(self):
        """Another library may keep our modules until their names are gone, as JAX does."""
        program = """if True:
            import builtins, os, sys
            import test_overtake
            device = test_overtake.Device()
            import overtake_gpu
            import test_arrays
            dispatcher = overtake_gpu.Dispatcher()
            arrays = dispatcher.arrays()
            array, lent = arrays.array(4), arrays.array_of([1.0] * 4)
            kernel = arrays.kernel(test_arrays.kernels(), "work_add", "pointer, pointer, pointer, uint32")
            with lent.on_device() as view:
                capsule = view.__dlpack__()
            builtins.kept = [array, lent, kernel, capsule, *map(sys.modules.get, list(sys.modules))]
        """
        paths = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        command = [sys.executable, "-B", "-c", program]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, env=paths)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))

    def test_a_release_that_was_refused_is_no_release(self):
        with overtake_gpu.Dispatcher(devices=[0]) as dispatcher, dispatcher.arrays() as arrays:
            adopted = arrays.adopt(Stranger(self.device, [1.0] * COUNT))
            with adopted.read():
                self.assertRaisesRegex(overtake_gpu.Error, "access", adopted.release)
        self.assertRaises(overtake_gpu.Error, adopted.release)

    def test_the_garbage_is_collected_only_where_an_access_may_be_lost(self):
        held, collects = self.tasks.join("held", held=1), []
        with (
            unittest.mock.patch.object(calls, "_COLLECTS_AFTER", 0.01),
            unittest.mock.patch.object(calls.gc, "collect", lambda: collects.append(7)),
        ):
            self.assertRaises(TimeoutError, held.wait, 0.1)
            self.assertEqual(collects, [])
            adopted = self.arrays.adopt(Stranger(self.device, [1.0] * COUNT))
            with self.arrays.array_of([1.0]).read():
                adopted.release()
                self.assertEqual(collects, [])
                self.assertRaises(TimeoutError, held.wait, 0.1)
                self.assertEqual(collects, [7])
        held.release()

    def test_a_collection_is_a_part_of_the_wait(self):
        clock = iter([0.0, 2.0, 9.0, 9.0])
        with (
            unittest.mock.patch.object(calls.time, "monotonic", lambda: next(clock)),
            unittest.mock.patch.object(calls, "collect_lost", lambda: None),
        ):
            self.assertEqual(list(calls.slices(5.0)), [(0, True)])

    def test_failures_and_closing(self):
        x, y = self.arrays.array_of([1.0] * COUNT), self.arrays.array(COUNT)
        broken = self.arrays.host("parse", lambda elements: {}["width"], discard(y))
        with self.assertRaises(overtake_gpu.TaskError) as raised:
            broken.wait()
        self.assertIsInstance(raised.exception.__cause__, KeyError)
        with self.assertRaisesRegex(overtake_gpu.Error, 'task "parse" failed: KeyError'):
            y.tolist()
        self.assertRaises(overtake_gpu.TaskError, self.arrays.wait)
        with self.assertRaisesRegex(overtake_gpu.Error, "repeated on bytes that it has changed"):
            self.sum_of(x, x, read_write(x), retries=1)
        self.arrays.close()
        self.assertRaisesRegex(overtake_gpu.Error, "set of arrays", self.arrays.array, 3)
        with self.dispatcher.arrays(selection="round-robin", device_bytes_max=1 << 24) as other:
            self.assertEqual(other.array_of([1, 2], "int32").tolist(), [1, 2])


if __name__ == "__main__":
    unittest.main()
