"""Dispatchers, which run tasks, and sets of tasks: functions with an order between them, on the device and on the
host."""

import atexit
import contextlib
import ctypes
import functools
from operator import index

from . import _calls as calls, _tasks as base
from ._arrays import Arrays
from ._lib import BUFFER_TOO_SMALL, INVALID_HANDLE, Error, driver
from ._pipelines import Pipeline
from ._tasks import Task


class _Options(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_uint32)
        for name in ("struct_size", "groups", "lanes", "workers", "tasks_max", "order")
    ]


class _Statistics(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("is_device_lost", ctypes.c_uint32)] + [
        (name, ctypes.c_uint64)
        for name in (
            *("launches", "functions", "joins", "marks", "tasks"),
            *("lifts", "captures_ended", "joins_saved"),
            *("graph_launches", "graph_fallbacks"),
        )
    ]


def _prototypes():
    handle, text = ctypes.c_void_p, ctypes.c_char_p
    place, level = ctypes.POINTER(handle), ctypes.POINTER(ctypes.c_int)
    return {
        **base.prototypes(),
        "dispatcher_open": [ctypes.POINTER(_Options), place],
        "dispatcher_open_on": [place, ctypes.c_size_t, ctypes.POINTER(_Options), place],
        "dispatcher_close": [handle],
        "dispatcher_read_statistics": [handle, ctypes.POINTER(_Statistics)],
        "dispatcher_dot": [handle, ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER(ctypes.c_size_t)],
        "tasks_open": [handle, text, place],
        "tasks_free": [handle],
        "tasks_wait_for": [handle, ctypes.c_int64, level],
        "tasks_stop": [handle],
        "tasks_start": [handle],
        "tasks_named": [handle, text, place],
        "group_begin": [handle],
        "group_end": [handle],
        "group_before": [handle, place],
        "group_behind": [handle, place],
        "submit": [handle, ctypes.POINTER(base.Spec), place],
    }


class Group:
    """The two tasks around a group, from `Tasks.group`."""

    def __init__(self, tasks):
        self.before, self.behind = (Task(call, tasks._handle) for call in ("group_before", "group_behind"))


class Tasks(calls.Owner):
    """A set of tasks. Each method that describes one submits it, and returns a `Task`; without a function it is a
    decorator. The options of all: `after`, a task that it comes after, or several; `after_launch`, those of which only
    the launch must be over; `priority`, from 1 (bulk) up; `held`, the number of references that it is submitted with;
    `named`, whether others refer to it by its name; `retries`, how often `launch` is called again after it has failed,
    which the caller promises it may be; `room_timeout`, for how many seconds the call waits for room in a full
    dispatcher, None for as long as it takes."""

    def __init__(self, dispatcher, name=None):
        super().__init__()
        self._dispatcher, self._name = dispatcher, name
        self._make("tasks_open", dispatcher._handle, name and name.encode())

    def __repr__(self):
        name = "" if self._name is None else f" {self._name!r}"
        return f"<overtake_gpu.Tasks{name} of {self._dispatcher!r}>"

    def upload(self, name, launch=None, **options):
        """Copies from the host to the device: `launch(lane)`."""
        return self._task(base.UPLOAD, name, launch, options)

    def kernel(self, name, launch=None, **options):
        """Runs kernels: `launch(lane)`."""
        return self._task(base.KERNEL, name, launch, options)

    def download(self, name, launch=None, **options):
        """Copies from the device to the host: `launch(lane)`."""
        return self._task(base.DOWNLOAD, name, launch, options)

    def host(self, name, run=None, **options):
        """A function of the host, `run()`. It starts when the work of the device before it is complete."""
        return self._task(base.HOST, name, run, options)

    def light(self, name, run=None, **options):
        """A short function of the host, for the thread that finds it ready. It must not wait."""
        return self._task(base.LIGHT, name, run, options)

    def join(self, name, **options):
        """A task without work, which joins others."""
        return self._submit(base.JOIN, name, None, **options)

    def _task(self, kind, name, function, options):
        if function is None:
            return lambda function: self._submit(kind, name, function, **options)
        return self._submit(kind, name, function, **options)

    def _submit(
        self, kind, name, function, after=(), after_launch=(), priority=0, held=0, named=False, retries=0,
        room_timeout=0,
    ):
        after, after_launch = base.listed(after), base.listed(after_launch)

        def submit(timeout_ns):
            spec, work = base.described(kind, name, function, after)
            spec.priority, spec.references, spec.is_named, spec.retries = priority, held, named, retries
            spec.after_launch, spec.after_launch_count = base.handles_of(after_launch)
            spec.room_timeout_ns = timeout_ns
            return Task("submit", self._handle, spec, work=work, name=name, given=spec.given)

        return calls.with_room(room_timeout, submit)

    def pipeline(self, name, size, **options):
        """A pipeline of frames of `size` bytes (`overtake_gpu.Pipeline`), whose copies and tasks are of this set."""
        return Pipeline(self, name, size, **options)

    def named(self, name):
        """The task to which others refer by this name, before it is submitted (`named=True`)."""
        return Task("tasks_named", self._handle, name.encode(), name=name)

    @contextlib.contextmanager
    def group(self):
        """Collects the tasks of the device that are submitted in the block; they start when it ends. `as group` gives
        two tasks to come after: `group.before` ends before they start, `group.behind` when they have been launched."""
        try:
            calls.call("group_begin", self._handle)
        except Error:
            raise
        except BaseException:  # it may have come behind the call
            calls.functions["group_end"](self._handle)
            raise
        try:
            yield Group(self)
        finally:
            calls.call("group_end", self._handle)

    def wait(self, timeout=None):
        """Waits until all tasks of the set have ended. Raises the first failure of one, and `TimeoutError` if some have
        not ended after `timeout` seconds."""
        calls.wait("tasks_wait_for", self._handle, timeout)

    def stop(self):
        """From now on submitted tasks wait until the set is started."""
        calls.call("tasks_stop", self._handle)

    def start(self):
        """Starts the tasks that have been submitted since the set was stopped."""
        calls.call("tasks_start", self._handle)


