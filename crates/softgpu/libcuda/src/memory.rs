//! Device memory and pinned host memory.
#![allow(unsafe_code)]
#![allow(non_snake_case)]

use abi::Flavour;
use abi::types::*;
use hal::{Code, DevicePtr, Driver, HostAllocFlags, HostRegisterFlags};

use crate::answer::{Answer, Out, Refusal, require};
use crate::soft::{gpu, stream};

/// Rows of a pitched allocation start at multiples of this.
const PITCH_BYTES: usize = 512;

pub unsafe fn cuMemAlloc_v2(_: Flavour, dptr: *mut CUdeviceptr, bytesize: usize) -> Answer {
    let gpu = gpu()?;
    // SAFETY: the caller's promise for this output.
    let out = unsafe { Out::new(dptr) }?;
    out.set(gpu.mem_alloc(bytesize as u64)?.0);
    Ok(())
}

pub unsafe fn cuMemAllocPitch_v2(
    _: Flavour,
    dptr: *mut CUdeviceptr,
    p_pitch: *mut usize,
    width_in_bytes: usize,
    height: usize,
    element_size_bytes: c_uint,
) -> Answer {
    let gpu = gpu()?;
    // SAFETY: the caller's promise for these outputs.
    let (out, out_pitch) = unsafe { (Out::new(dptr)?, Out::new(p_pitch)?) };
    require(matches!(element_size_bytes, 4 | 8 | 16), Code::INVALID_VALUE)?;
    let pitch = width_in_bytes.checked_next_multiple_of(PITCH_BYTES);
    let sizes = pitch.and_then(|pitch| Some((pitch, pitch.checked_mul(height)?)));
    let (pitch, bytes) = sizes.ok_or(Refusal(Code::INVALID_VALUE))?;
    out.set(gpu.mem_alloc(bytes as u64)?.0);
    out_pitch.set(pitch);
    Ok(())
}

pub unsafe fn cuMemFree_v2(_: Flavour, dptr: CUdeviceptr) -> Answer {
    Ok(gpu()?.mem_free(DevicePtr(dptr))?)
}

pub unsafe fn cuMemAllocAsync(flavour: Flavour, dptr: *mut CUdeviceptr, bytesize: usize, h_stream: CUstream) -> Answer {
    let gpu = gpu()?;
    // SAFETY: the caller's promise for this output.
    let out = unsafe { Out::new(dptr) }?;
    out.set(gpu.mem_alloc_async(bytesize as u64, stream(flavour, h_stream))?.0);
    Ok(())
}

pub unsafe fn cuMemFreeAsync(flavour: Flavour, dptr: CUdeviceptr, h_stream: CUstream) -> Answer {
    Ok(gpu()?.mem_free_async(DevicePtr(dptr), stream(flavour, h_stream))?)
}

pub unsafe fn cuMemGetInfo_v2(_: Flavour, free: *mut usize, total: *mut usize) -> Answer {
    let (available, all) = gpu()?.mem_info()?;
    // SAFETY: the caller's promise for these outputs.
    let (out_free, out_total) = unsafe { (Out::new(free)?, Out::new(total)?) };
    out_free.set(available as usize);
    out_total.set(all as usize);
    Ok(())
}

/// Either output may be null.
pub unsafe fn cuMemGetAddressRange_v2(
    _: Flavour,
    pbase: *mut CUdeviceptr,
    psize: *mut usize,
    dptr: CUdeviceptr,
) -> Answer {
    let (base, bytes) = gpu()?.mapping(dptr).ok_or(Refusal(Code::NOT_FOUND))?;
    if !pbase.is_null() {
        // SAFETY: the caller's promise for this output.
        unsafe { Out::new(pbase) }?.set(base);
    }
    if !psize.is_null() {
        // SAFETY: the caller's promise for this output.
        unsafe { Out::new(psize) }?.set(bytes as usize);
    }
    Ok(())
}

pub unsafe fn cuMemAllocHost_v2(flavour: Flavour, pp: *mut *mut c_void, bytesize: usize) -> Answer {
    let flags = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
    // SAFETY: the same promise.
    unsafe { cuMemHostAlloc(flavour, pp, bytesize, flags) }
}

pub unsafe fn cuMemHostAlloc(_: Flavour, pp: *mut *mut c_void, bytesize: usize, flags: c_uint) -> Answer {
    let gpu = gpu()?;
    // SAFETY: the caller's promise for this output.
    let out = unsafe { Out::new(pp) }?;
    let known = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    require(flags & !known == 0, Code::INVALID_VALUE)?;
    out.set(gpu.host_alloc(bytesize as u64, HostAllocFlags(flags))?.cast());
    Ok(())
}

pub unsafe fn cuMemFreeHost(_: Flavour, p: *mut c_void) -> Answer {
    let gpu = gpu()?;
    // SAFETY: the caller's promise that nothing uses the memory any more; the other demands on the address are checked
    // by the callee.
    Ok(unsafe { gpu.host_free(p.cast()) }?)
}

pub unsafe fn cuMemHostRegister_v2(_: Flavour, p: *mut c_void, bytesize: usize, flags: c_uint) -> Answer {
    let gpu = gpu()?;
    let known = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY;
    require(flags & CU_MEMHOSTREGISTER_IOMEMORY == 0, Code::NOT_SUPPORTED)?;
    require(flags & !known == 0, Code::INVALID_VALUE)?;
    // SAFETY: the caller's promise that the range is mapped and stays so until it is unregistered.
    Ok(unsafe { gpu.host_register(p.cast(), bytesize as u64, HostRegisterFlags(flags)) }?)
}

pub unsafe fn cuMemHostUnregister(_: Flavour, p: *mut c_void) -> Answer {
    Ok(gpu()?.host_unregister(p.cast())?)
}

pub unsafe fn cuMemHostGetDevicePointer_v2(
    _: Flavour,
    pdptr: *mut CUdeviceptr,
    p: *mut c_void,
    flags: c_uint,
) -> Answer {
    let gpu = gpu()?;
    // SAFETY: the caller's promise for this output.
    let out = unsafe { Out::new(pdptr) }?;
    require(flags == 0, Code::INVALID_VALUE)?;
    out.set(gpu.host_device_pointer(p.cast())?.0);
    Ok(())
}
