"""An unmodified CuPy program: a small array goes to the device and back on its own stream, beside large copies.

A thread keeps two copies of 256 MiB to the device queued on another stream. Neither stream has a priority. Phases with
and without them alternate. The last line of the output is a JSON object. `pair.py round_trip` runs it natively and
under `overtake run`.
"""

import json

import cupy
import numpy

import phased

SMALL_BYTES, BULK_BYTES, QUEUED = 64 << 10, 256 << 20, 2
TO_DEVICE, TO_HOST = cupy.cuda.runtime.memcpyHostToDevice, cupy.cuda.runtime.memcpyDeviceToHost


def pinned(values):
    memory = cupy.cuda.alloc_pinned_memory(values.nbytes)
    view = numpy.frombuffer(memory, values.dtype, values.size)
    view[...] = values
    return view


def known_bytes(count, seed):
    return numpy.random.default_rng(seed).integers(0, 256, count, numpy.uint8)


def copy(target, source, count, kind, stream):
    cupy.cuda.runtime.memcpyAsync(target, source, count, kind, stream.ptr)


class Bulk(phased.Bulk):
    def __init__(self):
        super().__init__()
        self.stream = cupy.cuda.Stream(non_blocking=True)
        self.host, self.there = pinned(known_bytes(BULK_BYTES, 1)), cupy.zeros(BULK_BYTES, numpy.uint8)

    def once(self):
        for _ in range(QUEUED):
            copy(self.there.data.ptr, self.host.ctypes.data, BULK_BYTES, TO_DEVICE, self.stream)
        self.stream.synchronize()
        return QUEUED * BULK_BYTES

    def check(self):
        self.good = numpy.array_equal(cupy.asnumpy(self.there), self.host)


class Small:
    def __init__(self):
        self.stream = cupy.cuda.Stream(non_blocking=True)
        self.host, self.there = pinned(known_bytes(SMALL_BYTES, 2)), cupy.zeros(SMALL_BYTES, numpy.uint8)
        self.back, self.good = pinned(numpy.zeros(SMALL_BYTES, numpy.uint8)), True

    def step(self):
        copy(self.there.data.ptr, self.host.ctypes.data, SMALL_BYTES, TO_DEVICE, self.stream)
        with self.stream:
            self.there ^= 0x21
        copy(self.back.ctypes.data, self.there.data.ptr, SMALL_BYTES, TO_HOST, self.stream)
        self.stream.synchronize()

    def check(self):
        self.good = self.good and numpy.array_equal(self.back, self.host ^ 0x21)


def main():
    rows = phased.cases([("round trip", Small(), Bulk())], phased.parsed())
    print(json.dumps({"script": "round_trip", "cupy": cupy.__version__, "rows": rows}), flush=True)


if __name__ == "__main__":
    main()
