"""Arrays: memory on the host and on the devices, and computations that use it. `docs/data.md` teaches them.

Tensors of PyTorch, CuPy and JAX come in without a copy (`Arrays.adopt`), and arrays are theirs in the functions of
`Arrays.launch` and in the blocks of `Array.on_device`.
"""

import contextlib
import ctypes
import math
import weakref

from . import _calls as calls, _exchange as exchange, _tasks as base, _uses as uses
from ._copies import stream_handle
from ._lib import Error
from ._uses import Kernel, Use, discard, read, write

_LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t)
_RUN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t)

# The policies that choose a device, by GrCUDA's names.
SELECTIONS = {
    "min-transfer-size": 0,
    "single-gpu": 1,
    "round-robin": 2,
    "stream-aware": 3,
    "minmin-transfer-time": 4,
    "minmax-transfer-time": 5,
}


_number, _size, _pointer = ctypes.c_uint32, ctypes.c_size_t, ctypes.c_void_p
_COUNTS = ("uploads", "upload_bytes", "downloads", "download_bytes")
_COUNTS += ("between_devices", "between_device_bytes", "shared", "evictions")
_Options = calls.structure(
    "_Options",
    *[("selection", ctypes.c_int), ("device_bytes_max", ctypes.c_uint64), ("host_bytes_max", ctypes.c_uint64)],
    *[("bandwidths", ctypes.c_char_p), ("measures", _number), ("serial", _number)],
)
_TIMES = ("mean_us", "least_us", "last_us")
_Times = calls.structure(
    "_Times",
    *[("device", _number), ("name", ctypes.c_char_p), ("bytes", ctypes.c_uint64), ("count", ctypes.c_uint64)],
    *((name, ctypes.c_double) for name in _TIMES),
)
_TELL = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Times), _pointer)
_Statistics = calls.structure("_Statistics", ("reserved", _number), *((name, ctypes.c_uint64) for name in _COUNTS))
_AdoptSpec = calls.structure(
    "_AdoptSpec",
    *[("is_on_device", _number), ("device", _number), ("reserved", _number), ("memory", _pointer)],
    *[("count", _size), ("element_bytes", _size), ("stream", _pointer), ("data", _size), ("free_data", calls.FREE)],
)
_AccessSpec = calls.structure(
    "_AccessSpec",
    *[("mode", ctypes.c_int), ("priority", ctypes.c_int), ("is_on_device", _number), ("device", _number)],
    *[("reserved", _number), ("first", _size), ("count", _size), ("room_timeout_ns", ctypes.c_int64)],
)
_ComputationSpec = calls.structure(
    "_ComputationSpec",
    *[("priority", ctypes.c_int), ("name", ctypes.c_char_p), ("references", _number), ("retries", _number)],
    *[("is_on_device", _number), ("device", _number), ("arguments", _pointer), ("arguments_count", _size)],
    *[("kernel", _pointer), ("grid", _number * 3), ("block", _number * 3), ("shared_bytes", _number)],
    *[("reserved", _number), ("launch", _LAUNCH), ("run", _RUN), ("data", _size), ("free_data", calls.FREE)],
    *[("after", ctypes.POINTER(_pointer)), ("after_count", _size), ("room_timeout_ns", ctypes.c_int64)],
)


def _prototypes():
    place, text = ctypes.POINTER(_pointer), ctypes.c_char_p
    return {
        "arrays_open": [_pointer, ctypes.POINTER(_Options), place],
        "arrays_close": [_pointer],
        "arrays_wait_for": [_pointer, ctypes.c_int64, ctypes.POINTER(ctypes.c_int)],
        "arrays_read_times": [_pointer, _TELL, _pointer],
        "arrays_read_statistics": [_pointer, ctypes.POINTER(_Statistics)],
        "array_new": [_pointer, _size, _size, place],
        "token_new": [_pointer, place],
        "array_adopt": [_pointer, ctypes.POINTER(_AdoptSpec), place],
        "array_view": [_pointer, _size, _size, place],
        "array_release": [_pointer],
        "array_free": [_pointer],
        "array_open": [_pointer, ctypes.POINTER(_AccessSpec), place, place],
        "access_wait_for": [_pointer, ctypes.c_int64, place],
        "array_bring": [_pointer, ctypes.POINTER(_AccessSpec), place],
        "access_close": [_pointer],
        "kernel_load": [_pointer, text, _size, text, place],
        "kernel_adopt": [_pointer, place, _size, text, place],
        "kernel_free": [_pointer],
        "compute": [_pointer, ctypes.POINTER(_ComputationSpec), place],
    }


