//! Copies of rectangles and boxes.
#![allow(unsafe_code)]
#![allow(non_snake_case)]

use abi::Flavour;
use abi::conv::{self, Misfit};
use abi::types::*;
use hal::{Code, Driver, Shape};

use crate::answer::{Answer, Refusal};
use crate::copy::synchronously;
use crate::soft::{gpu, stream};

/// Arrays are not modelled, so no handle to one can be valid.
fn refusal(misfit: Misfit) -> Refusal {
    Refusal(if misfit == Misfit::Array { Code::NOT_SUPPORTED } else { Code::INVALID_VALUE })
}

fn rectangle(copy: &CUDA_MEMCPY2D) -> Answer<Shape> {
    conv::shape_2d(copy).map_err(refusal)
}

fn cuboid(copy: &CUDA_MEMCPY3D) -> Answer<Shape> {
    let mut copy = *copy;
    if copy.Depth == 1 && copy.srcZ == 0 && copy.dstZ == 0 {
        // With a single slice the distance of slices has no meaning.
        (copy.srcHeight, copy.dstHeight) = (0, 0);
    }
    conv::shape_3d(&copy).map_err(refusal)
}

/// The structure at `pointer`.
unsafe fn structure<'call, T>(pointer: *const T) -> Answer<&'call T> {
    // SAFETY: null, or the caller's promise that it points to the structure.
    unsafe { pointer.as_ref() }.ok_or(Refusal(Code::INVALID_VALUE))
}

pub unsafe fn cuMemcpy2D_v2(flavour: Flavour, p_copy: *const CUDA_MEMCPY2D) -> Answer {
    let gpu = gpu()?;
    // SAFETY: the caller's promise for the structure.
    let copy = rectangle(unsafe { structure(p_copy) }?)?;
    // SAFETY: the caller's promise for every row; the call returns after the copy has completed.
    synchronously(flavour, |stream| unsafe { gpu.copy_shape_async(&copy, stream) })
}

/// Every pitch is permitted here, so both entry points do the same.
pub unsafe fn cuMemcpy2DUnaligned_v2(flavour: Flavour, p_copy: *const CUDA_MEMCPY2D) -> Answer {
    // SAFETY: the same promise.
    unsafe { cuMemcpy2D_v2(flavour, p_copy) }
}

pub unsafe fn cuMemcpy2DAsync_v2(flavour: Flavour, p_copy: *const CUDA_MEMCPY2D, h_stream: CUstream) -> Answer {
    let gpu = gpu()?;
    // SAFETY: the caller's promise for the structure.
    let copy = rectangle(unsafe { structure(p_copy) }?)?;
    // SAFETY: the caller's promise for every row until the copy has completed.
    Ok(unsafe { gpu.copy_shape_async(&copy, stream(flavour, h_stream)) }?)
}

pub unsafe fn cuMemcpy3D_v2(flavour: Flavour, p_copy: *const CUDA_MEMCPY3D) -> Answer {
    let gpu = gpu()?;
    // SAFETY: the caller's promise for the structure.
    let copy = cuboid(unsafe { structure(p_copy) }?)?;
    // SAFETY: the caller's promise for every row; the call returns after the copy has completed.
    synchronously(flavour, |stream| unsafe { gpu.copy_shape_async(&copy, stream) })
}

pub unsafe fn cuMemcpy3DAsync_v2(flavour: Flavour, p_copy: *const CUDA_MEMCPY3D, h_stream: CUstream) -> Answer {
    let gpu = gpu()?;
    // SAFETY: the caller's promise for the structure.
    let copy = cuboid(unsafe { structure(p_copy) }?)?;
    // SAFETY: the caller's promise for every row until the copy has completed.
    Ok(unsafe { gpu.copy_shape_async(&copy, stream(flavour, h_stream)) }?)
}

#[cfg(test)]
mod tests {
    use hal::{DevicePtr, Side};

    use super::*;
    use crate::answer::refuse;

    #[test]
    fn a_structure_without_a_shape_is_refused() {
        let row = Side::device(DevicePtr(0x20)).pitched(8, 8);
        let shape = Shape { target: row, source: row, width_bytes: 8, rows: 1, depth: 1 };
        let copy = conv::memcpy_2d(&shape);
        assert_eq!(rectangle(&copy), Ok(Shape { target: row, source: row, ..shape }));
        let array: CUarray = std::ptr::without_provenance_mut(0x30);
        let to_array = CUDA_MEMCPY2D { dstMemoryType: CU_MEMORYTYPE_ARRAY, dstArray: array, ..copy };
        assert_eq!(rectangle(&to_array), refuse(Code::NOT_SUPPORTED));
        let none = std::ptr::null_mut();
        assert_eq!(rectangle(&CUDA_MEMCPY2D { dstArray: none, ..to_array }), refuse(Code::INVALID_VALUE));
        assert_eq!(rectangle(&CUDA_MEMCPY2D { srcMemoryType: 0, ..copy }), refuse(Code::INVALID_VALUE));
    }

    #[test]
    fn the_distance_of_slices_counts_where_there_are_several() {
        let row = Side::device(DevicePtr(0x20)).pitched(8, 8);
        let copy =
            |depth| conv::memcpy_3d(&Shape { target: row, source: row, width_bytes: 8, rows: 2, depth }).unwrap();
        assert!(cuboid(&copy(1)).is_ok());
        assert_eq!(cuboid(&copy(2)), refuse(Code::INVALID_VALUE));
    }
}
