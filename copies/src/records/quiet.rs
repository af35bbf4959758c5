//! The open streams that announce no copies, by the priority of those that name none.

use std::sync::atomic::{AtomicU64, Ordering};

use terms::{Priorities, Priority};

/// Copies that are expected come from these streams: where another stream of that priority is open, no copy tolerates a
/// wait.
pub(crate) struct Quiet {
    counts: Vec<AtomicU64>,
}

impl Quiet {
    pub(crate) fn new(priorities: Priorities) -> Quiet {
        Quiet { counts: priorities.iter().map(|_| AtomicU64::new(0)).collect() }
    }

    pub(crate) fn open(&self, priority: Priority) {
        self.of(priority).fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn close(&self, priority: Priority) {
        self.of(priority).fetch_sub(1, Ordering::Relaxed);
    }

    /// The number of those with at least this priority.
    pub(crate) fn count_from(&self, priority: Priority) -> u64 {
        self.counts[priority.index()..].iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }

    fn of(&self, priority: Priority) -> &AtomicU64 {
        &self.counts[priority.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_counted_from_a_priority_on() {
        let (quiet, at) = (Quiet::new(Priorities::new(6).unwrap()), |priority| Priority::new(priority).unwrap());
        [3, 6, 6].into_iter().for_each(|priority| quiet.open(at(priority)));
        assert_eq!([1, 3, 4, 6].map(|priority| quiet.count_from(at(priority))), [3, 3, 2, 2]);
        quiet.close(at(6));
        assert_eq!([3, 6].map(|priority| quiet.count_from(at(priority))), [2, 1]);
    }
}