def _on_full_device(spec, room_timeout, ask):
    """Asks for an access. It waits for room on a device alone: a full dispatcher refuses it at once."""
    if not spec.is_on_device:
        return ask()

    def within(timeout_ns):
        spec.room_timeout_ns = max(1, timeout_ns)  # 0 would be the library's own default
        return ask()

    return calls.with_room(room_timeout, within, waits=(calls.TIMEOUT,))


class Access(calls.Owner):
    """An access to an array, until it is closed or the `with` block ends. Later computations that conflict with it
    wait. `elements` is a memoryview of the host's memory, which numpy takes without a copy; on a device it is a view
    for PyTorch, CuPy and their like. Use it in the block only: the memoryview is released at its end, which raises
    `BufferError` if an array or a part of it is kept. Have work on a device be complete then: `stream`, if it was
    named, is waited for. If the elements do not come within `timeout` seconds, or Ctrl-C ends the wait, the array is as
    it was."""

    def __init__(self, use, device=None, priority=0, stream=None, room_timeout=uses.ROOM_TIMEOUT, timeout=None):
        super().__init__()
        spec = _AccessSpec(ctypes.sizeof(_AccessSpec), use.mode, priority, device is not None, device or 0)
        spec.first, spec.count = use.first, use.count
        self._use, self._stream, self.elements = use, None, None
        calls.accesses.add(weakref.ref(self, calls.accesses.discard))
        try:
            _on_full_device(spec, room_timeout, lambda: self._make("array_open", use.array._handle, spec, None))
            self._wait(timeout)
            at = calls.made("access_wait_for", self._handle, 0, kind=_pointer)
        except BaseException:
            self.close()
            raise
        self._stream = stream
        self.elements = use.on_host(at) if device is None else use.on_device(at, device)

    def _wait(self, timeout):
        """Until it has the address, the array is as it was: what Ctrl-C ends is the wait, which does not have it."""
        for left_ns, is_last in calls.slices(timeout):
            try:
                return calls.call("access_wait_for", self._handle, left_ns, None)
            except calls.TimedOut:
                if is_last:
                    text = f"overtake_access_wait_for: its elements have not come within {timeout} s"
                    raise TimeoutError(text) from None

    def close(self):
        """Ends the access."""
        if self._handle is not None:
            if self._stream is not None:
                self._stream.synchronize()
            is_kept = isinstance(self.elements, memoryview) and calls.take_away(self.elements)
            self.elements = None
            self._end("access_close")
            calls.refuse_kept(is_kept)

    def __enter__(self):
        return self.elements

    def __exit__(self, kind, *raised):
        with contextlib.suppress(*[BufferError] if kind else []):  # the exception keeps the block's variables
            self.close()
        return False


