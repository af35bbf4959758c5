"""PyTorch's caching allocators: memory goes back while copies are pending, and is used again."""

import torch

from shared import BULK_BYTES, SMALL_BYTES, Result, known_bytes, phases

result = Result("torch allocators")


def pinned_blocks_are_used_again():
    """A pinned tensor dies right after its copy was queued; the next one may get its block, but not too early."""
    there, side = [], torch.cuda.Stream()
    truth = [torch.from_numpy(known_bytes(count, seed))
             for seed, count in enumerate([SMALL_BYTES, 2 << 20, 8 << 20] * 20)]
    with torch.cuda.stream(side):
        for tensor in truth:
            there.append(tensor.pin_memory().to("cuda", non_blocking=True))
    side.synchronize()
    for number, (mine, right) in enumerate(zip(there, truth)):
        result.must(f"pinned block {number}", torch.equal(mine.cpu(), right))


def pinned_targets_are_used_again():
    """Copies back into pinned tensors that die at once, between others that live."""
    side, source = torch.cuda.Stream(), torch.from_numpy(known_bytes(8 << 20, 7)).cuda()
    kept = []
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        for turn in range(30):
            dead = torch.empty(8 << 20, dtype=torch.uint8).pin_memory()
            dead.copy_(source, non_blocking=True)
            del dead
            alive = torch.empty(SMALL_BYTES, dtype=torch.uint8).pin_memory()
            alive.copy_(source[turn:turn + SMALL_BYTES], non_blocking=True)
            kept.append(alive)
    side.synchronize()
    result.digest("live targets", torch.stack(kept).numpy())


def device_blocks_are_used_again():
    """Device tensors made by copies on a side stream, handed over with record_stream and freed."""
    side, host = torch.cuda.Stream(), torch.from_numpy(known_bytes(BULK_BYTES, 8)).pin_memory()
    totals = []
    for turn in range(20):
        with torch.cuda.stream(side):
            there = host.to("cuda", non_blocking=True)
        torch.cuda.current_stream().wait_stream(side)
        there.record_stream(torch.cuda.current_stream())
        totals.append(there[turn::97].sum(dtype=torch.int64))
        del there
    result.value("totals", [int(total) for total in totals])


def after_the_cache_is_emptied():
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    again = torch.from_numpy(known_bytes(BULK_BYTES, 9)).pin_memory().cuda(non_blocking=True)
    torch.cuda.synchronize()
    result.digest("after empty_cache", again.cpu().numpy())


def work():
    pinned_blocks_are_used_again()
    pinned_targets_are_used_again()
    device_blocks_are_used_again()
    after_the_cache_is_emptied()


phases(result, work)
