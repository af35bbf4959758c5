//! Journeys: the operations on one piece of memory, chosen at random before any of them is submitted. Pure.

use super::chance::Chance;

/// Gaps between rows on the device.
const GAPS: [u64; 4] = [16, 32, 64, 48];
/// Offsets of the first byte: aligned, aligned to a word, odd.
const OFFSETS: [u64; 6] = [0, 0, 16, 64, 4, 1];
/// Room for offsets and gaps beside the bytes.
pub const SLACK_BYTES: u64 = 4096;
/// A kernel spins for at most this long.
const SPIN_NS_MAX: u64 = 60_000;
/// Pieces of a batch.
const PIECES_MAX: u64 = 6;
/// The driver stages pageable copies; large ones would only take time.
const PAGEABLE_BYTES_MAX: u64 = 256 << 10;

/// The layout of the bytes on the device. On the host they always follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// The bytes follow each other.
    Run,
    /// Rows with a gap behind each.
    Rows {
        width: u64,
        rows: u64,
        /// Bytes between two rows.
        gap: u64,
    },
    /// Slices of rows, with a gap behind each row and an empty row behind each slice.
    Slices {
        width: u64,
        rows: u64,
        depth: u64,
        /// Bytes between two rows.
        gap: u64,
    },
}

/// The way in which a leg between host and device is submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leg {
    /// One call.
    Whole,
    /// A batch of this many pieces; runs only.
    Batch(u64),
    /// One call, and the host side is pageable; runs only.
    Pageable,
}

/// A journey of bytes from the host to the device, on the device, and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Journey {
    /// The layout of the bytes on the device.
    pub layout: Layout,
    pub bytes: u64,
    /// The offset of the first byte, on the host and on the device.
    pub offsets: (u64, u64),
    /// The leg to the device.
    pub up: Leg,
    /// The time that a kernel spins in between.
    pub spin_ns: Option<u64>,
    /// Whether the bytes are copied on the device before they go back.
    pub crosses: bool,
    /// The leg back to the host.
    pub down: Leg,
    /// The priority of both legs, from 0 (the lowest), if it differs from the stream's.
    pub level: Option<u64>,
}

impl Layout {
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            Layout::Run => 0,
            Layout::Rows { width, rows, .. } => width * rows,
            Layout::Slices { width, rows, depth, .. } => width * rows * depth,
        }
    }

    /// The device memory that these bytes take.
    #[must_use]
    pub fn device_bytes(self) -> u64 {
        match self {
            Layout::Run => 0,
            Layout::Rows { width, rows, gap } => (width + gap) * rows,
            Layout::Slices { width, rows, depth, gap } => (width + gap) * (rows + 1) * depth,
        }
    }
}

/// Device memory that any layout of at most `bytes` takes, offset included.
#[must_use]
pub fn device_room(bytes: u64) -> u64 {
    bytes + bytes / 2 + 2 * SLACK_BYTES
}

impl Journey {
    /// Chooses a journey of at most `bytes_max` bytes, among `levels` priorities.
    #[must_use]
    pub fn chosen(chance: &mut Chance, bytes_max: u64, levels: u64) -> Journey {
        let bytes = size(chance, bytes_max);
        let layout = layout(chance, bytes);
        let is_run = layout == Layout::Run;
        let bytes = if is_run { bytes } else { layout.bytes() };
        Journey {
            layout,
            bytes,
            offsets: (chance.pick(&OFFSETS), chance.pick(&OFFSETS)),
            up: leg(chance, is_run, bytes),
            spin_ns: chance.one_in(3).then(|| chance.between(100, SPIN_NS_MAX)),
            crosses: chance.one_in(4),
            down: leg(chance, is_run, bytes),
            level: chance.one_in(6).then(|| chance.below(levels)),
        }
    }
}

/// A size: small ones often, the largest seldom.
fn size(chance: &mut Chance, bytes_max: u64) -> u64 {
    let high = match chance.below(10) {
        0..=2 => 4 << 10,
        3..=5 => 64 << 10,
        6..=8 => 1 << 20,
        _ => bytes_max,
    };
    let high = high.min(bytes_max).max(1);
    chance.between(high / 16 + 1, high)
}

fn layout(chance: &mut Chance, bytes: u64) -> Layout {
    if bytes < 4096 || chance.one_in(2) {
        return Layout::Run;
    }
    let width = chance.between(256, 1024);
    let (rows, gap) = (bytes / width, chance.pick(&GAPS));
    if chance.one_in(2) || rows < 16 {
        return Layout::Rows { width, rows: rows.max(1), gap };
    }
    let depth = chance.between(2, 3).min(rows / 8);
    Layout::Slices { width, rows: rows / depth, depth, gap }
}

fn leg(chance: &mut Chance, is_run: bool, bytes: u64) -> Leg {
    match chance.below(8) {
        0 if is_run && bytes >= PIECES_MAX => Leg::Batch(chance.between(2, PIECES_MAX)),
        1 if is_run && bytes <= PAGEABLE_BYTES_MAX => Leg::Pageable,
        _ => Leg::Whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn journeys_fit_their_memory_and_are_of_all_kinds() {
        let mut chance = Chance::new(7, 0);
        let journeys: Vec<Journey> = (0..20_000).map(|_| Journey::chosen(&mut chance, 8 << 20, 6)).collect();
        for journey in &journeys {
            let device = journey.layout.device_bytes().max(journey.bytes) + journey.offsets.1;
            assert!(journey.bytes > 0 && device <= device_room(8 << 20), "{journey:?}");
            assert!(journey.bytes + journey.offsets.0 <= (8 << 20) + SLACK_BYTES, "{journey:?}");
        }
        let has = |what: fn(&Journey) -> bool| journeys.iter().any(what);
        assert!(has(|journey| matches!(journey.layout, Layout::Rows { .. })));
        assert!(has(|journey| matches!(journey.layout, Layout::Slices { .. })));
        assert!(has(|journey| matches!(journey.up, Leg::Batch(_))) && has(|journey| journey.down == Leg::Pageable));
        assert!(has(|journey| journey.crosses) && has(|journey| journey.spin_ns.is_some()));
        assert!(has(|journey| journey.bytes > 4 << 20) && has(|journey| journey.bytes < 4096));
    }

    #[test]
    fn small_memory_is_respected() {
        let mut chance = Chance::new(3, 0);
        for _ in 0..5_000 {
            let journey = Journey::chosen(&mut chance, 70_000, 6);
            assert!(journey.layout.device_bytes().max(journey.bytes) + journey.offsets.1 <= device_room(70_000));
            assert!(journey.bytes <= 70_000);
        }
    }
}
