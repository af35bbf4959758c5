"""cuda-bindings: cuMemcpyBatchAsync in both directions beside small copies, and the driver API as Python spells it."""

import ctypes

import numpy
from cuda.bindings import driver

from shared import BULK_BYTES, SMALL_BYTES, Result, known_bytes, phases

BLOCKS = 64
result = Result("cuda-bindings batches")


def ok(answer):
    """The values of a call that succeeded."""
    status, *values = answer
    if int(status) != 0:
        raise RuntimeError(f"the driver answered {status!r}")
    return values[0] if len(values) == 1 else values


def pinned(values):
    address = int(ok(driver.cuMemHostAlloc(values.nbytes, driver.CU_MEMHOSTALLOC_PORTABLE)))
    view = numpy.frombuffer((ctypes.c_ubyte * values.nbytes).from_address(address), numpy.uint8)
    view[:] = values
    return address, view


def order(name):
    return getattr(driver.CUmemcpySrcAccessOrder, f"CU_MEMCPY_SRC_ACCESS_ORDER_{name}")


def batch(targets, sources, sizes, access, stream):
    """One batch of one kind of attributes. The binding of CUDA 12 also returns the copy that failed."""
    attributes = driver.CUmemcpyAttributes()
    attributes.srcAccessOrder = order(access)
    pointers = [[driver.CUdeviceptr(address) for address in group] for group in (targets, sources)]
    ok(driver.cuMemcpyBatchAsync(*pointers, list(sizes), len(sizes), [attributes], [0], 1, stream))


def parts(count):
    """Blocks of uneven sizes that make up `count` bytes: [(start, size)]."""
    sizes = [SMALL_BYTES * (1 + number % 13) for number in range(BLOCKS)]
    sizes[-1] += count - sum(sizes)
    starts = numpy.cumsum([0, *sizes[:-1]])
    return [(int(start), int(size)) for start, size in zip(starts, sizes)]


def round_trip(access, seed):
    """A batch there, small copies on another stream beside it, a batch back."""
    moving, side = ok(driver.cuStreamCreate(1)), ok(driver.cuStreamCreate(1))
    (source, _), (target, back) = pinned(known_bytes(BULK_BYTES, seed)), pinned(numpy.zeros(BULK_BYTES, numpy.uint8))
    (small, _), (small_target, small_back) = pinned(known_bytes(SMALL_BYTES, seed + 1)), \
        pinned(numpy.zeros(SMALL_BYTES, numpy.uint8))
    there, small_there = int(ok(driver.cuMemAlloc(BULK_BYTES))), int(ok(driver.cuMemAlloc(SMALL_BYTES)))
    blocks = parts(BULK_BYTES)
    sizes = [size for _, size in blocks]
    for _ in range(4):
        batch([there + start for start, _ in blocks], [source + start for start, _ in blocks], sizes, access, moving)
        ok(driver.cuMemcpyHtoDAsync(small_there, small, SMALL_BYTES, side))
        ok(driver.cuMemcpyDtoHAsync(small_target, small_there, SMALL_BYTES, side))
        batch([target + start for start, _ in blocks], [there + start for start, _ in blocks], sizes, "STREAM", moving)
    ok(driver.cuStreamSynchronize(side))
    result.digest(f"{access} small", small_back)
    ok(driver.cuStreamSynchronize(moving))
    result.digest(f"{access} batch", back)


ok(driver.cuInit(0))
device = ok(driver.cuDeviceGet(0))
ok(driver.cuCtxSetCurrent(ok(driver.cuDevicePrimaryCtxRetain(device))))


def work():
    for number, access in enumerate(("STREAM", "DURING_API_CALL", "ANY")):
        round_trip(access, 10 * number)


phases(result, work)
