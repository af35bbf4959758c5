"""PyTorch: pinned copies on side streams, the default stream, blocking copies, pageable ones, .item(), events."""

import threading

import torch

from shared import BULK_BYTES, SMALL_BYTES, Result, known_bytes, phases

SLOTS = 32
result = Result("torch streams")


def pinned(count, seed):
    return torch.from_numpy(known_bytes(count, seed)).pin_memory()


def contended(name, bulk_stream, urgent):
    """Bulk and small copies in both directions at once, the small ones in slots."""
    bulk, small = pinned(BULK_BYTES, 1), pinned(SMALL_BYTES * SLOTS, 2).view(SLOTS, SMALL_BYTES)
    bulk_back, small_back = torch.zeros_like(bulk).pin_memory(), torch.zeros_like(small).pin_memory()
    device = torch.zeros(8, BULK_BYTES, dtype=torch.uint8, device="cuda")
    slots = torch.zeros(SLOTS, SMALL_BYTES, dtype=torch.uint8, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(bulk_stream):
        for row in range(8):
            device[row].copy_(bulk, non_blocking=True)
            device[row].add_(row)
    with torch.cuda.stream(urgent):
        for slot in range(SLOTS):
            slots[slot].copy_(small[slot], non_blocking=True)
            slots[slot].bitwise_xor_(0x5A)
            small_back[slot].copy_(slots[slot], non_blocking=True)
    with torch.cuda.stream(bulk_stream):
        for row in range(8):
            bulk_back.copy_(device[row], non_blocking=True)
    urgent.synchronize()
    result.digest(f"{name} small", small_back.numpy())
    bulk_stream.synchronize()
    result.digest(f"{name} bulk", bulk_back.numpy())
    result.must(f"{name} rows", all(torch.equal(device[row], device[0] + row) for row in range(8)))


def blocking_copies():
    """Copies without non_blocking, pinned and pageable: the target is read at once."""
    for kind in ("pinned", "pageable"):
        for count in (1, 1000, SMALL_BYTES, 3 << 20, BULK_BYTES):
            source = torch.from_numpy(known_bytes(count, count))
            source = source.pin_memory() if kind == "pinned" else source
            there = source.cuda()
            back = (there ^ 0x33).cpu()
            result.digest(f"{kind} {count}", back.numpy())
            target = torch.empty_like(source)
            target.copy_(there)
            result.must(f"{kind} {count} back", torch.equal(target, source))


def a_pageable_source_is_free_on_return():
    """The source may be overwritten as soon as the call has returned."""
    source, stream = torch.from_numpy(known_bytes(5 << 20, 3)), torch.cuda.Stream()
    kept, there = source.clone(), torch.empty(5 << 20, dtype=torch.uint8, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        there.copy_(source, non_blocking=True)
        source.zero_()
    stream.synchronize()
    result.must("pageable source", torch.equal(there.cpu(), kept))


def items_under_bulk():
    """.item() waits for its own stream's work, with any other work queued."""
    bulk, there = pinned(BULK_BYTES, 5), torch.empty(BULK_BYTES, dtype=torch.uint8, device="cuda")
    side, values = torch.cuda.Stream(), []
    counter = torch.zeros(1, dtype=torch.int64, device="cuda")
    torch.cuda.synchronize()
    for number in range(20):
        with torch.cuda.stream(side):
            there.copy_(bulk, non_blocking=True)
        counter.add_(number)
        values.append(counter.item())
    side.synchronize()
    result.value("items", values)


def strided_copies():
    """Columns and planes: 2D copies between pinned memory and the device."""
    host = pinned(1 << 20, 6).view(1024, 1024)
    there = torch.zeros(1024, 1024, dtype=torch.uint8, device="cuda")
    there[:, :500].copy_(host[:, 100:600], non_blocking=True)
    back = torch.zeros(1024, 300, dtype=torch.uint8).pin_memory()
    back.copy_(there[:, 100:400], non_blocking=True)
    torch.cuda.synchronize()
    result.digest("strided", back.numpy())


def events_order():
    """A second stream waits for an event behind a bulk copy, and sees all of its bytes; times are not negative."""
    first, second = torch.cuda.Stream(), torch.cuda.Stream()
    bulk, there = pinned(BULK_BYTES, 7), torch.zeros(BULK_BYTES, dtype=torch.uint8, device="cuda")
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    with torch.cuda.stream(first):
        begin.record()
        there.copy_(bulk, non_blocking=True)
        end.record()
    second.wait_event(end)
    with torch.cuda.stream(second):
        total = there.sum(dtype=torch.int64)
        value = total.item()
    result.must("an event behind a copy", value == int(bulk.sum(dtype=torch.int64)))
    result.must("the event is done", end.query() and begin.elapsed_time(end) >= 0)
    result.must("the stream is done", first.query())


def threads():
    """Four threads with streams of their own."""
    digests = [None] * 4

    def work(number):
        stream, host = torch.cuda.Stream(), pinned(4 << 20, 20 + number)
        with torch.cuda.stream(stream):
            for turn in range(10):
                there = host.to("cuda", non_blocking=True)
                back = torch.empty_like(host).pin_memory()
                back.copy_(there + turn, non_blocking=True)
                little = host[:100 + turn].to("cuda", non_blocking=True)
                stream.synchronize()
        digests[number] = (back.numpy().copy(), little.cpu().numpy())

    workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for number, (back, little) in enumerate(digests):
        result.digest(f"thread {number}", back)
        result.digest(f"thread {number} little", little)


def work():
    contended("side stream", torch.cuda.Stream(), torch.cuda.Stream())
    contended("default stream", torch.cuda.default_stream(), torch.cuda.Stream())
    contended("prioritised", torch.cuda.Stream(priority=0), torch.cuda.Stream(priority=-1))
    blocking_copies()
    a_pageable_source_is_free_on_return()
    items_under_bulk()
    strided_copies()
    events_order()
    threads()


phases(result, work)
