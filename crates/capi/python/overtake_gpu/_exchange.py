"""Memory that Python libraries share without a copy: `__cuda_array_interface__` and DLPack, in both directions.

`View` is memory of a device as PyTorch, CuPy, JAX and Numba take it; `borrowed` is theirs.
"""

import ctypes
import functools
import math

from . import _calls as calls
from ._lib import Also, Finalized, driver

# The name of a type, as numpy has it: the type of `__cuda_array_interface__`, the format of `memoryview`, and DLPack's
# code and bits.
TYPES = {
    "bool": ("|b1", "?", (6, 8)),
    "int8": ("|i1", "b", (0, 8)),
    "int16": ("<i2", "h", (0, 16)),
    "int32": ("<i4", "i", (0, 32)),
    "int64": ("<i8", "q", (0, 64)),
    "uint8": ("|u1", "B", (1, 8)),
    "uint16": ("<u2", "H", (1, 16)),
    "uint32": ("<u4", "I", (1, 32)),
    "uint64": ("<u8", "Q", (1, 64)),
    "float16": ("<f2", "e", (2, 16)),
    "float32": ("<f4", "f", (2, 32)),
    "float64": ("<f8", "d", (2, 64)),
}

_BUILTINS = {float: "float64", int: "int64", bool: "bool"}

_DEVICE, _PINNED = 2, 3  # of DLPack
_LEGACY_STREAM = 1
_DISABLE_TIMING, _DEVICE_ORDINAL = 2, 9  # of CUDA's events, and of its attributes of pointers


def _must(name, *arguments):
    code = getattr(driver(), name)(*arguments)
    if code != 0:
        raise RuntimeError(f"{name}: CUDA's error is {code}")


def order(first, then):
    """Later work of one stream comes after the work that another one has by now."""
    event = ctypes.c_void_p()
    _must("cuEventCreate", ctypes.byref(event), _DISABLE_TIMING)
    try:
        _must("cuEventRecord", event, ctypes.c_void_p(first))
        _must("cuStreamWaitEvent", ctypes.c_void_p(then), event, 0)
    finally:
        _must("cuEventDestroy_v2", event)


def _device_of(address):
    """The device of memory, as CUDA counts."""
    number = ctypes.c_int()
    code = driver().cuPointerGetAttribute(ctypes.byref(number), _DEVICE_ORDINAL, ctypes.c_uint64(address))
    if code != 0:
        raise ValueError(f"{address:#x} is no address of a device: CUDA's error is {code}")
    return number.value


def name_of(view):
    """The name of the type of a memoryview's elements."""
    kind, bits = view.format.lstrip("<=@"), 8 * view.itemsize
    known = {"?": "bool", "e": "float16", "f": "float32", "d": "float64"}
    known.update(dict.fromkeys("bhilqn", f"int{bits}"), **dict.fromkeys("BHILQN", f"uint{bits}"))
    if kind not in known:
        text = f"array_of: elements of format {view.format!r} are not known: pass a list of numbers, or one of the"
        raise TypeError(f"{text} types {', '.join(TYPES)}")
    return known[kind]


def type_name(dtype):
    """The name of a type: of a string, of a dtype or a type of numpy, CuPy or JAX, of a torch.dtype, and of `float`,
    `int` and `bool`, which mean what they mean in numpy."""
    if isinstance(dtype, type):
        name = _BUILTINS.get(dtype, dtype.__name__.rstrip("_"))  # numpy.bool_, before numpy 2
    else:
        name = str(getattr(dtype, "name", dtype)).rpartition(".")[2]
    if name not in TYPES:
        raise TypeError(f"arrays of {dtype} are not known: the types are {', '.join(TYPES)}")
    return name


def item_bytes(name):
    """The bytes of an element."""
    return TYPES[name][2][1] // 8


class _Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device", ctypes.c_int32),
        ("dimensions", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    """DLManagedTensor."""


_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_Managed._fields_ = [("tensor", _Tensor), ("manager", ctypes.c_void_p), ("deleter", _DELETER)]

_FRESH, _USED = b"dltensor", b"used_dltensor"  # the names of capsules, which keep only their addresses
_api = ctypes.pythonapi
_capsule_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", _api)
)
_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", _api))
_capsule_rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_SetName", _api))

# The tensors that have been given out, by their addresses, with all that they refer to.
_given = {}
# A library may delete one in a thread of its own.
_manager = calls.Answering(calls.ANSWERING(), calls.FREE(_given.pop))