_INVALID_CONTEXT = 201  # of the driver


class Dispatcher(calls.Owner):
    """Runs tasks on the device of the current context, or in the primary contexts of several devices, as CUDA counts
    them (`devices=(0, 1)`), until it is closed or the `with` block ends. Wait for the tasks before: those that have not
    been started by then fail. A parameter of 0 has its default (overtake.h). With `physx_order` the order of ready
    tasks is that of PhysX's task manager, in which priorities are not seen."""

    _is_open = True

    def __init__(self, workers=0, groups=0, lanes=0, tasks_max=0, physx_order=False, devices=None):
        size = ctypes.sizeof(_Options)
        options = _Options(size, groups, lanes, workers, tasks_max, physx_order)
        calls.bind(_prototypes())
        super().__init__()
        # No function may be called in an interpreter that has ended. It is a call of the library's, as a finalizer.
        self._at_exit = functools.partial(calls.functions["dispatcher_close"], self._place)
        atexit.register(self._at_exit)
        try:
            if devices is None:
                self._open_in_context(options)
                self.devices = (_current_device(),)
            else:
                contexts, self.devices = _primary_contexts(devices), tuple(devices)
                self._make("dispatcher_open_on", contexts, len(contexts), ctypes.byref(options))
        except BaseException:
            self.close()
            raise

    def _open_in_context(self, options):
        try:
            self._make("dispatcher_open", ctypes.byref(options))
        except Error as error:
            if error.code != _INVALID_CONTEXT:
                raise
            cure = ", or name the devices: overtake_gpu.Dispatcher(devices=[0])"
            raise Error(error.code, error.name, error.text + cure) from None

    def __repr__(self):
        devices = f"devices {self.devices}" if self._is_open else "no device: it is closed"
        return f"<overtake_gpu.Dispatcher on {devices}>"

    def tasks(self, name=None):
        """A new set of tasks. Several may share the dispatcher."""
        return Tasks(self, name)

    def arrays(self, **options):
        """A new set of arrays (`overtake_gpu.Arrays`), with their computations."""
        return Arrays(self, **options)

    def statistics(self):
        """The counts so far, as a dict of numbers."""
        counts = _Statistics(struct_size=ctypes.sizeof(_Statistics))
        calls.call("dispatcher_read_statistics", self._handle, ctypes.byref(counts))
        return {name: getattr(counts, name) for name, _ in _Statistics._fields_ if name != "struct_size"}

    def dot(self):
        """A picture of the tasks that have not ended, as text for Graphviz."""
        needed = ctypes.c_size_t(4096)
        while True:
            buffer = ctypes.create_string_buffer(needed.value + needed.value // 2)
            code = calls.functions["dispatcher_dot"](self._handle, buffer, len(buffer), ctypes.byref(needed))
            if code != BUFFER_TOO_SMALL:
                calls.check(code)
                return buffer.value.decode()

    def close(self):
        """Waits for the work on the device and for functions that run, and ends the dispatcher."""
        if self._is_open:
            try:
                if self._handle:
                    calls.call("dispatcher_close", self._handle)
            except Error as error:
                if error.code != INVALID_HANDLE:  # Ctrl-C has come behind an earlier call
                    raise
            self._is_open = False
            atexit.unregister(self._at_exit)

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.close()
        return False


def _current_device():
    """The number of the device of the current context."""
    number = ctypes.c_int()
    code = driver().cuCtxGetDevice(ctypes.byref(number))
    return number.value if code == 0 else 0


def _primary_contexts(devices):
    """Those that PyTorch, CuPy and JAX use. They are kept until the process ends."""
    if not hasattr(devices, "__iter__"):
        raise TypeError(f"devices is {devices!r}: it is a list of their numbers, such as [0]")
    cuda, contexts = driver(), (ctypes.c_void_p * len(devices))()
    for at, device in enumerate(devices):
        place = ctypes.byref(contexts, at * ctypes.sizeof(ctypes.c_void_p))
        code = cuda.cuInit(0) or cuda.cuDevicePrimaryCtxRetain(place, index(device))
        if code != 0:
            raise ValueError(f"device {device} has no context: CUDA's error is {code}")
    return contexts
