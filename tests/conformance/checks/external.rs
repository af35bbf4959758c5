//! Memory and semaphores of another API, by descriptor.
//!
//! On the software GPU that API is `softgpu::ForeignMemory` and `softgpu::ForeignSemaphore`. A real driver takes the
//! descriptors of Vulkan and the like only, and refuses these.

use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};

use hal::{Code, DevicePtr, Driver, ExternalMemory, ExternalSemaphore, ExternalSemaphoreKind, MemoryKind, Stream};
use softgpu::{ForeignMemory, ForeignSemaphore};

use crate::failure::{Failure, Outcome, ensure, refused, same, same_bytes};
use crate::place::Buffer;
use crate::rig::Rig;

const BYTES: u64 = 64 << 10;

/// Real drivers refuse a descriptor by different codes.
const REFUSALS: &[Code] = &[
    Code::INVALID_VALUE,
    Code::INVALID_HANDLE,
    Code::OPERATING_SYSTEM,
    Code::NOT_SUPPORTED,
    Code::OUT_OF_MEMORY,
    Code::MAP_FAILED,
    Code::UNKNOWN,
];

fn failed(error: std::io::Error) -> Failure {
    Failure::new(format_args!("the system has no memory file: {error}"))
}

fn memory() -> Result<ForeignMemory, Failure> {
    ForeignMemory::new(BYTES).map_err(failed)
}

fn semaphore(rig: &Rig, kind: ExternalSemaphoreKind) -> Result<(ForeignSemaphore, ExternalSemaphore), Failure> {
    let theirs = ForeignSemaphore::new(kind).map_err(failed)?;
    let ours = rig.driver().external_semaphore_import(theirs.export().map_err(failed)?, kind)?;
    Ok((theirs, ours))
}

fn import(driver: &dyn Driver, memory: &ForeignMemory) -> Result<ExternalMemory, Failure> {
    Ok(driver.external_memory_import(memory.export().map_err(failed)?, BYTES, false)?)
}

/// A descriptor of something else.
fn pipe() -> Result<OwnedFd, Failure> {
    std::io::pipe().map(|(reader, _)| reader.into()).map_err(failed)
}

/// Imports a pipe, which is refused. Of a real driver it also writes to standard error by which code, and whether the
/// driver has closed the pipe, so that a run tells it.
fn refused_as_foreign<T>(rig: &Rig, what: &str, import: impl FnOnce(OwnedFd) -> hal::Result<T>) -> Outcome {
    let pipe = pipe()?;
    let entry = format!("/proc/self/fd/{}", pipe.as_raw_fd());
    let result = import(pipe);
    if rig.driver().backend() == "soft" {
        return refused(what, result, &[Code::INVALID_VALUE]);
    }
    if let Err(error) = &result {
        let end = if std::fs::read_link(&entry).is_ok() { "left open" } else { "closed" };
        let said = format!("external::refusals: {what} is refused with {} and {end}\n", error.code());
        let _closed = std::io::stderr().write_all(said.as_bytes());
    }
    refused(what, result, REFUSALS)
}

/// Descriptors of other things are refused, and the caller's other descriptors stay.
pub fn refusals(rig: &Rig) -> Outcome {
    let driver = rig.driver();
    for _ in 0..3 {
        refused_as_foreign(rig, "a pipe as memory", |pipe| driver.external_memory_import(pipe, BYTES, false))?;
        for kind in [ExternalSemaphoreKind::Binary, ExternalSemaphoreKind::Timeline] {
            let what = format!("a pipe as a semaphore ({kind:?})");
            refused_as_foreign(rig, &what, |pipe| driver.external_semaphore_import(pipe, kind))?;
        }
    }
    let buffer = rig.buffer_of(&[3; 64])?;
    same_bytes("the context works", &rig.dtoh_now((buffer, 0), 64)?, &[3; 64])
}

/// Both sides see each other's bytes, in all of it and in a part.
pub fn memory_is_shared(rig: &Rig) -> Outcome {
    let (driver, stream, theirs) = (rig.driver(), rig.stream()?, memory()?);
    theirs.write(0, &[5; 100]);
    let imported = import(driver, &theirs)?;
    let whole = Buffer { base: driver.external_memory_map(imported, 0, BYTES)?, bytes: BYTES };
    let part = Buffer { base: driver.external_memory_map(imported, 4096, 512)?, bytes: 512 };
    same("its kind", &driver.pointer_info(whole.base.0)?.kind, &MemoryKind::Device)?;
    same_bytes("their bytes", &rig.download(whole, stream)?[..101], &[&[5; 100][..], &[0]].concat())?;
    driver.memset_d8_async(part.base, 9, 512, stream)?;
    driver.memset_d8_async(whole.base.offset(BYTES - 1), 7, 1, stream)?;
    rig.settle(stream)?;
    let seen = theirs.read();
    same_bytes("our bytes in a part", &seen[4095..4609], &[&[0][..], &[9; 512], &[0]].concat())?;
    same("our last byte", &seen[BYTES as usize - 1], &7)?;
    driver.mem_free(part.base)?;
    driver.external_memory_destroy(imported)?;
    theirs.write(0, &[6]);
    same("a mapped part stays", &rig.download(whole, stream)?[0], &6)?;
    driver.mem_free(whole.base)?;
    same("a freed part", &driver.pointer_info(whole.base.0)?.kind, &MemoryKind::Pageable)
}

