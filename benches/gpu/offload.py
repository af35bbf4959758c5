"""Offloading: many device-to-host blocks by batch calls, beside small device-to-host copies.

The blocks have 64 KiB to 2 MiB, or all the size of `--block-kib`.

A plain driver program (ctypes, cuGetProcAddress, cuMemcpyBatchAsync). Rounds without batches alternate with rounds
under them. The last line of the output is a JSON object. `pair.py offload` runs it natively and under
`overtake run`.
"""

import argparse
import collections
import ctypes
import json
import random
import time

import phased
from driver import Batch, Driver, check

BLOCK_KIB = (64, 128, 256, 512, 1024, 2048)
BLOCKS_PER_BATCH = 64
SMALL_BYTES = 64 << 10
SLOTS = 32
QUEUED_BATCHES = 12
PAUSE_S = 0.0006
LEAD_S = 0.002

same_bytes = ctypes.CDLL(None).memcmp
same_bytes.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]


class Blocks:
    """Blocks side by side on the device, scattered over pinned host memory: the batches that move them."""

    def __init__(self, driver, batches, block_kib):
        chance, self.driver = random.Random(7), driver
        sizes = [chance.choice(block_kib) << 10 for _ in range(batches * BLOCKS_PER_BATCH)]
        self.total = sum(sizes)
        self.device, (self.host, self.view) = driver.device_bytes(self.total), driver.pinned_bytes(self.total)
        self.truth = chance.randbytes(min(self.total, 4 << 20))
        self.truth = (self.truth * (self.total // len(self.truth) + 1))[:self.total]
        self.view[:] = self.truth
        stream = driver.stream()
        check(driver.to_device(self.device, self.host, self.total, stream), "cuMemcpyHtoDAsync")
        driver.synchronize(stream)
        starts = [0]
        for size in sizes[:-1]:
            starts.append(starts[-1] + size)
        order = list(range(len(sizes)))
        chance.shuffle(order)
        groups = [order[at:at + BLOCKS_PER_BATCH] for at in range(0, len(order), BLOCKS_PER_BATCH)]
        self.batches = [Batch([self.host + starts[block] for block in group],
                              [self.device + starts[block] for block in group],
                              [sizes[block] for block in group]) for group in groups]

    def clear(self):
        ctypes.memset(self.host, 0, self.total)

    def arrived(self):
        return same_bytes(self.host, self.truth, self.total) == 0


class Offloader:
    """Keeps a stream busy with batches: fewer than the stream holds, so that no call blocks inside the driver."""

    def __init__(self, driver, blocks):
        self.driver, self.blocks, self.stream = driver, blocks, driver.stream()
        self.queued, self.spare, self.next_batch, self.bytes = collections.deque(), [], 0, 0

    def top_up(self):
        while self.queued and self.driver.done(self.queued[0]):
            self.spare.append(self.queued.popleft())
        while len(self.queued) < QUEUED_BATCHES:
            batch = self.blocks.batches[self.next_batch % len(self.blocks.batches)]
            self.next_batch += 1
            self.driver.batch(batch, self.stream)
            self.bytes += batch.bytes
            event = self.spare.pop() if self.spare else self.driver.event()
            self.driver.record(event, self.stream)
            self.queued.append(event)

    def drain(self):
        self.driver.synchronize(self.stream)
        self.spare.extend(self.queued)
        self.queued.clear()


class Small:
    """Small copies device to host, each to a slot of its own."""

    def __init__(self, driver):
        self.driver, self.stream = driver, driver.stream()
        self.device, (self.host, self.view) = driver.device_bytes(SMALL_BYTES * SLOTS), \
            driver.pinned_bytes(SMALL_BYTES * SLOTS)
        self.truth = random.Random(8).randbytes(SMALL_BYTES * SLOTS)
        self.view[:] = self.truth
        check(driver.to_device(self.device, self.host, SMALL_BYTES * SLOTS, self.stream), "cuMemcpyHtoDAsync")
        driver.synchronize(self.stream)

    def sample(self, number):
        at = number % SLOTS * SMALL_BYTES
        began = time.perf_counter()
        status = self.driver.to_host(self.host + at, self.device + at, SMALL_BYTES, self.stream)
        status = status or self.driver.wait(self.stream)
        taken_us = round((time.perf_counter() - began) * 1e6, 1)
        check(status, "a small copy")
        return taken_us

    def arrived(self, count):
        good = same_bytes(self.host, self.truth, min(count, SLOTS) * SMALL_BYTES) == 0
        ctypes.memset(self.host, 0, SMALL_BYTES * SLOTS)
        return good


def measured_round(driver, small, offloader, seconds, loud):
    """Samples of one round and the rate of the batches; without `loud` the small copies run alone."""
    samples_us, first, last = [], driver.event(True), driver.event(True)
    began, offloader.bytes = time.perf_counter(), 0
    driver.record(first, offloader.stream)
    if loud:
        offloader.top_up()
        time.sleep(LEAD_S)
    while time.perf_counter() - began < seconds:
        if loud:
            offloader.top_up()
        samples_us.append(small.sample(len(samples_us)))
        time.sleep(PAUSE_S)
    driver.record(last, offloader.stream)
    offloader.drain()
    rate = offloader.bytes / driver.elapsed_ms(first, last) / 1e6 if loud else 0.0
    for event in (first, last):
        driver.call("cuEventDestroy_v2", event)
    return samples_us, rate


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=0.15)
    parser.add_argument("--batches", type=int, default=8)
    parser.add_argument("--block-kib", type=int)
    arguments = parser.parse_args()
    began, driver = time.perf_counter(), Driver()
    driver.prepare_batches()
    block_kib = (arguments.block_kib,) if arguments.block_kib else BLOCK_KIB
    blocks, small = Blocks(driver, arguments.batches, block_kib), Small(driver)
    offloader, idle, loud, rates, good = Offloader(driver, blocks), [], [], [], True
    for number in range(arguments.rounds + 1):
        if number == 1:
            phased.await_turn()
        quiet, _ = measured_round(driver, small, offloader, arguments.seconds / 3, False)
        good = small.arrived(len(quiet)) and good
        blocks.clear()
        busy, rate = measured_round(driver, small, offloader, arguments.seconds, True)
        good = small.arrived(len(busy)) and blocks.arrived() and good
        if number > 0:
            idle, loud, rates = idle + quiet, loud + busy, [*rates, rate]
    of_size = f" of {arguments.block_kib} KiB" if arguments.block_kib else ""
    row = {"case": f"small D2H beside batches{of_size}", "idle_us": idle, "loaded_us": loud,
           "bulk_gbs": sorted(rates)[len(rates) // 2], "bytes_ok": good}
    print(json.dumps({"script": "offload", "device": driver.device_name(), "driver": driver.version,
                      "seconds": time.perf_counter() - began, "blocks": arguments.batches * BLOCKS_PER_BATCH,
                      "blocks_mib": blocks.total / 2**20, "rows": [row]}), flush=True)


if __name__ == "__main__":
    main()
