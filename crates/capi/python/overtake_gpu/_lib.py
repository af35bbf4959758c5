"""The C library: where it is, how it is loaded, and the errors that its calls raise. All other modules stand on this
one."""

import ctypes
import operator
import os
import pathlib
import threading
import warnings

LIBRARY_VARIABLE = "OVERTAKE_LIBRARY"
LIBRARY_NAME = "libovertake.so.0"

BY_RULES = 0
HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, BY_ADDRESSES = 1, 2, 3, 4

BUFFER_TOO_SMALL, INVALID_HANDLE = -2, -9


class Error(RuntimeError):
    """A call that failed. Its text is that of the library. `code` is the number: negative ones are overtake's own,
    positive ones the driver's. `name` is the name of that."""

    __module__ = "overtake_gpu"  # where a program finds it; tracebacks say so

    def __init__(self, code, name, text):
        super().__init__(text)
        self.code = code
        self.name = name
        self.text = text

    def __reduce__(self):
        return type(self), (self.code, self.name, self.text)


class TaskError(Error):
    """A task that failed, or was not run because one before it failed: the text names both. The exception of the task's
    own function is the cause (`__cause__`)."""

    __module__ = "overtake_gpu"


class Ended(Error):
    """The other end has left the pipeline: there are no further frames."""

    __module__ = "overtake_gpu"


class FrameError(Error):
    """A frame failed: the text names it and the reason. The next call is about the next frame."""

    __module__ = "overtake_gpu"


class Unavailable(RuntimeError):
    """The library is missing, and the caller asked for strictness."""

    __module__ = "overtake_gpu"


class Statistics(ctypes.Structure):
    """struct overtake_statistics."""

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


class Finalized:
    """An object whose end calls its `_let_go`, a call of the library's, say. It is no function of Python's: Ctrl-C
    would end that before its first statement, and nobody would hear of it."""

    _let_go = int  # nothing to do yet

    __del__ = property(operator.attrgetter("_let_go"))


class Also:
    """One more argument of a call by ctypes, behind those that the library looks at. As it is converted, it calls a
    function that is none of Python's: so that is done if the call is made, and not if Ctrl-C comes before."""

    def __init__(self, function):
        self._call = function

    _as_parameter_ = property(operator.methodcaller("_call"))


LOG_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)

_lock = threading.Lock()
_said = set()
_loaded = False
_library = None
_reason = ""


def _candidates():
    """The files to try: the one that the variable names; that of this package's wheel; that of `cargo xtask install`,
    which puts this package into LIBDIR/overtake/python; and what the loader finds."""
    named = os.environ.get(LIBRARY_VARIABLE)
    if named:
        return [named]
    package = pathlib.Path(__file__).resolve().parent
    beside = [package / "lib" / LIBRARY_NAME, *(folder / LIBRARY_NAME for folder in list(package.parents)[2:3])]
    return [str(file) for file in beside if file.exists()] + [LIBRARY_NAME]


def load():
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
        "overtake_set_log_callback": (number, [LOG_CALLBACK, pointer]),
        "overtake_set_rules": (number, [text]),
        "overtake_read_statistics": (number, [ctypes.POINTER(Statistics)]),
        "overtake_report_json": (number, [pointer, size, ctypes.POINTER(size)]),
    }
    for name, (result, arguments) in prototypes.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def say_once(text, frames=3):
    """Warns of the line that is so many frames up: that of the program."""
    with _lock:
        if text in _said:
            return
        _said.add(text)
    warnings.warn(text, RuntimeWarning, stacklevel=frames)


def need(strict):
    """The library; None if it is missing and need not be there."""
    library = load()
    if library is None:
        text = (
            f"overtake: {LIBRARY_NAME} cannot be loaded ({_reason}): copies keep CUDA's order. Install it with "
            f"`cargo xtask install`, or set {LIBRARY_VARIABLE} to its path"
        )
        if strict:
            raise Unavailable(text)
        say_once(text, frames=4)
    return library


def check(library, code):
    if code != 0:
        name = library.overtake_error_name(code).decode()
        raise Error(code, name, library.overtake_last_error().decode(errors="replace"))


def deployment():
    """The way in which the layer came into the process: "preload", "shadow" or "audit" under the drop-in ("idle" before
    CUDA is initialised), "c" without the drop-in, "off" with OVERTAKE=off, None without the library."""
    library = load()
    return library.overtake_deployment().decode() if library else None


def driver():
    """The driver, whose functions return a CUresult: the one that the library uses. A drop-in has to see its calls."""
    named = os.environ.get("OVERTAKE_LIBCUDA") if deployment() == "c" else None
    return ctypes.CDLL(named or "libcuda.so.1")
