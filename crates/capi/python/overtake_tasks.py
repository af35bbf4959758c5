"""Tasks from Python: functions with an order between them, on the device and on the host.

    import overtake

    with overtake.Dispatcher() as dispatcher:
        tasks = dispatcher.tasks()
        up = tasks.upload("upload", lambda lane: lane.copy(device, source, size))
        down = tasks.download("download", lambda lane: lane.copy(target, device, size), after=[up], priority=5)
        checksum = tasks.host("checksum", lambda: zlib.crc32(view), after=[down])
        print(checksum.result())

The names are those of `overtake`: this module is imported when one of them is used. A function for the device gets a
`Lane`, and submits its work to the stream of that lane; it runs in the thread that makes it ready and must not wait. A
function of the host runs in a thread of the dispatcher. An exception fails its task, and `Task.wait` raises `TaskError`
with it as the cause. Functions, and all that they refer to, are kept until the task has ended. While Python code runs
it holds the interpreter's lock, and calls that wait release it.
"""

import atexit
import contextlib
import ctypes
import types

import overtake
import overtake_calls as calls
import overtake_exchange as exchange
from overtake_calls import TaskError

__all__ = ["Dispatcher", "Lane", "Task", "TaskError", "Tasks"]

_UPLOAD, _KERNEL, _DOWNLOAD, _HOST, _LIGHT, _JOIN = range(1, 7)

_LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)
_RUN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_size_t)


class _Options(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_uint32)
        for name in ("struct_size", "groups", "lanes", "workers", "tasks_max", "order", "lane_tasks_max")
    ]


class _Statistics(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("is_device_lost", ctypes.c_uint32)] + [
        (name, ctypes.c_uint64)
        for name in (
            *("launches", "functions", "joins", "marks", "tasks"),
            *("lifts", "captures_ended", "joins_saved", "held_back"),
            *("graph_launches", "graph_fallbacks"),
        )
    ]


class _Spec(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("kind", ctypes.c_int),
        ("name", ctypes.c_char_p),
        ("priority", ctypes.c_int),
        ("references", ctypes.c_uint32),
        ("is_named", ctypes.c_uint32),
        ("retries", ctypes.c_uint32),
        ("launch", _LAUNCH),
        ("run", _RUN),
        ("data", ctypes.c_size_t),
        ("free_data", calls.FREE),
        ("after", ctypes.POINTER(ctypes.c_void_p)),
        ("after_count", ctypes.c_size_t),
        ("after_launch", ctypes.POINTER(ctypes.c_void_p)),
        ("after_launch_count", ctypes.c_size_t),
        ("room_timeout_ns", ctypes.c_int64),
    ]


def _prototypes():
    number, handle, text = ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p
    place, unsigned, level = (ctypes.POINTER(kind) for kind in (handle, ctypes.c_uint32, number))
    return {
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
        "submit": [handle, ctypes.POINTER(_Spec), place],
        "task_wait_for": [handle, ctypes.c_int64, level],
        "task_is_done": [handle, level],
        "task_cancel": [handle, level],
        "task_when_done": [handle, _RUN, ctypes.c_size_t, calls.FREE],
        "task_hold": [handle],
        "task_release": [handle],
        "task_raise": [handle, number],
        "task_before": [handle, handle],
        "task_free": [handle],
        "lane_stream": [handle, place],
        "lane_device": [handle, unsigned],
        "lane_turn": [handle, unsigned],
        "lane_priority": [handle, level],
        "lane_copy": [handle, handle, handle, ctypes.c_size_t, number],
        "lane_again": [handle],
        "lane_sync_point": [handle],
        "lane_completes": [handle, handle],
    }


