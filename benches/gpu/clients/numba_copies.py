"""numba-cuda: pinned and mapped arrays, streams, kernels between copies."""

import numpy
from numba import cuda

from shared import BULK_BYTES, SMALL_BYTES, Result, known_bytes, phases

SLOTS = 16
result = Result("numba-cuda")


@cuda.jit
def flip(values, mask):
    start, stride = cuda.grid(1), cuda.gridsize(1)
    for index in range(start, values.size, stride):
        values[index] ^= mask


def pinned(values):
    array = cuda.pinned_array(values.shape, values.dtype)
    array[...] = values
    return array


def streams():
    """Bulk on one stream and small copies on another, both ways."""
    loading, side = cuda.stream(), cuda.stream()
    bulk = pinned(known_bytes(BULK_BYTES, 1))
    small = [pinned(known_bytes(SMALL_BYTES, 2 + slot)) for slot in range(SLOTS)]
    bulk_back, small_back = pinned(numpy.zeros_like(bulk)), [pinned(numpy.zeros_like(one)) for one in small]
    there, slots = cuda.device_array_like(bulk), [cuda.device_array_like(one) for one in small]
    for _ in range(8):
        there.copy_to_device(bulk, stream=loading)
    flip[64, 256, loading](there, numpy.uint8(0x21))
    for slot in range(SLOTS):
        slots[slot].copy_to_device(small[slot], stream=side)
        flip[8, 256, side](slots[slot], numpy.uint8(slot))
        slots[slot].copy_to_host(small_back[slot], stream=side)
    for _ in range(4):
        there.copy_to_host(bulk_back, stream=loading)
    side.synchronize()
    result.digest("small", numpy.stack(small_back))
    loading.synchronize()
    result.digest("bulk", bulk_back)


def default_stream():
    """The default stream, pageable memory, and memory pinned for a while."""
    values = known_bytes(3 << 20, 50)
    there = cuda.to_device(values)
    flip[64, 256](there, numpy.uint8(0x11))
    result.digest("pageable", there.copy_to_host())
    with cuda.pinned(values):
        there.copy_to_device(values, stream=cuda.default_stream())
        flip[64, 256](there, numpy.uint8(0x12))
        back = there.copy_to_host()
    result.digest("registered", back)


def work():
    streams()
    default_stream()


phases(result, work)
