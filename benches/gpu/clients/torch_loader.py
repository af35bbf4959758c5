"""PyTorch's DataLoader with worker processes and pinned memory, feeding copies beside bulk copies."""

import hashlib

import torch
from torch.utils.data import DataLoader, Dataset

from shared import BULK_BYTES, Result, known_bytes, phases

BATCH, BATCHES = 16, 24


class Images(Dataset):
    """Deterministic samples, made in the workers."""

    def __len__(self):
        return BATCH * BATCHES

    def __getitem__(self, index):
        return torch.from_numpy(known_bytes(48 << 10, index)), index


def run(name, method, workers, result):
    """One pass over the data: each batch is copied, changed and copied back."""
    bulk = torch.from_numpy(known_bytes(BULK_BYTES, 1)).pin_memory()
    bulk_there, loading, side = torch.empty_like(bulk, device="cuda"), torch.cuda.Stream(), torch.cuda.Stream()
    loader = DataLoader(Images(), batch_size=BATCH, num_workers=workers, pin_memory=True, shuffle=False,
                        multiprocessing_context=method, persistent_workers=False)
    seen, hasher = 0, hashlib.sha256()
    for images, indices in loader:
        result.must(f"{name}: pinned", images.is_pinned() and indices.is_pinned())
        with torch.cuda.stream(loading):
            bulk_there.copy_(bulk, non_blocking=True)
        with torch.cuda.stream(side):
            there, order = images.to("cuda", non_blocking=True), indices.to("cuda", non_blocking=True)
            changed = there ^ (order & 0xFF).to(torch.uint8).unsqueeze(1)
            back = torch.empty_like(images).pin_memory()
            back.copy_(changed, non_blocking=True)
        side.synchronize()
        hasher.update(back.numpy().tobytes())
        seen += int(order.sum())
    torch.cuda.synchronize()
    result.value(f"{name} indices", seen)
    result.value(f"{name} bytes", hasher.hexdigest()[:16])
    result.must(f"{name}: bulk", torch.equal(bulk_there.cpu(), bulk))


def main():
    result = Result("torch loader")

    def work():
        run("fork", "fork", 4, result)
        run("spawn", "spawn", 2, result)

    phases(result, work)


if __name__ == "__main__":
    main()