class Array(calls.Owner):
    """Elements that are where they are used. `shape` and `dtype` are numpy's. Indexing reads and writes single elements
    and, in one dimension, slices; `read`, `change` and `overwrite` give all of them at once."""

    def __init__(self, arrays, shape, dtype, call, *arguments, given=None):
        super().__init__()
        self._arrays, self.shape, self.dtype = arrays, tuple(shape), dtype
        self.size = math.prod(self.shape)
        self.nbytes = self.size * exchange.item_bytes(dtype)
        self._make(call, *arguments, given=given)

    @property
    def device_numbers(self):
        """The devices of the dispatcher, as CUDA counts them."""
        return self._arrays._dispatcher.devices

    def __len__(self):
        return self.shape[0]

    def __repr__(self):
        return f"<overtake_gpu.Array of {self.shape} elements of {self.dtype}>"

    def __getitem__(self, index):
        with self.read() as elements:
            found = self._found(elements, index)
            if isinstance(found, memoryview):
                found = found.tolist()
        return found

    def _found(self, elements, index):
        try:
            return elements[index]
        except IndexError:
            raise IndexError(f"index {index} is out of range: the shape is {self.shape}") from None
        except NotImplementedError:
            text = f"{index} is no single element of the shape {self.shape}: take `tolist()`, or `numpy.asarray(array)`"
            raise TypeError(text) from None

    def __setitem__(self, index, value):
        with self.change() as elements:
            if isinstance(index, slice):
                places = range(*index.indices(len(self)))
                values = list(value) if hasattr(value, "__iter__") else [value] * len(places)
                if len(values) != len(places):
                    raise ValueError(f"{len(values)} values for {len(places)} elements")
                for place, each in zip(places, values):
                    elements[place] = each
            else:
                self._found(elements, index)
                elements[index] = value

    def tolist(self):
        """The elements as lists of numbers."""
        with self.read() as elements:
            return elements.tolist()

    def __array__(self, dtype=None, copy=None):
        """The elements as an array of numpy's: a copy, as they are the array's own in the block of an access only."""
        import numpy

        if copy is False:
            raise ValueError("numpy gets a copy: in `with array.read() as elements` there is none")
        with self.read() as elements:
            return numpy.array(elements, dtype)

    def read(self, first=0, count=0, **options):
        """An access that reads on the host: `with array.read() as elements`. Options: `priority`, and `timeout`: it
        raises `TimeoutError` if its elements have not come after so many seconds."""
        return Access(read(self, first, count), **options)

    def change(self, first=0, count=0, **options):
        """One that reads and writes. Elements that were never written are zeros."""
        return Access(write(self, first, count), **options)

    def overwrite(self, first=0, count=0, **options):
        """One that writes all of the elements: nothing is copied for it."""
        return Access(discard(self, first, count), **options)

    def on_device(self, use=None, device=0, stream=None, **options):
        """An access on a device, for another library: `with array.on_device() as view: torch.from_dlpack(view)`. It
        is `overtake_gpu.read`, unless `use` is another way in which the library uses the elements. `stream`, an object
        with `synchronize`, is waited for at the end of the block. While it only reads, computations that would write
        are refused. `room_timeout` is as for `Arrays.launch`, and `timeout` as for `read`."""
        return Access((use or read)(self), device, stream=stream, **options)

    def bring(self, device=None, priority=0, room_timeout=uses.ROOM_TIMEOUT):
        """Has the elements copied to a device, or to the host, before they are asked for there. `room_timeout` is as
        for `Arrays.launch`."""
        spec = _AccessSpec(ctypes.sizeof(_AccessSpec), uses.READ, priority, device is not None, device or 0)

        return _on_full_device(spec, room_timeout, lambda: base.Task("array_bring", self._handle, spec))

    def view(self, first, shape):
        """Elements from `first` on as an array of this shape: uses of both are uses of the same memory."""
        shape = uses.shape_of(shape)
        return Array(self._arrays, shape, self.dtype, "array_view", self._handle, first, math.prod(shape))

    def release(self):
        """Has the results in the memory that was adopted, which is its owner's again. The array is gone then."""
        try:
            self._end("array_release")
        except Error as error:
            if error.code != calls.REFUSED or not calls.collect_lost():
                raise
            self._end("array_release")


def _put(elements, values, dtype):
    """Writes numbers into a memoryview of one dimension."""
    index, value, is_float = 0, None, elements.format in "fde"
    try:
        for index, value in enumerate(values):
            elements[index] = float(value) if is_float else value
    except (TypeError, ValueError, OverflowError) as error:
        text = f"array_of: element {index} is {value!r}, and {dtype} has no such element: convert it, or pass another "
        raise (TypeError if isinstance(error, TypeError) else ValueError)(text + "dtype") from error


