"""Arrays of JAX as arrays of overtake, without a copy, and arrays as JAX's. It needs JAX and a GPU.

    python3 arrays_jax.py [KERNELS.ptx]
"""

import ctypes
import pathlib
import sys

import jax
import jax.numpy

import overtake_gpu

KERNELS = pathlib.Path(__file__).resolve().parents[2] / "crates/workloads/src/workloads.ptx"
COUNT, THREADS = 1 << 20, 256


def open_device():
    """Makes the primary context of the first device current in this thread, which JAX does in its own threads only."""
    cuda, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
    codes = cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), cuda.cuCtxSetCurrent(context)
    if any(codes):
        raise SystemExit(f"there is no GPU: CUDA's errors are {codes}")


given = jax.block_until_ready(jax.numpy.arange(COUNT, dtype=jax.numpy.float32))
open_device()
text = (pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else KERNELS).read_text(encoding="utf-8")
with overtake_gpu.Dispatcher() as dispatcher, dispatcher.arrays() as arrays:
    add = arrays.kernel(text, "work_add", "const pointer, const pointer, discard pointer, uint32")
    x, y = arrays.adopt(given), arrays.array(COUNT)
    add(COUNT // THREADS, THREADS)(x, x, y, COUNT)
    with y.on_device() as view:
        result = jax.dlpack.from_dlpack(view)
        assert result.unsafe_buffer_pointer() == view.address, "JAX's array is the array's memory"
        assert bool(jax.numpy.array_equal(result, 2 * given))
        del result
    copies = arrays.statistics()
    x.release()
assert (copies["uploads"], copies["downloads"]) == (0, 0), copies
print(f"JAX {jax.__version__}: no copy, and the same memory on both sides")
