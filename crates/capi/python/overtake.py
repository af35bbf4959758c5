"""Priorities for GPU memory copies, from Python.

    import overtake

    with overtake.priority(5):                    # every copy of this thread is urgent
        on_device.copy_(pinned, non_blocking=True)

    overtake.set_stream_priority(stream, 1)       # a torch.cuda.Stream, a cupy.cuda.Stream, an int: its copies are bulk

Copies that PyTorch, CuPy and other libraries make are seen where the process runs under the drop-in
(`overtake run -- python program.py`); elsewhere only those of `overtake.memcpy_async` have priorities, and the first
`priority` says so. The module needs nothing but the standard library. Without libovertake.so.0 it can be imported all
the same: everything then does nothing and says so once, or raises `Unavailable` if called with `strict=True`.

Functions with an order between them, on the device and on the host: `Dispatcher`, `Tasks` (overtake_tasks.py). Arrays,
whose order and copies follow from their uses: `Arrays` (overtake_arrays.py).

The library is looked for where the variable OVERTAKE_LIBRARY says, then where `cargo xtask install` put it, then by the
loader. A priority belongs to a thread: in a coroutine do not `await` inside `with overtake.priority(...)`.
"""

import atexit
import ctypes
import json
import logging
import os
import pathlib
import threading
import warnings
from contextlib import ContextDecorator

# Without `open`: `from overtake import *` leaves the built-in function of that name as it is.
__all__ = [
    "Admission",
    "Array",
    "Arrays",
    "Consumer",
    "CopyQueue",
    "Dispatcher",
    "Ended",
    "Error",
    "Frame",
    "FrameError",
    "Kernel",
    "Lane",
    "Pipeline",
    "Producer",
    "Step",
    "Task",
    "TaskError",
    "Tasks",
    "Template",
    "Unavailable",
    "Use",
    "available",
    "close",
    "deployment",
    "discard",
    "memcpy_async",
    "priorities",
    "priority",
    "read",
    "read_write",
    "reduce",
    "relaxed",
    "report",
    "set_log_callback",
    "set_rules",
    "set_stream_priority",
    "statistics",
    "stream_handle",
    "stream_priority",
    "version",
    "write",
]

LIBRARY_VARIABLE = "OVERTAKE_LIBRARY"
LIBRARY_NAME = "libovertake.so.0"

BY_RULES = 0
HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, BY_ADDRESSES = 1, 2, 3, 4

_BUFFER_TOO_SMALL = -2


class Error(RuntimeError):
    """A call that failed. Its text is that of the library. `code` is the number: negative ones are overtake's own,
    positive ones the driver's. `name` is the name of that."""

    def __init__(self, code, name, text):
        super().__init__(text)
        self.code = code
        self.name = name
        self.text = text


class Unavailable(RuntimeError):
    """The library is missing, and the caller asked for strictness."""


class _Statistics(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("stood_down", ctypes.c_uint32)] + [
        (name, ctypes.c_uint64)
        for name in (
            "urgent_copies",
            "urgent_bytes",
            "kernel_copies",
            "kernel_bytes",
            "engine_copies",
            "engine_bytes",
            "passed_on_copies",
            "passed_on_bytes",
            "chunks",
            "rescues",
            "errors",
        )
    ]


_LOG_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)
_LEVELS = {1: logging.ERROR, 2: logging.WARNING, 3: logging.INFO, 4: logging.DEBUG}

_lock = threading.Lock()
_listener = None
_said = set()
_loaded = False
_library = None
_reason = ""


def _candidates():
    named = os.environ.get(LIBRARY_VARIABLE)
    if named:
        return [named]
    # Installed, this file lies in PREFIX/lib/overtake/python.
    beside = pathlib.Path(__file__).resolve().parent
    folders = [beside, *list(beside.parents)[:2]]
    return [str(folder / LIBRARY_NAME) for folder in folders if (folder / LIBRARY_NAME).exists()] + [LIBRARY_NAME]


def _load():
    """The library, or None. Only the first call looks for it."""
    global _loaded, _library, _reason
    if _loaded:  # without the lock, which Ctrl-C could leave taken
        return _library
    with _lock:
        if not _loaded:
            for name in _candidates():
                try:
                    _library = _declared(ctypes.CDLL(name))
                    break
                except (OSError, AttributeError) as reason:
                    _reason = str(reason)
            _loaded = True
    return _library


