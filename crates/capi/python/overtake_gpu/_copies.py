"""Priorities of copies: of a thread, of a stream, of one copy; and queues of many small copies."""

import atexit
import ctypes
import functools
import json
import logging
from contextlib import ContextDecorator
from operator import index

from . import _calls as calls, _lib
from ._lib import BY_ADDRESSES, BY_RULES, LOG_CALLBACK, Error, check, deployment, need

_LEVELS = {1: logging.ERROR, 2: logging.WARNING, 3: logging.INFO, 4: logging.DEBUG}
# Those that the library may call, by their functions. No lock is around the call that sets one, as that waits for the
# end of the earlier one.
_listeners = {}


def available():
    """Whether the library is there. This does not depend on a GPU."""
    return _lib.load() is not None


def version():
    """The library's version, or None without it."""
    library = _lib.load()
    return library.overtake_version_text().decode() if library else None


def priorities(strict=False):
    """The number of priorities, which count from 1 (bulk) up to it; 0 without the library."""
    library = need(strict)
    return library.overtake_priorities() if library else 0


def open(options=None, strict=False):
    """Makes the layer ready for the current context now, instead of at the first copies. `options` is TOML."""
    library = need(strict)
    if library:
        check(library, library.overtake_open(None if options is None else options.encode()))


def close(strict=False):
    """Frees the layer's state for the current context."""
    library = need(strict)
    if library:
        check(library, library.overtake_close())


class _Leave:
    """The `__exit__` of `priority`. It is no function of Python's, which Ctrl-C could end before its first statement. A
    `with` statement asks for it before it enters, and `contextlib.ExitStack` asks the class, and gives the object."""

    def __get__(self, scope, kind=None):
        library = _lib.load()
        if library is None:
            return lambda *_: False
        given = [ctypes.py_object] * (4 if scope is None else 3)
        return ctypes.CFUNCTYPE(None, *given)(("overtake_pop_priority", library))  # it takes none of them


class priority(ContextDecorator):
    """A scope, or a decorator, in which every copy of the calling thread has this priority; 0 leaves it to the rules.
    Scopes nest, and one object may serve several threads: each thread has its own scopes."""

    def __init__(self, level, strict=False):
        self.level = index(level)
        self.strict = strict

    def __repr__(self):
        return f"overtake_gpu.priority({self.level})"

    def __enter__(self):
        library = need(self.strict)
        if library:
            if deployment() == "c":
                _lib.say_once(
                    "overtake: this process does not run under the drop-in, so the copies of PyTorch, CuPy and other "
                    "libraries are not seen: start it with `overtake run -- python ...`"
                )
            pushed = []
            try:
                noted = _lib.Also(functools.partial(pushed.append, True))
                check(library, library.overtake_push_priority(self.level, noted))
            except Error:
                raise
            except BaseException:  # it may have come behind the call
                if pushed:
                    library.overtake_pop_priority()
                raise
        return self

    __exit__ = _Leave()


def stream_handle(stream):
    """The CUstream of a torch.cuda.Stream, a cupy.cuda.Stream, a numba stream, an object with `__cuda_stream__`, or an
    int; None is the legacy default stream."""
    if stream is None:
        return 0
    if hasattr(stream, "__index__"):
        return index(stream)
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return int((protocol() if callable(protocol) else protocol)[1])
    for name in ("cuda_stream", "ptr", "handle"):
        handle = getattr(stream, name, None)
        if handle is not None:
            return int(getattr(handle, "value", handle) or 0)
    raise TypeError(f"{type(stream).__name__} is no CUDA stream: pass its handle as an int")


def set_stream_priority(stream, level, strict=False):
    """Gives later copies of a stream a priority. 0 takes it away: do that before the stream is destroyed."""
    library = need(strict)
    if library:
        check(library, library.overtake_set_stream_priority(stream_handle(stream), level))


def stream_priority(stream, strict=False):
    """The priority of a stream's copies; 0 where rules and sizes decide, and without the library."""
    library = need(strict)
    if library is None:
        return BY_RULES
    level = ctypes.c_int(BY_RULES)
    check(library, library.overtake_stream_priority(stream_handle(stream), ctypes.byref(level)))
    return level.value


