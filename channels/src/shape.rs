//! What is copied: rows of bytes from somewhere to somewhere.
//!
//! 1D, 2D and 3D copies are one thing here: `depth` slices of `rows` rows of `width_bytes` bytes, with a pitch between
//! rows and one between slices on either side. That is what chunking and the copy kernel need to know, and all they
//! need.

use hal::DevicePtr;

/// One side of a copy: an address under unified addressing, and how far apart rows and slices are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// The first byte.
    pub address: u64,
    /// Bytes from one row to the next.
    pub row_pitch_bytes: u64,
    /// Bytes from one slice to the next.
    pub slice_pitch_bytes: u64,
}

/// A copy's geometry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Where to.
    pub target: Side,
    /// Where from.
    pub source: Side,
    /// Bytes of a row.
    pub width_bytes: u64,
    /// Rows of a slice.
    pub rows: u64,
    /// Slices.
    pub depth: u64,
}

impl Side {
    /// A side that is one run of bytes.
    #[must_use]
    pub fn linear(address: u64) -> Side {
        Side { address, row_pitch_bytes: 0, slice_pitch_bytes: 0 }
    }

    fn at(self, row: u64, slice: u64) -> Side {
        let offset = row * self.row_pitch_bytes + slice * self.slice_pitch_bytes;
        Side { address: self.address + offset, ..self }
    }

    /// The address as the driver's type.
    #[must_use]
    pub fn pointer(self) -> DevicePtr {
        DevicePtr(self.address)
    }
}

impl Shape {
    /// `bytes` in one run.
    #[must_use]
    pub fn linear(target: u64, source: u64, bytes: u64) -> Shape {
        Shape { target: Side::linear(target), source: Side::linear(source), width_bytes: bytes, rows: 1, depth: 1 }
    }

    /// How many bytes are moved.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.width_bytes * self.rows * self.depth
    }

    /// Whether it is one run of bytes.
    #[must_use]
    pub fn is_linear(&self) -> bool {
        self.rows == 1 && self.depth == 1
    }

    /// The same copy in the fewest dimensions: rows that touch on both sides become one run.
    #[must_use]
    pub fn flattened(self) -> Shape {
        let mut shape = self;
        if shape.depth == 1 || shape.slices_touch() {
            shape.rows *= shape.depth;
            shape.depth = 1;
        }
        if shape.depth == 1 && (shape.rows == 1 || shape.rows_touch()) {
            let bytes = shape.width_bytes * shape.rows;
            return Shape::linear(shape.target.address, shape.source.address, bytes);
        }
        shape
    }

    fn rows_touch(&self) -> bool {
        [self.target, self.source].iter().all(|side| side.row_pitch_bytes == self.width_bytes)
    }

    fn slices_touch(&self) -> bool {
        [self.target, self.source].iter().all(|side| side.slice_pitch_bytes == side.row_pitch_bytes * self.rows)
    }

    /// Part of a linear shape.
    #[must_use]
    pub fn bytes_from(&self, offset_bytes: u64, bytes: u64) -> Shape {
        debug_assert!(self.is_linear() && offset_bytes + bytes <= self.width_bytes);
        Shape::linear(self.target.address + offset_bytes, self.source.address + offset_bytes, bytes)
    }

    /// Some rows of one slice.
    #[must_use]
    pub fn rows_from(&self, slice: u64, row: u64, rows: u64) -> Shape {
        debug_assert!(row + rows <= self.rows && slice < self.depth);
        Shape { target: self.target.at(row, slice), source: self.source.at(row, slice), rows, depth: 1, ..*self }
    }
}
