//! The geometry of a copy: rows of bytes on either side.
//!
//! Copies of one, two and three dimensions have one form here: `depth` slices of `rows` rows of `width_bytes` bytes,
//! with a distance between rows and one between slices on either side. CUDA's own structures have offsets, arrays and
//! pitches of 0 besides. They exist at the edge only, where `abi::conv` makes shapes of them.
//!
//! A shape may hold any numbers, because the driver is asked about those that make no sense. Code that calculates with
//! a shape of a program's numbers must ask [`Shape::fits`] first: from then on no address in the shape, and no sum,
//! exceeds 64 bits.

use crate::DevicePtr;

/// The caller's declaration of the memory on one side of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Declared {
    /// Host memory (`CU_MEMORYTYPE_HOST`).
    Host,
    /// Device memory (`CU_MEMORYTYPE_DEVICE`).
    Device,
    /// Either; the driver tells by the address (`CU_MEMORYTYPE_UNIFIED`).
    Unified,
}

/// One side of a copy. The address is a number, because a copy may be planned on one thread and submitted on another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// The first byte, under unified addressing.
    pub address: u64,
    /// The caller's declaration of its memory.
    pub declared: Declared,
    /// Bytes from one row to the next.
    pub row_pitch_bytes: u64,
    /// Bytes from one slice to the next.
    pub slice_pitch_bytes: u64,
}

/// A copy's geometry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The side that is written.
    pub target: Side,
    /// The side that is read.
    pub source: Side,
    /// Bytes of a row.
    pub width_bytes: u64,
    /// Rows of a slice.
    pub rows: u64,
    /// The number of slices.
    pub depth: u64,
}

impl Side {
    /// Bytes that follow each other without gaps, in memory of either kind.
    #[must_use]
    pub fn unified(address: u64) -> Side {
        Side { address, declared: Declared::Unified, row_pitch_bytes: 0, slice_pitch_bytes: 0 }
    }

    /// The same in host memory.
    #[must_use]
    pub fn host(address: u64) -> Side {
        Side { declared: Declared::Host, ..Side::unified(address) }
    }

    /// The same in device memory.
    #[must_use]
    pub fn device(pointer: DevicePtr) -> Side {
        Side { declared: Declared::Device, ..Side::unified(pointer.0) }
    }

    /// The same with these distances between the beginnings of rows and of slices.
    #[must_use]
    pub fn pitched(self, row_pitch_bytes: u64, slice_pitch_bytes: u64) -> Side {
        Side { row_pitch_bytes, slice_pitch_bytes, ..self }
    }

    /// Rows from one slice to the next; `None` where that is no whole number, which CUDA cannot express.
    #[must_use]
    pub fn slice_rows(self) -> Option<u64> {
        let rows = self.slice_pitch_bytes.checked_div(self.row_pitch_bytes)?;
        (rows * self.row_pitch_bytes == self.slice_pitch_bytes).then_some(rows)
    }

    fn at(self, row: u64, slice: u64) -> Side {
        let offset = row * self.row_pitch_bytes + slice * self.slice_pitch_bytes;
        Side { address: self.address + offset, ..self }
    }

    /// The bytes from the first to the last, pitches included; `None` past 64 bits.
    fn extent_bytes(self, shape: &Shape) -> Option<u64> {
        let rows = self.row_pitch_bytes.checked_mul(shape.rows.checked_sub(1)?)?;
        let slices = self.slice_pitch_bytes.checked_mul(shape.depth.checked_sub(1)?)?;
        shape.width_bytes.checked_add(rows)?.checked_add(slices)
    }

    /// The address as the driver's type.
    #[must_use]
    pub fn pointer(self) -> DevicePtr {
        DevicePtr(self.address)
    }
}

impl Shape {
    /// A copy of `bytes` without gaps, between memory of any kind.
    #[must_use]
    pub fn linear(target: u64, source: u64, bytes: u64) -> Shape {
        Shape::run(Side::unified(target), Side::unified(source), bytes)
    }

    /// The same with the caller's declaration of both sides.
    #[must_use]
    pub fn run(target: Side, source: Side, bytes: u64) -> Shape {
        let (target, source) = (target.pitched(0, 0), source.pitched(0, 0));
        Shape { target, source, width_bytes: bytes, rows: 1, depth: 1 }
    }

