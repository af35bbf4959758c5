//! One-dimensional copies.
#![allow(unsafe_code)]
#![allow(non_snake_case)]

use abi::Flavour;
use abi::types::*;
use hal::{Context, DevicePtr, Driver, Stream};

use crate::answer::Answer;
use crate::soft::{default_stream, gpu, number, stream};

/// Submits with `submit` to the flavour's default stream and waits for it: a synchronous call.
pub fn synchronously(flavour: Flavour, submit: impl FnOnce(Stream) -> hal::Result<()>) -> Answer {
    let gpu = gpu()?;
    let stream = default_stream(flavour);
    submit(stream)?;
    Ok(gpu.stream_synchronize(stream)?)
}

pub unsafe fn cuMemcpy(flavour: Flavour, dst: CUdeviceptr, src: CUdeviceptr, byte_count: usize) -> Answer {
    let gpu = gpu()?;
    // SAFETY: the caller's promise for both ranges; the call returns after the copy has completed.
    synchronously(flavour, |stream| unsafe {
        gpu.copy_async(DevicePtr(dst), DevicePtr(src), byte_count as u64, stream)
    })
}

pub unsafe fn cuMemcpyAsync(
    flavour: Flavour,
    dst: CUdeviceptr,
    src: CUdeviceptr,
    byte_count: usize,
    h_stream: CUstream,
) -> Answer {
    let gpu = gpu()?;
    // SAFETY: the caller's promise for both ranges until the copy has completed.
    Ok(unsafe { gpu.copy_async(DevicePtr(dst), DevicePtr(src), byte_count as u64, stream(flavour, h_stream)) }?)
}

pub unsafe fn cuMemcpyHtoD_v2(
    flavour: Flavour,
    dst_device: CUdeviceptr,
    src_host: *const c_void,
    byte_count: usize,
) -> Answer {
    let gpu = gpu()?;
    let (target, source, bytes) = (DevicePtr(dst_device), src_host.cast(), byte_count as u64);
    if flavour == Flavour::Plain {
        // SAFETY: the caller's promise for the source.
        return Ok(unsafe { gpu.copy_htod(target, source, bytes) }?);
    }
    // SAFETY: the caller's promise for the source; the call returns after the copy has completed.
    synchronously(flavour, |stream| unsafe { gpu.copy_htod_async(target, source, bytes, stream) })
}

pub unsafe fn cuMemcpyDtoH_v2(
    flavour: Flavour,
    dst_host: *mut c_void,
    src_device: CUdeviceptr,
    byte_count: usize,
) -> Answer {
    let gpu = gpu()?;
    let (target, source, bytes) = (dst_host.cast(), DevicePtr(src_device), byte_count as u64);
    if flavour == Flavour::Plain {
        // SAFETY: the caller's promise for the target.
        return Ok(unsafe { gpu.copy_dtoh(target, source, bytes) }?);
    }
    // SAFETY: the caller's promise for the target; the call returns after the copy has completed.
    synchronously(flavour, |stream| unsafe { gpu.copy_dtoh_async(target, source, bytes, stream) })
}

/// Even the synchronous call does not wait for a copy on the device: later work in the stream sees it.
pub unsafe fn cuMemcpyDtoD_v2(
    flavour: Flavour,
    dst_device: CUdeviceptr,
    src_device: CUdeviceptr,
    byte_count: usize,
) -> Answer {
    // SAFETY: the same promise.
    unsafe { cuMemcpyDtoDAsync_v2(flavour, dst_device, src_device, byte_count, std::ptr::null_mut()) }
}

pub unsafe fn cuMemcpyHtoDAsync_v2(
    flavour: Flavour,
    dst_device: CUdeviceptr,
    src_host: *const c_void,
    byte_count: usize,
    h_stream: CUstream,
) -> Answer {
    let (gpu, stream) = (gpu()?, stream(flavour, h_stream));
    // SAFETY: the caller's promise for the source until the copy has completed.
    Ok(unsafe { gpu.copy_htod_async(DevicePtr(dst_device), src_host.cast(), byte_count as u64, stream) }?)
}

pub unsafe fn cuMemcpyDtoHAsync_v2(
    flavour: Flavour,
    dst_host: *mut c_void,
    src_device: CUdeviceptr,
    byte_count: usize,
    h_stream: CUstream,
) -> Answer {
    let (gpu, stream) = (gpu()?, stream(flavour, h_stream));
    // SAFETY: the caller's promise for the target until the copy has completed.
    Ok(unsafe { gpu.copy_dtoh_async(dst_host.cast(), DevicePtr(src_device), byte_count as u64, stream) }?)
}

pub unsafe fn cuMemcpyDtoDAsync_v2(
    flavour: Flavour,
    dst_device: CUdeviceptr,
    src_device: CUdeviceptr,
    byte_count: usize,
    h_stream: CUstream,
) -> Answer {
    let (gpu, stream) = (gpu()?, stream(flavour, h_stream));
    // SAFETY: the caller's promise for both ranges until the copy has completed.
    Ok(unsafe { gpu.copy_dtod_async(DevicePtr(dst_device), DevicePtr(src_device), byte_count as u64, stream) }?)
}

pub unsafe fn cuMemcpyPeer(
    flavour: Flavour,
    dst_device: CUdeviceptr,
    dst_context: CUcontext,
    src_device: CUdeviceptr,
    src_context: CUcontext,
    byte_count: usize,
) -> Answer {
    let stream = std::ptr::null_mut();
    // SAFETY: the same promise; the call returns after the copy has completed.
    unsafe { cuMemcpyPeerAsync(flavour, dst_device, dst_context, src_device, src_context, byte_count, stream) }?;
    Ok(gpu()?.stream_synchronize(default_stream(flavour))?)
}

pub unsafe fn cuMemcpyPeerAsync(
    flavour: Flavour,
    dst_device: CUdeviceptr,
    dst_context: CUcontext,
    src_device: CUdeviceptr,
    src_context: CUcontext,
    byte_count: usize,
    h_stream: CUstream,
) -> Answer {
    let gpu = gpu()?;
    let (target, target_context) = (DevicePtr(dst_device), Context(number(dst_context)));
    let (source, source_context) = (DevicePtr(src_device), Context(number(src_context)));
    let (bytes, stream) = (byte_count as u64, stream(flavour, h_stream));
    // SAFETY: the caller's promise for both ranges until the copy has completed.
    Ok(unsafe { gpu.copy_peer_async(target, target_context, source, source_context, bytes, stream) }?)
}
