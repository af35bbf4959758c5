//! The places of copies: device buffers, sides of copies, and boxes inside them.

use hal::{DevicePtr, Shape};

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
    fn place(self) -> hal::Side {
        match self {
            Side::Host(pinned) => hal::Side::host(pinned.address()),
            Side::Device(buffer) => hal::Side::device(buffer.base),
            Side::UnifiedHost(pinned) => hal::Side::unified(pinned.address()),
            Side::UnifiedDevice(buffer) => hal::Side::unified(buffer.base.0),
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

    /// As a side of a shape.
    pub fn side(&self, extent: Extent) -> hal::Side {
        let row_pitch = self.row(extent, 1, 0) - self.row(extent, 0, 0);
        let slice_pitch = self.row(extent, 0, 1) - self.row(extent, 0, 0);
        let side = self.side.place();
        hal::Side { address: side.address + self.row(extent, 0, 0), ..side.pitched(row_pitch, slice_pitch) }
    }
}

/// The shape of a copy between two blocks.
pub fn shape(target: &Block, source: &Block, extent: Extent) -> Shape {
    let Extent { width_bytes, height, depth } = extent;
    Shape { target: target.side(extent), source: source.side(extent), width_bytes, rows: height, depth }
}
