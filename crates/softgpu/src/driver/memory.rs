//! Memory: it ends when everything that may use it has ended.
#![allow(unsafe_code)] // `Backing` carries its caller's promise

use std::ptr::NonNull;

use hal::{CaptureStatus, Code, DevicePtr, HostAllocFlags, HostRegisterFlags, Result, Stream};

use crate::gpu::SoftGpu;
use crate::host::Await;
use crate::model::{Failure, Work};
use crate::raw::Backing;
use crate::submit::{LOOKUP, MANAGE};

pub(super) fn allocate(gpu: &SoftGpu, bytes: u64) -> Result<DevicePtr> {
    gpu.change("cuMemAlloc_v2", MANAGE, |model, caller| {
        model.refuse_while_capturing(caller)?;
        model.mem_alloc(caller, bytes)
    })
}

pub(super) fn allocate_host(gpu: &SoftGpu, bytes: u64, flags: HostAllocFlags) -> Result<*mut u8> {
    gpu.change("cuMemHostAlloc", MANAGE, |model, caller| {
        model.refuse_while_capturing(caller)?;
        model.host_alloc(caller, bytes, flags)
    })
}

pub(super) fn seen_by_device(gpu: &SoftGpu, pointer: *mut u8) -> Result<DevicePtr> {
    gpu.look_up("cuMemHostGetDevicePointer_v2", LOOKUP, |model, caller| {
        model.host_device_pointer(caller, pointer as u64)
    })
}

pub(super) fn free(gpu: &SoftGpu, pointer: DevicePtr) -> Result<()> {
    gpu.call("cuMemFree_v2", |turn| {
        let caller = gpu.pay(turn, MANAGE);
        turn.model().refuse_while_capturing(caller)?;
        if let Some(context) = turn.model().mem_free_check(caller, pointer)? {
            gpu.block_alone(turn, Await::Idle(context))?;
            turn.model().mem_free(caller, pointer);
        }
        Ok(())
    })
}

/// Allocates memory that exists at once: the model has no pool that other streams' frees have to reach first.
pub(super) fn allocate_in_order(gpu: &SoftGpu, bytes: u64, stream: Stream) -> Result<DevicePtr> {
    gpu.submit("cuMemAllocAsync", stream, MANAGE, |model, caller, key| {
        let refused = || Failure::new(Code::NOT_SUPPORTED, "an allocation as a part of a graph is not modelled");
        match model.capture_status_of(key)? {
            // Where `cuMemAlloc` refuses, this gives nothing, and says nothing.
            CaptureStatus::None if bytes == 0 => Ok(DevicePtr::NULL),
            CaptureStatus::None => {
                model.refuse_while_capturing(caller)?;
                model.mem_alloc_pooled(caller, bytes)
            }
            _ => Err(refused()),
        }
    })
}

/// Frees memory when the stream comes to this operation. Until then it stays allocated.
pub(super) fn free_in_order(gpu: &SoftGpu, pointer: DevicePtr, stream: Stream) -> Result<()> {
    gpu.submit("cuMemFreeAsync", stream, MANAGE, |model, caller, key| {
        let captured = || Work::Other("a free");
        if model.mem_free_check(caller, pointer)?.is_some() && !model.capture_node(key, captured)? {
            model.free_submit(caller, key, pointer);
        }
        Ok(())
    })
}

pub(super) fn free_host(gpu: &SoftGpu, pointer: *mut u8) -> Result<()> {
    gpu.call("cuMemFreeHost", |turn| {
        let caller = gpu.pay(turn, MANAGE);
        turn.model().refuse_while_capturing(caller)?;
        if let Some(context) = turn.model().host_free_check(caller, pointer as u64)? {
            gpu.block_alone(turn, Await::Idle(context))?;
            turn.model().host_free(caller, pointer as u64);
        }
        Ok(())
    })
}

/// Registers memory of the caller.
///
/// # Safety
/// The range stays mapped until it is unregistered.
pub(super) unsafe fn register(gpu: &SoftGpu, pointer: *mut u8, bytes: u64, flags: HostRegisterFlags) -> Result<()> {
    gpu.change("cuMemHostRegister_v2", MANAGE, |model, caller| {
        model.refuse_while_capturing(caller)?;
        let null = || Failure::new(Code::INVALID_VALUE, "a null pointer");
        let start = NonNull::new(pointer).ok_or_else(null)?;
        // SAFETY: the caller promises that the range is mapped until it is unregistered, which drops the backing.
        let backing = unsafe { Backing::promised(start, bytes) };
        model.host_register(caller, backing, bytes, flags)
    })
}

pub(super) fn unregister(gpu: &SoftGpu, pointer: *mut u8) -> Result<()> {
    gpu.call("cuMemHostUnregister", |turn| {
        let caller = gpu.pay(turn, MANAGE);
        turn.model().refuse_while_capturing(caller)?;
        let context = turn.model().host_unregister_check(caller, pointer as u64)?;
        gpu.block_alone(turn, Await::Idle(context))?;
        turn.model().host_free(caller, pointer as u64);
        Ok(())
    })
}