class Lane:
    """The inside of a launch. It is valid during the call of the function."""

    def __init__(self, handle):
        self._handle, self._streams = handle, set()

    @property
    def stream(self):
        """The CUstream, as an int, in which the task's work goes: for kernel launches and calls of libraries."""
        return calls.made("lane_stream", self._handle) or 0

    @property
    def device(self):
        """The device, by its number among those of the dispatcher."""
        return calls.made("lane_device", self._handle, kind=ctypes.c_uint32)

    @property
    def turn(self):
        """How often the function has been called before for this task."""
        return calls.made("lane_turn", self._handle, kind=ctypes.c_uint32)

    @property
    def priority(self):
        """The task's priority, the inherited one included."""
        return calls.made("lane_priority", self._handle, kind=ctypes.c_int)

    def copy(self, target, source, size, kind=overtake.BY_ADDRESSES):
        """Copies between two addresses, at the priority of the task. Keep the memory until the task has ended."""
        calls.call("lane_copy", self._handle, target, source, size, kind)

    def again(self):
        """The function is to be called again, after the other tasks that are ready."""
        calls.call("lane_again", self._handle)

    def sync_point(self):
        """All that is submitted to the device later waits for all that has been submitted by now."""
        calls.call("lane_sync_point", self._handle)

    def follow_streams(self):
        """Has the stream of the lane wait for those that libraries have used for views."""
        streams, self._streams = self._streams, set()
        for stream in streams:
            exchange.order(stream, self.stream)

    def lend(self, stream):
        """A library uses memory of the lane in a stream of its own."""
        if stream != self.stream:
            exchange.order(self.stream, stream)
            self._streams.add(stream)

    def completes(self, other):
        """Another task, which is held, waits until this one is complete."""
        calls.call("lane_completes", self._handle, other._handle)


class Task(calls.Owner):
    """A submitted task. Its methods have the names of `concurrent.futures.Future`, and a coroutine may `await` it."""

    _freed_by = "task_free"
    __class_getitem__ = classmethod(types.GenericAlias)  # Task[int], as a type, is one whose result is an int

    def __init__(self, name, *arguments, work=None):
        super().__init__()
        self._work, self._is_over, self._failure, self._awaited = work, False, None, {}
        self._make(name, *arguments)

    def wait(self, timeout=None):
        """Waits until the task has ended. Raises `TaskError` if it has failed or was not run, and `TimeoutError` if it
        has not ended after `timeout` seconds: it goes on then."""
        if not self._is_over:
            try:
                calls.wait("task_wait_for", self._handle, timeout)
            except TaskError as error:
                self._failure = error.code, error.name, error.text
            self._is_over = True
        if self._failure:
            raise TaskError(*self._failure) from (self._work and self._work.error)

    def result(self, timeout=None):
        """Waits, and returns the value that the function has returned."""
        self.wait(timeout)
        return self._work and self._work.value

    def exception(self, timeout=None):
        """Waits, and returns the `TaskError` that `result` raises; `None` if the task has not failed."""
        try:
            self.wait(timeout)
        except TaskError as error:
            return error
        return None

    def __await__(self):
        """In asyncio: as `result`, and other coroutines run meanwhile. No thread waits for it. To cancel a coroutine
        that awaits the task, by a timeout say, leaves the task alone."""
        if not self.done():
            yield from self._end().__await__()
        return self.result(0)

    def _end(self):
        """A future of the running loop that has a result when the task has ended. The loop has one listener."""
        import asyncio

        loop = asyncio.get_running_loop()
        future, futures = loop.create_future(), self._awaited.get(loop)
        if futures is None:
            futures = self._awaited[loop] = set()
            self.add_done_callback(lambda _: self._tell(loop))
        futures.add(future)
        future.add_done_callback(futures.discard)  # a timeout has ended it
        return future

    def _tell(self, loop):
        with contextlib.suppress(TaskError):
            self.wait(0)  # the dispatcher may be closed before the loop goes on
        futures = self._awaited.pop(loop)

        def tell():
            for future in list(futures):
                future.done() or future.set_result(None)

        with contextlib.suppress(RuntimeError):  # the loop has been closed meanwhile
            loop.call_soon_threadsafe(tell)

    def done(self):
        """Whether it has ended, one way or the other."""
        return self._is_over or bool(calls.made("task_is_done", self._handle, kind=ctypes.c_int))

    def add_done_callback(self, function):
        """Calls `function(task)` when the task has ended, in the thread that sees it end, or at once if it has ended
        before. It must not wait. The library's log tells of an exception."""
        kept = calls.keep(lambda *_: function(self), calls.Work())
        calls.call("task_when_done", self._handle, calls.answering("run", _RUN), kept, calls.free_kept)

    def cancel(self):
        """Leaves the task out, if it has not started: `wait` then raises `TaskError`, as for those after it. Returns
        whether that is so. Tasks before it go on, so their memory is still in use."""
        return bool(calls.made("task_cancel", self._handle, kind=ctypes.c_int))

    def cancelled(self):
        """Whether `cancel` has left it out. Those after it have failed, as tasks that were not run."""
        failure = self.exception(0) if self.done() else None
        text = failure.text if failure else ""  # its words are the same in all languages
        return text.endswith(" was not run: it was cancelled") and '" failed: ' not in text

    def hold(self):
        """One more reference: the task does not start until it is released."""
        calls.call("task_hold", self._handle)

    def release(self):
        """Releases a reference."""
        calls.call("task_release", self._handle)

    def set_priority(self, level):
        """Gives it another priority of its own. The tasks before it inherit it."""
        calls.call("task_raise", self._handle, level)

    def precede(self, *others):
        """These tasks, which have not started, come after this one."""
        for other in others:
            calls.call("task_before", self._handle, other._handle)

    def succeed(self, *others):
        """This task, which has not started, comes after these."""
        for other in others:
            other.precede(self)