def _declared(library):
    number, size, text, pointer = ctypes.c_int, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_void_p
    prototypes = {
        "overtake_version_text": (text, []),
        "overtake_error_name": (text, [number]),
        "overtake_last_error": (text, []),
        "overtake_deployment": (text, []),
        "overtake_priorities": (number, []),
        "overtake_open": (number, [text]),
        "overtake_close": (number, []),
        "overtake_set_stream_priority": (number, [pointer, number]),
        "overtake_stream_priority": (number, [pointer, ctypes.POINTER(number)]),
        "overtake_push_priority": (number, [number]),
        "overtake_pop_priority": (number, []),
        "overtake_memcpy_async": (number, [pointer, pointer, size, number, pointer, number]),
        "overtake_copy_queue_open": (number, [pointer, number, size, ctypes.POINTER(pointer)]),
        "overtake_copy_queue_copy": (number, [pointer, pointer, pointer, size, number]),
        "overtake_copy_queue_set": (number, [pointer, pointer, ctypes.c_uint32, size]),
        "overtake_copy_queue_literal": (number, [pointer]),
        "overtake_copy_queue_flush": (number, [pointer]),
        "overtake_copy_queue_close": (number, [pointer]),
        "overtake_set_log_callback": (number, [_LOG_CALLBACK, pointer]),
        "overtake_set_rules": (number, [text]),
        "overtake_read_statistics": (number, [ctypes.POINTER(_Statistics)]),
        "overtake_report_json": (number, [pointer, size, ctypes.POINTER(size)]),
    }
    for name, (result, arguments) in prototypes.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def __getattr__(name):
    """Tasks, arrays and pipelines are modules of their own, for the programs that use them."""
    if name in ("Dispatcher", "Lane", "Task", "TaskError", "Tasks"):
        import overtake_tasks

        return getattr(overtake_tasks, name)
    if name in ("Array", "Arrays", "Kernel", "Use", "discard", "read", "read_write", "reduce", "relaxed", "write"):
        import overtake_arrays

        return getattr(overtake_arrays, name)
    if name in ("Admission", "Consumer", "Ended", "Frame", "FrameError", "Pipeline", "Producer"):
        import overtake_pipelines

        return getattr(overtake_pipelines, name)
    if name in ("Step", "Template"):
        import overtake_templates

        return getattr(overtake_templates, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _say_once(text):
    with _lock:
        if text in _said:
            return
        _said.add(text)
    warnings.warn(text, RuntimeWarning, stacklevel=3)


def _need(strict):
    """The library; None if it is missing and need not be there."""
    library = _load()
    if library is None:
        text = (
            f"overtake: {LIBRARY_NAME} cannot be loaded ({_reason}): copies keep CUDA's order. Install it with "
            f"`cargo xtask install`, or set {LIBRARY_VARIABLE} to its path"
        )
        if strict:
            raise Unavailable(text)
        _say_once(text)
    return library


def _check(library, code):
    if code != 0:
        name = library.overtake_error_name(code).decode()
        raise Error(code, name, library.overtake_last_error().decode(errors="replace"))


def available():
    """Whether the library is there. This does not depend on a GPU."""
    return _load() is not None


def version():
    """The library's version, or None without it."""
    library = _load()
    return library.overtake_version_text().decode() if library else None


def deployment():
    """The way in which the layer came into the process: "preload", "shadow" or "audit" under the drop-in ("idle" before
    CUDA is initialised), "c" without the drop-in, "off" with OVERTAKE=off, None without the library."""
    library = _load()
    return library.overtake_deployment().decode() if library else None


def priorities(strict=False):
    """The number of priorities, which count from 1 (bulk) up to it; 0 without the library."""
    library = _need(strict)
    return library.overtake_priorities() if library else 0


def open(options=None, strict=False):
    """Makes the layer ready for the current context now, instead of at the first copies. `options` is TOML."""
    library = _need(strict)
    if library:
        _check(library, library.overtake_open(None if options is None else options.encode()))


def close(strict=False):
    """Frees the layer's state for the current context."""
    library = _need(strict)
    if library:
        _check(library, library.overtake_close())


class priority(ContextDecorator):
    """A scope, or a decorator, in which every copy of the calling thread has this priority; 0 leaves it to the rules.
    Scopes nest, and one object may serve several threads: each thread has its own scopes."""

    def __init__(self, level, strict=False):
        self.level = level
        self.strict = strict

    def __enter__(self):
        library = _need(self.strict)
        if library:
            if deployment() == "c":
                _say_once(
                    "overtake: this process does not run under the drop-in, so the copies of PyTorch, CuPy and other "
                    "libraries are not seen: start it with `overtake run -- python ...`"
                )
            _check(library, library.overtake_push_priority(self.level))
        return self

    def __exit__(self, *raised):
        # The library that `__enter__` found is still there: only the first call looks for it.
        library = _load()
        if library:
            _check(library, library.overtake_pop_priority())
        return False


def stream_handle(stream):
    """The CUstream of a torch.cuda.Stream, a cupy.cuda.Stream, a numba stream, an object with `__cuda_stream__`, or an
    int; None is the legacy default stream."""
    if stream is None:
        return 0
    if isinstance(stream, int):
        return stream
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
    library = _need(strict)
    if library:
        _check(library, library.overtake_set_stream_priority(stream_handle(stream), level))


def stream_priority(stream, strict=False):
    """The priority of a stream's copies; 0 where rules and sizes decide, and without the library."""
    library = _need(strict)
    if library is None:
        return BY_RULES
    level = ctypes.c_int(BY_RULES)
    _check(library, library.overtake_stream_priority(stream_handle(stream), ctypes.byref(level)))
    return level.value


def memcpy_async(target, source, size, stream=None, level=BY_RULES, kind=BY_ADDRESSES):
    """One copy between two addresses, as cudaMemcpyAsync with a priority. Without the library it raises `Unavailable`
    and copies nothing."""
    library = _need(strict=True)
    _check(library, library.overtake_memcpy_async(target, source, size, kind, stream_handle(stream), level))


class CopyQueue:
    """Many small copies and sets in one launch; `reserve` is the number of copies of 4 KiB that one has room for. They
    have no order among them, and all later work of the stream comes after them.

        with overtake.CopyQueue(stream, 1, 1000) as queue:
            queue.copy(target, source, 4096)

    Without the library it raises `Unavailable`."""

    def __init__(self, stream, level, reserve):
        self._library = _need(strict=True)
        self._queue = ctypes.c_void_p()
        opened = ctypes.byref(self._queue)
        _check(self._library, self._library.overtake_copy_queue_open(stream_handle(stream), level, reserve, opened))

    def copy(self, target, source, size, kind=BY_ADDRESSES):
        """Queues a copy between two addresses. The memory stays valid until the stream has passed the flush."""
        _check(self._library, self._library.overtake_copy_queue_copy(self._queue, target, source, size, kind))

    def set(self, target, value, size):
        """Queues a set: bytes of the device become the 4 bytes of `value`, repeated."""
        _check(self._library, self._library.overtake_copy_queue_set(self._queue, target, value, size))

    def literal(self):
        """Refuses addresses and sizes from now on that are no multiples of 4, as PhysX does."""
        _check(self._library, self._library.overtake_copy_queue_literal(self._queue))

    def flush(self):
        """Launches all that was queued since the last flush."""
        _check(self._library, self._library.overtake_copy_queue_flush(self._queue))

    def close(self):
        """Flushes the queue and frees it: before its stream is destroyed. Later calls are refused, this one too."""
        _check(self._library, self._library.overtake_copy_queue_close(self._queue))
        self._queue.value = None

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.close()


def set_log_callback(function, strict=False):
    """Calls `function(level, text)` for each message, with a level of the module `logging`; None: standard error again.
    OVERTAKE_LOG sets the level (off, error, warn, info, debug). The function is called on a thread of its own. To have
    messages in a logger: `overtake.set_log_callback(logging.getLogger("overtake").log)`."""
    library = _need(strict)
    if library is None:
        return

    def tell(_, level, text):
        try:
            function(_LEVELS.get(level, logging.ERROR), text.decode(errors="replace"))
        except Exception:  # no frame above this one could handle it
            pass

    listener = _LOG_CALLBACK() if function is None else _LOG_CALLBACK(tell)
    _check(library, library.overtake_set_log_callback(listener, None))
    global _listener
    # The earlier function is no longer called, and may be freed. No message may reach an interpreter that has ended.
    if _listener is None:
        atexit.register(set_log_callback, None)
    _listener = listener


def set_rules(rules, strict=False):
    """Replaces the rules of the process by those of a TOML text."""
    library = _need(strict)
    if library:
        _check(library, library.overtake_set_rules(rules.encode()))


def statistics(strict=False):
    """The counts of this process so far, as a dict of numbers; empty without the library."""
    library = _need(strict)
    if library is None:
        return {}
    sums = _Statistics(struct_size=ctypes.sizeof(_Statistics))
    _check(library, library.overtake_read_statistics(ctypes.byref(sums)))
    return {name: getattr(sums, name) for name, _ in _Statistics._fields_ if name != "struct_size"}


def report(strict=False):
    """The report of this process, as a dict; empty without the library."""
    library = _need(strict)
    if library is None:
        return {}
    needed = ctypes.c_size_t(4096)
    while True:
        buffer = ctypes.create_string_buffer(needed.value + 256)
        code = library.overtake_report_json(buffer, len(buffer), ctypes.byref(needed))
        if code != _BUFFER_TOO_SMALL:
            _check(library, code)
            return json.loads(buffer.value)
