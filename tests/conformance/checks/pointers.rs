//! The driver's knowledge about an address.

use hal::{Device, MemoryKind, PointerExtent, PointerInfo};

use crate::failure::{Outcome, ensure, same};
use crate::rig::Rig;

/// Device memory, at its start and inside.
pub fn device_memory(rig: &Rig) -> Outcome {
    let buffer = rig.buffer(10_000)?;
    for offset in [0, 1, 5_000, 9_999] {
        let info = rig.driver().pointer_info(buffer.at(offset).0)?;
        same("kind", &info.kind, &MemoryKind::Device)?;
        same("device", &info.device, &Some(Device(0)))?;
        same("context", &info.context, &Some(rig.context()))?;
        same("device pointer", &info.device_pointer, &Some(buffer.at(offset)))?;
        ensure!(info.buffer_id.is_some(), "device memory has a buffer id");
    }
    Ok(())
}

/// Pinned memory, from the driver and registered, at its start and inside.
pub fn pinned_memory(rig: &Rig) -> Outcome {
    for memory in [rig.pinned(10_000)?, rig.registered(10_000)?] {
        let base = rig.driver().host_device_pointer(memory.pointer())?;
        for offset in [0, 1, 9_999] {
            let info = rig.driver().pointer_info(memory.address() + offset)?;
            same("kind", &info.kind, &MemoryKind::Pinned)?;
            same("device pointer", &info.device_pointer, &Some(base.offset(offset)))?;
            ensure!(info.buffer_id.is_some(), "pinned memory has a buffer id");
        }
    }
    Ok(())
}

/// Memory that the driver does not know.
pub fn pageable_memory(rig: &Rig) -> Outcome {
    let (heap, local) = (vec![0_u8; 100_000], [0_u8; 16]);
    for address in [heap.as_ptr() as u64, local.as_ptr() as u64] {
        let info = rig.driver().pointer_info(address)?;
        same("kind", &info.kind, &MemoryKind::Pageable)?;
        same("context", &info.context, &None)?;
        same("buffer id", &info.buffer_id, &None)?;
    }
    Ok(())
}

/// Addresses without memory belong to no device and no context.
pub fn nowhere(rig: &Rig) -> Outcome {
    for address in [0, 1, 0x0123_4567_8000] {
        let PointerInfo { kind, buffer_id, .. } = rig.driver().pointer_info(address)?;
        same(&format!("{address:#x}"), &(kind, buffer_id), &(MemoryKind::Pageable, None))?;
    }
    Ok(())
}

/// Freed memory is forgotten.
pub fn forgotten(rig: &Rig) -> Outcome {
    let freed = rig.driver().mem_alloc(64 << 20)?;
    rig.driver().mem_free(freed)?;
    same("freed device memory", &rig.driver().pointer_info(freed.0)?.kind, &MemoryKind::Pageable)?;
    let (block, held) = (rig.registered(8192)?, vec![0_u8; 16]);
    let address = block.address();
    rig.release_pinned(block)?;
    same("unregistered memory", &rig.driver().pointer_info(address)?.kind, &MemoryKind::Pageable)?;
    drop(held);
    Ok(())
}

/// Buffer ids distinguish allocations, even if an address is used again.
pub fn buffer_ids(rig: &Rig) -> Outcome {
    let mut ids = Vec::new();
    for _ in 0..8 {
        let pointer = rig.driver().mem_alloc(1 << 20)?;
        ids.push(rig.driver().pointer_info(pointer.0)?.buffer_id);
        rig.driver().mem_free(pointer)?;
    }
    for memory in [rig.pinned(4096)?, rig.pinned(4096)?] {
        ids.push(rig.driver().pointer_info(memory.address())?.buffer_id);
    }
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    same("different ids", &ids.len(), &count)
}

/// Distinct allocations do not overlap.
pub fn allocations_are_disjoint(rig: &Rig) -> Outcome {
    let mut ranges = Vec::new();
    for bytes in [1, 255, 256, 257, 4_096, 100_000, 3 << 20, 1, 1] {
        let buffer = rig.buffer(bytes)?;
        ensure!(buffer.base.0.is_multiple_of(256), "{:?} is not aligned to 256 bytes", buffer.base);
        ranges.push((buffer.base.0, buffer.base.0 + bytes));
    }
    ranges.sort_unstable();
    for pair in ranges.windows(2) {
        ensure!(pair[0].1 <= pair[1].0, "{:x?} and {:x?} overlap", pair[0], pair[1]);
    }
    Ok(())
}

/// Memory of each kind ends where it was allocated or registered to. That of a pool is of no context, is no piece that
/// another one goes on behind, and kernels reach it.
pub fn extents(rig: &Rig) -> Outcome {
    let (driver, stream) = (rig.driver(), rig.stream()?);
    let pooled = driver.mem_alloc_async(4 << 20, stream)?;
    driver.stream_synchronize(stream)?;
    let device = rig.buffer(4 << 20)?.base.0;
    let (pinned, registered) = (rig.pinned(4 << 20)?, rig.registered(4 << 20)?);
    for address in [device, pooled.0, pinned.address(), registered.address()] {
        let PointerExtent { info, bytes, is_piece } = driver.pointer_extent(address + (1 << 20))?;
        same("the bytes behind", &bytes, &(3 << 20))?;
        same("a piece", &is_piece, &false)?;
        ensure!(info.device_pointer.is_some(), "{info:?} is out of reach");
        ensure!(address != pooled.0 || info.context.is_none(), "{info:?} is of a context");
    }
    same("pageable memory", &driver.pointer_extent(vec![0_u8; 64].as_ptr() as u64)?.bytes, &0)?;
    driver.mem_free_async(pooled, stream)?;
    Ok(driver.stream_synchronize(stream)?)
}
