"""A program that computes on small batches: each goes to the device, a product is formed there, and its sum comes back.

`loop.py torch` or `loop.py jax`. It makes one group of steps for each line of its input, and answers with the time of a
step in microseconds, so that `observe.py` can take turns between a native process and a watched one."""

import sys
import time

import numpy

SIDE = 512
STEPS = 200
BATCH = (numpy.arange(SIDE * SIDE) % 7 - 3).astype(numpy.float32).reshape(SIDE, SIDE)
SUM = float((BATCH.astype(numpy.float64) @ BATCH.astype(numpy.float64)).sum())


def torch_step():
    import torch

    pinned = torch.from_numpy(BATCH).pin_memory()

    def step():
        there = pinned.to("cuda", non_blocking=True)
        return (there @ there).sum().item()

    return step


def jax_step():
    import jax

    product = jax.jit(lambda there: (there @ there).sum())
    return lambda: float(product(jax.device_put(BATCH)))


def main():
    step = {"torch": torch_step, "jax": jax_step}[sys.argv[1]]()
    for _ in sys.stdin:
        began = time.perf_counter()
        for _ in range(STEPS):
            result = step()
        step_us = (time.perf_counter() - began) / STEPS * 1e6
        if abs(result - SUM) > 1e-3 * abs(SUM) + 64:
            sys.exit(f"the sum is {result} and not {SUM}")
        print(step_us, flush=True)


if __name__ == "__main__":
    main()
