"""An unmodified PyTorch program: small pinned copies while another stream is saturated with bulk copies.

Sixteen copies of 256 MiB are queued on one stream (a side stream, then the default stream), 64 KiB copies are made on
a second one 0.6 ms apart, in both directions. Rounds without bulk alternate with rounds under it: drift meets both.
The last line of the output is a JSON object. `pair.py contended` runs it natively and under `overtake run`.
"""

import argparse
import json
import time

import torch

BULK_BYTES = 256 << 20
BULK_COPIES = 16
SMALL_BYTES = 64 << 10
SLOTS = 64
PAUSE_S = 0.0006
LEAD_S = 0.002


def random_bytes(count, seed):
    return torch.randint(0, 256, (count,), dtype=torch.uint8, device="cuda",
                         generator=torch.Generator("cuda").manual_seed(seed))


class Side:
    """One direction: sources, targets, and the check that the bytes arrived."""

    def __init__(self, direction, bulk_bytes):
        self.direction = direction
        self.bulk_truth = random_bytes(bulk_bytes, 1)
        self.small_truth = random_bytes(SMALL_BYTES * SLOTS, 2).view(SLOTS, SMALL_BYTES)
        self.bulk_host = self.bulk_truth.cpu().pin_memory()
        self.small_host = self.small_truth.cpu().pin_memory()
        self.bulk_device = self.bulk_truth.clone()
        self.small_device = self.small_truth.clone()

    def bulk(self):
        if self.direction == "H2D":
            self.bulk_device.copy_(self.bulk_host, non_blocking=True)
        else:
            self.bulk_host.copy_(self.bulk_device, non_blocking=True)

    def small(self, slot):
        if self.direction == "H2D":
            self.small_device[slot].copy_(self.small_host[slot], non_blocking=True)
        else:
            self.small_host[slot].copy_(self.small_device[slot], non_blocking=True)

    def clear(self, bulk):
        """Spoils the targets, so that bytes which do not arrive are seen."""
        h2d = self.direction == "H2D"
        (self.small_device if h2d else self.small_host).zero_()
        if bulk:
            (self.bulk_device if h2d else self.bulk_host).zero_()
        torch.cuda.synchronize()

    def arrived(self, slots, bulk):
        small, large = self.small_device, self.bulk_device
        if self.direction == "D2H":
            small = self.small_host.cuda()
            large = self.bulk_host.cuda() if bulk else None
        return torch.equal(small[:slots], self.small_truth[:slots]) and \
            (not bulk or torch.equal(large, self.bulk_truth))


class Round:
    """One round: the samples, and the time of the bulk copies on their stream."""

    def __init__(self, side, urgent, bulk_stream, samples_max):
        self.samples_us, self.bulk_ms, self.slots = [], None, 0
        side.clear(bulk_stream is not None)
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        if bulk_stream is not None:
            with torch.cuda.stream(bulk_stream):
                first.record()
                for _ in range(BULK_COPIES):
                    side.bulk()
                last.record()
            time.sleep(LEAD_S)
        else:
            last.record(urgent)
            urgent.synchronize()
        for number in range(samples_max):
            if last.query() != (bulk_stream is None):
                break
            self.sample(side, urgent, number % SLOTS)
        torch.cuda.synchronize()
        if bulk_stream is not None:
            self.bulk_ms = first.elapsed_time(last)
        self.good = side.arrived(self.slots, bulk_stream is not None)

    def sample(self, side, urgent, slot):
        began = time.perf_counter()
        with torch.cuda.stream(urgent):
            side.small(slot)
        urgent.synchronize()
        self.samples_us.append(round((time.perf_counter() - began) * 1e6, 1))
        self.slots = max(self.slots, slot + 1)
        time.sleep(PAUSE_S)


def bulk_alone_gbs(side, stream, bulk_bytes):
    """The rate of the bulk copies alone."""
    return rate_gbs(Round(side, torch.cuda.Stream(), stream, 0).bulk_ms, bulk_bytes)


def rate_gbs(bulk_ms, bulk_bytes):
    return BULK_COPIES * bulk_bytes / bulk_ms / 1e6


def case(side, place, rounds, samples, bulk_bytes):
    """Idle and loaded rounds in turn, after one of each to warm up."""
    urgent = torch.cuda.Stream()
    stream = torch.cuda.Stream() if place == "side" else torch.cuda.default_stream()
    idle, loaded, rates, good = [], [], [], True
    for number in range(rounds + 1):
        quiet = Round(side, urgent, None, samples)
        loud = Round(side, urgent, stream, 1000)
        good = good and quiet.good and loud.good
        if number > 0:
            idle += quiet.samples_us
            loaded += loud.samples_us
            rates.append(rate_gbs(loud.bulk_ms, bulk_bytes))
    rates.sort()
    alone = bulk_alone_gbs(side, stream, bulk_bytes)
    return {"case": f"{side.direction} {place}", "idle_us": idle, "loaded_us": loaded,
            "bulk_gbs": rates[len(rates) // 2], "bulk_alone_gbs": alone, "bytes_ok": good}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--idle-samples", type=int, default=60)
    parser.add_argument("--bulk-mib", type=int, default=BULK_BYTES >> 20)
    arguments = parser.parse_args()
    began, rows = time.perf_counter(), []
    bulk_bytes = arguments.bulk_mib << 20
    for direction in ("H2D", "D2H"):
        side = Side(direction, bulk_bytes)
        for place in ("side", "default"):
            rows.append(case(side, place, arguments.rounds, arguments.idle_samples, bulk_bytes))
    print(json.dumps({"script": "contended", "device": torch.cuda.get_device_name(), "torch": torch.__version__,
                      "seconds": time.perf_counter() - began, "rows": rows}), flush=True)


if __name__ == "__main__":
    main()
