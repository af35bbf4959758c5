"""Arrays of CuPy as arrays of overtake, without a copy, with GrCUDA's kernels: squares of two vectors, and the sum of
their differences. It needs CuPy and a GPU.

    python3 arrays_cupy.py
"""

import cupy

import overtake_gpu
from overtake_gpu import read_write

COUNT, THREADS = 1 << 16, 256
BLOCKS = COUNT // THREADS

SOURCE = r"""
extern "C" __global__ void square(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] * x[i];
}
extern "C" __global__ void reduce(const float *x, const float *y, float *total, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(total, x[i] - y[i]);
}
"""

ours, theirs = cupy.full(COUNT, 3, dtype=cupy.float32), cupy.full(COUNT, 2, dtype=cupy.float32)
with overtake_gpu.Dispatcher() as dispatcher, dispatcher.arrays() as arrays:
    square = arrays.kernel_of(cupy.RawKernel(SOURCE, "square"), "square", "pointer, sint32")
    signature = "const pointer, const pointer, pointer, sint32"
    reduce = arrays.kernel_of(cupy.RawKernel(SOURCE, "reduce"), "reduce", signature)
    x, y, total = arrays.adopt(ours), arrays.adopt(theirs), arrays.array_of([0.0])

    square(BLOCKS, THREADS)(x, COUNT)
    square(BLOCKS, THREADS)(y, COUNT)  # beside the first
    reduce(BLOCKS, THREADS)(x, y, total, COUNT)  # after both
    assert total[0] == 5.0 * COUNT
    with x.on_device(read_write, stream=cupy.cuda.get_current_stream()) as view:
        array = cupy.asarray(view)
        assert array.data.ptr == view.address == ours.data.ptr, "one memory has three names"
        array += 1
    copies = arrays.statistics()
    x.release()
assert float(ours[5]) == 10.0
assert (copies["uploads"], copies["upload_bytes"]) == (1, 4), copies  # `total` alone
print(f"CuPy {cupy.__version__}: no copy, and the same memory on both sides")
