"""The part of the CUDA driver API that these scripts use, through ctypes, found in the way of CUDA's own runtime."""

import ctypes

POINTER, SIZE, WORD = ctypes.c_uint64, ctypes.c_size_t, ctypes.c_uint
NON_BLOCKING = 1
PER_COPY_STREAM_ORDER = 1


class Location(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class CopyAttributes(ctypes.Structure):
    """CUmemcpyAttributes."""
    _fields_ = [("source_access_order", ctypes.c_int), ("source", Location), ("target", Location),
                ("flags", ctypes.c_uint)]


class Batch:
    """The arguments of one cuMemcpyBatchAsync, made once and used often."""

    def __init__(self, targets, sources, sizes):
        self.count, self.bytes = len(sizes), sum(sizes)
        self.targets, self.sources = (POINTER * self.count)(*targets), (POINTER * self.count)(*sources)
        self.sizes = (SIZE * self.count)(*sizes)
        self.attributes = CopyAttributes(PER_COPY_STREAM_ORDER, Location(0, 0), Location(0, 0), 0)
        self.first_index = SIZE(0)


class Driver:
    """An open primary context on device 0. Every call is checked."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        self.version = self.number("cuDriverGetVersion")
        self.context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), 0)
        self.use()
        self.to_device, self.to_host = self.library.cuMemcpyHtoDAsync_v2, self.library.cuMemcpyDtoHAsync_v2
        self.to_device.argtypes = [POINTER, ctypes.c_void_p, SIZE, ctypes.c_void_p]
        self.to_host.argtypes = [ctypes.c_void_p, POINTER, SIZE, ctypes.c_void_p]
        self.wait, self.query = self.library.cuStreamSynchronize, self.library.cuEventQuery

    def use(self):
        """Makes the context current on the calling thread."""
        self.call("cuCtxSetCurrent", self.context)

    def prepare_batches(self):
        """Finds the batch call in the form of this driver."""
        self.batch_version = 13000 if self.version >= 13000 else 12080
        self.batch_function = self.proc_address("cuMemcpyBatchAsync", self.batch_version)

    def call(self, name, *arguments):
        check(getattr(self.library, name)(*arguments), name)

    def number(self, name):
        value = ctypes.c_int()
        self.call(name, ctypes.byref(value))
        return value.value

    def device_name(self):
        text = ctypes.create_string_buffer(128)
        self.call("cuDeviceGetName", text, 128, 0)
        return text.value.decode()

    def proc_address(self, name, version):
        found, status = ctypes.c_void_p(), ctypes.c_int(-1)
        self.call("cuGetProcAddress_v2", name.encode(), ctypes.byref(found), version, ctypes.c_uint64(0),
                  ctypes.byref(status))
        if not found.value:
            raise OSError(f"cuGetProcAddress finds no {name} for version {version} (status {status.value})")
        return ctypes.CFUNCTYPE(ctypes.c_int)(found.value)

    def device_bytes(self, count):
        pointer = POINTER()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), SIZE(count))
        return pointer.value

    def pinned_bytes(self, count):
        """Pinned host memory: its address and a writable view of it."""
        pointer = ctypes.c_void_p()
        self.call("cuMemHostAlloc", ctypes.byref(pointer), SIZE(count), 1)
        view = memoryview((ctypes.c_ubyte * count).from_address(pointer.value)).cast("B")
        return pointer.value, view

    def stream(self):
        stream = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(stream), NON_BLOCKING)
        return stream

    def event(self, timing=False):
        event = ctypes.c_void_p()
        self.call("cuEventCreate", ctypes.byref(event), 0 if timing else 2)
        return event

    def record(self, event, stream):
        self.call("cuEventRecord", event, stream)

    def done(self, event):
        status = self.query(event)
        if status not in (0, 600):
            check(status, "cuEventQuery")
        return status == 0

    def elapsed_ms(self, first, last):
        value = ctypes.c_float()
        self.call("cuEventElapsedTime", ctypes.byref(value), first, last)
        return value.value

    def batch(self, batch, stream):
        """cuMemcpyBatchAsync in the form of this driver: up to 12.9 it also returns the copy that failed."""
        byref, last = ctypes.byref, []
        if self.batch_version < 13000:
            last = [byref(SIZE(0))]
        check(self.batch_function(batch.targets, batch.sources, batch.sizes, SIZE(batch.count), byref(batch.attributes),
                                  byref(batch.first_index), SIZE(1), *last, stream), "cuMemcpyBatchAsync")

    def synchronize(self, stream=None):
        if stream is None:
            self.call("cuCtxSynchronize")
        else:
            check(self.wait(stream), "cuStreamSynchronize")


def check(status, name):
    if status != 0:
        raise OSError(f"{name} returned {status}")
