"""How tasks, arrays and pipelines call the library: functions by name, errors, waits that Ctrl-C ends, and functions of
tasks.

An exception may come between any two statements of the main thread: Ctrl-C is one. In a function of a task no frame
above it could handle it, so the library fails the task (`overtake_answer_...`), and the exception is raised again when
the call of the main thread that ran the function returns.
"""

import contextlib
import ctypes
import functools
import gc
import math
import os
import sys
import threading
import time
import weakref

from . import _lib
from ._lib import Ended, Error, FrameError, TaskError

REFUSED, WOULD_BLOCK, TASK_FAILED, TASK_NOT_RUN, TIMEOUT, ENDED, FRAME_FAILED = -10, -11, -13, -14, -16, -17, -18


class TimedOut(TimeoutError):
    """The library's own. The program may raise `TimeoutError` in the middle of a call, from the handler of a signal:
    that one is never taken for it, as a call that has succeeded would be made again."""

    code = TIMEOUT


_KINDS = {
    **{TASK_FAILED: TaskError, TASK_NOT_RUN: TaskError},
    **{TIMEOUT: TimedOut, ENDED: Ended, FRAME_FAILED: FrameError},
}

functions = {}
_watches_forks = False


def bind(prototypes):
    """Looks these functions of the library up. Two threads may do the same: the child of a fork could find a lock
    taken."""
    global _watches_forks
    library = _lib.need(strict=True)
    functions.update(last_error=library.overtake_last_error, error_name=library.overtake_error_name)
    for each, arguments in {**_PROTOTYPES, **prototypes}.items():
        found = getattr(library, "overtake_" + each, None)
        if found is None:
            text = f"{_lib.LIBRARY_NAME} is too old, it has no overtake_{each}: install a newer one"
            raise _lib.Unavailable(text)
        found.restype, found.argtypes = ctypes.c_int, arguments
        functions[each] = found
    functions["free_kept"] = answering("free", FREE)
    if not _watches_forks:
        os.register_at_fork(before=functions["before_fork"], after_in_parent=functions["after_fork"])
        _watches_forks = True


def call(name, *arguments):
    """A call without a result that would be lost if an exception came behind it."""
    check(functions[name](*arguments))
    raise_interrupt()


def check(code):
    """Raises the failure of a call. An exception that has ended a function of a task meanwhile goes before it."""
    if code:
        text = functions["last_error"]().decode(errors="replace")
        raise_interrupt()
        kind = _KINDS.get(code, Error)
        raise kind(text) if kind is TimedOut else kind(code, functions["error_name"](code).decode(), text)


def made(name, *arguments, kind=ctypes.c_void_p, given=None):
    """A number that a call writes behind its last argument."""
    result = kind()
    check(functions[name](*arguments, ctypes.byref(result), given))
    return result.value


class Owner(_lib.Finalized):
    """An object with a handle. It is there before the call that makes the handle, which writes it into the object: an
    exception that comes behind the call loses nothing, and the end of the object frees it."""

    def __init__(self):
        self._place, self._is_ending = ctypes.c_void_p(), False
        self._let_go = functools.partial(functions["let_go"], ctypes.byref(self._place))

    def _make(self, name, *arguments, given=None):
        """Has a call make it. What has ended a function of a task meanwhile is raised later: before the call, what the
        call is given and frees would be lost."""
        check(functions[name](*arguments, ctypes.byref(self._place), given))

    @property
    def _handle(self):
        return self._place.value

    def _end(self, name):
        """Has a call free it. This may be done again when Ctrl-C has come behind the call."""
        was_ending, ends = self._is_ending, functools.partial(setattr, self, "_is_ending", True)
        try:
            call(name, self._handle, _lib.Also(ends))
        except Error as error:
            if not was_ending or error.code != _lib.INVALID_HANDLE:
                self._is_ending = False  # this answer has been told
                raise
        self._forget()

    def _forget(self):
        """A call has freed it."""
        self._place.value = None

    def __reduce__(self):
        raise TypeError(f"{self!r} can be neither copied nor pickled: it is one of the library's")


