//! Chunks: the unit of preemption of a bulk copy.
//!
//! A copy on an engine cannot be interrupted, so an urgent copy waits for the rest of the running chunk. The chunk size
//! follows from the permitted wait and the speed of the engine, so it is not a constant. A copy is cut only while more
//! urgent streams are active ("armed"), because every cut costs bandwidth (facts, section 2).

use hal::Nanos;

use hal::Shape;

/// The time between two copies in which an engine moves no bytes (facts, section 2).
pub const ENGINE_GAP: Nanos = Nanos(2_600);

/// Chunks are a multiple of this, so that no chunk begins in the middle of a page or a bus burst.
const GRAIN_BYTES: u64 = 64 * 1024;

/// The size of a chunk that occupies an engine of `bytes_per_second` for at most `blocking_max`.
#[must_use]
pub fn chunk_bytes(blocking_max: Nanos, bytes_per_second: u64, fixed_cost: Nanos) -> u64 {
    let moving = blocking_max.since(fixed_cost);
    let bytes = u128::from(moving.0) * u128::from(bytes_per_second) / 1_000_000_000;
    let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
    (bytes / GRAIN_BYTES * GRAIN_BYTES).max(GRAIN_BYTES)
}

/// Cuts a copy into chunks of at most `chunk_bytes`, in address order. Together they move every byte of the copy
/// exactly once. A row wider than a chunk is cut; otherwise chunks are whole rows.
#[must_use]
pub fn cut(shape: &Shape, chunk_bytes: u64) -> Vec<Shape> {
    cut_rising(shape, chunk_bytes, chunk_bytes)
}

/// Cuts a row of bytes as [`cut`] does, but its first half into chunks of at most `first_bytes`. Copies that share an
/// engine chunk by chunk would all end late. Cut so, the one that is further on has the larger share, and they end one
/// after another. Several rows are cut into chunks of one length.
#[must_use]
pub fn cut_rising(shape: &Shape, first_bytes: u64, chunk_bytes: u64) -> Vec<Shape> {
    let shape = shape.flattened();
    let chunk_bytes = chunk_bytes.max(1);
    let first_bytes = first_bytes.clamp(1, chunk_bytes);
    let mut chunks = Vec::new();
    if shape.bytes() == 0 {
        return chunks;
    }
    if shape.bytes() <= chunk_bytes {
        chunks.push(shape);
        return chunks;
    }
    if shape.is_linear() {
        cut_linear(&shape, first_bytes, chunk_bytes, &mut chunks);
        return chunks;
    }
    for slice in 0..shape.depth {
        cut_slice(&shape, slice, chunk_bytes, &mut chunks);
    }
    chunks
}

fn cut_linear(shape: &Shape, first_bytes: u64, chunk_bytes: u64, chunks: &mut Vec<Shape>) {
    let (total, mut offset) = (shape.width_bytes, 0);
    while offset < total {
        let limit = if offset < total / 2 { first_bytes } else { chunk_bytes };
        let bytes = limit.min(total - offset);
        chunks.push(shape.bytes_from(offset, bytes));
        offset += bytes;
    }
}

