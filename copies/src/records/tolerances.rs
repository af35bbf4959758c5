//! The waits that the owners of expected copies tolerate, by engine ([`crate::Expected::tolerating`]).

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use hal::Nanos;
use hal::locks::lock;
use terms::Priority;

use crate::records::Census;

/// The expectations on an engine whose owners tolerate a wait.
#[derive(Default)]
pub(crate) struct Tolerances {
    list: Mutex<Vec<(Priority, Nanos)>>,
    /// The longest wait in the list. Without any, copies learn from one load that there are none.
    longest_ns: AtomicU64,
}

impl Tolerances {
    /// Copies of an expectation with `priority` may wait for so long.
    pub(crate) fn begin(&self, priority: Priority, wait: Nanos) {
        self.change(|list| list.push((priority, wait)));
    }

    /// The expectation ends.
    pub(crate) fn end(&self, priority: Priority, wait: Nanos) {
        self.change(|list| {
            if let Some(index) = list.iter().position(|known| *known == (priority, wait)) {
                list.swap_remove(index);
            }
        });
    }

    fn change(&self, change: impl FnOnce(&mut Vec<(Priority, Nanos)>)) {
        let mut list = lock(&self.list);
        change(&mut list);
        let longest = list.iter().fold(Nanos::ZERO, |longest, (_, wait)| longest.max(*wait));
        self.longest_ns.store(longest.0, Ordering::Relaxed);
    }

    /// The longest wait that any tolerates: so long may a copy find the engine taken.
    pub(crate) fn longest(&self) -> Nanos {
        Nanos(self.longest_ns.load(Ordering::Relaxed))
    }

    /// The wait that all copies to come above `priority` tolerate, and the least of their priorities; `None` if some
    /// tolerate none, or none are to come.
    pub(crate) fn above(&self, priority: Priority, census: &Census) -> Option<(Nanos, Priority)> {
        if self.longest_ns.load(Ordering::Relaxed) == 0 {
            return None;
        }
        // An expectation is counted before it tolerates, and after. So a count that is too late finds it impatient.
        let list = lock(&self.list);
        let above = || list.iter().filter(|(other, _)| *other > priority);
        let least = (above().map(|(_, wait)| *wait).min()?, above().map(|(other, _)| *other).min()?);
        (census.count_above(priority) == above().count() as u64).then_some(least)
    }
}

#[cfg(test)]
mod tests {
    use terms::Priorities;

    use super::*;

    fn at(priority: u8) -> Priority {
        Priority::new(priority).unwrap()
    }

    #[test]
    fn the_least_patient_decides() {
        let (census, all) = (Census::new(Priorities::new(6).unwrap()), Tolerances::default());
        let [short, long] = [100, 300].map(Nanos::from_us);
        let expect = |priority, wait| {
            census.expect(at(priority));
            all.begin(at(priority), wait);
        };
        let wait = |priority| all.above(at(priority), &census);
        assert_eq!((wait(1), all.longest()), (None, Nanos::ZERO), "none are to come");
        expect(5, long);
        expect(6, short);
        assert_eq!((wait(1), all.longest()), (Some((short, at(5))), long));
        assert_eq!(wait(5), Some((short, at(6))));
        assert_eq!(wait(6), None, "none are above it");
        all.end(at(6), short);
        assert_eq!(wait(1), None, "one tolerates none any more");
        assert_eq!(wait(6), None);
        census.close(at(6));
        assert_eq!(wait(1), Some((long, at(5))));
        census.expect(at(4));
        assert_eq!(wait(1), None, "one has come that tolerates none");
        assert_eq!(wait(4), Some((long, at(5))), "and it is not above its own priority");
    }

    #[test]
    fn equal_waits_are_counted_apart() {
        let (census, all) = (Census::new(Priorities::new(6).unwrap()), Tolerances::default());
        let wait = Nanos::from_us(150);
        (0..2).for_each(|_| {
            census.expect(at(6));
            all.begin(at(6), wait);
        });
        all.end(at(6), wait);
        census.close(at(6));
        assert_eq!(all.above(at(1), &census), Some((wait, at(6))));
        all.end(at(6), wait);
        census.close(at(6));
        assert_eq!((all.above(at(1), &census), all.longest()), (None, Nanos::ZERO));
    }
}
