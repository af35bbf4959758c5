"""Priorities for the copies of PyTorch and CuPy. Run it under the drop-in:

    PYTHONPATH=PREFIX/lib/overtake/python overtake run -- python examples/python/priority.py

Without the drop-in it runs as well, and the copies keep CUDA's order. Without PyTorch and CuPy it prints a message.
"""

import importlib.util
import statistics
import time

import overtake_gpu

BULK_BYTES = 256 << 20
SMALL_BYTES = 64 << 10
ROUNDS = 50


def summary(name, times_us):
    times_us = sorted(times_us)
    print(f"{name}: p50 {statistics.median(times_us):.0f} us, worst {times_us[-1]:.0f} us")


def with_torch():
    import torch

    weights = torch.empty(BULK_BYTES, dtype=torch.uint8).pin_memory()
    token = torch.empty(SMALL_BYTES, dtype=torch.uint8).pin_memory()
    weights_on_device, token_on_device = weights.cuda(), token.cuda()
    loader, worker = torch.cuda.Stream(), torch.cuda.Stream()

    overtake_gpu.set_stream_priority(loader, 1)  # all copies of this stream are bulk
    times_us = []
    for _ in range(ROUNDS):
        with torch.cuda.stream(loader):
            weights_on_device.copy_(weights, non_blocking=True)
        began = time.perf_counter()
        with torch.cuda.stream(worker), overtake_gpu.priority(5):  # this thread's copies in the block are urgent
            token_on_device.copy_(token, non_blocking=True)
        worker.synchronize()
        times_us.append((time.perf_counter() - began) * 1e6)
        loader.synchronize()
    overtake_gpu.set_stream_priority(loader, 0)
    summary("PyTorch, 64 KiB behind 256 MiB", times_us)


def with_cupy():
    import cupy
    import cupyx

    weights = cupyx.empty_pinned(BULK_BYTES, dtype="uint8")
    token = cupyx.empty_pinned(SMALL_BYTES, dtype="uint8")
    weights_on_device, token_on_device = cupy.empty_like(weights), cupy.empty_like(token)
    loader, worker = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)

    overtake_gpu.set_stream_priority(loader, 1)
    overtake_gpu.set_stream_priority(worker, 5)  # by stream; PyTorch above goes by thread
    times_us = []
    for _ in range(ROUNDS):
        weights_on_device.set(weights, stream=loader)
        began = time.perf_counter()
        token_on_device.set(token, stream=worker)
        worker.synchronize()
        times_us.append((time.perf_counter() - began) * 1e6)
        loader.synchronize()
    for stream in (loader, worker):
        overtake_gpu.set_stream_priority(stream, 0)
    summary("CuPy, 64 KiB behind 256 MiB", times_us)


def main():
    found = [name for name in ("torch", "cupy") if importlib.util.find_spec(name)]
    print(f"overtake {overtake_gpu.version()}, deployment {overtake_gpu.deployment()}, libraries {found}")
    if "torch" in found:
        with_torch()
    if "cupy" in found:
        with_cupy()
    if not found:
        print("neither PyTorch nor CuPy is installed: nothing to copy")
    print(overtake_gpu.statistics())


if __name__ == "__main__":
    main()
