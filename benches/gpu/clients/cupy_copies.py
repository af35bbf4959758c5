"""CuPy: copies on streams, memory pools (stream-ordered ones too), captured graphs."""

import cupy
import numpy

from shared import BULK_BYTES, SMALL_BYTES, Result, known_bytes, phases

SLOTS = 24
TO_DEVICE, TO_HOST = cupy.cuda.runtime.memcpyHostToDevice, cupy.cuda.runtime.memcpyDeviceToHost
result = Result("cupy")


def pinned(values):
    """A copy of the values in pinned memory of CuPy's pool."""
    memory = cupy.cuda.alloc_pinned_memory(values.nbytes)
    view = numpy.frombuffer(memory, values.dtype, values.size)
    view[...] = values.ravel()
    return view


def to_device(there, host, stream):
    cupy.cuda.runtime.memcpyAsync(there.data.ptr, host.ctypes.data, host.nbytes, TO_DEVICE, stream.ptr)


def to_host(host, there, stream):
    cupy.cuda.runtime.memcpyAsync(host.ctypes.data, there.data.ptr, host.nbytes, TO_HOST, stream.ptr)


def streams(name, non_blocking):
    """Bulk on one stream and small copies on another, both ways; blocking streams join the legacy default one."""
    loading, side = cupy.cuda.Stream(non_blocking=non_blocking), cupy.cuda.Stream(non_blocking=non_blocking)
    bulk, small = pinned(known_bytes(BULK_BYTES, 1)), pinned(known_bytes(SMALL_BYTES * SLOTS, 2))
    bulk_back, small_back = pinned(numpy.zeros_like(bulk)), pinned(numpy.zeros_like(small))
    there, slots = cupy.zeros(BULK_BYTES, numpy.uint8), cupy.zeros(SMALL_BYTES * SLOTS, numpy.uint8)
    cupy.cuda.Device().synchronize()
    for _ in range(8):
        to_device(there, bulk, loading)
    with loading:
        there ^= 0x21
    for slot in range(SLOTS):
        part = slice(slot * SMALL_BYTES, (slot + 1) * SMALL_BYTES)
        to_device(slots[part], small[part], side)
        with side:
            slots[part] ^= 0x42
        to_host(small_back[part], slots[part], side)
    for _ in range(4):
        to_host(bulk_back, there, loading)
    side.synchronize()
    result.digest(f"{name} small", small_back)
    loading.synchronize()
    result.digest(f"{name} bulk", bulk_back)


def set_and_get():
    """The array methods: pageable and pinned, with and without a stream."""
    side = cupy.cuda.Stream(non_blocking=True)
    for count in (10, SMALL_BYTES, BULK_BYTES):
        values = known_bytes(count, count)
        for kind, host in (("pageable", values), ("pinned", pinned(values))):
            there = cupy.empty(count, numpy.uint8)
            cupy.cuda.Device().synchronize()
            there.set(host, stream=side)
            with side:
                there ^= 0x21
            back = there.get(stream=side)
            side.synchronize()
            result.digest(f"{kind} {count}", back)
            result.digest(f"{kind} asarray {count}", cupy.asnumpy(cupy.asarray(host)))


def pools(name, pool):
    """Device memory is taken and given back in stream order while copies are pending."""
    side, values = cupy.cuda.Stream(non_blocking=True), pinned(known_bytes(4 << 20, 5))
    back = [pinned(numpy.zeros(4 << 20, numpy.uint8)) for _ in range(4)]
    cupy.cuda.set_allocator(pool.malloc)
    with side:
        for turn in range(40):
            there = cupy.empty(4 << 20, numpy.uint8)
            to_device(there, values, side)
            there ^= turn
            to_host(back[turn % 4], there, side)
            del there
    side.synchronize()
    for number, host in enumerate(back):
        result.digest(f"{name} {number}", host)
    cupy.cuda.set_allocator(cupy.get_default_memory_pool().malloc)


def graphs():
    """Copies of both sizes inside a graph, replayed beside live bulk copies."""
    side, loading = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
    small, large = pinned(known_bytes(SMALL_BYTES, 6)), pinned(known_bytes(4 << 20, 7))
    bulk, small_back, large_back = pinned(known_bytes(BULK_BYTES, 8)), pinned(small * 0), pinned(large * 0)
    small_there, large_there = cupy.zeros(SMALL_BYTES, numpy.uint8), cupy.zeros(4 << 20, numpy.uint8)
    bulk_there = cupy.zeros(BULK_BYTES, numpy.uint8)
    with side:
        large_there ^= 0x21
        side.synchronize()
        side.begin_capture()
        to_device(small_there, small, side)
        to_device(large_there, large, side)
        large_there ^= 0x21
        to_host(small_back, small_there, side)
        to_host(large_back, large_there, side)
        graph = side.end_capture()
    result.must("capture copies nothing", not small_back.any() and not large_back.any())
    for turn in range(5):
        small[0], large[0] = turn, 3 * turn
        for _ in range(8):
            to_device(bulk_there, bulk, loading)
        graph.launch(stream=side)
        side.synchronize()
        result.digest(f"graph small {turn}", small_back)
        result.digest(f"graph large {turn}", large_back)
    loading.synchronize()
    result.must("bulk", bool((cupy.asnumpy(bulk_there) == bulk).all()))


def work():
    streams("non-blocking", True)
    streams("blocking", False)
    set_and_get()
    pools("pool", cupy.cuda.MemoryPool())
    pools("stream-ordered pool", cupy.cuda.MemoryAsyncPool())
    graphs()


phases(result, work)
