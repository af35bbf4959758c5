"""A PyTorch program that pins no memory: arrays and files go to the device, and results come back to fresh memory.

Each case is a copy and its wait, timed while nothing else is copied, and beside a thread that makes copies of 64 MiB of
pageable memory both ways. The cases "first" are the process's first copies; they come before all others, and have no
load. The last line of the output is a JSON object. `pair.py unpinned` runs it natively and under `overtake run`.
"""

import argparse
import json
import os
import tempfile
import threading
import time

import numpy
import torch

MIB = 1 << 20
LOAD_BYTES = 64 * MIB


def known_bytes(count, seed):
    return numpy.random.Generator(numpy.random.PCG64(seed)).integers(0, 256, count, dtype=numpy.uint8)


class Load:
    """A thread that copies to the device and back, each copy in a stream of the thread."""

    def __init__(self):
        self.source = torch.from_numpy(known_bytes(LOAD_BYTES, 1))
        self.near, self.back = torch.empty(LOAD_BYTES, dtype=torch.uint8, device="cuda"), torch.empty_like(self.source)
        self.good, self.ending, self.thread = True, None, None

    def work(self):
        with torch.cuda.stream(torch.cuda.Stream()):
            while not self.ending.is_set():
                self.near.copy_(self.source)
                self.back.copy_(self.near)
        self.good = self.good and torch.equal(self.back, self.source)

    def __enter__(self):
        self.ending, self.thread = threading.Event(), threading.Thread(target=self.work)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ending.set()
        self.thread.join()


class File:
    """A file of weights that is mapped, as safetensors maps it."""

    def __init__(self, folder, truth):
        self.path, self.truth = os.path.join(folder, "weights"), truth
        truth.tofile(self.path)

    def to_device(self):
        return torch.from_numpy(numpy.memmap(self.path, dtype=numpy.uint8, mode="c")).cuda()

    def chill(self):
        """Has the system drop the file's pages from memory."""
        with open(self.path, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class Case:
    """A copy, the check of its result, and its samples in microseconds."""

    def __init__(self, name, copy, truth, prepare=lambda: None):
        self.name, self.copy, self.truth, self.prepare = name, copy, truth, prepare
        self.idle_us, self.loaded_us, self.good = [], [], True

    def sample(self):
        """Microseconds of one copy, and its result. It waits for its own stream: to wait for the device would be to
        wait for the load."""
        self.prepare()
        torch.cuda.current_stream().synchronize()
        began = time.perf_counter()
        copied = self.copy()
        torch.cuda.current_stream().synchronize()
        return round((time.perf_counter() - began) * 1e6, 1), copied

    def check(self):
        """Whether a copy that is not timed has the right result."""
        _, copied = self.sample()
        self.good = self.good and numpy.array_equal(copied.cpu().numpy(), self.truth)

    def phase(self, count):
        """The check, and so many samples."""
        self.check()
        return [self.sample()[0] for _ in range(count)]

    def row(self, load_good):
        return {"case": self.name, "idle_us": self.idle_us, "loaded_us": self.loaded_us,
                "bytes_ok": self.good and load_good}


def cases(folder, sizes_mib):
    """Every case: the sizes each way, to memory in use and to fresh memory, and the file, warm and cold."""
    for size, name in [(64 << 10, "64 KiB"), (MIB, "1 MiB"), *((mib * MIB, f"{mib} MiB") for mib in sizes_mib)]:
        truth = known_bytes(size, size)
        here, near = torch.from_numpy(truth), torch.from_numpy(truth).cuda()
        target, kept = torch.empty_like(near), torch.empty_like(here)
        yield Case(f"{name} to device", lambda target=target, here=here: target.copy_(here), truth)
        yield Case(f"{name} to host", lambda kept=kept, near=near: kept.copy_(near), truth)
        yield Case(f"{name} .cpu()", near.cpu, truth)
    truth = known_bytes(sizes_mib[0] * MIB, 7)
    file = File(folder, truth)
    yield Case("mapped file", file.to_device, truth)
    yield Case("cold file", file.to_device, truth, file.chill)


def first(size):
    """The first copies of the process, each way."""
    truth = known_bytes(size, 3)
    here, kept = torch.from_numpy(truth), torch.zeros(size, dtype=torch.uint8)
    near = torch.empty(size, dtype=torch.uint8, device="cuda")
    to_device = Case("first to device", lambda: near.copy_(here), truth)
    to_host = Case("first to host", lambda: kept.copy_(near), truth)
    for case in (to_device, to_host):
        case.idle_us.append(case.sample()[0])
    to_host.good = numpy.array_equal(kept.numpy(), truth)
    return [to_device, to_host]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=5, help="of each case and phase")
    parser.add_argument("--mib", type=int, nargs="+", default=[64, 256])
    arguments = parser.parse_args()
    begun = first(64 * MIB)
    with tempfile.TemporaryDirectory(prefix="overtake-pageable-") as folder:
        every, load = list(cases(folder, arguments.mib)), Load()
        for case in every:
            case.idle_us = case.phase(arguments.samples)
        with load:
            for case in every:
                case.loaded_us = case.phase(arguments.samples)
    rows = [case.row(load.good) for case in [*begun, *every]]
    print(json.dumps({"script": "unpinned", "device": torch.cuda.get_device_name(), "torch": torch.__version__,
                      "rows": rows}), flush=True)


if __name__ == "__main__":
    main()
