"""Tasks, and the lanes in which their functions submit work to the device.

A function for the device gets a `Lane`, and submits its work to the stream of that lane; it runs in the thread that
makes it ready and must not wait. A function of the host runs in a thread of the dispatcher. An exception fails its
task, and `Task.wait` raises `TaskError` with it as the cause. Functions, and all that they refer to, are kept until the
task has ended. While Python code runs it holds the interpreter's lock, and calls that wait release it.
"""

import contextlib
import ctypes
import types

from . import _calls as calls, _exchange as exchange
from ._lib import BY_ADDRESSES, Error, TaskError

UPLOAD, KERNEL, DOWNLOAD, HOST, LIGHT, JOIN = range(1, 7)

LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)
RUN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_size_t)


class Spec(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("kind", ctypes.c_int),
        ("name", ctypes.c_char_p),
        ("priority", ctypes.c_int),
        ("references", ctypes.c_uint32),
        ("is_named", ctypes.c_uint32),
        ("retries", ctypes.c_uint32),
        ("launch", LAUNCH),
        ("run", RUN),
        ("data", ctypes.c_size_t),
        ("free_data", calls.FREE),
        ("after", ctypes.POINTER(ctypes.c_void_p)),
        ("after_count", ctypes.c_size_t),
        ("after_launch", ctypes.POINTER(ctypes.c_void_p)),
        ("after_launch_count", ctypes.c_size_t),
        ("room_timeout_ns", ctypes.c_int64),
    ]
    given = None  # for the call that is given the function


def prototypes():
    """Those of tasks and lanes."""
    number, handle = ctypes.c_int, ctypes.c_void_p
    place, unsigned, level = (ctypes.POINTER(kind) for kind in (handle, ctypes.c_uint32, number))
    return {
        "task_wait_for": [handle, ctypes.c_int64, level],
        "task_is_done": [handle, level],
        "task_cancel": [handle, level],
        "task_when_done": [handle, RUN, ctypes.c_size_t, calls.FREE],
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

    def copy(self, target, source, size, kind=BY_ADDRESSES):
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

    __class_getitem__ = classmethod(types.GenericAlias)  # Task[int], as a type, is one whose result is an int

    def __init__(self, call, *arguments, work=None, name=None, given=None):
        super().__init__()
        self._name, self._work, self._is_over, self._failure, self._awaited = name, work, False, None, {}
        self._make(call, *arguments, given=given)

    def __repr__(self):
        name = "" if self._name is None else f" {self._name!r}"
        try:
            state = "failed" if self._failure else "ended" if self.done() else "not ended"
        except Error:  # its dispatcher is closed
            state = "closed"
        return f"<overtake_gpu.Task{name}: {state}>"

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
        given = calls.keep(lambda *_: function(self), calls.Work())
        free = calls.functions["free_kept"]
        calls.call("task_when_done", self._handle, calls.answering("run", RUN), given.address, free, given)

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
        for other in listed(others):
            calls.call("task_before", self._handle, other._handle)

    def succeed(self, *others):
        """This task, which has not started, comes after these."""
        for other in listed(others):
            other.precede(self)


def listed(tasks):
    """They may be an iterator, which gives them once. One task is a list of one."""
    found = [tasks] if isinstance(tasks, Task) or not hasattr(tasks, "__iter__") else list(tasks)
    for each in found:
        if not isinstance(each, Task):
            raise TypeError(f"a task comes after tasks, and {each!r} is none")
    return found


def handles_of(tasks):
    """The array of their handles, which keeps the tasks, and its length; null for none."""
    tasks = listed(tasks)
    if not tasks:
        return None, 0
    handles = (ctypes.c_void_p * len(tasks))(*(task._handle for task in tasks))
    handles.kept = tasks
    return handles, len(tasks)  # a structure takes it as a pointer; `ctypes.cast` would have it refer to itself


def described(kind, name, function, after):
    """A task for a call that submits it, with what that is given, and its work."""
    spec, work = Spec(ctypes.sizeof(Spec), kind, calls.encoded(name)), None
    spec.after, spec.after_count = handles_of(after)
    if function is not None:
        work = calls.Work()
        calls.function_of(name, function)
        if kind in (HOST, LIGHT):
            given, spec.run = lambda *_: function(), calls.answering("run", RUN)
        else:
            given, spec.launch = lambda lane, *_: function(Lane(lane)), calls.answering("launch", LAUNCH)
        spec.given = calls.keep(given, work)
        spec.data, spec.free_data = spec.given.address, calls.functions["free_kept"]
    return spec, work
