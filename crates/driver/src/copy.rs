//! The shapes of 2D and 3D copies, as the driver writes them.

use abi::types::*;
use hal::{Copy2d, Copy3d, Endpoint};

use crate::handle::pointer;

/// One end of a copy: the memory type, the host pointer and the device pointer. The driver reads the one that the type
/// names.
struct End {
    kind: CUmemorytype,
    host: *mut c_void,
    device: CUdeviceptr,
}

impl End {
    fn new(endpoint: Endpoint) -> End {
        let null = std::ptr::null_mut();
        match endpoint {
            Endpoint::Host(address) => End { kind: CU_MEMORYTYPE_HOST, host: pointer(address), device: 0 },
            Endpoint::Device(address) => End { kind: CU_MEMORYTYPE_DEVICE, host: null, device: address.0 },
            Endpoint::Unified(address) => End { kind: CU_MEMORYTYPE_UNIFIED, host: null, device: address.0 },
        }
    }
}

/// The seam's "0 means tightly packed": where the rectangle ends, the next row begins. The manual allows 0 for single
/// rows only; driver 580 was seen to read it the same way for several.
fn or_tight(given: u64, offset: u64, extent: u64) -> usize {
    if given == 0 { offset.saturating_add(extent) as usize } else { given as usize }
}

/// `CUDA_MEMCPY2D`.
pub fn copy_2d(copy: &Copy2d) -> CUDA_MEMCPY2D {
    let (source, target) = (End::new(copy.source.base), End::new(copy.target.base));
    CUDA_MEMCPY2D {
        srcXInBytes: copy.source.x_bytes as usize,
        srcY: copy.source.y as usize,
        srcMemoryType: source.kind,
        srcHost: source.host,
        srcDevice: source.device,
        srcArray: std::ptr::null_mut(),
        srcPitch: or_tight(copy.source.pitch_bytes, copy.source.x_bytes, copy.width_bytes),
        dstXInBytes: copy.target.x_bytes as usize,
        dstY: copy.target.y as usize,
        dstMemoryType: target.kind,
        dstHost: target.host,
        dstDevice: target.device,
        dstArray: std::ptr::null_mut(),
        dstPitch: or_tight(copy.target.pitch_bytes, copy.target.x_bytes, copy.width_bytes),
        WidthInBytes: copy.width_bytes as usize,
        Height: copy.height as usize,
    }
}

/// `CUDA_MEMCPY3D`.
pub fn copy_3d(copy: &Copy3d) -> CUDA_MEMCPY3D {
    let (source, target) = (End::new(copy.source.base), End::new(copy.target.base));
    CUDA_MEMCPY3D {
        srcXInBytes: copy.source.x_bytes as usize,
        srcY: copy.source.y as usize,
        srcZ: copy.source.z as usize,
        srcLOD: 0,
        srcMemoryType: source.kind,
        srcHost: source.host,
        srcDevice: source.device,
        srcArray: std::ptr::null_mut(),
        reserved0: std::ptr::null_mut(),
        srcPitch: or_tight(copy.source.pitch_bytes, copy.source.x_bytes, copy.width_bytes),
        srcHeight: or_tight(copy.source.slice_rows, copy.source.y, copy.height),
        dstXInBytes: copy.target.x_bytes as usize,
        dstY: copy.target.y as usize,
        dstZ: copy.target.z as usize,
        dstLOD: 0,
        dstMemoryType: target.kind,
        dstHost: target.host,
        dstDevice: target.device,
        dstArray: std::ptr::null_mut(),
        reserved1: std::ptr::null_mut(),
        dstPitch: or_tight(copy.target.pitch_bytes, copy.target.x_bytes, copy.width_bytes),
        dstHeight: or_tight(copy.target.slice_rows, copy.target.y, copy.height),
        WidthInBytes: copy.width_bytes as usize,
        Height: copy.height as usize,
        Depth: copy.depth as usize,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hal::{DevicePtr, Plane};

    #[test]
    fn each_end_fills_the_field_that_its_type_names() {
        let source = Plane { base: Endpoint::Host(0x1000), pitch_bytes: 0, x_bytes: 3, y: 5 };
        let target = Plane { base: Endpoint::Device(DevicePtr(0x2000)), pitch_bytes: 256, x_bytes: 7, y: 9 };
        let raw = copy_2d(&Copy2d { source, target, width_bytes: 100, height: 4 });
        assert_eq!((raw.srcMemoryType, raw.srcHost as usize, raw.srcDevice), (CU_MEMORYTYPE_HOST, 0x1000, 0));
        assert_eq!((raw.dstMemoryType, raw.dstHost.is_null(), raw.dstDevice), (CU_MEMORYTYPE_DEVICE, true, 0x2000));
        assert_eq!((raw.srcXInBytes, raw.srcY, raw.dstXInBytes, raw.dstY), (3, 5, 7, 9));
        assert_eq!((raw.srcPitch, raw.dstPitch, raw.WidthInBytes, raw.Height), (103, 256, 100, 4));
    }
}
