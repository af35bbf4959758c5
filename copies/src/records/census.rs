//! The priorities of the copies to come on an engine: those with which streams copy, and those that are expected
//! ([`crate::Expected`]). A copy learns from them whether it can overtake another, or be overtaken.
//!
//! A copy never overtakes a copy of its own stream. So the priorities of a stream count only for other streams, and a
//! program whose copies all go through one stream is left alone.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use terms::{Priorities, Priority};

use hal::locks::lock;

/// The counts, and one word from which a copy learns that it is alone.
#[repr(C)]
pub(crate) struct Census {
    /// One bit for each priority: in the lower half if it is counted, in the upper half if it is so several times.
    present: AtomicU64,
    /// The number of streams and expectations with each priority.
    counts: Mutex<Vec<u64>>,
}

impl Census {
    pub(crate) fn new(priorities: Priorities) -> Census {
        let counts = priorities.iter().map(|_| 0).collect();
        Census { counts: Mutex::new(counts), present: AtomicU64::new(0) }
    }

    /// Counts a stream with `priority`, unless `bit` of its `announced` is set already.
    pub(crate) fn open(&self, priority: Priority, announced: &AtomicU64, bit: u64) {
        self.change(|counts| {
            if announced.load(Ordering::Relaxed) & bit == 0 {
                counts[priority.index()] += 1;
                // Under the lock. A stream that took its own copies for those of another would hold them up for a
                // moment; one that took those of another for its own would let them wait.
                announced.fetch_or(bit, Ordering::SeqCst);
            }
        });
    }

    /// Counts an expectation. It is of no stream, so it counts for the copies of all.
    pub(crate) fn expect(&self, priority: Priority) {
        self.change(|counts| counts[priority.index()] += 1);
    }

    /// Takes a stream or an expectation with `priority` out of the count.
    pub(crate) fn close(&self, priority: Priority) {
        self.change(|counts| counts[priority.index()] -= 1);
    }

    /// The number of streams and expectations above `priority`.
    pub(crate) fn count_above(&self, priority: Priority) -> u64 {
        lock(&self.counts)[priority.index() + 1..].iter().sum()
    }

    /// The word changes under the lock of the counts. A late change would leave it wrong until the next stream opens,
    /// and bulk that counts as alone would hold up urgent copies until then.
    fn change(&self, change: impl FnOnce(&mut [u64])) {
        let mut counts = lock(&self.counts);
        change(&mut counts);
        let bits = |least: u64| {
            let there = counts.iter().enumerate().filter(|(_, count)| **count >= least);
            there.fold(0u64, |bits, (index, _)| bits | 1 << index)
        };
        self.present.store(bits(2) << 32 | bits(1), Ordering::SeqCst);
    }

    /// Whether [`Census::bounds_with`] would find the priority alone, in fewer instructions.
    #[inline(always)]
    pub(crate) fn has_only(&self, priority: Priority, own: u32) -> bool {
        self.others(own) & !(1 << priority.index()) == 0
    }

    /// The lowest and the highest priority among a copy of `priority`, all expectations, and all streams but its own,
    /// whose priorities are the bits `own`.
    pub(crate) fn bounds_with(&self, priority: Priority, own: u32) -> (Priority, Priority) {
        let there = self.others(own) | 1 << priority.index();
        let at = |index: u32| Priority::new(index as u8 + 1).unwrap_or(priority);
        // The difference as a bit operation, which is the machine's own question for the highest bit.
        (at(there.trailing_zeros()), at(31 ^ there.leading_zeros()))
    }

