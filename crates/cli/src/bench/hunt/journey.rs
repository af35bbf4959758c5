//! Journeys: what happens to one piece of memory, decided by chance before anything is submitted. Pure.

use super::chance::Chance;

/// Gap between rows on the device, where there is one.
const GAPS: [u64; 4] = [16, 32, 64, 48];
/// Offsets of the first byte: aligned, aligned to a word, odd.
const OFFSETS: [u64; 6] = [0, 0, 16, 64, 4, 1];
/// Room that offsets and gaps take beside the bytes.
pub const SLACK_BYTES: u64 = 4096;
/// A kernel spins for at most this long.
const SPIN_NS_MAX: u64 = 60_000;
/// Pieces of a batch.
const PIECES_MAX: u64 = 6;
/// Pageable copies are staged by the driver; large ones would only test its patience.
const PAGEABLE_BYTES_MAX: u64 = 256 << 10;

/// How bytes lie on the device. On the host they are always one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One run.
    Run,
    /// Rows with a gap behind each.
    Rows {
        /// Bytes of a row.
        width: u64,
        /// How many.
        rows: u64,
        /// Bytes between two.
        gap: u64,
    },
    /// Slices of rows, with a gap behind each row and an empty row behind each slice.
    Slices {
        /// Bytes of a row.
        width: u64,
        /// Rows of a slice.
        rows: u64,
        /// How many slices.
        depth: u64,
        /// Bytes between two rows.
        gap: u64,
    },
}

/// How a leg between host and device is submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leg {
    /// One call.
    Whole,
    /// A batch of so many pieces; runs only.
    Batch(u64),
    /// One call, and the host side is pageable; runs only.
    Pageable,
}

/// A journey of bytes from the host to the device, on the device, and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Journey {
    /// How the bytes lie.
    pub layout: Layout,
    /// How many there are.
    pub bytes: u64,
    /// Where they begin, on the host and on the device.
    pub offsets: (u64, u64),
    /// To the device.
    pub up: Leg,
    /// How long a kernel spins in between.
    pub spin_ns: Option<u64>,
    /// Whether they are copied on the device before they go back.
    pub crosses: bool,
    /// Back to the host.
    pub down: Leg,
    /// The priority of both legs, from 0 (the lowest), where it is not the stream's.
    pub level: Option<u64>,
}

impl Layout {
    /// How many bytes there are.
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            Layout::Run => 0,
            Layout::Rows { width, rows, .. } => width * rows,
            Layout::Slices { width, rows, depth, .. } => width * rows * depth,
        }
    }

    /// How many bytes of device memory that takes.
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
    /// A journey of at most `bytes_max` bytes, among `levels` priorities.
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

/// Small ones often, the largest seldom.
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
