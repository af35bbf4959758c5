"""Uses of arrays, and kernels whose signature says them."""

import ctypes
import math
import re
from operator import index

from . import _calls as calls, _exchange as exchange

READ, WRITE, READ_WRITE, DISCARD, RELAXED, SUM, MIN, MAX = range(1, 9)
_OPERATORS = {"sum": SUM, "min": MIN, "max": MAX}
# Seconds for which a computation, or an access, waits for room.
ROOM_TIMEOUT = 60
# The numbers of OVERTAKE_TYPE_...
_TYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]


class Argument(ctypes.Structure):
    """struct overtake_argument."""

    _fields_ = [("array", ctypes.c_void_p), ("mode", ctypes.c_int), ("element_type", ctypes.c_uint32)]
    _fields_ += [(name, ctypes.c_size_t) for name in ("first", "count", "value", "value_bytes")]


def shape_of(shape):
    """Lengths as integers, those of numpy among them. One is a shape of one dimension."""
    return tuple(map(index, shape if hasattr(shape, "__iter__") else (shape,)))


class Use:
    """A use of an array, or of `count` elements of it from `first` on."""

    def __init__(self, array, mode, first=0, count=0):
        if not isinstance(array, calls.Owner) or not hasattr(array, "dtype"):
            raise TypeError(f"a use is one of an array of `Arrays.array`, and {array!r} is none")
        self.array, self.mode, self.first = array, mode, index(first)
        self.count = index(count) or array.size - self.first

    def __repr__(self):
        return f"<overtake_gpu.Use of {self.count} elements from {self.first} on of {self.array!r}>"

    def shape(self):
        return self.array.shape if self.count == self.array.size else (self.count,)

    def on_host(self, address):
        view = elements_of(address, self.shape(), self.array)
        return view.toreadonly() if self.mode == READ else view

    def on_device(self, address, device=0, lane=None):
        array = self.array
        return exchange.View(address, self.shape(), array.dtype, array.device_numbers[device], array, lane)

    def element_type(self):
        """The number of the type of a reduction."""
        if self.mode < SUM:
            return 0
        if self.array.dtype not in _TYPES:
            raise TypeError(f"elements of type {self.array.dtype} have no reduction: those of {', '.join(_TYPES)} have")
        return 1 + _TYPES.index(self.array.dtype)


def read(array, first=0, count=0):
    """It reads."""
    return Use(array, READ, first, count)


def write(array, first=0, count=0):
    """It writes, and leaves other elements as they are: those that have been written are copied to where it runs."""
    return Use(array, WRITE, first, count)


def read_write(array, first=0, count=0):
    """It reads and writes."""
    return Use(array, READ_WRITE, first, count)


def discard(array, first=0, count=0):
    """It writes every element, and reads none: nothing is copied for it."""
    return Use(array, DISCARD, first, count)


def relaxed(array, first=0, count=0):
    """A kernel changes elements as others do at the same time, by atomic operations."""
    return Use(array, RELAXED, first, count)


def reduce(array, operator="sum", first=0, count=0):
    """It combines a result with each element, by "sum", "min" or "max", as others do at the same time. It gets memory
    of its own, which starts from the operator's identity or has earlier results: add to that, and do not overwrite
    it."""
    return Use(array, calls.number_of("operator", _OPERATORS, operator), first, count)


def elements_of(address, shape, array):
    """Memory of the host as a memoryview, which keeps the array."""
    memory = (ctypes.c_char * (math.prod(shape) * exchange.item_bytes(array.dtype))).from_address(address)
    memory.array = array
    if not len(memory):
        return memoryview(memory)  # of a token; casts refuse such views
    return memoryview(memory).cast("B").cast(exchange.TYPES[array.dtype][1], shape)


