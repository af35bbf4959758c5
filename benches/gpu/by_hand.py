"""The ways by which the author of a PyTorch program would load from pageable memory beside requests, by hand.

* `plain`: `.to("cuda")`, as most programs do.
* `pin_memory`: each tensor is pinned first, and copied without blocking.
* `register`: its memory is registered on the fly, copied, and unregistered.
* `chunk and sleep`: pinned once, copied in pieces of 4 MiB with a pause after each, so that requests get through.

The requests are those of `shapes.py`. The last line of the output is a JSON object. `pair.py by_hand` runs it natively
and under `overtake run`: the plain way under the drop-in stands against all ways natively.
"""

import json
import time

import torch

import phased
from shapes import Bulk, Request, random_bytes

TENSOR_BYTES, TENSORS, CHUNK_BYTES, PAUSE_S = 64 << 20, 4, 4 << 20, 0.0001


class Loading(Bulk):
    """Tensors from pageable memory, one after the other, each waited for."""

    def __init__(self):
        super().__init__()
        self.truth = random_bytes(TENSOR_BYTES, 1)
        self.tensors, self.target, self.next = [self.truth.cpu() for _ in range(TENSORS)], self.truth.clone(), 0

    def once(self):
        self.next = (self.next + 1) % TENSORS
        self.load(self.tensors[self.next])
        self.stream.synchronize()
        return TENSOR_BYTES

    def load(self, tensor):
        self.target.copy_(tensor)

    def check(self):
        self.good = torch.equal(self.target, self.truth)


class Pinning(Loading):
    def load(self, tensor):
        self.target.copy_(tensor.pin_memory(), non_blocking=True)


class Registering(Loading):
    def load(self, tensor):
        runtime = torch.cuda.cudart()
        torch.cuda.check_error(int(runtime.cudaHostRegister(tensor.data_ptr(), TENSOR_BYTES, 0)))
        self.target.copy_(tensor, non_blocking=True)
        self.stream.synchronize()
        torch.cuda.check_error(int(runtime.cudaHostUnregister(tensor.data_ptr())))


class Chunks(Loading):
    def __init__(self):
        super().__init__()
        self.tensors = [tensor.pin_memory() for tensor in self.tensors]

    def load(self, tensor):
        for source, target in zip(tensor.split(CHUNK_BYTES), self.target.split(CHUNK_BYTES)):
            target.copy_(source, non_blocking=True)
            self.stream.synchronize()
            time.sleep(PAUSE_S)


WAYS = (("plain", Loading), ("pin_memory", Pinning), ("register", Registering), ("chunk and sleep", Chunks))


def main():
    arguments = phased.parsed()
    rows = phased.cases([(name, Request(), way()) for name, way in WAYS], arguments)
    print(json.dumps({"script": "by_hand", "device": torch.cuda.get_device_name(), "torch": torch.__version__,
                      "rows": rows}), flush=True)


if __name__ == "__main__":
    main()
