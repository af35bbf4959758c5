"""The shape of GrCUDA's first example, with arrays of overtake: two independent kernels, one that joins them, and a
result that the host reads. The program names no stream, no event and no copy. It needs no other library.

    python3 arrays.py [KERNELS.ptx]
"""

import ctypes
import pathlib
import sys

import overtake_gpu

KERNELS = pathlib.Path(__file__).resolve().parents[2] / "crates/workloads/src/workloads.ptx"
COUNT, THREADS = 1 << 16, 256
BLOCKS = COUNT // THREADS


def open_device():
    """Makes the primary context of the first device current, as PyTorch and CuPy do by themselves."""
    cuda, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
    codes = cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), cuda.cuCtxSetCurrent(context)
    if any(codes):
        raise SystemExit(f"there is no GPU: CUDA's errors are {codes}")


open_device()
text = (pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else KERNELS).read_text(encoding="utf-8")
with overtake_gpu.Dispatcher() as dispatcher, dispatcher.arrays() as arrays:
    add = arrays.kernel(text, "work_add", "const pointer, const pointer, pointer, uint32")
    x, y = arrays.array_of(range(COUNT)), arrays.array_of([1.0] * COUNT)
    twice_x, twice_y, total = (arrays.array(COUNT) for _ in range(3))

    add(BLOCKS, THREADS)(x, x, twice_x, COUNT)
    add(BLOCKS, THREADS)(y, y, twice_y, COUNT)  # beside the first
    add(BLOCKS, THREADS)(twice_x, twice_y, total, COUNT)  # after both
    assert (total[0], total[100]) == (2.0, 202.0)
    counts = arrays.statistics()
    print(f"{counts['uploads']} arrays went to the device, {counts['downloads']} came back")
