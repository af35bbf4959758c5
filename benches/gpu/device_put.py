"""A JAX program whose copies all go through the one stream that JAX has for them.

A thread puts four arrays of 256 MiB at a time from `pinned_host` memory on the device, while arrays of 64 KiB are put
there one after the other. A sample is the time from `device_put` until the small array is ready. Phases without the
thread alternate with phases beside it. The last line of the output is a JSON object. `pair.py device_put` runs it
natively and under `overtake run`.
"""

import argparse
import json
import random
import statistics
import threading
import time

import jax
import numpy

import phased

ARRAYS = 4
SMALL_BYTES = 64 << 10
SLOTS = 16
# Pauses of many lengths: samples in step with the bulk copies would all meet the same moment of them.
PAUSE_S = (0.0005, 0.005)


def known_bytes(count, seed):
    return numpy.random.Generator(numpy.random.PCG64(seed)).integers(0, 256, count, dtype=numpy.uint8)


class Loader:
    """The thread with the large arrays."""

    def __init__(self, device, array_bytes):
        host = jax.sharding.SingleDeviceSharding(device, memory_kind="pinned_host")
        self.near = jax.sharding.SingleDeviceSharding(device)
        self.truth = known_bytes(array_bytes, 1)
        self.arrays = [jax.device_put(self.truth, host) for _ in range(ARRAYS)]
        jax.block_until_ready(self.arrays)
        self.good, self.rate, self.ending, self.thread = True, 0.0, None, None

    def work(self):
        moved, began = 0, time.perf_counter()
        while True:
            there = jax.block_until_ready([jax.device_put(array, self.near) for array in self.arrays])
            moved += sum(array.nbytes for array in there)
            if self.ending.is_set():
                break
        self.rate = moved / (time.perf_counter() - began) / 1e9
        self.good = self.good and numpy.array_equal(numpy.asarray(there[-1]), self.truth)

    def __enter__(self):
        self.ending, self.thread = threading.Event(), threading.Thread(target=self.work)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ending.set()
        self.thread.join()


class Small:
    """The small arrays, and whether the last ones of each phase have arrived whole."""

    def __init__(self, device):
        self.near, self.chance = jax.sharding.SingleDeviceSharding(device), random.Random(3)
        self.sources = [known_bytes(SMALL_BYTES, 10 + slot) for slot in range(SLOTS)]
        self.good = True

    def phase(self, seconds):
        """Samples in microseconds."""
        samples_us, kept, until = [], {}, time.perf_counter() + seconds
        while time.perf_counter() < until:
            slot = len(samples_us) % SLOTS
            began = time.perf_counter()
            kept[slot] = jax.block_until_ready(jax.device_put(self.sources[slot], self.near))
            samples_us.append(round((time.perf_counter() - began) * 1e6, 1))
            time.sleep(self.chance.uniform(*PAUSE_S))
        self.good = self.good and all(numpy.array_equal(numpy.asarray(there), self.sources[slot])
                                      for slot, there in kept.items())
        return samples_us


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1.5, help="of a loaded phase; an idle one takes a third")
    parser.add_argument("--bulk-mib", type=int, default=256)
    arguments = parser.parse_args()
    device = jax.devices()[0]
    if "pinned_host" not in {memory.kind for memory in device.addressable_memories()}:
        raise SystemExit("this JAX has no pinned_host memory")
    loader, small = Loader(device, arguments.bulk_mib << 20), Small(device)
    idle, loaded, rates = [], [], []
    for turn in range(arguments.rounds + 1):
        if turn == 1:
            phased.await_turn()
        quiet = small.phase(arguments.seconds / 3)
        with loader:
            busy = small.phase(arguments.seconds)
        if turn > 0:
            idle, loaded, rates = idle + quiet, loaded + busy, [*rates, loader.rate]
    row = {"case": "one stream", "idle_us": idle, "loaded_us": loaded, "bulk_gbs": statistics.median(rates),
           "bytes_ok": small.good and loader.good}
    print(json.dumps({"script": "device_put", "device": device.device_kind, "jax": jax.__version__,
                      "platform": device.client.platform_version, "rows": [row]}), flush=True)


if __name__ == "__main__":
    main()