    /// The number of bytes moved; it saturates.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.width_bytes.saturating_mul(self.rows).saturating_mul(self.depth)
    }

    /// Whether there is something to copy, and all of it lies within 64 bits on both sides.
    #[must_use]
    pub fn fits(&self) -> bool {
        let bytes = self.width_bytes.checked_mul(self.rows).and_then(|bytes| bytes.checked_mul(self.depth));
        let inside =
            |side: &Side| side.extent_bytes(self).is_some_and(|extent| side.address.checked_add(extent).is_some());
        bytes.is_some_and(|bytes| bytes > 0) && inside(&self.target) && inside(&self.source)
    }

    /// The ranges of both sides, target first, from the first byte to the last. Only for a shape that fits.
    #[must_use]
    pub fn extents(&self) -> [(u64, u64); 2] {
        [self.target, self.source].map(|side| (side.address, side.extent_bytes(self).unwrap_or(u64::MAX)))
    }

    /// Whether the bytes follow each other without gaps.
    #[must_use]
    pub fn is_linear(&self) -> bool {
        self.rows == 1 && self.depth == 1
    }

    /// The same copy in the fewest dimensions: rows that touch on both sides become one run.
    #[must_use]
    pub fn flattened(self) -> Shape {
        let mut shape = self;
        if shape.slices_touch() {
            shape.rows *= shape.depth;
            shape.depth = 1;
        }
        if shape.depth == 1 && (shape.rows == 1 || shape.rows_touch()) {
            let bytes = shape.width_bytes * shape.rows;
            return Shape::run(shape.target, shape.source, bytes);
        }
        shape
    }

    fn rows_touch(&self) -> bool {
        [self.target, self.source].iter().all(|side| side.row_pitch_bytes == self.width_bytes)
    }

    fn slices_touch(&self) -> bool {
        let tight = |side: &Side| side.row_pitch_bytes.checked_mul(self.rows) == Some(side.slice_pitch_bytes);
        [self.target, self.source].iter().all(tight)
    }

    /// Part of a linear shape.
    #[must_use]
    pub fn bytes_from(&self, offset_bytes: u64, bytes: u64) -> Shape {
        debug_assert!(self.is_linear() && offset_bytes + bytes <= self.width_bytes);
        let at = |side: Side| Side { address: side.address + offset_bytes, ..side };
        Shape::run(at(self.target), at(self.source), bytes)
    }

    /// Some rows of one slice.
    #[must_use]
    pub fn rows_from(&self, slice: u64, row: u64, rows: u64) -> Shape {
        debug_assert!(row + rows <= self.rows && slice < self.depth);
        Shape { target: self.target.at(row, slice), source: self.source.at(row, slice), rows, depth: 1, ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Small numbers, and numbers whose products and sums exceed 64 bits.
    fn numbers() -> impl Strategy<Value = u64> {
        let shifted = (0u32..64, -2i64..3).prop_map(|(shift, by)| (1u64 << shift).wrapping_add_signed(by));
        prop_oneof![0u64..5, shifted, any::<u64>()]
    }

    prop_compose! {
        fn shapes()(n in proptest::array::uniform9(numbers())) -> Shape {
            let side = |at: usize| Side::unified(n[at]).pitched(n[at + 1], n[at + 2]);
            Shape { target: side(0), source: side(3), width_bytes: n[6], rows: n[7], depth: n[8] }
        }
    }

    /// The same in 128 bits; `None` beyond.
    fn end(side: &Side, shape: &Shape) -> Option<u128> {
        let [width, rows, depth] = [shape.width_bytes, shape.rows, shape.depth].map(u128::from);
        let rows = u128::from(side.row_pitch_bytes).checked_mul(rows.checked_sub(1)?)?;
        let slices = u128::from(side.slice_pitch_bytes).checked_mul(depth.checked_sub(1)?)?;
        u128::from(side.address).checked_add(width)?.checked_add(rows)?.checked_add(slices)
    }

    /// Five rows of 16 bytes in each of three slices.
    fn rows(target: (u64, u64), source: (u64, u64)) -> Shape {
        let target = Side::device(DevicePtr(0x100)).pitched(target.0, target.1);
        Shape { target, source: Side::host(0x9000).pitched(source.0, source.1), width_bytes: 16, rows: 5, depth: 3 }
    }

    fn run(bytes: u64) -> Shape {
        Shape::run(Side::device(DevicePtr(0x100)), Side::host(0x9000), bytes)
    }

    #[test]
    fn rows_and_slices_that_touch_on_both_sides_become_one() {
        let tight = (16, 80);
        assert_eq!(rows(tight, tight).flattened(), run(240));
        assert_eq!(Shape { depth: 1, ..rows(tight, (16, 99)) }.flattened(), run(80), "one slice touches no other");
        assert_eq!(Shape { rows: 1, depth: 1, ..rows((32, 99), tight) }.flattened(), run(16));
        let wide = rows((32, 160), tight);
        assert_eq!(wide.flattened(), Shape { rows: 15, depth: 1, ..wide }, "gaps between rows alone");
        for apart in [rows((16, 81), tight), rows(tight, (16, 81)), Shape { rows: 1, ..rows((16, 80), tight) }] {
            assert_eq!(apart.flattened(), apart);
        }
    }

    #[test]
    fn only_one_row_is_linear() {
        let three = rows((16, 80), (16, 80));
        assert!(run(16).is_linear() && Shape { rows: 1, depth: 1, ..three }.is_linear());
        assert!(!Shape { rows: 1, ..three }.is_linear() && !Shape { depth: 1, ..three }.is_linear());
    }

    #[test]
    fn parts_begin_where_they_are_said_to() {
        let part = run(64).bytes_from(16, 48);
        assert_eq!((part.target.address, part.source.address, part.width_bytes), (0x110, 0x9010, 48));
        assert_eq!(part.target.pointer(), DevicePtr(0x110));
        assert_eq!((part.target.declared, part.source.declared), (Declared::Device, Declared::Host));
        let part = rows((32, 1000), (64, 2000)).rows_from(2, 1, 4);
        assert_eq!((part.target.address, part.source.address), (0x100 + 2032, 0x9000 + 4064));
        assert_eq!((part.width_bytes, part.rows, part.depth), (16, 4, 1));
        assert_eq!(rows((32, 1000), (64, 2000)).rows_from(0, 2, 3).rows, 3);
    }

    #[test]
    #[cfg(debug_assertions)]
    fn parts_that_are_not_there_are_mistakes() {
        fn refused(part: impl FnOnce() -> Shape + std::panic::UnwindSafe) -> bool {
            std::panic::catch_unwind(part).is_err()
        }
        let all = rows((32, 1000), (64, 2000));
        assert!(refused(|| run(64).bytes_from(16, 49)), "beyond the end");
        assert!(refused(move || all.bytes_from(0, 16)), "of more than a row");
        assert!(refused(move || all.rows_from(0, 2, 4)), "beyond the last row");
        assert!(refused(move || all.rows_from(3, 0, 1)), "beyond the last slice");
    }

    #[test]
    fn slices_are_whole_rows_apart_or_not_at_all() {
        let rows_of = |row, slice| Side::unified(0).pitched(row, slice).slice_rows();
        assert_eq!([rows_of(16, 64), rows_of(16, 0), rows_of(16, 65), rows_of(0, 64)], [Some(4), Some(0), None, None]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 4096 }))]
        #[test]
        fn sums_of_shapes_that_fit_are_right_and_no_other_shape_fits(shape in shapes()) {
            let bytes = [shape.width_bytes, shape.rows, shape.depth];
            let bytes = bytes.iter().try_fold(1u128, |product, &number| product.checked_mul(number.into()));
            let ends = [end(&shape.target, &shape), end(&shape.source, &shape)];
            let within = |number: &Option<u128>| number.is_some_and(|number| number <= u128::from(u64::MAX));
            let fits = within(&bytes) && bytes != Some(0) && ends.iter().all(within);
            prop_assert_eq!(shape.fits(), fits);
            let least = bytes.map_or(u64::MAX, |bytes| u64::try_from(bytes).unwrap_or(u64::MAX));
            prop_assert_eq!(shape.bytes(), least);
            if fits {
                prop_assert_eq!(shape.flattened().bytes(), least);
                let reckoned = shape.extents().map(|(address, bytes)| u128::from(address) + u128::from(bytes));
                prop_assert_eq!(reckoned.map(Some), ends);
                let (slice, row) = (shape.depth - 1, shape.rows - 1);
                let last = shape.rows_from(slice, row, 1).target;
                prop_assert_eq!(Some(u128::from(last.address) + u128::from(shape.width_bytes)), ends[0]);
            }
        }
    }
}