/// Sizes and handles that make no sense.
pub fn memory_refusals(rig: &Rig) -> Outcome {
    let (driver, theirs) = (rig.driver(), memory()?);
    let more = driver.external_memory_import(theirs.export().map_err(failed)?, BYTES + 1, false);
    refused("more than there is", more, &[Code::INVALID_VALUE])?;
    let kind = ExternalSemaphoreKind::Timeline;
    let other = driver.external_semaphore_import(theirs.export().map_err(failed)?, kind);
    refused("memory as a semaphore", other, &[Code::INVALID_VALUE])?;
    let imported = import(driver, &theirs)?;
    for (offset, bytes) in [(0, BYTES + 1), (1, BYTES), (u64::MAX, 2), (0, 0)] {
        refused("a part", driver.external_memory_map(imported, offset, bytes), &[Code::INVALID_VALUE])?;
    }
    driver.external_memory_destroy(imported)?;
    refused("destroyed", driver.external_memory_map(imported, 0, 1), &[Code::INVALID_HANDLE])
}

/// A stream waits for the value that the other API signals, and the other way round; both keep the order of bytes.
pub fn timeline_orders_both(rig: &Rig) -> Outcome {
    let (driver, stream, shared) = (rig.driver(), rig.stream()?, memory()?);
    let (theirs, ours) = semaphore(rig, ExternalSemaphoreKind::Timeline)?;
    let imported = import(driver, &shared)?;
    let buffer = Buffer { base: driver.external_memory_map(imported, 0, BYTES)?, bytes: BYTES };
    let target = rig.pinned(BYTES)?;
    driver.external_semaphore_wait(ours, 3, stream)?;
    rig.dtoh((&target, 0), (buffer, 0), BYTES, stream)?;
    driver.memset_d8_async(buffer.base, 2, BYTES, stream)?;
    driver.external_semaphore_signal(ours, 4, stream)?;
    rig.held("before the signal", stream)?;
    theirs.signal(2);
    rig.held("behind a lower value", stream)?;
    shared.write(0, &[1; BYTES as usize]);
    theirs.signal(3);
    rig.settle(stream)?;
    same("the value", &theirs.value(), &4)?;
    same_bytes("their bytes", &target.read_all(), &[1; BYTES as usize])?;
    same_bytes("our bytes", &shared.read(), &[2; BYTES as usize])?;
    driver.external_semaphore_wait(ours, 1, stream)?;
    rig.settle(stream)?;
    driver.mem_free(buffer.base)?;
    driver.external_memory_destroy(imported)?;
    driver.external_semaphore_destroy(ours)?;
    ended(driver, ours, stream)
}

fn ended(driver: &dyn Driver, semaphore: ExternalSemaphore, stream: Stream) -> Outcome {
    refused("destroyed", driver.external_semaphore_signal(semaphore, 9, stream), &[Code::INVALID_HANDLE])?;
    refused("destroyed", driver.external_semaphore_destroy(semaphore), &[Code::INVALID_HANDLE])
}

/// A wait takes the signal of a binary semaphore: the next wait needs another one.
pub fn binary_is_taken(rig: &Rig) -> Outcome {
    let (driver, streams) = (rig.driver(), rig.streams(2)?);
    let (theirs, ours) = semaphore(rig, ExternalSemaphoreKind::Binary)?;
    driver.external_semaphore_signal(ours, 0, streams[0])?;
    rig.settle(streams[0])?;
    same("signalled", &theirs.value(), &1)?;
    driver.external_semaphore_wait(ours, 0, streams[1])?;
    rig.settle(streams[1])?;
    same("taken", &theirs.value(), &0)?;
    driver.external_semaphore_wait(ours, 0, streams[1])?;
    rig.held("the next wait", streams[1])?;
    theirs.signal(1);
    rig.settle(streams[1])?;
    driver.external_semaphore_destroy(ours)?;
    ensure!(driver.pointer_info(DevicePtr::NULL.0)?.kind == MemoryKind::Pageable, "the context works");
    Ok(())
}
