//! Copies of two and three dimensions.
#![allow(unsafe_code)] // the prototypes are the driver's
#![allow(non_snake_case)]

use abi::conv;
use abi::types::*;
use copies::copy::Request;
use hal::{Declared, Shape};

use crate::copy::{asynchronous, blocking};
use crate::hooks::Hook;

/// The request for a shape. `None` from host to host, where copies have no priority.
fn request(shape: &Shape) -> Option<Request> {
    let crosses = (shape.source.declared, shape.target.declared) != (Declared::Host, Declared::Host);
    Request::shaped(shape).filter(|_| crosses)
}

fn rectangle(copy: &CUDA_MEMCPY2D) -> Option<Request> {
    request(&conv::shape_2d(copy).ok()?)
}

fn cuboid(copy: &CUDA_MEMCPY3D) -> Option<Request> {
    request(&conv::shape_3d(copy).ok()?)
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

/// Only the real calls differ, in the pitches that they take.
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
    unsafe { blocking(hook, native, || read(copy, cuboid)) }
}

pub unsafe fn cuMemcpy3DAsync_v2(
    hook: Hook,
    native: impl Fn() -> CUresult,
    copy: *const CUDA_MEMCPY3D,
    stream: CUstream,
) -> CUresult {
    // SAFETY: the program's own arguments.
    unsafe { asynchronous(hook, native, stream, || read(copy, cuboid)) }
}

#[cfg(test)]
mod tests {
    use hal::{DevicePtr, Side};

    use super::*;

    #[test]
    fn only_known_kinds_of_memory_are_decoded() {
        let source = Side::host(0x1000).pitched(32, 0);
        let target = Side::device(DevicePtr(0x2000)).pitched(16, 0);
        let plain = conv::memcpy_2d(&Shape { target, source, width_bytes: 16, rows: 4, depth: 1 });
        assert_eq!(rectangle(&plain).map(|request| request.bytes()), Some(64));
        let array = CUDA_MEMCPY2D { dstMemoryType: CU_MEMORYTYPE_ARRAY, ..plain };
        let within_host = CUDA_MEMCPY2D { dstMemoryType: CU_MEMORYTYPE_HOST, ..plain };
        let empty = CUDA_MEMCPY2D { Height: 0, ..plain };
        let too_high = CUDA_MEMCPY2D { srcPitch: 16, Height: (1 << 60) + 1, ..plain };
        for copy in [array, within_host, empty, too_high] {
            assert!(rectangle(&copy).is_none(), "{copy:?}");
        }
        // SAFETY: a null pointer is allowed.
        assert!(unsafe { read(std::ptr::null(), rectangle) }.is_none());
    }
}
