"""Unmodified PyTorch programs of three common shapes, each with bulk from a thread of its own and no priority anywhere.

* Requests with pinned input and output, beside 200 tensors that are loaded from pageable memory.
* Training steps that read their loss, beside a checkpoint to pinned memory whose check uses `.cpu()`.
* Decoding steps with `.tolist()`, beside single copies of 2 MiB in both directions.

Phases with and without bulk alternate. The last line of the output is a JSON object. `pair.py shapes` runs it natively
and under `overtake run`.
"""

import json

import torch

import phased

REQUEST_BYTES = 256 << 10
TENSORS, TENSOR_BYTES = 200, 8 << 20
PART_BYTES, CHECK_BYTES, PARTS = 256 << 20, 32 << 20, 4
BLOCK_BYTES, BLOCKS = 2 << 20, 32


def random_bytes(count, seed):
    return torch.randint(0, 256, (count,), dtype=torch.uint8, device="cuda",
                         generator=torch.Generator("cuda").manual_seed(seed))


class Bulk(phased.Bulk):
    """Bulk on a stream of its own."""

    def __init__(self):
        super().__init__()
        self.stream = torch.cuda.Stream()

    def work(self):
        with torch.cuda.stream(self.stream):
            super().work()


class Loading(Bulk):
    def __init__(self):
        super().__init__()
        self.there = random_bytes(TENSOR_BYTES, 1)
        self.tensors, self.next = [self.there.cpu() for _ in range(8)], 0
        # The kernels of the check are loaded here: their load stops all threads for 50 ms, with and without overtake.
        self.good = torch.equal(self.there.clone(), self.there)

    def once(self):
        loaded = self.tensors[self.next % len(self.tensors)].to("cuda")
        self.next = (self.next + 1) % TENSORS
        if self.next == 0:
            self.good = self.good and torch.equal(loaded, self.there)
        return TENSOR_BYTES


class Checkpoint(Bulk):
    def __init__(self):
        super().__init__()
        self.parts = [random_bytes(PART_BYTES, 2 + part) for part in range(PARTS)]
        self.host = torch.empty(PART_BYTES, dtype=torch.uint8, pin_memory=True)

    def once(self):
        for part in self.parts:
            self.host.copy_(part, non_blocking=True)
            check = part[:CHECK_BYTES].cpu()
            self.stream.synchronize()
            self.good = self.good and torch.equal(check, self.host[:CHECK_BYTES])
        return PARTS * (PART_BYTES + CHECK_BYTES)


class BothWays(Bulk):
    def __init__(self):
        super().__init__()
        self.back, self.truth = torch.cuda.Stream(), random_bytes(BLOCK_BYTES, 7)
        self.host = [self.truth.cpu().pin_memory() for _ in range(BLOCKS)]
        self.out = [torch.zeros(BLOCK_BYTES, dtype=torch.uint8).pin_memory() for _ in range(BLOCKS)]
        self.target, self.source = ([self.truth.clone() for _ in range(BLOCKS)] for _ in range(2))

    def once(self):
        # Single copies without a step of Python between them: the decoding thread has the interpreter's lock meanwhile.
        torch._foreach_copy_(self.target, self.host, non_blocking=True)
        with torch.cuda.stream(self.back):
            torch._foreach_copy_(self.out, self.source, non_blocking=True)
        self.stream.synchronize()
        self.back.synchronize()
        return 2 * BLOCKS * BLOCK_BYTES

    def check(self):
        there, back = self.truth, self.truth.cpu()
        self.good = all(torch.equal(block, there) for block in self.target) and \
            all(torch.equal(block, back) for block in self.out)


class Request:
    """Pinned input to the device, a little work, the result back."""

    def __init__(self):
        self.stream, truth = torch.cuda.Stream(), random_bytes(REQUEST_BYTES, 9)
        self.input, self.expected, self.good = truth.cpu().pin_memory(), (truth ^ 0x21).cpu(), True
        self.output = torch.zeros(REQUEST_BYTES, dtype=torch.uint8).pin_memory()

    def step(self):
        with torch.cuda.stream(self.stream):
            self.output.copy_(self.input.to("cuda", non_blocking=True) ^ 0x21, non_blocking=True)
            self.stream.synchronize()

    def check(self):
        self.good = self.good and torch.equal(self.output, self.expected)


class Training:
    """Some products, and the loss on the host."""

    def __init__(self):
        self.weights = torch.full((2048, 2048), 1 / 2048, device="cuda")
        self.batch, self.good, self.loss = torch.ones((2048, 2048), device="cuda"), True, 1.0

    def step(self):
        value = self.batch
        for _ in range(8):
            value = value @ self.weights
        self.loss = value.mean().item()

    def check(self):
        self.good = self.good and abs(self.loss - 1.0) < 1e-2


class Decoding:
    """Small kernels, and their tokens on the host."""

    def __init__(self):
        self.tokens, self.good, self.list = torch.arange(64, device="cuda"), True, None

    def step(self):
        value = self.tokens
        for _ in range(20):
            value = value + 1
        self.list = value.tolist()

    def check(self):
        self.good = self.good and self.list == list(range(20, 84))


CASES = (("requests beside loading", Request, Loading), ("training beside a checkpoint", Training, Checkpoint),
         ("decoding beside both ways", Decoding, BothWays))


def main():
    arguments = phased.parsed()
    rows = phased.cases([(name, small(), bulk()) for name, small, bulk in CASES], arguments)
    print(json.dumps({"script": "shapes", "device": torch.cuda.get_device_name(), "torch": torch.__version__,
                      "rows": rows}), flush=True)


if __name__ == "__main__":
    main()
