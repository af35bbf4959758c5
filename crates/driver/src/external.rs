//! Memory and semaphores of other APIs.
#![allow(unsafe_code)] // as `cuda.rs`, whose comment holds the reasons

use std::mem::zeroed;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};

use abi::types::*;
use hal::{DevicePtr, ExternalMemory, ExternalSemaphore, ExternalSemaphoreKind, Result, Stream};

use crate::functions::Functions;
use crate::handle::pointer;
use crate::out::{out, out_handle};

/// A descriptor that was accepted is the driver's. One that was refused is closed here.
fn hand_over(descriptor: OwnedFd, import: impl FnOnce(c_int) -> Result<u64>) -> Result<u64> {
    let imported = import(descriptor.as_raw_fd())?;
    let _ = descriptor.into_raw_fd();
    Ok(imported)
}

pub fn import_memory(
    functions: &Functions,
    descriptor: OwnedFd,
    bytes: u64,
    is_dedicated: bool,
) -> Result<ExternalMemory> {
    // SAFETY: numbers and null pointers, which may all be zero.
    let mut request: CUDA_EXTERNAL_MEMORY_HANDLE_DESC = unsafe { zeroed() };
    request.type_ = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    // The driver closes a descriptor of memory that it refuses, unlike one of a semaphore. A number that is closed
    // twice may be the file of another thread by then.
    request.handle.fd = descriptor.into_raw_fd();
    request.size = bytes;
    request.flags = if is_dedicated { CUDA_EXTERNAL_MEMORY_DEDICATED } else { 0 };
    // SAFETY: an out parameter, and a live request whose handle is of the kind that it names.
    out_handle(|value| unsafe { functions.cuImportExternalMemory(value, &request) }).map(ExternalMemory)
}

pub fn map(functions: &Functions, memory: ExternalMemory, offset_bytes: u64, bytes: u64) -> Result<DevicePtr> {
    let request =
        CUDA_EXTERNAL_MEMORY_BUFFER_DESC { offset: offset_bytes, size: bytes, flags: 0, reserved: Default::default() };
    // SAFETY: an out parameter, a handle by value, and a live request.
    out(0, |value| unsafe { functions.cuExternalMemoryGetMappedBuffer(value, pointer(memory.0), &request) })
        .map(DevicePtr)
}

pub fn import_semaphore(
    functions: &Functions,
    descriptor: OwnedFd,
    kind: ExternalSemaphoreKind,
) -> Result<ExternalSemaphore> {
    let imported = hand_over(descriptor, |descriptor| {
        // SAFETY: numbers and null pointers, which may all be zero.
        let mut request: CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC = unsafe { zeroed() };
        request.type_ = match kind {
            ExternalSemaphoreKind::Binary => CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD,
            ExternalSemaphoreKind::Timeline => CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD,
        };
        request.handle.fd = descriptor;
        // SAFETY: an out parameter, and a live request whose handle is of the kind that it names.
        out_handle(|value| unsafe { functions.cuImportExternalSemaphore(value, &request) })
    });
    imported.map(ExternalSemaphore)
}

pub fn signal(functions: &Functions, semaphore: ExternalSemaphore, value: u64, stream: Stream) -> Result<()> {
    // SAFETY: numbers and null pointers, which may all be zero.
    let mut parameters: CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS = unsafe { zeroed() };
    parameters.params.fence.value = value;
    let semaphore = pointer(semaphore.0);
    // SAFETY: two arrays of one live element each, and a handle by value.
    unsafe { functions.cuSignalExternalSemaphoresAsync(&semaphore, &parameters, 1, pointer(stream.0)) }
}

pub fn wait(functions: &Functions, semaphore: ExternalSemaphore, value: u64, stream: Stream) -> Result<()> {
    // SAFETY: numbers and null pointers, which may all be zero.
    let mut parameters: CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS = unsafe { zeroed() };
    parameters.params.fence.value = value;
    let semaphore = pointer(semaphore.0);
    // SAFETY: two arrays of one live element each, and a handle by value.
    unsafe { functions.cuWaitExternalSemaphoresAsync(&semaphore, &parameters, 1, pointer(stream.0)) }
}
