//! Memory and semaphores of other APIs: the descriptors that `softgpu::ForeignMemory` and `softgpu::ForeignSemaphore`
//! export.
#![allow(unsafe_code)]
#![allow(non_snake_case)]

use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd};

use abi::Flavour;
use abi::types::*;
use hal::{Code, Driver, ExternalMemory, ExternalSemaphore, ExternalSemaphoreKind};

use crate::answer::{Answer, Out, Refusal, array, refuse, require};
use crate::soft::{gpu, number, pointer, stream};

/// The caller's descriptor.
///
/// # Safety
/// It is open, and the caller gives it up.
unsafe fn taken(descriptor: c_int) -> Answer<OwnedFd> {
    require(descriptor >= 0, Code::INVALID_VALUE)?;
    // SAFETY: not -1, as checked; the caller promises that it is open, and has given it up.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// A copy of a descriptor that stays the caller's.
///
/// # Safety
/// It is open.
unsafe fn copied(descriptor: c_int) -> Answer<OwnedFd> {
    require(descriptor >= 0, Code::INVALID_VALUE)?;
    // SAFETY: not -1, as checked; the caller promises that it is open.
    unsafe { BorrowedFd::borrow_raw(descriptor) }.try_clone_to_owned().map_err(|_| Refusal(Code::INVALID_VALUE))
}

/// The element that `request` points to.
///
/// # Safety
/// Null, or valid for reads until the entry point returns.
unsafe fn one<'call, T>(request: *const T) -> Answer<&'call T> {
    // SAFETY: the same promise.
    unsafe { array(request, 1) }?.first().ok_or(Refusal(Code::INVALID_VALUE))
}

pub unsafe fn cuImportExternalMemory(
    _: Flavour,
    ext_mem_out: *mut CUexternalMemory,
    mem_handle_desc: *const CUDA_EXTERNAL_MEMORY_HANDLE_DESC,
) -> Answer {
    let gpu = gpu()?;
    // SAFETY: the caller's promise for this output and this input.
    let (out, request) = unsafe { (Out::new(ext_mem_out)?, one(mem_handle_desc)?) };
    require(request.type_ == CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, Code::NOT_SUPPORTED)?;
    require(request.flags & !CUDA_EXTERNAL_MEMORY_DEDICATED == 0, Code::INVALID_VALUE)?;
    // SAFETY: the part is a descriptor for this type, and the caller's promise for it. A real driver closes one that it
    // refuses too.
    let given = unsafe { taken(request.handle.fd) }?;
    out.set(pointer(gpu.external_memory_import(given, request.size, request.flags != 0)?.0));
    Ok(())
}

pub unsafe fn cuExternalMemoryGetMappedBuffer(
    _: Flavour,
    dev_ptr: *mut CUdeviceptr,
    ext_mem: CUexternalMemory,
    buffer_desc: *const CUDA_EXTERNAL_MEMORY_BUFFER_DESC,
) -> Answer {
    let gpu = gpu()?;
    // SAFETY: the caller's promise for this output and this input.
    let (out, request) = unsafe { (Out::new(dev_ptr)?, one(buffer_desc)?) };
    require(request.flags == 0, Code::INVALID_VALUE)?;
    out.set(gpu.external_memory_map(ExternalMemory(number(ext_mem)), request.offset, request.size)?.0);
    Ok(())
}

pub unsafe fn cuDestroyExternalMemory(_: Flavour, ext_mem: CUexternalMemory) -> Answer {
    Ok(gpu()?.external_memory_destroy(ExternalMemory(number(ext_mem)))?)
}

pub unsafe fn cuImportExternalSemaphore(
    _: Flavour,
    ext_sem_out: *mut CUexternalSemaphore,
    sem_handle_desc: *const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC,
) -> Answer {
    let gpu = gpu()?;
    // SAFETY: the caller's promise for this output and this input.
    let (out, request) = unsafe { (Out::new(ext_sem_out)?, one(sem_handle_desc)?) };
    let kind = match request.type_ {
        CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD => ExternalSemaphoreKind::Binary,
        CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD => ExternalSemaphoreKind::Timeline,
        _ => return refuse(Code::NOT_SUPPORTED),
    };
    // SAFETY: the part is a descriptor for these types.
    let descriptor = unsafe { request.handle.fd };
    // SAFETY: the caller's promise for it.
    let semaphore = gpu.external_semaphore_import(unsafe { copied(descriptor) }?, kind)?;
    out.set(pointer(semaphore.0));
    // SAFETY: as above. It is the driver's now, unlike one that is refused.
    drop(unsafe { taken(descriptor) }?);
    Ok(())
}

pub unsafe fn cuSignalExternalSemaphoresAsync(
    flavour: Flavour,
    ext_sem_array: *const CUexternalSemaphore,
    params_array: *const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS,
    num_ext_sems: c_uint,
    h_stream: CUstream,
) -> Answer {
    let (gpu, count) = (gpu()?, num_ext_sems as usize);
    // SAFETY: the caller's promise for both arrays.
    let (semaphores, parameters) = unsafe { (array(ext_sem_array, count)?, array(params_array, count)?) };
    for (semaphore, parameters) in semaphores.iter().zip(parameters) {
        let value = parameters.params.fence.value;
        gpu.external_semaphore_signal(ExternalSemaphore(number(*semaphore)), value, stream(flavour, h_stream))?;
    }
    Ok(())
}

pub unsafe fn cuWaitExternalSemaphoresAsync(
    flavour: Flavour,
    ext_sem_array: *const CUexternalSemaphore,
    params_array: *const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS,
    num_ext_sems: c_uint,
    h_stream: CUstream,
) -> Answer {
    let (gpu, count) = (gpu()?, num_ext_sems as usize);
    // SAFETY: the caller's promise for both arrays.
    let (semaphores, parameters) = unsafe { (array(ext_sem_array, count)?, array(params_array, count)?) };
    for (semaphore, parameters) in semaphores.iter().zip(parameters) {
        let value = parameters.params.fence.value;
        gpu.external_semaphore_wait(ExternalSemaphore(number(*semaphore)), value, stream(flavour, h_stream))?;
    }
    Ok(())
}

pub unsafe fn cuDestroyExternalSemaphore(_: Flavour, ext_sem: CUexternalSemaphore) -> Answer {
    Ok(gpu()?.external_semaphore_destroy(ExternalSemaphore(number(ext_sem)))?)
}
