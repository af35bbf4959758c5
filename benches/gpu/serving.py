"""A serving-shaped PyTorch program: every step sends four small copies on a scheduling stream, while layers are loaded.

Layers of 16, 32, 48 and 64 MiB are loaded host to device on a stream of their own, always with more queued than a
step takes. Measured is the first small copy of each step, from the call until the host sees its event. Segments with
and without loading alternate. The last line of the output is a JSON object. `pair.py serving` runs it natively and
under `overtake run`.
"""

import argparse
import collections
import json
import time

import torch

import phased

LAYER_MIB = (16, 32, 48, 64)
SMALL_BYTES = (64 << 10, 32 << 10, 8 << 10, 1 << 10)
QUEUED_LAYERS = 32
STEP_PAUSE_S = 0.001


def random_bytes(count, seed):
    return torch.randint(0, 256, (count,), dtype=torch.uint8, device="cuda",
                         generator=torch.Generator("cuda").manual_seed(seed))


class Loader:
    """Keeps a stream busy with layers, and counts the bytes of those that have arrived."""

    def __init__(self):
        self.stream = torch.cuda.Stream()
        self.truth = [random_bytes(mib << 20, seed) for seed, mib in enumerate(LAYER_MIB)]
        self.host = [layer.cpu().pin_memory() for layer in self.truth]
        self.device = [torch.zeros_like(layer) for layer in self.truth]
        self.queued, self.next_layer, self.loaded_bytes = collections.deque(), 0, 0

    def top_up(self):
        """Retires the layers that have arrived and queues as many."""
        while self.queued and self.queued[0][0].query():
            self.loaded_bytes += self.queued.popleft()[1]
        with torch.cuda.stream(self.stream):
            while len(self.queued) < QUEUED_LAYERS:
                layer = self.next_layer = (self.next_layer + 1) % len(self.host)
                self.device[layer].copy_(self.host[layer], non_blocking=True)
                event = torch.cuda.Event()
                event.record()
                self.queued.append((event, self.host[layer].numel()))

    def drain(self):
        self.stream.synchronize()
        self.queued.clear()

    def arrived(self):
        return all(torch.equal(device, truth) for device, truth in zip(self.device, self.truth))


class Scheduler:
    """The four small copies of a step, and the little work that uses them."""

    def __init__(self):
        self.stream = torch.cuda.Stream()
        self.host = [random_bytes(count, 10 + count).cpu().pin_memory() for count in SMALL_BYTES]
        self.device = [torch.zeros(count, dtype=torch.uint8, device="cuda") for count in SMALL_BYTES]
        self.sums = torch.zeros(len(SMALL_BYTES), dtype=torch.int64, device="cuda")
        self.truth = sum(int(host.sum(dtype=torch.int64)) for host in self.host)
        self.good = True

    def step(self):
        """Returns how long the first copy took to arrive, in microseconds."""
        first = torch.cuda.Event()
        with torch.cuda.stream(self.stream):
            began = time.perf_counter()
            self.device[0].copy_(self.host[0], non_blocking=True)
            first.record()
            for device, host in zip(self.device[1:], self.host[1:]):
                device.copy_(host, non_blocking=True)
            first.synchronize()
            taken_us = round((time.perf_counter() - began) * 1e6, 1)
            total = torch.stack([device.sum(dtype=torch.int64) for device in self.device]).sum()
            self.good = self.good and int(total) == self.truth
            for device in self.device:
                device.zero_()
        return taken_us


def segment(scheduler, loader, seconds):
    """Steps for some seconds, while layers are loaded if there is a loader; returns samples and bytes per second."""
    samples_us, began = [], time.perf_counter()
    bytes_before = loader.loaded_bytes if loader else 0
    while (elapsed := time.perf_counter() - began) < seconds:
        if loader:
            loader.top_up()
        samples_us.append(scheduler.step())
        time.sleep(STEP_PAUSE_S)
    loaded = loader.loaded_bytes - bytes_before if loader else 0
    if loader:
        loader.drain()
    return samples_us, loaded / elapsed / 1e9


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--segments", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.2)
    arguments = parser.parse_args()
    began, scheduler, loader = time.perf_counter(), Scheduler(), Loader()
    idle, loading, rates = [], [], []
    for number in range(arguments.segments + 1):
        if number == 1:
            phased.await_turn()
        warm = number == 0
        quiet, _ = segment(scheduler, None, arguments.seconds / (4 if warm else 2))
        loud, rate = segment(scheduler, loader, arguments.seconds / (4 if warm else 1))
        if not warm:
            idle, loading, rates = idle + quiet, loading + loud, [*rates, rate]
    row = {"case": "first small copy of a step", "idle_us": idle, "loaded_us": loading,
           "bulk_gbs": sorted(rates)[len(rates) // 2], "bytes_ok": scheduler.good and loader.arrived()}
    print(json.dumps({"script": "serving", "device": torch.cuda.get_device_name(), "torch": torch.__version__,
                      "seconds": time.perf_counter() - began, "rows": [row]}), flush=True)


if __name__ == "__main__":
    main()