fn cut_slice(shape: &Shape, slice: u64, chunk_bytes: u64, chunks: &mut Vec<Shape>) {
    if shape.width_bytes > chunk_bytes {
        for row in 0..shape.rows {
            let row = shape.rows_from(slice, row, 1).flattened();
            cut_linear(&row, chunk_bytes, chunk_bytes, chunks);
        }
        return;
    }
    let rows_per_chunk = chunk_bytes / shape.width_bytes;
    for row in (0..shape.rows).step_by(rows_per_chunk as usize) {
        chunks.push(shape.rows_from(slice, row, rows_per_chunk.min(shape.rows - row)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hal::Side;
    use proptest::prelude::*;

    #[test]
    fn size_follows_latency_target_and_bandwidth() {
        let gigabyte = 1_000_000_000;
        assert_eq!(chunk_bytes(Nanos::from_us(40), 55 * gigabyte, Nanos::ZERO) / 1024, 2112);
        assert_eq!(chunk_bytes(Nanos::from_us(1), 55 * gigabyte, Nanos::from_us(3)), GRAIN_BYTES, "never nothing");
        assert_eq!(chunk_bytes(Nanos::MAX, u64::MAX, Nanos::ZERO) % GRAIN_BYTES, 0, "no overflow");
    }

    #[test]
    fn the_first_half_of_a_row_is_cut_shorter() {
        let lengths = |shape: Shape| cut_rising(&shape, 2 << 20, 4 << 20).iter().map(Shape::bytes).collect::<Vec<_>>();
        let linear = |bytes| Shape::linear(0, 0, bytes);
        assert_eq!(lengths(linear(16 << 20)), [2, 2, 2, 2, 4, 4].map(|mebibytes| mebibytes << 20));
        assert_eq!(lengths(linear(4 << 20)), [4 << 20], "one chunk is not cut for that");
        assert_eq!(lengths(linear((4 << 20) + 2)), [2 << 20, 2 << 20, 2]);
        let rows = Shape { rows: 4, target: Side::unified(0).pitched(4 << 20, 16 << 20), ..linear(3 << 20) };
        assert_eq!(lengths(rows), [3 << 20; 4]);
        assert_eq!(cut_rising(&linear(16 << 20), 4 << 20, 4 << 20), cut(&linear(16 << 20), 4 << 20));
    }

    /// Every byte of the shape as (target, source), in order of the copy.
    fn bytes_of(shape: &Shape) -> Vec<(u64, u64)> {
        let mut bytes = Vec::new();
        for slice in 0..shape.depth {
            for row in 0..shape.rows {
                let at = |side: &Side| side.address + row * side.row_pitch_bytes + slice * side.slice_pitch_bytes;
                bytes.extend((0..shape.width_bytes).map(|x| (at(&shape.target) + x, at(&shape.source) + x)));
            }
        }
        bytes
    }

    prop_compose! {
        fn shapes()(
            width in 1u64..40,
            rows in 1u64..6,
            depth in 1u64..4,
            gaps in proptest::array::uniform4(0u64..9),
        ) -> Shape {
            let side = |address, row_gap: u64, slice_gap: u64| {
                let row_pitch_bytes = width + row_gap;
                Side::unified(address).pitched(row_pitch_bytes, row_pitch_bytes * rows + slice_gap)
            };
            Shape {
                target: side(1 << 20, gaps[0], gaps[1]), source: side(1 << 30, gaps[2], gaps[3]),
                width_bytes: width, rows, depth,
            }
        }
    }

    proptest! {
        #[test]
        fn chunks_move_every_byte_once_and_in_order(shape in shapes(), chunk in 1u64..200) {
            let chunks = cut(&shape, chunk);
            let moved: Vec<_> = chunks.iter().flat_map(bytes_of).collect();
            prop_assert_eq!(moved, bytes_of(&shape));
            prop_assert!(chunks.iter().all(|c| c.bytes() <= chunk && c.bytes() > 0));
        }

        #[test]
        fn chunks_that_rise_move_every_byte_once_and_in_order(
            bytes in 1u64..2_000_000, first in 1u64..300_000, chunk in 1u64..600_000,
        ) {
            let chunks = cut_rising(&Shape::linear(1 << 30, 1 << 20, bytes), first, chunk);
            let ends = chunks.iter().scan(0, |end, chunk| {
                let begins = *end;
                *end += chunk.bytes();
                Some((chunk.target.address - (1 << 30), chunk.source.address - (1 << 20), begins))
            });
            prop_assert!(ends.into_iter().all(|(target, source, begins)| target == begins && source == begins));
            prop_assert_eq!(chunks.iter().map(Shape::bytes).sum::<u64>(), bytes);
            prop_assert!(chunks.iter().all(|part| part.bytes() <= chunk && part.bytes() > 0));
        }

        #[test]
        fn flattening_moves_the_same_bytes(shape in shapes()) {
            prop_assert_eq!(bytes_of(&shape.flattened()), bytes_of(&shape));
        }
    }
}
