"""PyTorch: copies inside a captured graph, replayed beside live bulk copies; capture while other copies are pending."""

import torch

from shared import BULK_BYTES, SMALL_BYTES, Result, known_bytes, phases

result = Result("torch graphs")
small = torch.from_numpy(known_bytes(SMALL_BYTES, 1)).pin_memory()
large = torch.from_numpy(known_bytes(4 << 20, 2)).pin_memory()
bulk = torch.from_numpy(known_bytes(BULK_BYTES, 3)).pin_memory()
small_back, large_back = torch.zeros_like(small).pin_memory(), torch.zeros_like(large).pin_memory()
small_there, large_there = torch.zeros_like(small, device="cuda"), torch.zeros_like(large, device="cuda")
bulk_there = torch.zeros_like(bulk, device="cuda")
side, loader = torch.cuda.Stream(), torch.cuda.Stream()


def body():
    """The contents of the graph: copies of both sizes in both directions with work between."""
    small_there.copy_(small, non_blocking=True)
    large_there.copy_(large, non_blocking=True)
    small_there.add_(1)
    large_there[:SMALL_BYTES].bitwise_xor_(small_there)
    small_back.copy_(small_there, non_blocking=True)
    large_back.copy_(large_there, non_blocking=True)


def load():
    with torch.cuda.stream(loader):
        for _ in range(8):
            bulk_there.copy_(bulk, non_blocking=True)


def captured(mode):
    """A graph captured while bulk copies of another stream are under way (they are not part of it)."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side, capture_error_mode=mode):
        load()
        body()
    loader.synchronize()
    return graph


def replayed(mode):
    """A graph of this mode, replayed with other bytes each time."""
    small_back.zero_(), large_back.zero_()
    graph = captured(mode)
    result.must(f"{mode}: capture copies nothing", not small_back.any() and not large_back.any())
    for turn in range(5):
        small[0] = turn
        large[1] = 2 * turn
        load()
        graph.replay()
        torch.cuda.synchronize()
        result.digest(f"{mode} small {turn}", small_back.numpy())
        result.digest(f"{mode} large {turn}", large_back.numpy())


def work():
    with torch.cuda.stream(side):
        body()
    torch.cuda.synchronize()
    for mode in ("global", "thread_local", "relaxed"):
        replayed(mode)
    result.must("bulk", torch.equal(bulk_there.cpu(), bulk))


phases(result, work)
