//! Submits one copy by the driver call that fits its shape.
#![allow(unsafe_code)] // the copy calls are unsafe; the caller's promise is passed on

use hal::{Copy2d, Copy3d, DevicePtr, Driver, Endpoint, Plane, Result, Stream, Volume};

use crate::direction::Direction;
use crate::shape::{Shape, Side};

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
    let (target, source) = endpoints(direction, shape);
    if shape.depth == 1 {
        let copy = Copy2d {
            source: plane(source, shape.source),
            target: plane(target, shape.target),
            width_bytes: shape.width_bytes,
            height: shape.rows,
        };
        // SAFETY: passed on to the caller.
        return unsafe { driver.copy_2d_async(&copy, stream) };
    }
    match (volume(source, shape.source), volume(target, shape.target)) {
        (Some(source), Some(target)) => {
            let copy =
                Copy3d { source, target, width_bytes: shape.width_bytes, height: shape.rows, depth: shape.depth };
            // SAFETY: passed on to the caller.
            unsafe { driver.copy_3d_async(&copy, stream) }
        }
        // One call cannot describe slices that are not a whole number of rows apart.
        _ => (0..shape.depth).try_for_each(|slice| {
            let slice = shape.rows_from(slice, 0, shape.rows);
            // SAFETY: passed on to the caller; a slice's rows are among the shape's.
            unsafe { copy_shape(driver, direction, &slice, stream) }
        }),
    }
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

fn endpoints(direction: Direction, shape: &Shape) -> (Endpoint, Endpoint) {
    let (target, source) = (shape.target.address, shape.source.address);
    let device = |address| Endpoint::Device(DevicePtr(address));
    match direction {
        Direction::HostToDevice => (device(target), Endpoint::Host(source)),
        Direction::DeviceToHost => (Endpoint::Host(target), device(source)),
        Direction::DeviceToDevice => (device(target), device(source)),
        Direction::Peer => (Endpoint::Unified(DevicePtr(target)), Endpoint::Unified(DevicePtr(source))),
    }
}

fn plane(base: Endpoint, side: Side) -> Plane {
    Plane { base, pitch_bytes: side.row_pitch_bytes, x_bytes: 0, y: 0 }
}

fn volume(base: Endpoint, side: Side) -> Option<Volume> {
    let rows = side.slice_pitch_bytes.checked_div(side.row_pitch_bytes)?;
    (rows * side.row_pitch_bytes == side.slice_pitch_bytes).then_some(Volume {
        base,
        pitch_bytes: side.row_pitch_bytes,
        slice_rows: rows,
        x_bytes: 0,
        y: 0,
        z: 0,
    })
}
