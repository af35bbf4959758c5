//! Submits one copy by the driver call that fits its shape.
#![allow(unsafe_code)] // the copy calls are unsafe; the caller's promise is passed on

use hal::{Declared, Driver, Result, Shape, Side, Stream};

use priority::Direction;

/// Submits a copy of any shape to a stream.
///
/// # Safety
/// Every row of both sides stays valid until the copy has completed, as [`Driver`]'s copy of that kind demands.
pub unsafe fn copy_shape(driver: &dyn Driver, direction: Direction, shape: &Shape, stream: Stream) -> Result<()> {
    if shape.is_linear() {
        // SAFETY: passed on to the caller.
        return unsafe { copy_linear(driver, direction, shape, stream) };
    }
    // SAFETY: passed on to the caller.
    unsafe { copy_rows(driver, direction, &shape.flattened(), stream) }
}

#[inline(never)] // its frame is large, and most copies are one run of bytes
unsafe fn copy_rows(driver: &dyn Driver, direction: Direction, shape: &Shape, stream: Stream) -> Result<()> {
    if shape.is_linear() {
        // SAFETY: passed on to the caller.
        return unsafe { copy_linear(driver, direction, shape, stream) };
    }
    let shape = declared(direction, shape);
    if shape.depth == 1 || (shape.target.slice_rows().is_some() && shape.source.slice_rows().is_some()) {
        // SAFETY: passed on to the caller.
        return unsafe { driver.copy_shape_async(&shape, stream) };
    }
    // Slices that are not a whole number of rows apart cannot be said in one call.
    (0..shape.depth).try_for_each(|slice| {
        let slice = shape.rows_from(slice, 0, shape.rows);
        // SAFETY: passed on to the caller; a slice's rows are among the shape's.
        unsafe { copy_shape(driver, direction, &slice, stream) }
    })
}

unsafe fn copy_linear(driver: &dyn Driver, direction: Direction, shape: &Shape, stream: Stream) -> Result<()> {
    let (target, source, bytes) = (shape.target, shape.source, shape.width_bytes);
    // SAFETY: passed on to the caller; the caller vouches for the host addresses.
    unsafe {
        match direction {
            Direction::HostToDevice => {
                driver.copy_htod_async(target.pointer(), source.address as *const u8, bytes, stream)
            }
            Direction::DeviceToHost => {
                driver.copy_dtoh_async(target.address as *mut u8, source.pointer(), bytes, stream)
            }
            Direction::DeviceToDevice => driver.copy_dtod_async(target.pointer(), source.pointer(), bytes, stream),
            Direction::Peer => driver.copy_async(target.pointer(), source.pointer(), bytes, stream),
        }
    }
}

/// The shape as the driver's own copy of that direction declares both sides.
fn declared(direction: Direction, shape: &Shape) -> Shape {
    let (target, source) = match direction {
        Direction::HostToDevice => (Declared::Device, Declared::Host),
        Direction::DeviceToHost => (Declared::Host, Declared::Device),
        Direction::DeviceToDevice => (Declared::Device, Declared::Device),
        Direction::Peer => (Declared::Unified, Declared::Unified),
    };
    let side = |side: Side, declared| Side { declared, ..side };
    Shape { target: side(shape.target, target), source: side(shape.source, source), ..*shape }
}
