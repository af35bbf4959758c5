//! What one call copies: one request, or several.

use channels::Shape;
use priority::Direction;

use crate::request::{Request, sum_of_bytes};

/// Copies from pinned memory to the device of up to this size never use the copy engine: the driver puts their bytes
/// into its commands (measured: 24 KiB yes, 32 KiB no).
pub(crate) const INLINE_BYTES_MAX: u64 = 24 << 10;

/// The copies of one call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cargo<'a> {
    /// One copy.
    One(&'a Request),
    /// Several copies without an order among them: one or more.
    Batch(&'a [Request]),
}

impl<'a> Cargo<'a> {
    /// The request that gives the priority and the direction of all.
    #[inline]
    pub(crate) fn first(self) -> &'a Request {
        match self {
            Cargo::One(request) => request,
            Cargo::Batch(requests) => &requests[0],
        }
    }

    pub(crate) fn requests(self) -> &'a [Request] {
        match self {
            Cargo::One(request) => std::slice::from_ref(request),
            Cargo::Batch(requests) => requests,
        }
    }

    /// The shapes of all of them, each in the fewest dimensions. An empty copy of a batch has none.
    pub(crate) fn shapes(self) -> impl Iterator<Item = Shape> {
        let counts = move |request: &&Request| request.bytes() > 0 || matches!(self, Cargo::One(_));
        self.requests().iter().filter(counts).map(|request| request.shape.flattened())
    }

    #[inline(always)]
    pub(crate) fn bytes(self) -> u64 {
        match self {
            Cargo::One(request) => request.bytes(),
            Cargo::Batch(requests) => sum_of_bytes(requests),
        }
    }

    /// Whether the driver inlines it if the host side is pinned; then it never uses the copy engine.
    #[inline(always)]
    pub(crate) fn is_inlined(self, direction: Direction) -> bool {
        let is_small = |bytes| direction == Direction::HostToDevice && bytes <= INLINE_BYTES_MAX;
        match self {
            Cargo::One(Request { shape, .. }) if shape.is_linear() => is_small(shape.width_bytes),
            Cargo::One(request) => is_small(request.bytes()) && flattens(&request.shape),
            Cargo::Batch(_) => is_small(self.bytes()),
        }
    }

    /// Whether it is one row of bytes, which an engine moves at its full rate.
    pub(crate) fn is_row(self) -> bool {
        matches!(self, Cargo::One(request) if flattens(&request.shape))
    }

    /// Whether the copy kernel moves it at full speed: rows are aligned alike on both sides. The device sees the host
    /// side of a batch only if that holds for all its copies (`submit/batch.rs`).
    pub(crate) fn is_aligned(self) -> bool {
        let Cargo::One(request) = self else { return true };
        let shape = request.shape.flattened();
        let alike = |a: u64, b: u64| (a ^ b) & 15 == 0;
        shape.depth == 1
            && alike(shape.target.address, shape.source.address)
            && (shape.rows == 1 || alike(shape.target.row_pitch_bytes, shape.source.row_pitch_bytes))
    }
}

/// Whether the bytes of a shape follow each other without gaps on both sides. Most shapes are flat already; the others
/// are kept out of the callers.
#[inline(never)]
fn flattens(shape: &Shape) -> bool {
    shape.flattened().is_linear()
}

#[cfg(test)]
mod tests {
    use channels::Side;
    use hal::DevicePtr;

    use super::*;

    fn linear(bytes: u64) -> Request {
        Request::linear(DevicePtr(0x2000_0000), DevicePtr(0x1000), bytes)
    }

    /// Two rows of eight bytes.
    fn rows(pitch_bytes: u64) -> Request {
        let side = |address| Side::unified(address).pitched(pitch_bytes, 0);
        let shape = Shape { target: side(0x2000), source: side(0x1000), width_bytes: 8, rows: 2, depth: 1 };
        Request { shape, ..linear(0) }
    }

    fn bytes_of(cargo: Cargo<'_>) -> Vec<u64> {
        cargo.shapes().map(|shape| shape.bytes()).collect()
    }

    #[test]
    fn a_batch_is_all_of_its_copies_that_move_bytes() {
        let requests = [linear(64), linear(0), linear(16)];
        let batch = Cargo::Batch(&requests);
        assert_eq!((batch.requests().len(), batch.first().bytes(), batch.bytes()), (3, 64, 80));
        assert_eq!(bytes_of(batch), [64, 16]);
        let one = Cargo::One(&requests[1]);
        assert_eq!((one.requests().len(), one.first().bytes(), one.bytes()), (1, 0, 0));
        assert_eq!(bytes_of(one), [0], "a copy by itself goes to the driver even if it is empty");
        assert_eq!(bytes_of(Cargo::One(&rows(8))), [16]);
    }

    #[test]
    fn the_driver_inlines_what_is_small_and_linear_and_goes_to_the_device() {
        let inlined = |request: &Request| Cargo::One(request).is_inlined(Direction::HostToDevice);
        assert!(inlined(&linear(INLINE_BYTES_MAX)) && !inlined(&linear(INLINE_BYTES_MAX + 1)));
        assert!(!Cargo::One(&linear(8)).is_inlined(Direction::DeviceToHost));
        assert!(inlined(&rows(8)) && !inlined(&rows(9)), "rows that touch are linear");
        let batch =
            |last| Cargo::Batch(&[linear(INLINE_BYTES_MAX - 8), linear(last)]).is_inlined(Direction::HostToDevice);
        assert!(batch(8) && !batch(9));
        assert!(!Cargo::Batch(&[linear(8)]).is_inlined(Direction::DeviceToHost));
    }

    #[test]
    fn both_sides_of_one_row_are_as_far_from_a_multiple_of_16() {
        let aligned =
            |target, source| Cargo::One(&Request::linear(DevicePtr(target), DevicePtr(source), 64)).is_aligned();
        assert!(aligned(0x2000, 0x1000) && aligned(0x2008, 0x1018));
        assert!(!aligned(0x2008, 0x1000) && !aligned(0x2000, 0x1001));
        assert!(Cargo::Batch(&[linear(64)]).is_aligned());
    }
}