def _listed(tasks):
    """They may be an iterator, which gives them once. One task is a list of one."""
    return [tasks] if isinstance(tasks, Task) else list(tasks)


def _handles(tasks):
    """The array of their handles, which keeps the tasks, and its length; null for none."""
    tasks = _listed(tasks)
    if not tasks:
        return None, 0
    handles = (ctypes.c_void_p * len(tasks))(*(task._handle for task in tasks))
    handles.kept = tasks
    return ctypes.cast(handles, ctypes.POINTER(ctypes.c_void_p)), len(tasks)


def _described(kind, name, function, after):
    """A task for a call that submits it, and its work. From here on the library frees it, also if the call fails."""
    spec, work = _Spec(ctypes.sizeof(_Spec), kind, name.encode()), None
    spec.after, spec.after_count = _handles(after)
    if function is not None:
        work = calls.Work()
        if kind in (_HOST, _LIGHT):
            given, spec.run = lambda *_: function(), calls.answering("run", _RUN)
        else:
            given, spec.launch = lambda lane, *_: function(Lane(lane)), calls.answering("launch", _LAUNCH)
        spec.data, spec.free_data = calls.keep(given, work), calls.free_kept
    return spec, work


class Group:
    """The two tasks around a group, from `Tasks.group`."""

    def __init__(self, tasks):
        self.before, self.behind = (Task(name, tasks._handle) for name in ("group_before", "group_behind"))


class Tasks(calls.Owner):
    """A set of tasks. Each method that describes one submits it, and returns a `Task`; without a function it is a
    decorator. The options of all: `after`, a task that it comes after, or several; `after_launch`, those of which only
    the launch must be over; `priority`, from 1 (bulk) up; `held`, the number of references that it is submitted with;
    `named`, whether others refer to it by its name; `retries`, how often `launch` is called again after it has failed,
    which the caller promises it may be; `room_timeout`, for how many seconds the call waits for room in a full
    dispatcher, None for as long as it takes."""

    _freed_by = "tasks_free"

    def __init__(self, dispatcher, name=None):
        super().__init__()
        self._dispatcher = dispatcher
        self._make("tasks_open", dispatcher._handle, name and name.encode())

    def upload(self, name, launch=None, **options):
        """Copies from the host to the device: `launch(lane)`."""
        return self._task(_UPLOAD, name, launch, options)

    def kernel(self, name, launch=None, **options):
        """Runs kernels: `launch(lane)`."""
        return self._task(_KERNEL, name, launch, options)

    def download(self, name, launch=None, **options):
        """Copies from the device to the host: `launch(lane)`."""
        return self._task(_DOWNLOAD, name, launch, options)

    def host(self, name, run=None, **options):
        """A function of the host, `run()`. It starts when the work of the device before it is complete."""
        return self._task(_HOST, name, run, options)

    def light(self, name, run=None, **options):
        """A short function of the host, for the thread that finds it ready. It must not wait."""
        return self._task(_LIGHT, name, run, options)

    def join(self, name, **options):
        """A task without work, which joins others."""
        return self._submit(_JOIN, name, None, **options)

    def _task(self, kind, name, function, options):
        if function is None:
            return lambda function: self._submit(kind, name, function, **options)
        return self._submit(kind, name, function, **options)

    def _submit(
        self, kind, name, function, after=(), after_launch=(), priority=0, held=0, named=False, retries=0,
        room_timeout=0,
    ):
        after, after_launch = _listed(after), _listed(after_launch)
        for left_ns, is_last in calls.slices(room_timeout):
            spec, work = _described(kind, name, function, after)
            spec.priority, spec.references, spec.is_named, spec.retries = priority, held, named, retries
            spec.after_launch, spec.after_launch_count = _handles(after_launch)
            spec.room_timeout_ns = left_ns
            try:
                return Task("submit", self._handle, ctypes.byref(spec), work=work)
            except overtake.Error as error:
                if is_last or error.code != calls.WOULD_BLOCK:
                    raise

    def pipeline(self, name, size, **options):
        """A pipeline of frames of `size` bytes (`overtake.Pipeline`), whose copies and tasks are of this set."""
        return overtake.Pipeline(self, name, size, **options)

    def named(self, name):
        """The task to which others refer by this name, before it is submitted (`named=True`)."""
        return Task("tasks_named", self._handle, name.encode())

    @contextlib.contextmanager
    def group(self):
        """Collects the tasks of the device that are submitted in the block; they start when it ends. `as group` gives
        two tasks to come after: `group.before` ends before they start, `group.behind` when they have been launched."""
        try:
            calls.call("group_begin", self._handle)
        except overtake.Error:
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


