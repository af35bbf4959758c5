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

    /// Its place in a list of all priorities, the lowest first.
    #[must_use]
    pub const fn index(self) -> usize {
        self.get() as usize - 1
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

/// The number of priorities; they run from 1 to this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priorities(u8);

impl Priorities {
    /// The most priorities that a bank takes.
    pub const MAX: u8 = 32;

    /// `count` priorities, or `None` outside `1..=MAX`.
    #[must_use]
    pub const fn new(count: u8) -> Option<Priorities> {
        if count == 0 || count > Priorities::MAX { None } else { Some(Priorities(count)) }
    }

    /// The number of priorities.
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        let p = Priorities::new(3).unwrap();
        assert_eq!(p.above(Priority::LOWEST).map(Priority::get).collect::<Vec<_>>(), [2, 3]);
        assert_eq!(p.above(p.highest()).count(), 0);
        assert_eq!(p.iter().map(Priority::get).collect::<Vec<_>>(), [1, 2, 3]);
        assert!(Priorities::new(0).is_none() && Priorities::new(33).is_none());
        assert_eq!((Priorities::new(32).unwrap().count(), Priority::new(0)), (32, None));
        assert!(p.contains(p.highest()) && !p.contains(Priority::new(4).unwrap()));
        assert_eq!(format!("{} {:?}", p.highest(), p.highest()), "3 Priority(3)");
    }
}
