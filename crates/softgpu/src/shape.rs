//! Translates the shapes of copies from the driver's structures into the model's.
#![allow(unsafe_code)] // `Lent` carries the callers' promises about pageable memory

use hal::{Endpoint, Plane, Volume};

use crate::model::{Declared, End, Layout, Request, extent_bytes};
use crate::raw::Lent;

/// One side of a 1D copy.
///
/// # Safety
/// If the address turns out to be pageable, it is valid for `bytes` until the call returns.
unsafe fn line(address: u64, declared: Declared, bytes: u64) -> End {
    let layout = Layout { row_bytes: bytes, slice_bytes: bytes };
    // SAFETY: the caller makes the same promise.
    End { address, declared, layout, lent: unsafe { Lent::for_call(address, bytes) } }
}

/// A 1D copy.
///
/// # Safety
/// As [`line()`], for both sides.
pub(crate) unsafe fn flat(target: (u64, Declared), source: (u64, Declared), bytes: u64) -> Option<Request> {
    // SAFETY: the caller makes the same promise.
    let (target, source) = unsafe { (line(target.0, target.1, bytes), line(source.0, source.1, bytes)) };
    Some(Request { target, source, width_bytes: bytes, height: 1, depth: 1, shaped: false })
}

fn endpoint(endpoint: Endpoint) -> (u64, Declared) {
    match endpoint {
        Endpoint::Host(address) => (address, Declared::Host),
        Endpoint::Device(pointer) => (pointer.0, Declared::Device),
        Endpoint::Unified(pointer) => (pointer.0, Declared::Any),
    }
}

/// A box inside a volume; `None` if its numbers exceed 64 bits.
///
/// # Safety
/// If the volume turns out to be pageable, every row of the box is valid until the call returns.
unsafe fn side(volume: &Volume, width_bytes: u64, height: u64, depth: u64) -> Option<End> {
    let (base, declared) = endpoint(volume.base);
    let row_end = volume.x_bytes.checked_add(width_bytes)?;
    let row_bytes = if volume.pitch_bytes == 0 { row_end } else { volume.pitch_bytes };
    let rows_end = volume.y.checked_add(height)?;
    let slice_rows = if volume.slice_rows == 0 { rows_end } else { volume.slice_rows };
    if row_bytes < row_end || (depth > 1 && slice_rows < rows_end) {
        return None;
    }
    let slice_bytes = row_bytes.checked_mul(slice_rows)?;
    let layout = Layout { row_bytes, slice_bytes };
    let start = volume.z.checked_mul(slice_bytes)?.checked_add(volume.y.checked_mul(row_bytes)?)?;
    let address = base.checked_add(start)?.checked_add(volume.x_bytes)?;
    let bytes = extent_bytes(layout, width_bytes, height, depth)?;
    address.checked_add(bytes)?;
    // SAFETY: the caller promises the range from the beginning of the first row to the end of the last.
    Some(End { address, declared, layout, lent: unsafe { Lent::for_call(address, bytes) } })
}

/// A 3D copy, and with a depth of 1 a 2D one.
///
/// # Safety
/// As [`side`], for both sides.
pub(crate) unsafe fn shaped(
    target: &Volume,
    source: &Volume,
    width_bytes: u64,
    height: u64,
    depth: u64,
) -> Option<Request> {
    if width_bytes == 0 || height == 0 || depth == 0 {
        // SAFETY: nothing is read or written through an empty copy.
        return unsafe { flat((0, Declared::Any), (0, Declared::Any), 0) };
    }
    width_bytes.checked_mul(height)?.checked_mul(depth)?;
    // SAFETY: the caller makes the same promise.
    let (target, source) =
        unsafe { (side(target, width_bytes, height, depth)?, side(source, width_bytes, height, depth)?) };
    Some(Request { target, source, width_bytes, height, depth, shaped: true })
}

pub(crate) fn volume(plane: &Plane) -> Volume {
    let Plane { base, pitch_bytes, x_bytes, y } = *plane;
    Volume { base, pitch_bytes, slice_rows: 0, x_bytes, y, z: 0 }
}
