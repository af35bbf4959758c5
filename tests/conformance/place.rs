//! The places of copies: device buffers, sides of copies, and boxes inside them.

use hal::{DevicePtr, Endpoint, Plane, Volume};

use crate::memory::Pinned;

/// Device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    pub base: DevicePtr,
    pub bytes: u64,
}

impl Buffer {
    /// The address `offset` bytes into the buffer.
    pub fn at(self, offset: u64) -> DevicePtr {
        self.base.offset(offset)
    }

    /// The address of a range that lies inside the buffer.
    pub fn range(self, offset: u64, bytes: u64) -> DevicePtr {
        assert!(offset.checked_add(bytes).is_some_and(|end| end <= self.bytes), "{offset} + {bytes} > {}", self.bytes);
        self.at(offset)
    }
}

/// One side of a copy, and the way in which the copy names it.
#[derive(Clone, Copy)]
pub enum Side<'a> {
    /// Pinned memory, as host memory.
    Host(&'a Pinned),
    /// Device memory, as such.
    Device(Buffer),
    /// Pinned memory, by address alone.
    UnifiedHost(&'a Pinned),
    /// Device memory, by address alone.
    UnifiedDevice(Buffer),
}

impl Side<'_> {
    fn endpoint(self) -> Endpoint {
        match self {
            Side::Host(pinned) => Endpoint::Host(pinned.address()),
            Side::Device(buffer) => Endpoint::Device(buffer.base),
            Side::UnifiedHost(pinned) => Endpoint::Unified(DevicePtr(pinned.address())),
            Side::UnifiedDevice(buffer) => Endpoint::Unified(buffer.base),
        }
    }

    /// The address of a range that lies inside the buffer.
    pub fn range(self, offset: u64, bytes: u64) -> DevicePtr {
        match self {
            Side::Host(pinned) | Side::UnifiedHost(pinned) => DevicePtr(pinned.range(offset, bytes) as u64),
            Side::Device(buffer) | Side::UnifiedDevice(buffer) => buffer.range(offset, bytes),
        }
    }
}

/// One side of a 3D copy; a 2D copy is one slice of it.
#[derive(Clone, Copy)]
pub struct Block<'a> {
    pub side: Side<'a>,
    /// Bytes from one row to the next; 0 means tightly packed.
    pub pitch_bytes: u64,
    /// Rows from one slice to the next; 0 means tightly packed.
    pub slice_rows: u64,
    /// Offset in bytes.
    pub x_bytes: u64,
    /// Offset in rows.
    pub y: u64,
    /// Offset in slices.
    pub z: u64,
}

/// The size of a 3D copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub width_bytes: u64,
    pub height: u64,
    pub depth: u64,
}

impl Block<'_> {
    /// The start of a row of the box in the buffer. Tightly packed, the next row begins where the box ends.
    pub fn row(&self, extent: Extent, y: u64, z: u64) -> u64 {
        let pitch = if self.pitch_bytes == 0 { self.x_bytes + extent.width_bytes } else { self.pitch_bytes };
        let rows = if self.slice_rows == 0 { self.y + extent.height } else { self.slice_rows };
        ((self.z + z) * rows + self.y + y) * pitch + self.x_bytes
    }

    /// Panics unless the box lies inside the buffer.
    pub fn check(&self, extent: Extent) {
        if extent.width_bytes > 0 && extent.height > 0 && extent.depth > 0 {
            self.side.range(self.row(extent, extent.height - 1, extent.depth - 1), extent.width_bytes);
        }
    }

    /// The block as a side of a 2D copy.
    pub fn plane(&self) -> Plane {
        assert!(self.z == 0, "a plane has no depth");
        Plane { base: self.side.endpoint(), pitch_bytes: self.pitch_bytes, x_bytes: self.x_bytes, y: self.y }
    }

    /// The block as a side of a 3D copy.
    pub fn volume(&self) -> Volume {
        let (base, pitch_bytes, slice_rows) = (self.side.endpoint(), self.pitch_bytes, self.slice_rows);
        Volume { base, pitch_bytes, slice_rows, x_bytes: self.x_bytes, y: self.y, z: self.z }
    }
}