# Numbers of kernels, by the names of GrCUDA's signatures.
_NUMBERS = {
    "bool": ctypes.c_bool,
    "char": ctypes.c_int8,
    "sint8": ctypes.c_int8,
    "uint8": ctypes.c_uint8,
    "sint16": ctypes.c_int16,
    "uint16": ctypes.c_uint16,
    "sint32": ctypes.c_int32,
    "uint32": ctypes.c_uint32,
    "sint64": ctypes.c_int64,
    "uint64": ctypes.c_uint64,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
}
# A plain pointer may be read and written, and may have elements that no computation has written.
_POINTERS = {"": WRITE, "inout": WRITE, "out": WRITE, "const": READ, "in": READ}
_POINTERS.update(discard=DISCARD, relaxed=RELAXED, **_OPERATORS)


def _parameters(signature):
    """The modes of pointers and the types of numbers: `name: const pointer float` or `const pointer`, `sint32`."""
    parameters = []
    for text in filter(None, (part.strip() for part in signature.split(","))):
        pointer = re.fullmatch(r"(?:\w+\s*:)?\s*(\w*?)\s*\bpointer(?:\s+\w+)?", text)
        number = re.fullmatch(r"(?:\w+\s*:)?\s*(\w+)", text)
        if pointer and pointer[1] in _POINTERS:
            parameters.append(_POINTERS[pointer[1]])
        elif number and number[1] in _NUMBERS:
            parameters.append(_NUMBERS[number[1]])
        else:
            kinds = ", ".join(_NUMBERS)
            raise ValueError(f"parameter {text!r} is neither a [const] pointer nor a number such as {kinds}")
    return parameters


class Kernel(calls.Owner):
    """A kernel. `kernel(grid, block)(*arguments)` submits a computation, and returns its task. An argument is an array,
    which is used as the signature says, a `Use` of a part of one, or a number. Options: those of `Arrays.launch`, and
    `shared_bytes`."""

    def __init__(self, arrays, name, signature, call, *arguments, function=None):
        super().__init__()
        self._arrays, self.name, self._parameters = arrays, name, _parameters(signature)
        self._function = function  # its module is another library's, and is unloaded with it
        self._make(call, arrays._handle, *arguments, name.encode())

    def __call__(self, grid, block, shared_bytes=0, name=None, room_timeout=ROOM_TIMEOUT, **options):
        def submit(*arguments):
            if len(arguments) != len(self._parameters):
                takes = len(self._parameters)
                raise TypeError(f"kernel {self.name} takes {takes} arguments, and {len(arguments)} are given")
            pairs = [self._argument(at, *pair) for at, pair in enumerate(zip(self._parameters, arguments))]
            spec = self._arrays.spec_of(name or self.name, [argument for argument, _ in pairs], **options)
            spec.kernel, spec.shared_bytes = self._handle, shared_bytes
            for place, lengths in ((spec.grid, grid), (spec.block, block)):
                for axis, length in enumerate(shape_of(lengths)):
                    place[axis] = length
            return self._arrays.submit(spec, None, room_timeout)

        return submit

    def __repr__(self):
        return f"<overtake_gpu.Kernel {self.name!r}>"

    def _argument(self, at, parameter, value):
        try:
            return argument_of(parameter, value)
        except (TypeError, ValueError) as error:
            raise type(error)(f"argument {at} of kernel {self.name}: {error}") from None


def number_of(kind, value):
    """A number for a kernel, which may be one of numpy's."""
    if kind in (ctypes.c_bool, ctypes.c_float, ctypes.c_double):
        return kind(value)
    number = kind(value)
    if number.value != index(value):
        raise ValueError(f"{value} is no number of {8 * ctypes.sizeof(kind)} bits")
    return number


def argument_of(parameter, value):
    """An argument as the library takes it, and the memory that it refers to."""
    if isinstance(parameter, int):
        use = value if isinstance(value, Use) else Use(value, parameter)
        return Argument(use.array._handle, use.mode, use.element_type(), use.first, use.count), use
    number = number_of(parameter, value)
    found = Argument(value=ctypes.addressof(number), value_bytes=ctypes.sizeof(number))
    found.kept = number
    return found, number


