//! Translates the shapes of copies from the driver's structures into the model's.
#![allow(unsafe_code)] // `Lent` carries the callers' promises about pageable memory

use hal::{Shape, Side};

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

fn declared(side: Side) -> Declared {
    match side.declared {
        hal::Declared::Host => Declared::Host,
        hal::Declared::Device => Declared::Device,
        hal::Declared::Unified => Declared::Any,
    }
}

/// One side of a shape; `None` if rows or slices are longer than the distance between them, or its numbers exceed 64
/// bits.
///
/// # Safety
/// If the address turns out to be pageable, every row is valid until the call returns.
unsafe fn side(side: Side, shape: &Shape) -> Option<End> {
    let (address, rows) = (side.address, shape.rows);
    // As the driver was seen to read a pitch of 0.
    let row_bytes = if side.row_pitch_bytes == 0 { shape.width_bytes } else { side.row_pitch_bytes };
    let slice_bytes = match shape.depth {
        1 => row_bytes.checked_mul(rows)?,
        _ => row_bytes.checked_mul(side.slice_rows()?)?,
    };
    if row_bytes < shape.width_bytes || slice_bytes < row_bytes.checked_mul(rows)? {
        return None;
    }
    let layout = Layout { row_bytes, slice_bytes };
    let bytes = extent_bytes(layout, shape.width_bytes, rows, shape.depth)?;
    address.checked_add(bytes)?;
    // SAFETY: the caller promises the range from the beginning of the first row to the end of the last.
    Some(End { address, declared: declared(side), layout, lent: unsafe { Lent::for_call(address, bytes) } })
}

/// A copy of several rows.
///
/// # Safety
/// As [`side`], for both sides.
pub(crate) unsafe fn shaped(shape: &Shape) -> Option<Request> {
    let Shape { width_bytes, rows, depth, .. } = *shape;
    if width_bytes == 0 || rows == 0 || depth == 0 {
        // SAFETY: nothing is read or written through an empty copy.
        return unsafe { flat((0, Declared::Any), (0, Declared::Any), 0) };
    }
    width_bytes.checked_mul(rows)?.checked_mul(depth)?;
    // SAFETY: the caller makes the same promise.
    let (target, source) = unsafe { (side(shape.target, shape)?, side(shape.source, shape)?) };
    Some(Request { target, source, width_bytes, height: rows, depth, shaped: true })
}
