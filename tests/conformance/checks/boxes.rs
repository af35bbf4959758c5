//! Copies in two and three dimensions, checked byte by byte.

use std::sync::Arc;

use hal::Stream;

use crate::failure::{Failure, Outcome, same_bytes};
use crate::memory::Pinned;
use crate::place::{Block, Buffer, Extent, Side};
use crate::prng::Prng;
use crate::rig::Rig;

const ARENA_BYTES: u64 = 1 << 20;

/// The memories that a copy connects, and the way in which the copy names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Up,
    Down,
    Across,
    UnifiedUp,
    UnifiedDown,
    UnifiedAcross,
}

const KINDS: [Kind; 6] = [Kind::Up, Kind::Down, Kind::Across, Kind::UnifiedUp, Kind::UnifiedDown, Kind::UnifiedAcross];

/// Two device arenas and two pinned ones.
struct Arenas {
    device: [Buffer; 2],
    pinned: [Arc<Pinned>; 2],
    sent: Vec<u8>,
    before: Vec<u8>,
}

impl Arenas {
    fn new(rig: &Rig, prng: &mut Prng) -> Result<Arenas, Failure> {
        let (sent, before) = (prng.bytes(ARENA_BYTES), prng.bytes(ARENA_BYTES));
        let device = [rig.buffer_of(&before)?, rig.buffer_of(&sent)?];
        let pinned = [rig.pinned_of(&before)?, rig.pinned_of(&sent)?];
        Ok(Arenas { device, pinned, sent, before })
    }

    /// Target and source.
    fn sides(&self, kind: Kind) -> (Side<'_>, Side<'_>) {
        let ([to_host, from_host], [to, from]) = (&self.pinned, self.device);
        match kind {
            Kind::Up => (Side::Device(to), Side::Host(from_host)),
            Kind::Down => (Side::Host(to_host), Side::Device(from)),
            Kind::Across => (Side::Device(to), Side::Device(from)),
            Kind::UnifiedUp => (Side::UnifiedDevice(to), Side::UnifiedHost(from_host)),
            Kind::UnifiedDown => (Side::UnifiedHost(to_host), Side::UnifiedDevice(from)),
            Kind::UnifiedAcross => (Side::UnifiedDevice(to), Side::UnifiedDevice(from)),
        }
    }

    /// The bytes that the target must hold after one copy.
    fn expected(&self, target: &Block, source: &Block, extent: Extent) -> Vec<u8> {
        let mut expected = self.before.clone();
        for (z, y) in (0..extent.depth).flat_map(|z| (0..extent.height).map(move |y| (z, y))) {
            let (to, from) = (target.row(extent, y, z) as usize, source.row(extent, y, z) as usize);
            let width = extent.width_bytes as usize;
            expected[to..to + width].copy_from_slice(&self.sent[from..from + width]);
        }
        expected
    }

    /// Compares the target with the expected bytes and restores it.
    fn verify(&self, rig: &Rig, what: &str, kind: Kind, expected: &[u8], stream: Stream) -> Outcome {
        let seen = match kind {
            Kind::Down | Kind::UnifiedDown => {
                rig.settle(stream)?;
                self.pinned[0].read_all()
            }
            _ => rig.dtoh_now((self.device[0], 0), ARENA_BYTES)?,
        };
        same_bytes(what, &seen, expected)?;
        self.pinned[0].write(0, &self.before);
        rig.htod_now((self.device[0], 0), &self.before)?;
        // A large copy of pageable memory may land after its call, and the next stream does not wait for it.
        Ok(rig.driver().context_synchronize()?)
    }
}

/// A random block that has room for the extent inside an arena.
fn random_block<'a>(prng: &mut Prng, side: Side<'a>, extent: Extent) -> Block<'a> {
    let x_bytes = prng.below(40);
    let pitch_bytes = x_bytes + extent.width_bytes + prng.pick(&[0, 1, 3, 64, 500]);
    let (y, deep) = (prng.below(6), extent.depth > 1);
    let slice_rows = if deep { y + extent.height + prng.below(5) } else { 0 };
    let z = if deep { prng.below(3) } else { 0 };
    Block { side, pitch_bytes, slice_rows, x_bytes, y, z }
}

fn random_extent(prng: &mut Prng, depth: u64) -> Extent {
    let widest = prng.pick(&[8, 65, 400, 1_500]);
    let width_bytes = prng.between(1, widest);
    Extent { width_bytes, height: prng.between(1, 24), depth }
}

