//! Trust: whether the urgent copies of a stream are usually schedulable when they are submitted.
//!
//! A copy that still waits for earlier work of its stream must not hold others back (traps T1, T2). Finding out
//! beforehand costs every urgent copy a microsecond, and most are schedulable at once. So a stream is trusted: its
//! copies raise at submission. One that does not complete in the time that it and everything pending beside it should
//! take is doubted: its word is lowered at once, and the next copies of the stream are submitted with care: behind a
//! marker that raises for them when they have become schedulable.

use std::sync::atomic::{AtomicU32, Ordering};

/// Copies that are submitted with care after one was doubted.
pub(crate) const CAREFUL_COPIES: u32 = 64;

/// The trust in one stream.
#[derive(Debug, Default)]
pub(crate) struct Trust {
    careful: AtomicU32,
}

impl Trust {
    /// Whether the next copy is to be submitted with care.
    pub(crate) fn is_careful(&self) -> bool {
        self.careful.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }

    /// A copy did not complete in its time.
    pub(crate) fn doubt(&self) {
        self.careful.store(CAREFUL_COPIES, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doubt_makes_so_many_copies_careful_whoever_submits_them() {
        let trust = Trust::default();
        assert!(!trust.is_careful(), "nobody has doubted it");
        trust.doubt();
        let careful = std::thread::scope(|scope| {
            let submit = || (0..CAREFUL_COPIES).filter(|_| trust.is_careful()).count();
            let threads = [scope.spawn(submit), scope.spawn(submit)];
            threads.map(|thread| thread.join().unwrap()).iter().sum::<usize>()
        });
        assert_eq!(careful, CAREFUL_COPIES as usize);
        assert!(!trust.is_careful());
    }
}
