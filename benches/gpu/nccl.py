"""NCCL with the drop-in: loaded through ctypes, under torch.distributed and under torchrun, on every GPU up to two.

Measures the bandwidth of all_reduce by itself, then again with pinned copies of both sizes under way (which must not
hang it, nor spoil any bytes). Without arguments it runs all programs in both modes, in turn, and prints a table.
"""

import argparse
import ctypes
import importlib.util
import json
import os
import statistics
import sys
import time

import harness

BYTES = 256 << 20
REPEATS, ROUNDS = 40, 5
BULK_BYTES, SMALL_BYTES = 64 << 20, 64 << 10
FLOAT32, SUM = 7, 0
SHARE_MAX = 0.02
TAG = "NCCL-RESULT "
PROGRAMS = ("ctypes", "torch", "torchrun")


def nccl_library():
    """libnccl.so.2: the one of the Python package, else the system's."""
    try:
        folders = importlib.util.find_spec("nvidia.nccl").submodule_search_locations
    except (ImportError, AttributeError):
        folders = []
    for folder in folders:
        path = os.path.join(folder, "lib", "libnccl.so.2")
        if os.path.exists(path):
            return ctypes.CDLL(path)
    return ctypes.CDLL("libnccl.so.2")


class Copies:
    """Pinned copies of both sizes and both directions on two side streams of one device."""

    def __init__(self, torch, device):
        self.torch, self.device = torch, device
        self.loading, self.side = torch.cuda.Stream(device), torch.cuda.Stream(device)
        self.bulk = torch.arange(BULK_BYTES // 8, dtype=torch.int64).pin_memory()
        self.small = torch.arange(SMALL_BYTES // 8, dtype=torch.int64).pin_memory()
        self.bulk_there, self.small_there = self.bulk.to(device), self.small.to(device)
        self.bulk_back, self.small_back = (torch.empty_like(one).pin_memory() for one in (self.bulk, self.small))

    def some(self):
        with self.torch.cuda.stream(self.loading):
            self.bulk_there.copy_(self.bulk, non_blocking=True)
            self.bulk_back.copy_(self.bulk_there, non_blocking=True)
        with self.torch.cuda.stream(self.side):
            self.small_there.copy_(self.small, non_blocking=True)
            self.small_back.copy_(self.small_there, non_blocking=True)

    def good(self):
        self.torch.cuda.synchronize(self.device)
        return self.torch.equal(self.bulk, self.bulk_back) and self.torch.equal(self.small, self.small_back)


def timed(torch, reduce, copies):
    """Best time of one of REPEATS reductions, in seconds; `copies` run beside them if given."""
    times = []
    for _ in range(ROUNDS if copies is None else 2):
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(REPEATS):
            reduce()
            if copies:
                copies.some()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - began) / REPEATS)
    return min(times)


def report(torch, program, world, alone_s, beside_s, good):
    print(TAG + json.dumps({"program": program, "world": world, "device": torch.cuda.get_device_name(),
                            "gbs": BYTES / alone_s / 1e9, "beside_copies_gbs": BYTES / beside_s / 1e9, "good": good}),
          flush=True)


