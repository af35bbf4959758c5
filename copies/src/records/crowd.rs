//! How many streams of a layer launch kernels, compared with the hardware queues for kernels.

use std::sync::Once;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use options::queues::{MAX_CONNECTIONS, QUEUES_MAX};

/// Counts streams. Where there are more than queues, a kernel stands behind those of another stream, and waits for a
/// copy kernel that gives way.
pub(crate) struct Crowd {
    queues: u32,
    streams: AtomicU32,
    crowded: AtomicU64,
}

impl Crowd {
    pub(crate) fn new(queues: u32) -> Crowd {
        Crowd { queues, streams: AtomicU32::new(0), crowded: AtomicU64::new(0) }
    }

    /// A stream has kernels from now on.
    pub(crate) fn enter(&self) {
        let streams = self.streams.fetch_add(1, Ordering::Relaxed) + 1;
        if streams > self.queues {
            self.crowded.fetch_add(1, Ordering::Relaxed);
            warn(streams, self.queues);
        }
    }

    /// A stream with kernels is closed.
    pub(crate) fn leave(&self) {
        self.streams.fetch_sub(1, Ordering::Relaxed);
    }

    /// The streams so far that came when each queue had one.
    pub(crate) fn crowded(&self) -> u64 {
        self.crowded.load(Ordering::Relaxed)
    }
}

#[cold]
fn warn(streams: u32, queues: u32) {
    static WARNED: Once = Once::new();
    WARNED.call_once(|| {
        log::warn!(
            "{streams} streams of one context may have kernels, and the driver has {queues} queues for them: an \
             urgent kernel may wait behind a copy kernel that gives way. Call overtake::queues::ask() at the beginning \
             of main, or set {MAX_CONNECTIONS}={QUEUES_MAX} before the program starts."
        );
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_beyond_the_queues_are_counted_while_they_are_open() {
        let crowd = Crowd::new(2);
        crowd.enter();
        crowd.enter();
        assert_eq!(crowd.crowded(), 0);
        crowd.enter();
        assert_eq!(crowd.crowded(), 1);
        crowd.leave();
        crowd.leave();
        crowd.enter();
        assert_eq!(crowd.crowded(), 1, "two are open");
    }
}