def memcpy_async(target, source, size, stream=None, level=BY_RULES, kind=BY_ADDRESSES):
    """One copy between two addresses, as cudaMemcpyAsync with a priority. Without the library it raises `Unavailable`
    and copies nothing."""
    library = need(strict=True)
    check(library, library.overtake_memcpy_async(target, source, size, kind, stream_handle(stream), level))


class CopyQueue(calls.Owner):
    """Many small copies and sets in one launch; `reserve` is the number of copies of 4 KiB that one has room for. They
    have no order among them, and all later work of the stream comes after them.

        with overtake_gpu.CopyQueue(stream, 1, 1000) as queue:
            queue.copy(target, source, 4096)

    One that the program loses takes what it has not launched with it. Without the library it raises `Unavailable`."""

    def __init__(self, stream, level, reserve):
        self._library = need(strict=True)
        calls.bind({})
        super().__init__()
        opened = ctypes.byref(self._place)
        check(self._library, self._library.overtake_copy_queue_open(stream_handle(stream), level, reserve, opened))

    def copy(self, target, source, size, kind=BY_ADDRESSES):
        """Queues a copy between two addresses. The memory stays valid until the stream has passed the flush."""
        check(self._library, self._library.overtake_copy_queue_copy(self._place, target, source, size, kind))

    def set(self, target, value, size):
        """Queues a set: bytes of the device become the 4 bytes of `value`, repeated."""
        check(self._library, self._library.overtake_copy_queue_set(self._place, target, value, size))

    def literal(self):
        """Refuses addresses and sizes from now on that are no multiples of 4, as PhysX does."""
        check(self._library, self._library.overtake_copy_queue_literal(self._place))

    def flush(self):
        """Launches all that was queued since the last flush."""
        check(self._library, self._library.overtake_copy_queue_flush(self._place))

    def close(self):
        """Flushes the queue and frees it: before its stream is destroyed. Later calls are refused, this one too."""
        check(self._library, self._library.overtake_copy_queue_close(self._place))
        self._forget()

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.close()


def set_log_callback(function, strict=False):
    """Calls `function(level, text)` for each message, with a level of the module `logging`; None: standard error again.
    OVERTAKE_LOG sets the level (off, error, warn, info, debug). The function is called on a thread of its own. To have
    messages in a logger: `overtake_gpu.set_log_callback(logging.getLogger("overtake").log)`."""
    library = need(strict)
    if library is None:
        return

    def tell(_, __, text, ___, level):
        try:
            function(_LEVELS.get(level[0], logging.ERROR), ctypes.string_at(text).decode(errors="replace"))
        except Exception:  # no frame above this one could handle it
            pass

    calls.bind({})
    call = LOG_CALLBACK() if function is None else calls.answering("log", LOG_CALLBACK)
    listener = calls.Answering(calls.ANSWERING(tell), calls.FREE())
    if not _listeners:  # no message may reach an interpreter that has ended
        atexit.register(library.overtake_set_log_callback, LOG_CALLBACK(), None)
    before = [each for each in list(_listeners) if hasattr(each, "is_set")]
    kept = _lib.Also(functools.partial(_listeners.__setitem__, tell, listener))
    check(library, library.overtake_set_log_callback(call, ctypes.byref(listener), kept))
    tell.is_set = True
    for each in before:
        _listeners.pop(each, None)  # it is no longer called


def set_rules(rules, strict=False):
    """Replaces the rules of the process by those of a TOML text."""
    library = need(strict)
    if library:
        check(library, library.overtake_set_rules(rules.encode()))


def statistics(strict=False):
    """The counts of this process so far, as a dict of numbers; empty without the library."""
    library = need(strict)
    if library is None:
        return {}
    sums = _lib.Statistics(struct_size=ctypes.sizeof(_lib.Statistics))
    check(library, library.overtake_read_statistics(ctypes.byref(sums)))
    return {name: getattr(sums, name) for name, _ in _lib.Statistics._fields_ if name != "struct_size"}


def report(strict=False):
    """The report of this process, as a dict; empty without the library."""
    library = need(strict)
    if library is None:
        return {}
    needed = ctypes.c_size_t(4096)
    while True:
        buffer = ctypes.create_string_buffer(needed.value + 256)
        code = library.overtake_report_json(buffer, len(buffer), ctypes.byref(needed))
        if code != _lib.BUFFER_TOO_SMALL:
            check(library, code)
            return json.loads(buffer.value)
