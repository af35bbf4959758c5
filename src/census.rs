//! How many streams of each priority copy on an engine, and so whether anybody more or less urgent is about.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use semaphores::{Priorities, Priority};

use crate::lock::lock;

/// The counts, and their bounds in one word: that is all that a copy has to read to learn that it is alone.
#[repr(C)]
pub(crate) struct Census {
    bounds: AtomicU64,
    open: Mutex<Vec<u64>>,
}

impl Census {
    pub(crate) fn new(priorities: Priorities) -> Census {
        let open = priorities.iter().map(|_| 0).collect();
        Census { open: Mutex::new(open), bounds: AtomicU64::new(0) }
    }

    /// One more stream of that priority.
    pub(crate) fn opened(&self, priority: Priority) {
        self.change(|open| open[index(priority)] += 1);
    }

    /// One fewer.
    pub(crate) fn closed(&self, priority: Priority) {
        self.change(|open| open[index(priority)] -= 1);
    }

    /// Counts and bounds change under one lock: bounds that lag behind would stay wrong until the next stream opens,
    /// and bulk that took itself to be alone would hold up urgent copies all that time.
    fn change(&self, change: impl FnOnce(&mut [u64])) {
        let mut open = lock(&self.open);
        change(&mut open);
        let mut there = (1u64..).zip(open.iter()).filter(|(_, count)| **count > 0).map(|(priority, _)| priority);
        let lowest = there.next().unwrap_or(0);
        let highest = there.last().unwrap_or(lowest);
        self.bounds.store(lowest << 8 | highest, Ordering::SeqCst);
    }

    /// The lowest and the highest priority of the open streams and of a copy of `priority`.
    pub(crate) fn bounds_with(&self, priority: Priority) -> (Priority, Priority) {
        let bounds = self.bounds.load(Ordering::Relaxed);
        let at = |value: u64| Priority::new(value as u8).unwrap_or(priority);
        (at(bounds >> 8).min(priority), at(bounds & 0xff).max(priority))
    }
}

fn index(priority: Priority) -> usize {
    usize::from(priority.get()) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(priority: u8) -> Priority {
        Priority::new(priority).unwrap()
    }

    #[test]
    fn bounds_follow_what_is_open() {
        let census = Census::new(Priorities::new(6).unwrap());
        assert_eq!(census.bounds_with(at(3)), (at(3), at(3)), "nobody else is about");
        census.opened(at(2));
        census.opened(at(5));
        census.opened(at(5));
        assert_eq!(census.bounds_with(at(3)), (at(2), at(5)));
        assert_eq!(census.bounds_with(at(6)), (at(2), at(6)));
        census.closed(at(5));
        assert_eq!(census.bounds_with(at(1)), (at(1), at(5)));
        census.closed(at(5));
        assert_eq!(census.bounds_with(at(2)), (at(2), at(2)));
    }

    #[test]
    fn bounds_are_right_however_threads_open_and_close() {
        let census = Census::new(Priorities::new(6).unwrap());
        for _ in 0..if cfg!(miri) { 3 } else { 200 } {
            std::thread::scope(|scope| {
                for priority in 1..=6 {
                    let census = &census;
                    scope.spawn(move || {
                        census.opened(at(priority));
                        if priority != 2 && priority != 4 {
                            census.closed(at(priority));
                        }
                    });
                }
            });
            assert_eq!(census.bounds_with(at(3)), (at(2), at(4)));
            census.closed(at(2));
            census.closed(at(4));
        }
    }
}