def with_ctypes():
    """One process with a communicator a device."""
    import torch
    nccl, world = nccl_library(), min(2, torch.cuda.device_count())
    devices = [torch.device("cuda", index) for index in range(world)]

    def ok(status, name):
        if status != 0:
            raise OSError(f"{name} returned {status}")

    communicators = (ctypes.c_void_p * world)()
    ok(nccl.ncclCommInitAll(communicators, world, (ctypes.c_int * world)(*range(world))), "ncclCommInitAll")
    sources = [torch.full((BYTES // 4,), 1.5 + device.index, device=device) for device in devices]
    targets = [torch.zeros_like(source) for source in sources]
    streams = [torch.cuda.Stream(device) for device in devices]

    def reduce():
        ok(nccl.ncclGroupStart(), "ncclGroupStart")
        for index in range(world):
            from_to = [ctypes.c_void_p(values[index].data_ptr()) for values in (sources, targets)]
            ok(nccl.ncclAllReduce(*from_to, ctypes.c_size_t(BYTES // 4), FLOAT32, SUM,
                                  ctypes.c_void_p(communicators[index]), ctypes.c_void_p(streams[index].cuda_stream)),
               "ncclAllReduce")
        ok(nccl.ncclGroupEnd(), "ncclGroupEnd")

    copies = Copies(torch, devices[0])
    for device in devices:
        torch.cuda.synchronize(device)
    reduce()
    alone_s, beside_s = timed(torch, reduce, None), timed(torch, reduce, copies)
    for device in devices:
        torch.cuda.synchronize(device)
    right = sum(1.5 + index for index in range(world))
    good = copies.good() and all(bool((target == right).all()) for target in targets)
    for communicator in communicators:
        ok(nccl.ncclCommDestroy(ctypes.c_void_p(communicator)), "ncclCommDestroy")
    report(torch, "ctypes", world, alone_s, beside_s, good)


def with_torch(rank, world, meeting, program="torch.distributed"):
    """One rank of torch.distributed."""
    import torch
    import torch.distributed as distributed
    device = torch.device("cuda", rank)
    torch.cuda.set_device(device)
    distributed.init_process_group("nccl", init_method=meeting, rank=rank, world_size=world, device_id=device)
    values = torch.ones(BYTES // 4, device=device)
    copies = Copies(torch, device)

    gather_target = torch.empty_like(values)

    def reduce():
        if world == 1:
            # With one rank all_reduce in place has nothing to do; a gather moves the bytes.
            distributed.all_gather_into_tensor(gather_target, values)
        else:
            distributed.all_reduce(values, distributed.ReduceOp.MAX)

    reduce()
    alone_s, beside_s = timed(torch, reduce, None), timed(torch, reduce, copies)
    total = torch.full((1000,), float(rank + 1), device=device)
    distributed.all_reduce(total)
    good = copies.good() and bool((values == 1).all()) and bool((total == world * (world + 1) / 2).all())
    gathered = [torch.zeros(1, device=device) for _ in range(world)]
    distributed.all_gather(gathered, torch.tensor([float(good)], device=device))
    if rank == 0:
        report(torch, program, world, alone_s, beside_s, all(bool(one) for one in gathered))
    distributed.destroy_process_group()


def with_torch_ranks():
    """Starts a rank a device and waits for them."""
    import tempfile
    import torch.multiprocessing
    world = min(2, torch.cuda.device_count())
    with tempfile.TemporaryDirectory(prefix="overtake-nccl-") as folder:
        meeting = "file://" + os.path.join(folder, "store")
        if world == 1:
            with_torch(0, 1, meeting)
        else:
            torch.multiprocessing.spawn(with_torch, (world, meeting), world)


def with_torchrun_rank():
    """The program that torchrun starts."""
    with_torch(int(os.environ["LOCAL_RANK"]), int(os.environ["WORLD_SIZE"]), "env://", "torchrun")


def command_of(program):
    """The command of a program."""
    this = os.path.abspath(__file__)
    if program == "torchrun":
        return [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=gpu", this,
                "--program", "rank"]
    return [sys.executable, this, "--program", program]


def compare(runs, limit_s):
    """All programs in both modes, in turn: every result by program and mode."""
    seen, ended = {}, True
    for _ in range(runs):
        for program in PROGRAMS:
            for mode in harness.MODES:
                done = harness.run(mode, command_of(program), limit_s)
                lines = [line[len(TAG):] for line in done["out"].splitlines() if line.startswith(TAG)]
                if done["status"] != 0 or not lines:
                    ended = False
                    print(f"{program}, {mode}: status {done['status']}\n{harness.tail(done['err'])}")
                    continue
                row = json.loads(lines[-1])
                seen.setdefault((row["program"], row["world"]), {}).setdefault(mode, []).append(row)
    return seen, ended


def stored(seen):
    """A row for each run of each program."""
    for (program, world), modes in seen.items():
        for mode, runs in modes.items():
            for run in runs:
                yield {"program": program, "mode": mode, "gpus": world, "alone_gbps": run["gbs"],
                       "beside_copies_gbps": run["beside_copies_gbs"], "good": run["good"]}


def rows_of(seen):
    """One line per program: the best bandwidth of each mode, and the loss."""
    rows = []
    for (program, world), modes in seen.items():
        if set(modes) == set(harness.MODES):
            native, ours = (max(row["gbs"] for row in modes[mode]) for mode in harness.MODES)
            beside = [statistics.median(row["beside_copies_gbs"] for row in modes[mode]) for mode in harness.MODES]
            good = all(row["good"] for rows_of_mode in modes.values() for row in rows_of_mode)
            lost = 1 - ours / native
            rows.append([program, world, native, ours, 100 * lost, *beside, good, lost <= SHARE_MAX and good])
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", choices=("ctypes", "torch", "rank"), help="run one program instead of comparing")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--limit-s", type=float, default=60)
    arguments = parser.parse_args()
    if arguments.program == "ctypes":
        return with_ctypes()
    if arguments.program == "torch":
        return with_torch_ranks()
    if arguments.program == "rank":
        return with_torchrun_rank()
    seen, ended = compare(arguments.runs, arguments.limit_s)
    rows = rows_of(seen)
    harness.save("nccl.json", {"header": harness.header(), "question": "nccl", "ended": ended, "judged": rows,
                               "rows": list(stored(seen))})
    harness.print_table(["program", "GPUs", "native GB/s", "overtake GB/s", "lost %", "native beside copies",
                         "overtake beside copies", "right", "holds"], rows)
    sys.exit(0 if ended and rows and all(row[-1] for row in rows) else 1)


if __name__ == "__main__":
    main()