/// Rectangles of random shape between all kinds of memory.
pub fn random_rectangles(rig: &Rig) -> Outcome {
    let (mut prng, stream) = (Prng::new(31), rig.stream()?);
    let arenas = Arenas::new(rig, &mut prng)?;
    for kind in KINDS {
        for _ in 0..6 {
            let extent = random_extent(&mut prng, 1);
            let (to, from) = arenas.sides(kind);
            let (target, source) = (random_block(&mut prng, to, extent), random_block(&mut prng, from, extent));
            rig.copy_box(target, source, extent, stream)?;
            rig.settle(stream)?;
            let expected = arenas.expected(&target, &source, extent);
            arenas.verify(rig, &format!("{kind:?} {extent:?}"), kind, &expected, stream)?;
        }
    }
    Ok(())
}

/// Boxes of random shape between all kinds of memory.
pub fn random_boxes(rig: &Rig) -> Outcome {
    let (mut prng, stream) = (Prng::new(32), rig.stream()?);
    let arenas = Arenas::new(rig, &mut prng)?;
    for kind in KINDS {
        for _ in 0..6 {
            let depth = prng.between(2, 6);
            let extent = random_extent(&mut prng, depth);
            let (to, from) = arenas.sides(kind);
            let (target, source) = (random_block(&mut prng, to, extent), random_block(&mut prng, from, extent));
            rig.copy_box(target, source, extent, stream)?;
            rig.settle(stream)?;
            let expected = arenas.expected(&target, &source, extent);
            arenas.verify(rig, &format!("{kind:?} {extent:?}"), kind, &expected, stream)?;
        }
    }
    Ok(())
}

/// Rows that follow each other on one side, and slices too.
pub fn tightly_packed(rig: &Rig) -> Outcome {
    let (mut prng, stream) = (Prng::new(33), rig.stream()?);
    let arenas = Arenas::new(rig, &mut prng)?;
    for (kind, depth) in KINDS.into_iter().flat_map(|kind| [(kind, 1), (kind, 4)]) {
        let extent = Extent { width_bytes: prng.between(2, 200), height: prng.between(2, 20), depth };
        let (to, from) = arenas.sides(kind);
        let tight = Block { pitch_bytes: 0, slice_rows: 0, ..random_block(&mut prng, to, extent) };
        let loose = random_block(&mut prng, from, extent);
        rig.copy_box(tight, loose, extent, stream)?;
        rig.settle(stream)?;
        let expected = arenas.expected(&tight, &loose, extent);
        arenas.verify(rig, &format!("{kind:?} {extent:?}"), kind, &expected, stream)?;
    }
    Ok(())
}

/// Rectangles obey the order of their stream.
pub fn in_stream_order(rig: &Rig) -> Outcome {
    let (mut prng, stream) = (Prng::new(34), rig.stream()?);
    let arenas = Arenas::new(rig, &mut prng)?;
    let extent = Extent { width_bytes: 700, height: 20, depth: 1 };
    let mut expected = arenas.before.clone();
    let gate = rig.gate(stream)?;
    for _ in 0..12 {
        let (to, from) = arenas.sides(Kind::Up);
        let (target, source) = (random_block(&mut prng, to, extent), random_block(&mut prng, from, extent));
        rig.copy_box(target, source, extent, stream)?;
        for y in 0..extent.height {
            let (to, from) = (target.row(extent, y, 0) as usize, source.row(extent, y, 0) as usize);
            expected[to..to + 700].copy_from_slice(&arenas.sent[from..from + 700]);
        }
    }
    rig.held("rectangles behind a gate", stream)?;
    gate.open();
    same_bytes("the device", &rig.download(arenas.device[0], stream)?, &expected)
}

/// A box without width, height or depth moves nothing.
pub fn empty_boxes(rig: &Rig) -> Outcome {
    let (mut prng, stream) = (Prng::new(35), rig.stream()?);
    let arenas = Arenas::new(rig, &mut prng)?;
    let (side, other) = arenas.sides(Kind::Up);
    let target = Block { side, pitch_bytes: 64, slice_rows: 8, x_bytes: 0, y: 0, z: 0 };
    let source = Block { side: other, ..target };
    for (width_bytes, height, depth) in [(0, 4, 1), (16, 0, 1)] {
        rig.copy_box(target, source, Extent { width_bytes, height, depth }, stream)?;
    }
    for (width_bytes, height, depth) in [(0, 4, 2), (16, 0, 2), (16, 4, 0)] {
        rig.copy_box(target, source, Extent { width_bytes, height, depth }, stream)?;
    }
    rig.settle(stream)?;
    arenas.verify(rig, "the device", Kind::Up, &arenas.before, stream)
}
