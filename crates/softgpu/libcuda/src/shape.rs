//! Copies of rectangles and boxes.
#![allow(unsafe_code)]
#![allow(non_snake_case)]

use abi::Flavour;
use abi::types::*;
use hal::{Code, Copy2d, Copy3d, DevicePtr, Driver, Endpoint, Plane, Volume};

use crate::answer::{Answer, Refusal, refuse, require};
use crate::copy::synchronously;
use crate::soft::{gpu, stream};

/// One side of a copy structure. Arrays are not modelled, so no handle to one can be valid.
fn endpoint(kind: CUmemorytype, host: *const c_void, device: CUdeviceptr, array: CUarray) -> Answer<Endpoint> {
    match kind {
        CU_MEMORYTYPE_HOST => Ok(Endpoint::Host(host.addr() as u64)),
        CU_MEMORYTYPE_DEVICE => Ok(Endpoint::Device(DevicePtr(device))),
        CU_MEMORYTYPE_UNIFIED => Ok(Endpoint::Unified(DevicePtr(device))),
        CU_MEMORYTYPE_ARRAY if !array.is_null() => refuse(Code::NOT_SUPPORTED),
        _ => refuse(Code::INVALID_VALUE),
    }
}

fn plane_copy(c: &CUDA_MEMCPY2D) -> Answer<Copy2d> {
    let source = Plane {
        base: endpoint(c.srcMemoryType, c.srcHost, c.srcDevice, c.srcArray)?,
        pitch_bytes: c.srcPitch as u64,
        x_bytes: c.srcXInBytes as u64,
        y: c.srcY as u64,
    };
    let target = Plane {
        base: endpoint(c.dstMemoryType, c.dstHost, c.dstDevice, c.dstArray)?,
        pitch_bytes: c.dstPitch as u64,
        x_bytes: c.dstXInBytes as u64,
        y: c.dstY as u64,
    };
    Ok(Copy2d { source, target, width_bytes: c.WidthInBytes as u64, height: c.Height as u64 })
}

/// Levels of detail belong to arrays, and the reserved fields must be null.
fn volume_copy(c: &CUDA_MEMCPY3D) -> Answer<Copy3d> {
    let plain = c.srcLOD == 0 && c.dstLOD == 0 && c.reserved0.is_null() && c.reserved1.is_null();
    require(plain, Code::INVALID_VALUE)?;
    let source = Volume {
        base: endpoint(c.srcMemoryType, c.srcHost, c.srcDevice, c.srcArray)?,
        pitch_bytes: c.srcPitch as u64,
        slice_rows: c.srcHeight as u64,
        x_bytes: c.srcXInBytes as u64,
        y: c.srcY as u64,
        z: c.srcZ as u64,
    };
    let target = Volume {
        base: endpoint(c.dstMemoryType, c.dstHost, c.dstDevice, c.dstArray)?,
        pitch_bytes: c.dstPitch as u64,
        slice_rows: c.dstHeight as u64,
        x_bytes: c.dstXInBytes as u64,
        y: c.dstY as u64,
        z: c.dstZ as u64,
    };
    let (width_bytes, height, depth) = (c.WidthInBytes as u64, c.Height as u64, c.Depth as u64);
    Ok(Copy3d { source, target, width_bytes, height, depth })
}

/// The structure at `pointer`.
unsafe fn structure<'call, T>(pointer: *const T) -> Answer<&'call T> {
    // SAFETY: null, or the caller's promise that it points to the structure.
    unsafe { pointer.as_ref() }.ok_or(Refusal(Code::INVALID_VALUE))
}

pub unsafe fn cuMemcpy2D_v2(flavour: Flavour, p_copy: *const CUDA_MEMCPY2D) -> Answer {
    let gpu = gpu()?;
    // SAFETY: the caller's promise for the structure.
    let copy = plane_copy(unsafe { structure(p_copy) }?)?;
    // SAFETY: the caller's promise for every row; the call returns after the copy has completed.
    synchronously(flavour, |stream| unsafe { gpu.copy_2d_async(&copy, stream) })
}

/// Every pitch is permitted here, so both entry points do the same.
pub unsafe fn cuMemcpy2DUnaligned_v2(flavour: Flavour, p_copy: *const CUDA_MEMCPY2D) -> Answer {
    // SAFETY: the same promise.
    unsafe { cuMemcpy2D_v2(flavour, p_copy) }
}

pub unsafe fn cuMemcpy2DAsync_v2(flavour: Flavour, p_copy: *const CUDA_MEMCPY2D, h_stream: CUstream) -> Answer {
    let gpu = gpu()?;
    // SAFETY: the caller's promise for the structure.
    let copy = plane_copy(unsafe { structure(p_copy) }?)?;
    // SAFETY: the caller's promise for every row until the copy has completed.
    Ok(unsafe { gpu.copy_2d_async(&copy, stream(flavour, h_stream)) }?)
}

pub unsafe fn cuMemcpy3D_v2(flavour: Flavour, p_copy: *const CUDA_MEMCPY3D) -> Answer {
    let gpu = gpu()?;
    // SAFETY: the caller's promise for the structure.
    let copy = volume_copy(unsafe { structure(p_copy) }?)?;
    // SAFETY: the caller's promise for every row; the call returns after the copy has completed.
    synchronously(flavour, |stream| unsafe { gpu.copy_3d_async(&copy, stream) })
}

pub unsafe fn cuMemcpy3DAsync_v2(flavour: Flavour, p_copy: *const CUDA_MEMCPY3D, h_stream: CUstream) -> Answer {
    let gpu = gpu()?;
    // SAFETY: the caller's promise for the structure.
    let copy = volume_copy(unsafe { structure(p_copy) }?)?;
    // SAFETY: the caller's promise for every row until the copy has completed.
    Ok(unsafe { gpu.copy_3d_async(&copy, stream(flavour, h_stream)) }?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_is_named_by_its_memory_type() {
        let host = std::ptr::without_provenance(0x10);
        let array: CUarray = std::ptr::without_provenance_mut(0x30);
        let side = |kind, array| endpoint(kind, host, 0x20, array);
        let none = std::ptr::null_mut();
        assert_eq!(side(CU_MEMORYTYPE_HOST, none), Ok(Endpoint::Host(0x10)));
        assert_eq!(side(CU_MEMORYTYPE_DEVICE, none), Ok(Endpoint::Device(DevicePtr(0x20))));
        assert_eq!(side(CU_MEMORYTYPE_UNIFIED, array), Ok(Endpoint::Unified(DevicePtr(0x20))));
        assert_eq!(side(CU_MEMORYTYPE_ARRAY, array), refuse(Code::NOT_SUPPORTED));
        assert_eq!(side(CU_MEMORYTYPE_ARRAY, none), refuse(Code::INVALID_VALUE));
        assert_eq!(side(0, none), refuse(Code::INVALID_VALUE));
    }
}