class Arrays(calls.Owner):
    """A set of arrays, with the computations that use them. Close it, or use it in a `with` block: that waits for the
    computations, and memory that was adopted has its results then. With `measures` the times of computations are
    measured, for `Arrays.times`. With `serial`, for debugging, the submission of a computation returns when it has
    ended."""

    def __init__(
        self, dispatcher, selection="min-transfer-size", device_bytes_max=0, host_bytes_max=0, bandwidths=None,
        measures=False, serial=False,
    ):
        calls.bind(_prototypes())
        number = calls.number_of("selection", SELECTIONS, selection)
        options = _Options(ctypes.sizeof(_Options), number, device_bytes_max, host_bytes_max)
        options.bandwidths, options.measures = bandwidths and bandwidths.encode(), measures
        options.serial = serial
        super().__init__()
        self._dispatcher = dispatcher
        try:
            self._make("arrays_open", dispatcher._handle, options)
        except BaseException:
            self.close()
            raise

    def array(self, shape, dtype="float32"):
        """An array that has not been written. It gets memory where it is used."""
        shape, dtype = uses.shape_of(shape), exchange.type_name(dtype)
        return Array(self, shape, dtype, "array_new", self._handle, math.prod(shape), exchange.item_bytes(dtype))

    def token(self):
        """A token: an array without elements, for an order that is not about memory, of a file, say. Functions use it
        as any array (`overtake_gpu.read`, `overtake_gpu.write`), and get an empty view for it."""
        return Array(self, (0,), "uint8", "token_new", self._handle)

    def array_of(self, contents, dtype=None):
        """An array of these contents: of numpy's, of `array.array`, of any buffer, or of an iterable of numbers. With a
        `dtype` each element becomes one of that type; one that cannot raises `TypeError` or `ValueError`."""
        try:
            source = memoryview(contents)
        except TypeError:
            values = list(contents)
            made = self.array(len(values), dtype or "float32")
            with made.overwrite() as elements:
                _put(elements, values, made.dtype)
            return made
        given = exchange.name_of(source)
        made = self.array(source.shape, dtype or given)
        with made.overwrite() as elements:
            if made.dtype == given:
                elements.cast("B")[:] = source.tobytes()
            else:
                # Not by `tolist`, which knows no formats with a byte order: those of ctypes have one.
                values = memoryview(source.tobytes()).cast(exchange.TYPES[given][1])
                _put(elements.cast("B").cast(elements.format), values, made.dtype)
        return made

    def adopt(self, owner, stream=None):
        """An array in the memory of a contiguous tensor or array of another library, with its contents: nothing is
        copied. Until the array is released, or this is closed, the library must not use it. Work of `stream` is waited
        for; without one, that of the stream that the library names. The memory is on a device of the dispatcher."""
        found = exchange.borrowed(owner, None if stream is None else stream_handle(stream))
        devices, at = self._dispatcher.devices, 0
        if found.is_on_device:
            if found.device not in devices:
                raise ValueError(f"the memory is on device {found.device}, and the dispatcher has {devices}")
            at = devices.index(found.device)
        spec = _AdoptSpec(ctypes.sizeof(_AdoptSpec), found.is_on_device, at, 0, found.address, math.prod(found.shape))
        spec.element_bytes, spec.stream = exchange.item_bytes(found.dtype), found.stream
        given = calls.keep(found)
        spec.data, spec.free_data = given.address, calls.functions["free_kept"]
        return Array(self, found.shape, found.dtype, "array_adopt", self._handle, spec, given=given)

    def kernel(self, image, name, signature):
        """A kernel of PTX text or a cubin. The signature is GrCUDA's: `const pointer`, `pointer`, `sint32`, `float`
        and their like, separated by commas. `const` is read only; `discard pointer` is written as a whole, and
        `sum pointer` is a reduction (`overtake_gpu.reduce`)."""
        image = image.encode() if isinstance(image, str) else memoryview(image).tobytes()
        return Kernel(self, name, signature, "kernel_load", image, len(image))

    def kernel_of(self, function, name, signature):
        """A kernel that another library has loaded: a CUfunction as an int, or a `cupy.RawKernel`, which is kept."""
        found = getattr(function, "kernel", function)
        functions = (_pointer * 1)(getattr(found, "ptr", found))
        return Kernel(self, name, signature, "kernel_adopt", functions, 1, function=function)

    def launch(self, name, function, *used, **options):
        """A function that submits work to the lane: `function(lane, *views)`, with a view of a device for each use.
        Its work goes in `lane.stream`. A library that takes a view by DLPack may use a stream of its own: that waits
        for the lane, and the lane for it. Options: `priority`; `on`, the device; `after`, tasks that it comes after
        besides; `held`, a number of references; `retries`; `room_timeout`, for how many seconds the call waits for
        room, on a full device and in a full dispatcher: 60, or None for as long as it takes."""
        def given(handle, addresses, _):
            lane = base.Lane(handle)
            device = lane.device
            views = [use.on_device(addresses[at], device, lane) for at, use in enumerate(used)]
            try:
                return function(lane, *views)
            finally:
                lane.follow_streams()

        return self._function(name, function, given, used, options, launch=calls.answering("launch_uses", _LAUNCH))

    def host(self, name, function, *used, **options):
        """A function of the host: `function(*elements)`, with a memoryview for each use. It is released when the
        function returns, and the task fails if an array or a part of it is kept."""
        def given(_, addresses, __):
            views = [use.on_host(addresses[at]) for at, use in enumerate(used)]
            try:
                value = function(*views)
            except BaseException:
                for view in views:
                    calls.take_away(view)
                raise
            calls.refuse_kept(any([calls.take_away(view) for view in views]))
            return value

        return self._function(name, function, given, used, options, run=calls.answering("run_uses", _RUN))

    def _function(self, name, function, given, used, options, launch=_LAUNCH(), run=_RUN()):
        calls.function_of(name, function)
        for use in used:
            if not isinstance(use, Use):
                text = f"{name} takes uses of arrays, such as overtake_gpu.read(array): {type(use).__name__} is none"
                raise TypeError(text)
        arguments, work = [uses.argument_of(use.mode, use)[0] for use in used], calls.Work()
        room_timeout = options.pop("room_timeout", uses.ROOM_TIMEOUT)
        spec = self.spec_of(name, arguments, **options)
        spec.launch, spec.run, spec.free_data = launch, run, calls.functions["free_kept"]

        def keep():
            kept = calls.keep(given, work)
            spec.data = kept.address
            return kept

        return self.submit(spec, work, room_timeout, keep)

    def spec_of(self, name, arguments, priority=0, on=None, after=(), held=0, retries=0):
        size, text = ctypes.sizeof(_ComputationSpec), calls.encoded(name)
        spec = _ComputationSpec(size, priority, text, held, retries)
        spec.is_on_device, spec.device = on is not None, on or 0
        spec.kept = (arguments, (uses.Argument * len(arguments))(*arguments))
        spec.arguments = ctypes.addressof(spec.kept[1]) if arguments else None
        spec.arguments_count = len(arguments)
        spec.after, spec.after_count = base.handles_of(after)
        return spec

    def submit(self, spec, work, room_timeout=uses.ROOM_TIMEOUT, keep=lambda: None):
        def submit(timeout_ns):
            spec.room_timeout_ns = max(1, timeout_ns)  # 0 would be the library's own default, which Ctrl-C does not end
            return base.Task("compute", self._handle, spec, work=work, name=spec.name.decode(), given=keep())

        return calls.with_room(room_timeout, submit)

    def wait(self, timeout=None):
        """Waits until all computations have ended. Raises the first failure of one, and `TimeoutError` if some have not
        ended after `timeout` seconds."""
        calls.wait("arrays_wait_for", self._handle, timeout)

    def statistics(self):
        """The transfers so far, as a dict of numbers."""
        counts = _Statistics(struct_size=ctypes.sizeof(_Statistics))
        calls.call("arrays_read_statistics", self._handle, counts)
        return {name: getattr(counts, name) for name in _COUNTS}

    def times(self):
        """The measured times of computations, as dicts: `name` of the kernel, `bytes` of its uses, `device`, `count`,
        `mean_us`, `least_us`, `last_us`. Those that have not ended on the device are left out."""
        rows, fields = [], ("bytes", "device", "count", *_TIMES)

        def tell(times, _):
            found = times.contents
            rows.append({"name": found.name.decode(), **{name: getattr(found, name) for name in fields}})

        calls.call("arrays_read_times", self._handle, _TELL(tell), None)
        return rows

    def close(self):
        """Waits for the computations, and ends the set. Raises the first error if results do not reach the memory that
        was adopted."""
        if self._handle is not None:
            calls.collect_lost()
            try:
                self._end("arrays_close")
            except Error as error:
                if error.code != calls.REFUSED:  # in the function of a task
                    self._forget()
                raise

    def __enter__(self):
        return self

    def __exit__(self, kind, *raised):
        with contextlib.suppress(*[Error] if kind else []):  # it may follow from the exception
            self.close()
        return False
