//! Copies of two and three dimensions.
#![allow(unsafe_code)] // the prototypes are the driver's
#![allow(non_snake_case)]

use std::ffi::c_void;

use abi::types::*;
use copies::copy::Request;
use hal::{Copy2d, Copy3d, DevicePtr, Endpoint, Plane, Volume};

use crate::copy::{asynchronous, blocking};
use crate::hooks::Hook;

/// What a structure says of one side; `None` for arrays and for what is not known.
fn endpoint(kind: CUmemorytype, host: *const c_void, device: CUdeviceptr) -> Option<Endpoint> {
    match kind {
        CU_MEMORYTYPE_HOST => Some(Endpoint::Host(host.addr() as u64)),
        CU_MEMORYTYPE_DEVICE => Some(Endpoint::Device(DevicePtr(device))),
        CU_MEMORYTYPE_UNIFIED => Some(Endpoint::Unified(DevicePtr(device))),
        _ => None,
    }
}

/// From host to host nothing has a priority.
fn crosses(source: Endpoint, target: Endpoint) -> bool {
    !matches!((source, target), (Endpoint::Host(_), Endpoint::Host(_)))
}

fn rectangle(c: &CUDA_MEMCPY2D) -> Option<Request> {
    let source = Plane {
        base: endpoint(c.srcMemoryType, c.srcHost, c.srcDevice)?,
        pitch_bytes: c.srcPitch as u64,
        x_bytes: c.srcXInBytes as u64,
        y: c.srcY as u64,
    };
    let target = Plane {
        base: endpoint(c.dstMemoryType, c.dstHost, c.dstDevice)?,
        pitch_bytes: c.dstPitch as u64,
        x_bytes: c.dstXInBytes as u64,
        y: c.dstY as u64,
    };
    let copy = Copy2d { source, target, width_bytes: c.WidthInBytes as u64, height: c.Height as u64 };
    Request::two_d(&copy).filter(|_| crosses(source.base, target.base))
}

/// Levels of detail belong to arrays, and the reserved fields must be null.
fn solid(c: &CUDA_MEMCPY3D) -> Option<Request> {
    let source = Volume {
        base: endpoint(c.srcMemoryType, c.srcHost, c.srcDevice)?,
        pitch_bytes: c.srcPitch as u64,
        slice_rows: c.srcHeight as u64,
        x_bytes: c.srcXInBytes as u64,
        y: c.srcY as u64,
        z: c.srcZ as u64,
    };
    let target = Volume {
        base: endpoint(c.dstMemoryType, c.dstHost, c.dstDevice)?,
        pitch_bytes: c.dstPitch as u64,
        slice_rows: c.dstHeight as u64,
        x_bytes: c.dstXInBytes as u64,
        y: c.dstY as u64,
        z: c.dstZ as u64,
    };
    let (width_bytes, height, depth) = (c.WidthInBytes as u64, c.Height as u64, c.Depth as u64);
    let plain = c.srcLOD == 0 && c.dstLOD == 0 && c.reserved0.is_null() && c.reserved1.is_null();
    let request = Request::three_d(&Copy3d { source, target, width_bytes, height, depth });
    request.filter(|_| plain && crosses(source.base, target.base))
}

/// # Safety
/// `copy` is null or points to the structure.
unsafe fn read<T, U>(copy: *const T, decode: impl FnOnce(&T) -> Option<U>) -> Option<U> {
    // SAFETY: the caller's promise.
    unsafe { copy.as_ref() }.and_then(decode)
}

pub unsafe fn cuMemcpy2D_v2(hook: Hook, native: impl Fn() -> CUresult, copy: *const CUDA_MEMCPY2D) -> CUresult {
    // SAFETY: the program's own arguments.
    unsafe { blocking(hook, native, || read(copy, rectangle)) }
}

/// The two differ in which pitches the real call takes.
pub use cuMemcpy2D_v2 as cuMemcpy2DUnaligned_v2;

pub unsafe fn cuMemcpy2DAsync_v2(
    hook: Hook,
    native: impl Fn() -> CUresult,
    copy: *const CUDA_MEMCPY2D,
    stream: CUstream,
) -> CUresult {
    // SAFETY: the program's own arguments.
    unsafe { asynchronous(hook, native, stream, || read(copy, rectangle)) }
}

pub unsafe fn cuMemcpy3D_v2(hook: Hook, native: impl Fn() -> CUresult, copy: *const CUDA_MEMCPY3D) -> CUresult {
    // SAFETY: the program's own arguments.
    unsafe { blocking(hook, native, || read(copy, solid)) }
}

pub unsafe fn cuMemcpy3DAsync_v2(
    hook: Hook,
    native: impl Fn() -> CUresult,
    copy: *const CUDA_MEMCPY3D,
    stream: CUstream,
) -> CUresult {
    // SAFETY: the program's own arguments.
    unsafe { asynchronous(hook, native, stream, || read(copy, solid)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From host to device, 16 bytes by 4 rows.
    fn plain() -> CUDA_MEMCPY2D {
        CUDA_MEMCPY2D {
            srcXInBytes: 0,
            srcY: 0,
            srcMemoryType: CU_MEMORYTYPE_HOST,
            srcHost: std::ptr::without_provenance(0x1000),
            srcDevice: 0,
            srcArray: std::ptr::null_mut(),
            srcPitch: 32,
            dstXInBytes: 0,
            dstY: 0,
            dstMemoryType: CU_MEMORYTYPE_DEVICE,
            dstHost: std::ptr::null_mut(),
            dstDevice: 0x2000,
            dstArray: std::ptr::null_mut(),
            dstPitch: 16,
            WidthInBytes: 16,
            Height: 4,
        }
    }

    #[test]
    fn only_what_is_understood_is_decoded() {
        assert_eq!(rectangle(&plain()).map(|request| request.bytes()), Some(64));
        let array = CUDA_MEMCPY2D { dstMemoryType: CU_MEMORYTYPE_ARRAY, ..plain() };
        let within_host = CUDA_MEMCPY2D { dstMemoryType: CU_MEMORYTYPE_HOST, ..plain() };
        let unknown = CUDA_MEMCPY2D { srcMemoryType: 9, ..plain() };
        let empty = CUDA_MEMCPY2D { Height: 0, ..plain() };
        let too_wide = CUDA_MEMCPY2D { dstXInBytes: 1, ..plain() };
        let too_high = CUDA_MEMCPY2D { srcPitch: 16, Height: (1 << 60) + 1, ..plain() };
        for copy in [array, within_host, unknown, empty, too_wide, too_high] {
            assert!(rectangle(&copy).is_none());
        }
        // SAFETY: null is what is tried.
        assert!(unsafe { read(std::ptr::null(), rectangle) }.is_none());
    }
}