def ns(name, seconds):
    """A span in nanoseconds, as long as the library has them."""
    if seconds < 0:
        raise ValueError(f"{name} is {seconds} s: it is 0 or more")
    return (1 << 63) - 1 if seconds >= 1 << 33 else round(seconds * 1e9)


def encoded(name):
    """The name of a task, for the library."""
    if not isinstance(name, str):
        raise TypeError(f"the name of a task is a text, and {name!r} is none")
    return name.encode()


def function_of(name, function):
    """The function of a task, which is refused where it is given, and not where it is called."""
    if not callable(function):
        raise TypeError(f"task {name!r} has no function: {function!r} cannot be called")
    return function


def number_of(name, words, word):
    """The library's number of a word."""
    if word not in words:
        raise ValueError(f"{name} is {word!r}: it is one of {', '.join(words)}")
    return words[word]


# References to the accesses that are there.
accesses = set()


def collect_lost():
    """An access that nobody has any more, but that is a part of a cycle of references, holds up what is waited for.
    Returns whether one could be lost."""
    there = (reference() for reference in list(accesses))
    is_any = any(access is not None and access._handle for access in there)
    if is_any:
        gc.collect()
    return is_any


# A signal is handled between two of them.
_SLICE = 0.05
_COLLECTS_AFTER = 1.0


def slices(timeout):
    """The times, in nanoseconds, of calls that wait so many seconds together, and whether each is the last. Python
    handles Ctrl-C only between two calls. Past deadlines are looked at once; None is for ever."""
    if timeout is not None and math.isnan(timeout):
        raise ValueError("timeout is no number")
    begin, collects = time.monotonic(), True
    until = math.inf if timeout is None else begin + timeout
    while True:
        if collects and time.monotonic() - begin > _COLLECTS_AFTER:
            collects = False
            collect_lost()
        left = until - time.monotonic()
        yield ns("timeout", max(0, min(left, _SLICE))), left <= _SLICE
        if left <= _SLICE:
            return


def with_room(timeout, submit, waits=(WOULD_BLOCK, TIMEOUT)):
    """Submits, in a full dispatcher or on a full device when there is room. `submit(timeout_ns)` waits for that itself,
    for so long, and then fails with one of these: what it does not wait for is not asked for again."""
    for left_ns, is_last in slices(timeout):
        try:
            return submit(left_ns)
        except (Error, TimedOut) as error:
            if is_last or error.code not in waits:
                raise


def wait(name, handle, timeout=None):
    """Waits until the call says so, and returns what it says. Raises `TimeoutError` if that takes longer than so many
    seconds."""
    for left_ns, _ in slices(timeout):
        raise_interrupt()
        found = made(name, handle, left_ns, kind=ctypes.c_int)
        if found:
            return found
    raise TimeoutError(f"overtake_{name}: it has not ended within {timeout} s")


def take_away(view):
    """Releases a memoryview at the end of the time in which its memory means something. Returns whether a part of it,
    or an array over it, is kept."""
    try:
        memory = weakref.ref(view.obj)
    except ValueError:
        return False  # the program has released it
    with contextlib.suppress(BufferError):  # of an array over it
        view.release()
    return memory() is not None


def refuse_kept(is_kept):
    if is_kept:
        text = "a memoryview or an array over the memory is kept, which may have other contents now: copy what is to "
        raise BufferError(text + "stay, and del the rest before")


# What has ended functions of tasks in the main thread, and the number of those that could not even say so.
_interrupts = []
_unanswered = ctypes.c_uint32()


def raise_interrupt():
    is_any = _interrupts or _unanswered.value
    if is_any and threading.current_thread() is threading.main_thread() and not _is_in_function():
        _unanswered.value = 0
        raise _interrupts.pop(0) if _interrupts else KeyboardInterrupt("it has ended the function of a task")


def _is_in_function():
    """Whether the thread runs a function of a task: that of another one is none of it."""
    frame = sys._getframe()
    while frame is not None and frame.f_code is not _answered.__code__:
        frame = frame.f_back
    return frame is not None


def note(error):
    """An exception has ended a function. If it is one for the program as a whole, the main thread raises it again."""
    is_own = isinstance(error, Exception) or threading.current_thread() is not threading.main_thread()
    if not is_own:
        _interrupts.append(error)


