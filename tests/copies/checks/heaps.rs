//! Heaps: the bytes of their blocks, the calls that they make, and the memory that goes back.
#![allow(unsafe_code)] // blocks are addresses: the host's own bytes are reached through them

use std::slice;

use hal::{Code, DevicePtr, MemoryKind};
use overtake::context::CudaContext;
use overtake::heap::{Block, Heap, HeapOptions, Space};

use crate::bed;
use crate::failure::{Failure, Outcome, ensure, refused, same};
use crate::faulty::Faulty;
use crate::place::Buffer;
use crate::prng::Prng;
use crate::rig::Rig;

const PAGE_BYTES: u64 = 256 << 10;
const SMALL: HeapOptions = HeapOptions { page_bytes: PAGE_BYTES, reserve_bytes: 0, max_bytes: 64 << 20 };

fn home(rig: &Rig) -> Result<CudaContext, Failure> {
    Ok(CudaContext::adopt(rig.shared_driver(), rig.context())?)
}

fn open(rig: &Rig, space: Space) -> Result<Heap, Failure> {
    Ok(Heap::open(&home(rig)?, space, SMALL)?)
}

fn device(block: &Block) -> Result<DevicePtr, Failure> {
    block.device_pointer().ok_or_else(|| Failure::new("the device does not see it"))
}

fn host_bytes(block: &mut Block) -> Option<&mut [u8]> {
    let start = block.host_pointer()?;
    // SAFETY: the block has so many bytes, which no device uses, and they are initialised here. It is borrowed as long
    // as they are.
    unsafe {
        start.write_bytes(0xee, block.bytes() as usize);
        Some(slice::from_raw_parts_mut(start.as_ptr(), block.bytes() as usize))
    }
}

/// Blocks of all sizes are filled, some dropped, others taken; each keeps its own bytes.
pub fn blocks_keep_their_bytes(rig: &Rig) -> Outcome {
    let (heap, stream, mut prng) = (open(rig, Space::Device)?, rig.stream()?, Prng::new(7));
    let mut blocks: Vec<(Block, u8)> = Vec::new();
    for round in 0..120_u64 {
        let (bytes_max, align_bytes) = (1 << (4 + prng.below(15)), 1 << prng.below(13));
        let bytes = 1 + prng.below(bytes_max);
        let block = heap.alloc(bytes, align_bytes, "bytes")?;
        ensure!(device(&block)?.0.is_multiple_of(align_bytes), "{block:?} begins at a multiple of {align_bytes}");
        let value = 1 + (round % 255) as u8;
        rig.driver().memset_d8_async(device(&block)?, value, bytes, stream)?;
        blocks.push((block, value));
        if prng.below(3) == 0 {
            rig.settle(stream)?;
            let gone = prng.below(blocks.len() as u64) as usize;
            blocks.swap_remove(gone);
        }
    }
    for (block, value) in &blocks {
        let seen = rig.download(Buffer { base: device(block)?, bytes: block.bytes() }, stream)?;
        ensure!(seen.iter().all(|byte| byte == value), "{block:?} is {value} in every byte");
    }
    drop(blocks);
    ensure!(heap.close().is_clean(), "no block is left");
    Ok(())
}

/// Each space has memory of its kind: the host and the device see the same bytes where both see the block.
pub fn spaces(rig: &Rig) -> Outcome {
    let (stream, target) = (rig.stream()?, rig.buffer(1000)?);
    for space in Space::ALL {
        let heap = open(rig, space)?;
        let mut blocks = [heap.alloc(1000, 1, "first")?, heap.alloc(1000, 64, "second")?];
        let kind = match space {
            Space::Device => MemoryKind::Device,
            Space::Host => MemoryKind::Pageable,
            _ => MemoryKind::Pinned,
        };
        for (block, value) in blocks.iter_mut().zip([5_u8, 6]) {
            let seen = block.device_pointer();
            let Some(bytes) = host_bytes(block) else {
                same("memory without a host address", &(space, seen.is_some()), &(Space::Device, true))?;
                continue;
            };
            bytes.fill(value);
            let address = bytes.as_ptr() as u64;
            same(space.name(), &rig.driver().pointer_info(address)?.kind, &kind)?;
            same("the device sees it", &seen.is_some(), &(space != Space::Host))?;
        }
        for (block, value) in blocks.iter().zip([5_u8, 6]) {
            let Some(seen) = block.device_pointer().filter(|_| space != Space::Device) else { continue };
            // SAFETY: both have 1000 bytes, and live until the copy has completed.
            unsafe { rig.driver().copy_async(target.base, seen, 1000, stream)? };
            ensure!(rig.download(target, stream)? == [value; 1000], "{space}: the device copies the host's bytes");
        }
        drop(blocks);
        ensure!(heap.close().is_clean(), "no block of the {space} heap is left");
    }
    Ok(())
}

