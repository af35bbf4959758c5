//! A count of copies and their bytes.

use std::sync::atomic::{AtomicU64, Ordering};

/// Copies, and their bytes. Neither allocates nor locks.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    copies: AtomicU64,
    bytes: AtomicU64,
}

impl Tally {
    pub(crate) const fn new() -> Tally {
        Tally { copies: AtomicU64::new(0), bytes: AtomicU64::new(0) }
    }

    pub(crate) fn add(&self, bytes: u64) {
        self.copies.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Copies and bytes so far.
    pub(crate) fn sum(&self) -> (u64, u64) {
        (self.copies.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }
}