def _text_of(error):
    try:
        return str(error) if isinstance(error, Error) else f"{type(error).__name__}: {error}"
    except Exception:
        return f"{type(error).__name__}, whose text cannot be made"


def structure(name, *fields):
    """A structure of the library's, which begins with its size."""
    return type(name, (ctypes.Structure,), {"_fields_": [("struct_size", ctypes.c_uint32), *fields]})


class Work:
    """The end of the function of a task, and of those of a frame that it belongs to."""

    value, error, frame = None, None, None

    def fail(self, error):
        self.error = error
        if self.frame:
            self.frame.error = self.frame.error or error  # its first


FREE = ctypes.CFUNCTYPE(None, ctypes.c_size_t)
_size, _pointers = ctypes.c_size_t, ctypes.POINTER(ctypes.c_void_p)
ANSWERING = ctypes.CFUNCTYPE(None, ctypes.c_void_p, _pointers, _size, _size, ctypes.POINTER(ctypes.c_int))


# How threads of the library enter it: struct overtake_interpreter.
_ENTRY = [getattr(ctypes.pythonapi, "PyGILState_" + name) for name in ("GetThisThreadState", "Ensure", "Release")]
_interpreter = (ctypes.c_void_p * 3)(*(ctypes.cast(each, ctypes.c_void_p).value for each in _ENTRY))


class Answering(ctypes.Structure):
    """struct overtake_answering. It keeps what it points at."""

    _fields_ = [("call", ANSWERING), ("unanswered", ctypes.POINTER(ctypes.c_uint32)), ("free", FREE)]
    _fields_ += [("interpreter", ctypes.POINTER(ctypes.c_void_p * 3))]

    def __init__(self, call, free):
        super().__init__(call, ctypes.pointer(_unanswered), free, ctypes.pointer(_interpreter))


class Kept(Answering):
    """What the library keeps until it frees it, by its address: a function of a task, which gets the lane, the
    addresses of its arrays and the arguments of its template, or another object."""

    def __init__(self, function, work=None):
        super().__init__(_answer, _free)
        self.function, self.work = function, work

    def answer(self, lane, addresses, arguments):
        work = self.work or alive[arguments].work  # a step's is that of the replay, which keeps its first error
        try:
            value = self.function(lane, addresses, arguments)
            if work is self.work:
                work.value, work.error = value, None
            return 0
        except BaseException as error:  # no frame above this one could handle it
            work.fail(error if work is self.work else work.error or error)
            note(error)
            functions["set_last_error"](_text_of(error).replace("\0", " ").encode(errors="replace"))
            return TASK_FAILED
        finally:
            self = work = None  # the error has this frame, and they have the error


def _answered(lane, addresses, arguments, data, answer):
    try:
        answer[0] = alive[data].answer(lane, addresses, arguments)
    except BaseException as error:  # it came while another one was noted
        note(error)
        answer[0] = TASK_FAILED


_answer = ANSWERING(_answered)

# By their addresses.
alive = {}
# Not a function of Python's: an exception could come before its first statement, and then nothing would be freed.
_free = FREE(alive.pop)


class Given(_lib.Also):
    """The last argument of the call from which on the library keeps something, until it frees it: also if the call
    fails."""

    def __init__(self, kept):
        self.address = ctypes.addressof(kept)
        super().__init__(functools.partial(alive.__setitem__, self.address, kept))


def keep(function, work=None):
    """What the library is to keep, by its address, until it calls `free_kept`."""
    raise_interrupt()
    return Given(Kept(function, work))


def answering(name, kind):
    """The function of the library that calls `_answer`, by the type that a structure has for it."""
    return ctypes.cast(functions["answer_" + name], kind)


_PROTOTYPES = {
    "set_last_error": [ctypes.c_char_p],
    "let_go": [_pointers],
    **dict.fromkeys(("before_fork", "after_fork"), []),
    **{f"answer_{name}": None for name in ("launch", "run", "launch_uses", "run_uses", "launch_step", "run_step")},
    **dict.fromkeys(("answer_free", "answer_log", "capsule_delete", "capsule_destroy"), None),
}