    /// The priorities of all expectations, and of all streams but one whose priorities are the bits `own`.
    #[inline(always)]
    fn others(&self, own: u32) -> u32 {
        let present = self.present.load(Ordering::Relaxed);
        let (any, several) = (present as u32, (present >> 32) as u32);
        several | (any & !own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(priority: u8) -> Priority {
        Priority::new(priority).unwrap()
    }

    fn bit(priority: u8) -> u64 {
        1 << (priority - 1)
    }

    /// The bounds. They lie apart exactly if the priority meets others.
    fn bounds(census: &Census, priority: Priority, own: u32) -> (Priority, Priority) {
        let bounds = census.bounds_with(priority, own);
        assert_eq!(census.has_only(priority, own), bounds == (priority, priority));
        bounds
    }

    /// A stream that has announced these priorities.
    fn stream(census: &Census, priorities: &[u8]) -> u32 {
        let announced = AtomicU64::new(0);
        priorities.iter().for_each(|priority| census.open(at(*priority), &announced, bit(*priority)));
        announced.load(Ordering::SeqCst) as u32
    }

    #[test]
    fn bounds_follow_open_streams() {
        let census = Census::new(Priorities::new(6).unwrap());
        assert_eq!(bounds(&census, at(3), 0), (at(3), at(3)), "no other stream copies");
        let streams = [&[2][..], &[5], &[5]].map(|priorities| stream(&census, priorities));
        assert_eq!(streams, [0b10, 0b1_0000, 0b1_0000]);
        assert_eq!(bounds(&census, at(3), 0), (at(2), at(5)));
        assert_eq!(bounds(&census, at(6), 0), (at(2), at(6)));
        census.close(at(5));
        assert_eq!(bounds(&census, at(1), 0), (at(1), at(5)));
        census.close(at(5));
        assert_eq!(bounds(&census, at(2), 0), (at(2), at(2)));
    }

    #[test]
    fn a_stream_is_no_company_to_itself() {
        let census = Census::new(Priorities::new(32).unwrap());
        let both = stream(&census, &[1, 32]);
        assert_eq!(bounds(&census, at(1), both), (at(1), at(1)), "its urgent copies wait behind its own bulk");
        assert_eq!(bounds(&census, at(32), both), (at(32), at(32)));
        let bulk = stream(&census, &[1]);
        assert_eq!(bounds(&census, at(1), bulk), (at(1), at(32)), "its bulk yields to the other stream");
        assert_eq!(bounds(&census, at(1), both), (at(1), at(1)));
        assert_eq!(bounds(&census, at(32), both), (at(1), at(32)), "the other stream's bulk is held off");
    }

    #[test]
    fn an_expectation_is_company_to_every_stream() {
        let census = Census::new(Priorities::new(6).unwrap());
        let bulk = stream(&census, &[1]);
        census.expect(at(5));
        census.expect(at(5));
        assert_eq!(bounds(&census, at(1), bulk), (at(1), at(5)));
        let urgent = stream(&census, &[5]);
        census.close(at(5));
        assert_eq!(bounds(&census, at(1), urgent), (at(1), at(5)), "one more is expected, of another stream");
        census.close(at(5));
        assert_eq!(bounds(&census, at(1), urgent), (at(1), at(1)), "none is, and the stream is its own company");
        assert_eq!(bounds(&census, at(1), bulk), (at(1), at(5)), "an open stream announces as ever");
    }

    #[test]
    fn a_priority_is_announced_once() {
        let (census, announced) = (Census::new(Priorities::new(2).unwrap()), AtomicU64::new(0));
        std::thread::scope(|scope| {
            (0..4).for_each(|_| drop(scope.spawn(|| census.open(at(2), &announced, bit(2)))));
        });
        assert_eq!(bounds(&census, at(1), 0b10), (at(1), at(1)), "it counts as one stream");
        census.close(at(2));
        assert_eq!(bounds(&census, at(1), 0), (at(1), at(1)), "and closes as one");
    }

    #[test]
    fn bounds_are_right_however_threads_open_and_close() {
        let census = Census::new(Priorities::new(6).unwrap());
        for _ in 0..if cfg!(miri) { 3 } else { 200 } {
            std::thread::scope(|scope| {
                for priority in 1..=6 {
                    let census = &census;
                    scope.spawn(move || {
                        stream(census, &[priority]);
                        if priority != 2 && priority != 4 {
                            census.close(at(priority));
                        }
                    });
                }
            });
            assert_eq!(bounds(&census, at(3), 0), (at(2), at(4)));
            census.close(at(2));
            census.close(at(4));
        }
    }
}