/// After warm-up 10 000 blocks come and go without a driver call.
pub fn no_call_after_warm_up(rig: &Rig) -> Outcome {
    for space in Space::ALL {
        let counting = Faulty::new(rig.shared_driver(), Code::UNKNOWN);
        let context = CudaContext::adopt(&(counting.clone() as _), rig.context())?;
        let heap = Heap::open(&context, space, HeapOptions { reserve_bytes: 4 << 20, ..SMALL })?;
        heap.settle();
        counting.fail(0);
        let (mut prng, mut kept) = (Prng::new(3), Vec::new());
        for _ in 0..10_000 {
            let block = heap.alloc(1 + prng.below(60_000), 256, "task")?;
            match prng.below(4) {
                0 => kept.push(block),
                _ => drop(block),
            }
            kept.truncate(20);
        }
        same("driver calls", &(space, counting.calls()), &(space, 0))?;
        drop(kept);
        ensure!(heap.close().is_clean(), "no block is left");
    }
    Ok(())
}

/// Without a pause, device memory grows while a stream stands still, and pinned memory does not grow at all.
pub fn growth_after_warm_up(rig: &Rig) -> Outcome {
    let (device_heap, pinned) = (open(rig, Space::Device)?, open(rig, Space::Pinned)?);
    device_heap.settle();
    pinned.settle();
    let (stream, held) = (rig.stream()?, rig.stream()?);
    let gate = rig.gate(held)?;
    let block = device_heap.alloc(PAGE_BYTES, 256, "late")?;
    rig.driver().memset_d8_async(device(&block)?, 9, PAGE_BYTES, stream)?;
    let seen = rig.download(Buffer { base: device(&block)?, bytes: PAGE_BYTES }, stream);
    let late = pinned.alloc(1, 1, "late");
    gate.open();
    ensure!(seen?.iter().all(|byte| *byte == 9), "memory that comes in stream order holds its bytes");
    refused("pinned memory outside a pause", late, &[Code::OUT_OF_MEMORY])?;
    drop(block);
    drop(device_heap.close());

    let pause = pinned.pause();
    let block = pinned.alloc(1, 1, "in a pause")?;
    drop(pause);
    drop(block);
    ensure!(pinned.alloc(PAGE_BYTES, 1, "later").is_ok(), "the page stays after the pause");
    ensure!(pinned.alloc(2 * PAGE_BYTES, 1, "later").is_err(), "the pause has ended");
    Ok(())
}

/// Pages go in a pause and at the end, and never under a block.
pub fn memory_goes_back(rig: &Rig) -> Outcome {
    let driver = rig.driver();
    for space in [Space::Device, Space::Pinned, Space::WriteCombined] {
        let heap = Heap::open(&home(rig)?, space, HeapOptions { reserve_bytes: PAGE_BYTES, ..SMALL })?;
        let (kept, gone) = (heap.alloc(PAGE_BYTES, 1, "kept")?, heap.alloc(2 * PAGE_BYTES, 1, "gone")?);
        let addresses = [&kept, &gone].map(|block| block.device_pointer().unwrap_or(DevicePtr::NULL).0);
        drop(gone);
        same("reserved", &heap.statistics().reserved_bytes, &(3 * PAGE_BYTES))?;
        same("trimmed", &heap.pause().trim(0)?, &(2 * PAGE_BYTES))?;
        driver.context_synchronize()?;
        same("without blocks", &driver.pointer_info(addresses[1])?.kind, &MemoryKind::Pageable)?;
        let stays = driver.pointer_info(addresses[0])?.kind;
        ensure!(stays != MemoryKind::Pageable, "{space}: a page with a block stays");

        let closed = heap.close();
        same("owners of leaks", &closed.leaks.iter().map(|leak| &leak.owner[..]).collect::<Vec<_>>(), &vec!["kept"])?;
        same("their bytes", &(closed.left_bytes, closed.leaks[0].bytes), &(PAGE_BYTES, PAGE_BYTES))?;
        same("its page", &driver.pointer_info(addresses[0])?.kind, &stays)?;
        drop(kept);
        driver.context_synchronize()?;
        same("after the last block", &driver.pointer_info(addresses[0])?.kind, &MemoryKind::Pageable)?;
    }
    Ok(())
}

/// Threads take and drop blocks of one heap, beside a copy layer.
pub fn many_threads(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, bed::small_options())?;
    let heap = std::sync::Arc::new(Heap::open_beside(&overtake, Space::Pinned, SMALL)?);
    let threads: Vec<_> = (1..=4_u8)
        .map(|thread| {
            let heap = heap.clone();
            rig.spawn("taker", move |_| {
                let (mut prng, mut kept) = (Prng::new(u64::from(thread)), Vec::new());
                for _ in 0..300 {
                    let mut block = heap.alloc(1 + prng.below(20_000), 64, "threads")?;
                    host_bytes(&mut block).ok_or_else(|| Failure::new("no address"))?.fill(thread);
                    kept.push(block);
                    let gone = prng.below(kept.len() as u64) as usize;
                    let is_own = |block: &Block| {
                        let start = block.host_pointer().map_or(std::ptr::null(), |start| start.as_ptr().cast_const());
                        // SAFETY: the block has so many bytes, written above, and no other thread has them.
                        unsafe { slice::from_raw_parts(start, block.bytes() as usize) }.iter().all(|b| *b == thread)
                    };
                    ensure!(is_own(&kept[gone]), "another thread has written to a block of this one");
                    if kept.len() > 8 {
                        kept.swap_remove(gone);
                    }
                }
                Ok(())
            })
        })
        .collect();
    threads.into_iter().try_for_each(|thread| rig.join(thread))?;
    same("blocks left", &heap.statistics().blocks, &0)
}