# The places of the handles of dispatchers that have not been closed, by their addresses.
_open = {}


@atexit.register
def _close_all():
    """No function may be called in an interpreter that has ended."""
    for place in list(_open.values()):
        with contextlib.suppress(BaseException):  # in the child of a fork; and Ctrl-C leaves none open
            calls.call("dispatcher_close", place.value)


class Dispatcher(calls.Owner):
    """Runs tasks on the device of the current context, or in the primary contexts of several devices, as CUDA counts
    them (`devices=(0, 1)`), until it is closed or the `with` block ends. Wait for the tasks before: those that have not
    been started by then fail. A parameter of 0 has its default (overtake.h). With `physx_order` the order of ready
    tasks is that of PhysX's task manager, in which priorities are not seen."""

    def __init__(
        self, workers=0, groups=0, lanes=0, tasks_max=0, physx_order=False, lane_tasks_max=0, devices=None
    ):
        size = ctypes.sizeof(_Options)
        options = _Options(size, groups, lanes, workers, tasks_max, physx_order, lane_tasks_max)
        calls.bind(_prototypes())
        super().__init__()
        try:
            _open[id(self._place)] = self._place
            if devices is None:
                self._make("dispatcher_open", ctypes.byref(options))
                self.devices = (_current_device(),)
            else:
                contexts, self.devices = _primary_contexts(devices), tuple(devices)
                self._make("dispatcher_open_on", contexts, len(contexts), ctypes.byref(options))
        except BaseException:
            self.close()
            raise

    def tasks(self, name=None):
        """A new set of tasks. Several may share the dispatcher."""
        return Tasks(self, name)

    def arrays(self, **options):
        """A new set of arrays (`overtake.Arrays`), with their computations."""
        return overtake.Arrays(self, **options)

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
            if code != overtake._BUFFER_TOO_SMALL:
                calls.check(code)
                return buffer.value.decode()

    def close(self):
        """Waits for the work on the device and for functions that run, and ends the dispatcher."""
        if id(self._place) in _open:
            if self._handle:
                calls.call("dispatcher_close", self._handle)
            _open.pop(id(self._place), None)

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.close()
        return False


def _current_device():
    """The number of the device of the current context."""
    number = ctypes.c_int()
    code = exchange.driver().cuCtxGetDevice(ctypes.byref(number))
    return number.value if code == 0 else 0


def _primary_contexts(devices):
    """Those that PyTorch, CuPy and JAX use. They are kept until the process ends."""
    cuda, contexts = exchange.driver(), (ctypes.c_void_p * len(devices))()
    for at, device in enumerate(devices):
        place = ctypes.byref(contexts, at * ctypes.sizeof(ctypes.c_void_p))
        code = cuda.cuInit(0) or cuda.cuDevicePrimaryCtxRetain(place, device)
        if code != 0:
            raise ValueError(f"device {device} has no context: CUDA's error is {code}")
    return contexts
