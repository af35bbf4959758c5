//! Copies of several rows.
#![allow(unsafe_code)] // as `cuda.rs`, whose comment holds the reasons

use abi::conv;
use hal::{Code, Result, Shape, Stream};

use crate::functions::Functions;
use crate::handle::pointer;

/// Copies a shape, in a stream.
///
/// # Safety
/// The ranges that the shape names stay valid as the driver asks for this kind of copy.
pub unsafe fn shape_async(functions: &Functions, shape: &Shape, stream: Stream) -> Result<()> {
    let stream = pointer(stream.0);
    if shape.depth == 1 {
        // SAFETY: the structure is read before the call returns; the ranges it names are the caller's promise.
        return unsafe { functions.cuMemcpy2DAsync_v2(&conv::memcpy_2d(shape), stream) };
    }
    let uneven = || Code::INVALID_VALUE.at("cuMemcpy3DAsync_v2").because("slices are no whole number of rows apart");
    let copy = conv::memcpy_3d(shape).ok_or_else(uneven)?;
    // SAFETY: as above.
    unsafe { functions.cuMemcpy3DAsync_v2(&copy, stream) }
}
