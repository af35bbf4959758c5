//! The bulk in flight on one engine, by estimate: from the order of the calls, the rate of the link, and the waits of
//! the program itself. The device is asked nothing.

use std::sync::atomic::{AtomicU64, Ordering};

use hal::Nanos;

/// The rate before anything is known, in bytes for each microsecond: that of PCIe 4.
const RATE_AT_FIRST: u64 = 20_000;

/// No link is faster.
const RATE_MAX: u64 = 900_000;

/// A stretch of bulk tells the rate if it has so many bytes.
const TELLING_BYTES: u64 = 4 << 20;

/// A wait tells when the device was done if it lasted so long; a shorter one may have come too late.
const TELLING_WAIT: Nanos = Nanos::from_us(50);

/// One engine. Threads may write at once: then an estimate is off by a copy, and no count.
#[derive(Debug)]
pub(super) struct Link {
    /// When the last bulk ends, and the number of its stream.
    until: AtomicU64,
    last: AtomicU64,
    /// When the last bulk of all other streams ends.
    until_of_others: AtomicU64,
    /// When the present stretch of bulk began, and its bytes.
    began: AtomicU64,
    bytes: AtomicU64,
    /// Bytes for each microsecond; 0 if none has been measured.
    rate: AtomicU64,
}

impl Link {
    pub(super) const fn new() -> Link {
        Link {
            until: AtomicU64::new(0),
            last: AtomicU64::new(u64::MAX),
            until_of_others: AtomicU64::new(0),
            began: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            rate: AtomicU64::new(0),
        }
    }

    fn takes(&self, bytes: u64) -> Nanos {
        let rate = match self.rate.load(Ordering::Relaxed) {
            0 => RATE_AT_FIRST,
            rate => rate,
        };
        Nanos::from_us(bytes / rate)
    }

    /// How long bulk of other streams than this one is still to take.
    #[inline]
    pub(super) fn in_the_way(&self, stream: u64, now: Nanos) -> Nanos {
        let until = match self.last.load(Ordering::Relaxed) == stream {
            true => &self.until_of_others,
            false => &self.until,
        };
        Nanos(until.load(Ordering::Relaxed)).since(now)
    }

    /// A stream is given bulk.
    pub(super) fn bulk(&self, stream: u64, now: Nanos, bytes: u64) {
        let until = Nanos(self.until.load(Ordering::Relaxed));
        if until <= now {
            self.began.store(now.0, Ordering::Relaxed);
            self.bytes.store(bytes, Ordering::Relaxed);
        } else {
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        if self.last.swap(stream, Ordering::Relaxed) != stream {
            self.until_of_others.store(until.0, Ordering::Relaxed);
        }
        self.until.store((until.max(now) + self.takes(bytes)).0, Ordering::Relaxed);
    }

    /// The program has waited so long, and knows that all bulk of a stream is complete.
    pub(super) fn complete(&self, stream: u64, now: Nanos, waited: Nanos) {
        if self.last.load(Ordering::Relaxed) != stream {
            return;
        }
        let (began, bytes) = (Nanos(self.began.load(Ordering::Relaxed)), self.bytes.load(Ordering::Relaxed));
        if waited >= TELLING_WAIT && bytes >= TELLING_BYTES {
            self.learn(bytes, now.since(began));
            // The next stretch must not count these bytes again.
            self.bytes.store(0, Ordering::Relaxed);
        }
        // The engine works off its copies in their order.
        self.until.fetch_min(now.0, Ordering::Relaxed);
        self.until_of_others.fetch_min(now.0, Ordering::Relaxed);
    }

    /// The highest rate counts: other work may have stood between the copies of a stretch.
    fn learn(&self, bytes: u64, span: Nanos) {
        let rate = bytes.saturating_mul(1_000) / span.0.max(1);
        if rate > 0 {
            self.rate.fetch_max(rate.min(RATE_MAX), Ordering::Relaxed);
        }
    }

    /// A call has copied memory while the caller waited.
    pub(super) fn called(&self, bytes: u64, span: Nanos) {
        if bytes >= TELLING_BYTES {
            self.learn(bytes, span);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn us(us: u64) -> Nanos {
        Nanos::from_us(us)
    }

    #[test]
    fn bulk_is_in_the_way_of_other_streams_until_it_has_gone() {
        let link = Link::new();
        assert_eq!(link.in_the_way(2, us(0)), Nanos::ZERO);
        link.bulk(1, us(100), 20_000 * 1_000);
        assert_eq!(link.in_the_way(1, us(100)), Nanos::ZERO, "a stream waits for its own in any case");
        assert_eq!([100, 600, 1_100, 2_000].map(|at| link.in_the_way(2, us(at)).0 / 1_000), [1_000, 500, 0, 0]);
        link.bulk(2, us(600), 20_000 * 1_000);
        assert_eq!(link.in_the_way(1, us(600)), us(1_500), "one behind the other");
        assert_eq!(link.in_the_way(2, us(600)), us(500), "the bulk of the other one");
        assert_eq!(link.in_the_way(3, us(600)), us(1_500));
    }

    #[test]
    fn a_wait_of_the_program_corrects_the_estimate_and_the_rate() {
        let link = Link::new();
        link.bulk(1, us(0), 50 * MIB);
        link.complete(1, us(1_000), us(900));
        assert_eq!(link.in_the_way(2, us(1_000)), Nanos::ZERO, "it is complete");
        link.bulk(1, us(2_000), 50 * MIB);
        let left = link.in_the_way(2, us(2_000));
        assert!(us(990) <= left && left <= us(1_010), "as long as the first: {left:?}");
        link.complete(2, us(2_100), us(90));
        assert_eq!(link.in_the_way(2, us(2_000)), left, "the end of another stream says nothing of it");
    }

    #[test]
    fn a_wait_that_came_too_late_tells_no_rate() {
        let link = Link::new();
        link.bulk(1, us(0), 50 * MIB);
        link.complete(1, us(900_000), us(3));
        link.bulk(1, us(900_000), 20_000 * 1_000);
        assert_eq!(link.in_the_way(2, us(900_000)), us(1_000), "that of the beginning");
    }
}
