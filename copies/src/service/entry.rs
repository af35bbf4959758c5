//! A copy or set in a batch, and the pieces into which the kernel divides it.
#![allow(unsafe_code)] // copies are unsafe; the caller's promise is passed on

use std::ops::Range;

use channels::{Shape, copy_shape};
use hal::{DevicePtr, Driver, Result, Stream};
use priority::Direction;

use crate::request::Request;

/// The longest piece: a warp moves it alone, so a batch of longer ones would end late.
pub(crate) const PIECE_BYTES: u64 = 16 << 10;

/// The longest copy or set that shares a launch. Longer ones keep an engine busy for longer than it takes to begin one.
pub(crate) const SERVED_BYTES_MAX: u64 = 64 << 10;

/// `Piece` in `service.cu`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Piece {
    target: u64,
    source: u64,
    bytes: u32,
    kind: u32,
    value: u32,
    reserved: u32,
}

/// The bytes that an entry writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Those at this address.
    Of(u64),
    /// The 4 bytes of a value, repeated from the first byte of the target.
    Value(u32),
}

/// A copy or a set, with the driver's addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) target: u64,
    pub(crate) content: Content,
    pub(crate) bytes: u64,
    pub(crate) direction: Direction,
}

impl Entry {
    /// The copy as a request; `None` for a set.
    pub(crate) fn request(&self) -> Option<Request> {
        let Content::Of(source) = self.content else { return None };
        Some(match self.direction {
            Direction::HostToDevice => Request::htod(DevicePtr(self.target), source as *const u8, self.bytes),
            Direction::DeviceToHost => Request::dtoh(self.target as *mut u8, DevicePtr(source), self.bytes),
            _ => Request::linear(DevicePtr(self.target), DevicePtr(source), self.bytes),
        })
    }

    /// Its pieces, with the device's addresses: those of the driver, shifted by so much.
    pub(crate) fn pieces(self, target_shift: u64, source_shift: u64) -> impl Iterator<Item = Piece> {
        let starts = (0..self.bytes).step_by(PIECE_BYTES as usize);
        starts.map(move |at| {
            let target = self.target.wrapping_add(target_shift).wrapping_add(at);
            let bytes = (self.bytes - at).min(PIECE_BYTES) as u32;
            let piece = Piece { target, bytes, ..Piece::default() };
            match self.content {
                Content::Of(source) => Piece { source: source.wrapping_add(source_shift).wrapping_add(at), ..piece },
                Content::Value(value) => Piece { kind: 1, value, ..piece },
            }
        })
    }

    pub(crate) fn touches(&self, memory: &Range<u64>) -> bool {
        memory.contains(&self.target) || matches!(self.content, Content::Of(source) if memory.contains(&source))
    }

    /// Has the driver make it.
    ///
    /// # Safety
    /// Its ranges stay valid until it has completed.
    pub(crate) unsafe fn make_natively(&self, driver: &dyn Driver, stream: Stream) -> Result<()> {
        match self.content {
            Content::Of(source) => {
                let shape = Shape::linear(self.target, source, self.bytes);
                // SAFETY: passed on to the caller.
                unsafe { copy_shape(driver, self.direction, &shape, stream) }
            }
            Content::Value(value) => set_natively(driver, DevicePtr(self.target), value, self.bytes, stream),
        }
    }
}

/// Sets any range, in one call of the driver or in four.
pub fn set_natively(driver: &dyn Driver, target: DevicePtr, value: u32, bytes: u64, stream: Stream) -> Result<()> {
    let values = value.to_le_bytes();
    if values.iter().all(|byte| *byte == values[0]) {
        return driver.memset_d8_async(target, values[0], bytes, stream);
    }
    if (target.0 | bytes).is_multiple_of(4) {
        return driver.memset_d32_async(target, value, bytes / 4, stream);
    }
    // The driver fills with words at multiples of 4 only. Here each of the 4 bytes goes to every fourth place.
    (0_u64..4).zip(values).filter(|(first, _)| *first < bytes).try_for_each(|(first, byte)| {
        let count = (bytes - first).div_ceil(4);
        driver.memset_2d_d8_async(target.offset(first), 4, byte, 1, count, stream)
    })
}
