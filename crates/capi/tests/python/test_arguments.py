"""Arguments that are no such thing are refused where they are given, in plain words; numbers may be those of numpy, for
which these tests have stand-ins. `tests/python.rs` runs it."""

import pickle
import unittest

import overtake_gpu
from overtake_gpu import read
from test_arrays import kernels
from test_overtake import WithDispatcher


class Integer:
    """A number as numpy has it: no int, but one that can be an index."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


def scalar(name):
    """A type of numpy's, as `numpy.float64` is."""
    return type(name, (), {})


class Arguments(WithDispatcher):
    def setUp(self):
        super().setUp()
        self.arrays = self.dispatcher.arrays()

    def tearDown(self):
        self.arrays.close()
        super().tearDown()

    def refused(self, kind, text, call, *arguments, **options):
        with self.assertRaisesRegex(kind, text):
            call(*arguments, **options)

    def test_types_of_elements(self):
        known = [(scalar("float64"), "float64"), (scalar("bool_"), "bool"), (float, "float64"), (int, "int64")]
        for dtype, name in [*known, (bool, "bool"), ("uint16", "uint16")]:
            self.assertEqual(self.arrays.array(3, dtype).dtype, name)
        for dtype in (scalar("complex64"), list, "f4"):
            self.refused(TypeError, "the types are bool, int8", self.arrays.array, 3, dtype)

    def test_numbers_of_numpy(self):
        three, one = Integer(3), Integer(1)
        array = self.arrays.array((three, one), "int32")
        self.assertEqual(array.shape, (3, 1))
        flat = self.arrays.array_of([1, 2, 3], "int32")
        flat[one] = Integer(7)
        flat[0:1] = Integer(9)
        self.assertEqual((flat[one], flat.tolist()), (7, [9, 7, 3]))
        self.assertEqual(self.tasks.host("task", lambda: 5, priority=three, held=Integer(0)).result(), 5)
        with overtake_gpu.priority(three) as scope:
            self.assertEqual(repr(scope), "overtake_gpu.priority(3)")
        self.assertEqual(overtake_gpu.stream_handle(three), 3)
        self.assertEqual(read(flat, one, one).count, 1)

    def test_arguments_of_kernels(self):
        add = self.arrays.kernel(kernels(), "work_add", "const pointer, const pointer, pointer, uint32")
        ones, twos = self.arrays.array_of([1.0] * 4), self.arrays.array(4)
        add(1, Integer(4))(ones, ones, twos, Integer(4))
        self.assertEqual(twos.tolist(), [2.0] * 4)
        submit = add(1, 4)
        self.refused(TypeError, "argument 3 of kernel work_add: 'float'", submit, ones, ones, twos, 2.5)
        self.refused(ValueError, "argument 3 of kernel work_add: -1 is no", submit, ones, ones, twos, -1)
        self.refused(TypeError, "argument 1 of kernel work_add: .*5 is none", submit, ones, 5, twos, 4)
        self.refused(TypeError, "bytes-like", self.arrays.kernel, 5, "work_add", "pointer")

    def test_functions_names_and_orders_of_tasks(self):
        submits = [self.tasks.upload, self.tasks.host, overtake_gpu.Template().host, self.arrays.host]
        for submit in submits:
            self.refused(TypeError, "task 'z' has no function: 5 cannot be called", submit, "z", 5)
            self.refused(TypeError, "name of a task is a text, and 7 is none", submit, 7, lambda *_: None)
        for after in ("x", 3, ["x"], None):
            self.refused(TypeError, "comes after tasks, and", self.tasks.host, "z", print, after=after)
            self.refused(TypeError, "comes after steps", overtake_gpu.Template().host, "z", print, after=after)
        self.refused(TypeError, "comes after tasks", self.tasks.host("z", lambda: None).precede, 3)
        self.refused(TypeError, "and 'x' is none", read, "x")

    def test_elements_that_are_not_there(self):
        flat, square = self.arrays.array_of([1.0, 2.0]), self.arrays.array((2, 2))
        with square.overwrite() as elements:
            elements[0, 0] = 1.0
        self.refused(IndexError, r"index 2 is out of range: the shape is \(2,\)", lambda: flat[2])
        self.refused(IndexError, r"\(0, 2\) is out of range: the shape is \(2, 2\)", lambda: square[0, 2])
        self.refused(TypeError, "take `tolist", lambda: square[0])
        self.refused(TypeError, "take `tolist", square.__setitem__, 0, 1.0)

    def test_contexts_and_devices(self):
        self.device.must("cuCtxSetCurrent", None)
        try:
            self.refused(overtake_gpu.Error, r"Dispatcher\(devices=\[0\]\)", overtake_gpu.Dispatcher)
        finally:
            self.device.must("cuCtxSetCurrent", self.device.context)
        self.refused(TypeError, r"devices is 0: it is a list", overtake_gpu.Dispatcher, devices=0)

    def test_objects_say_what_they_are(self):
        array, task = self.arrays.array((2, 3), "int8"), self.tasks.host("held", lambda: None, held=1)
        self.assertEqual(repr(array), "<overtake_gpu.Array of (2, 3) elements of int8>")
        self.assertEqual(repr(read(array)), f"<overtake_gpu.Use of 6 elements from 0 on of {array!r}>")
        self.assertEqual(repr(task), "<overtake_gpu.Task 'held': not ended>")
        task.release()
        task.wait()
        self.assertEqual(repr(task), "<overtake_gpu.Task 'held': ended>")
        broken = self.tasks.host("broken", lambda: {}["width"])
        self.assertIsNotNone(broken.exception())
        self.assertEqual(repr(broken), "<overtake_gpu.Task 'broken': failed>")
        self.assertEqual(repr(self.dispatcher), "<overtake_gpu.Dispatcher on devices (0,)>")
        line = self.tasks.pipeline("camera", 4096)
        self.assertEqual(repr(line), "<overtake_gpu.Pipeline 'camera' of 4096 bytes a frame>")
        with line.producer.acquire() as frame:
            self.assertEqual(repr(frame), "<overtake_gpu.Frame 0 of 4096 bytes>")

    def test_errors_survive_another_process(self):
        error = self.tasks.host("broken", lambda: {}["width"]).exception()
        copy = pickle.loads(pickle.dumps(error))
        self.assertIs(type(copy), overtake_gpu.TaskError)
        self.assertEqual((copy.code, copy.name, str(copy)), (-13, error.name, str(error)))
        self.assertEqual(type(error).__module__, "overtake_gpu")


if __name__ == "__main__":
    unittest.main()
