//! The work of a hunt so far, counted by all threads.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// Kinds of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Linear copies to the device.
    H2d,
    /// Linear copies to the host.
    D2h,
    /// Copies on the device.
    D2d,
    /// Rectangles, in any direction.
    Rows,
    /// Boxes, in any direction.
    Slices,
    /// Batches of linear copies.
    Batch,
    /// Copies whose host side is pageable.
    Pageable,
    Kernel,
    /// One stream waits for another, and overtake is told.
    Wait,
    /// One stream waits for another by a plain event.
    Event,
}

impl Kind {
    const ALL: [(Kind, &'static str); 10] = [
        (Kind::H2d, "h2d"),
        (Kind::D2h, "d2h"),
        (Kind::D2d, "d2d"),
        (Kind::Rows, "2d"),
        (Kind::Slices, "3d"),
        (Kind::Batch, "batches"),
        (Kind::Pageable, "pageable"),
        (Kind::Kernel, "kernels"),
        (Kind::Wait, "waits"),
        (Kind::Event, "events"),
    ];

    fn is_copy(self) -> bool {
        !matches!(self, Kind::Kernel | Kind::Wait | Kind::Event)
    }
}

#[derive(Debug, Default)]
pub struct Tallies {
    kinds: [AtomicU64; 10],
    bytes: AtomicU64,
    verified_bytes: AtomicU64,
    settled: AtomicU64,
}

impl Tallies {
    /// Counts an operation of a kind that moves `bytes`.
    pub fn count(&self, kind: Kind, bytes: u64) {
        self.kinds[kind as usize].fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts a journey that has ended well.
    pub fn settle(&self, verified_bytes: u64) {
        self.verified_bytes.fetch_add(verified_bytes, Ordering::Relaxed);
        self.settled.fetch_add(1, Ordering::Relaxed);
    }

    /// A number that changes with every operation.
    #[must_use]
    pub fn progress(&self) -> u64 {
        let kinds: u64 = self.kinds.iter().map(|count| count.load(Ordering::Relaxed)).sum();
        kinds + self.settled.load(Ordering::Relaxed)
    }

    #[must_use]
    pub fn copies(&self) -> u64 {
        Kind::ALL.iter().filter(|(kind, _)| kind.is_copy()).map(|(kind, _)| self.of(*kind)).sum()
    }

    fn of(&self, kind: Kind) -> u64 {
        self.kinds[kind as usize].load(Ordering::Relaxed)
    }

    /// Bytes submitted, and bytes checked at the end of a journey.
    #[must_use]
    pub fn bytes(&self) -> (u64, u64) {
        (self.bytes.load(Ordering::Relaxed), self.verified_bytes.load(Ordering::Relaxed))
    }

    /// The number of operations of each kind.
    #[must_use]
    pub fn by_kind(&self) -> BTreeMap<String, u64> {
        Kind::ALL.iter().map(|(kind, name)| ((*name).to_owned(), self.of(*kind))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_numbered_in_order() {
        assert!(Kind::ALL.iter().enumerate().all(|(index, (kind, _))| *kind as usize == index));
        let tallies = Tallies::default();
        tallies.count(Kind::Rows, 100);
        tallies.count(Kind::Kernel, 0);
        assert_eq!((tallies.copies(), tallies.bytes(), tallies.progress()), (1, (100, 0), 2));
    }
}
