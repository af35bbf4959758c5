//! Priorities: higher is more urgent, 1 is the lowest.

use std::fmt;
use std::num::NonZeroU8;

/// A priority. Higher = more urgent; 1 is the lowest. CUDA's inverted numbers are converted at the edge only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(NonZeroU8);

impl Priority {
    /// The lowest priority: bulk.
    pub const LOWEST: Priority = Priority(NonZeroU8::MIN);

    /// A priority, or `None` for 0.
    #[must_use]
    pub const fn new(value: u8) -> Option<Priority> {
        match NonZeroU8::new(value) {
            Some(value) => Some(Priority(value)),
            None => None,
        }
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0.get()
    }
}

impl fmt::Debug for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Priority({})", self.get())
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.get())
    }
}

/// How many priorities there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priorities(u8);

impl Priorities {
    /// The most priorities a bank takes.
    pub const MAX: u8 = 32;

    /// `count` priorities, or `None` outside `1..=MAX`.
    #[must_use]
    pub const fn new(count: u8) -> Option<Priorities> {
        if count == 0 || count > Priorities::MAX { None } else { Some(Priorities(count)) }
    }

    /// How many.
    #[must_use]
    pub const fn count(self) -> u8 {
        self.0
    }

    /// The most urgent one.
    #[must_use]
    pub const fn highest(self) -> Priority {
        match Priority::new(self.0) {
            Some(priority) => priority,
            None => Priority::LOWEST,
        }
    }

    /// Whether `priority` is one of these.
    #[must_use]
    pub const fn contains(self, priority: Priority) -> bool {
        priority.get() <= self.0
    }

    /// All of them, the lowest first.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = Priority> {
        (1..=self.0).filter_map(Priority::new)
    }

    /// Those above `priority`, the lowest first.
    pub fn above(self, priority: Priority) -> impl DoubleEndedIterator<Item = Priority> {
        (priority.get() + 1..=self.0).filter_map(Priority::new)
    }

    /// Maps a CUDA stream priority (lower = more urgent, `least` >= `greatest`) onto these, monotonically: the least
    /// urgent CUDA priority onto 1, the most urgent onto the highest, everything out of range clamped as CUDA clamps
    /// it.
    #[must_use]
    pub fn from_cuda(self, cuda: i32, least: i32, greatest: i32) -> Priority {
        let span = i64::from(least) - i64::from(greatest);
        let steps = (i64::from(least) - i64::from(cuda)).clamp(0, span.max(0));
        if span <= 0 {
            return Priority::LOWEST;
        }
        let top = i64::from(self.0) - 1;
        // Rounded up, so that any urgency above the least leaves the lowest priority.
        let raised = (steps * top + span - 1) / span;
        Priority::new(1 + raised as u8).unwrap_or(Priority::LOWEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuda_priorities_map_monotonically_and_clamp() {
        let two = Priorities::new(2).unwrap();
        let six = Priorities::new(6).unwrap();
        let map = |p: Priorities| (-7..=2).map(|c| p.from_cuda(c, 0, -5).get()).collect::<Vec<_>>();
        assert_eq!(map(six), [6, 6, 6, 5, 4, 3, 2, 1, 1, 1]);
        assert_eq!(map(two), [2, 2, 2, 2, 2, 2, 2, 1, 1, 1], "any urgency leaves the lowest");
        assert_eq!(two.from_cuda(3, 0, 0), Priority::LOWEST, "a device without priorities has one");
    }

    #[test]
    fn ranges() {
        let p = Priorities::new(3).unwrap();
        assert_eq!(p.above(Priority::LOWEST).map(Priority::get).collect::<Vec<_>>(), [2, 3]);
        assert_eq!(p.above(p.highest()).count(), 0);
        assert!(Priorities::new(0).is_none() && Priorities::new(33).is_none());
    }
}