class View:
    """Memory of a device in the form of an array, for `torch.as_tensor`, `torch.from_dlpack`, `cupy.asarray`,
    `jax.dlpack.from_dlpack` and their like. It is valid during the function or the block that got it."""

    def __init__(self, address, shape, name, device, owner, lane=None):
        self.address, self.shape, self.dtype, self.device, self._owner = address, shape, name, device, owner
        self._lane = lane

    def __repr__(self):
        return f"<overtake_gpu.View of {self.shape} elements of {self.dtype} on device {self.device}>"

    @property
    def __cuda_array_interface__(self):
        # PyTorch refuses arrays that are marked as read-only. The contents of an access are there, and those of a
        # launch come in the lane.
        return {
            "shape": self.shape,
            "typestr": TYPES[self.dtype][0],
            "data": (self.address, False),
            "strides": None,
            "stream": None if self._lane is None else self._lane.stream,
            "version": 3,
        }

    def __dlpack_device__(self):
        return (_DEVICE, self.device)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """A capsule of version 0. The contents of an access are there, so no stream has to wait. In a launch `stream`
        waits for the lane, and the lane for `stream`; -1 is a promise to use that of the lane."""
        if copy:
            raise BufferError("nothing is copied: copy what the consumer makes of it")
        if dl_device not in (None, (_DEVICE, self.device)):
            raise BufferError(f"the memory is on CUDA device {self.device}, and nothing is copied elsewhere")
        if stream == 0:
            raise BufferError("stream 0 means nothing in DLPack: 1 is the legacy default stream")
        if self._lane is not None and stream != -1:
            self._lane.lend(_LEGACY_STREAM if stream is None else int(stream))
        count, (code, bits) = len(self.shape), TYPES[self.dtype][2]
        shape = (ctypes.c_int64 * count)(*self.shape)
        tensor = _Tensor(self.address, _DEVICE, self.device, count, code, bits, 1, shape, None, 0)
        managed = _Managed(tensor, ctypes.addressof(_manager), ctypes.cast(calls.functions["capsule_delete"], _DELETER))
        address = ctypes.addressof(managed)
        also = Also(functools.partial(_given.__setitem__, address, (managed, shape, self._owner, _manager)))
        # One of Python's would run with the exception that a library has refused the tensor by.
        destroy = ctypes.cast(calls.functions["capsule_destroy"], ctypes.c_void_p)
        return _capsule_new(address, _FRESH, destroy, also)


class Borrowed:
    """Memory of another library, kept until the object goes. `device` is its number as CUDA counts."""

    def __init__(self, owner, address, shape, name, stream, device, is_on_device=True):
        self.address, self.shape, self.dtype, self.stream = address, tuple(shape), name, stream
        self.device, self.is_on_device, self._owner = device, is_on_device, owner


class _Taken(Finalized):
    """A tensor of DLPack that this module has taken out of its capsule."""


def _dense(shape, strides):
    """Whether elements follow each other, the last dimension first. Strides count elements."""
    step = 1
    for length, stride in zip(reversed(shape), reversed(strides)):
        if length != 1 and stride != step:
            return False
        step *= length
    return True


def _by_interface(owner, interface, stream):
    names = {typestr: name for name, (typestr, _, _) in TYPES.items()}
    shape, name = interface["shape"], names.get(interface["typestr"])
    if name is None:
        raise TypeError(f"elements of type {interface['typestr']} are not known")
    strides = interface.get("strides")
    _check(shape, strides and [stride / item_bytes(name) for stride in strides])
    address = interface["data"][0]
    return Borrowed(owner, address, shape, name, stream, _device_of(address))


def _by_dlpack(owner):
    # The producer makes this stream wait for its work.
    capsule = owner.__dlpack__(stream=_LEGACY_STREAM)
    managed = _Managed.from_address(_capsule_pointer(capsule, _FRESH))
    taken, tensor = _Taken(), managed.tensor
    delete = functools.partial(managed.deleter, ctypes.byref(managed)) if managed.deleter else int
    _capsule_rename(capsule, _USED, Also(functools.partial(setattr, taken, "_let_go", delete)))
    if tensor.device_type not in (_DEVICE, _PINNED):
        raise TypeError(f"memory of DLPack's device type {tensor.device_type} is neither a GPU's nor pinned")
    names = {kind: name for name, (_, _, kind) in TYPES.items()}
    name = names.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if name is None:
        raise TypeError(f"elements of DLPack's type {tensor.code} with {tensor.bits} bits are not known")
    shape = tensor.shape[: tensor.dimensions]
    _check(shape, tensor.strides and tensor.strides[: tensor.dimensions])
    address, is_on_device = tensor.data + tensor.byte_offset, tensor.device_type == _DEVICE
    stream = _LEGACY_STREAM if is_on_device else None
    return Borrowed(taken, address, shape, name, stream, tensor.device, is_on_device)


def _check(shape, strides):
    if math.prod(shape) == 0:
        raise ValueError("an array has one element at least")
    if strides and not _dense(shape, strides):
        raise ValueError("the elements do not follow each other: make it contiguous before")


def borrowed(owner, stream=None):
    """The memory of a tensor or an array of another library. `stream` has work on it that is not over, and 0 is the
    legacy default stream; without one it is the stream that the library names, and else that one."""
    if stream == 0:
        stream = _LEGACY_STREAM
    interface = getattr(owner, "__cuda_array_interface__", None) if not _prefers_dlpack(owner) else None
    if interface is not None:
        named = stream if stream is not None else interface.get("stream")
        return _by_interface(owner, interface, named or _LEGACY_STREAM)
    if hasattr(owner, "__dlpack__"):
        found = _by_dlpack(owner)
        found.stream = found.stream if stream is None else stream
        return found
    raise TypeError(f"{type(owner).__name__} has neither __cuda_array_interface__ nor __dlpack__")


def _prefers_dlpack(owner):
    """An interface without a stream says nothing of work that is not over; DLPack does."""
    interface = getattr(owner, "__cuda_array_interface__", None)
    return hasattr(owner, "__dlpack__") and (interface is None or interface.get("stream") is None)
