//! Chunks: the preemption unit of a bulk copy.
//!
//! A copy on an engine cannot be interrupted, so an urgent copy waits for the rest of the chunk that is running. The
//! chunk size follows from the permitted wait and the speed of the engine, and is no constant. A copy is cut only
//! while more urgent streams are active ("armed"), because every cut costs bandwidth (facts, section 2).

use hal::Nanos;

use hal::Shape;

/// The bandwidth assumed for an engine until something better is known: PCIe 5 x16 as measured (facts, section 2). It
/// only sizes chunks and the watchdog's patience.
pub const ENGINE_BYTES_PER_SECOND: u64 = 55_000_000_000;

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
    let shape = shape.flattened();
    let chunk_bytes = chunk_bytes.max(1);
    if shape.bytes() == 0 {
        return Vec::new();
    }
    if shape.bytes() <= chunk_bytes {
        return vec![shape];
    }
    if shape.is_linear() {
        return cut_linear(&shape, chunk_bytes).collect();
    }
    let mut chunks = Vec::new();
    for slice in 0..shape.depth {
        cut_slice(&shape, slice, chunk_bytes, &mut chunks);
    }
    chunks
}

fn cut_linear(shape: &Shape, chunk_bytes: u64) -> impl Iterator<Item = Shape> {
    let total = shape.width_bytes;
    let shape = *shape;
    (0..total.div_ceil(chunk_bytes)).map(move |index| {
        let offset = index * chunk_bytes;
        shape.bytes_from(offset, chunk_bytes.min(total - offset))
    })
}

fn cut_slice(shape: &Shape, slice: u64, chunk_bytes: u64, chunks: &mut Vec<Shape>) {
    if shape.width_bytes > chunk_bytes {
        for row in 0..shape.rows {
            let row = shape.rows_from(slice, row, 1).flattened();
            chunks.extend(cut_linear(&row, chunk_bytes));
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
        fn flattening_moves_the_same_bytes(shape in shapes()) {
            prop_assert_eq!(bytes_of(&shape.flattened()), bytes_of(&shape));
        }
    }
}
