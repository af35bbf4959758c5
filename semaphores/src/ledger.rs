//! The ledger: how many copies are pending at each priority, and the word that each waiting priority must read.
//!
//! Pure bookkeeping; [`crate::Bank`] keeps it behind a lock and publishes the words. See `README.md` beside this file.

use priority::{Priorities, Priority};

/// Proof that a copy is pending; it travels with the copy and goes back to the bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    priority: Priority,
    epoch: u64,
}

impl Pending {
    /// The priority that was raised.
    #[must_use]
    pub fn priority(self) -> Priority {
        self.priority
    }

    pub(crate) fn epoch(self) -> u64 {
        self.epoch
    }
}

/// Proof that waiters of one priority may pass as if they had a higher one; it goes back to the bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Boost {
    level: Priority,
    to: Priority,
}

#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    priorities: Priorities,
    /// Moves on at every opening; a lower of an earlier epoch does nothing.
    epoch: u64,
    /// Pending copies by priority - 1.
    pending: Vec<u32>,
    /// Live boosts by level - 1.
    boosts: Vec<Vec<Priority>>,
    /// Levels that pass even while more urgent copies are pending (the starvation bound), by level - 1.
    exempt: Vec<bool>,
}

impl Ledger {
    pub(crate) fn new(priorities: Priorities) -> Ledger {
        let count = usize::from(priorities.count());
        Ledger {
            priorities,
            epoch: 0,
            pending: vec![0; count],
            boosts: vec![Vec::new(); count],
            exempt: vec![false; count],
        }
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    pub(crate) fn raise(&mut self, priority: Priority) -> Pending {
        self.pending[priority.index()] += 1;
        Pending { priority, epoch: self.epoch }
    }

    pub(crate) fn lower(&mut self, pending: Pending) {
        if pending.epoch == self.epoch {
            self.pending[pending.priority.index()] -= 1;
        }
    }

    pub(crate) fn boost(&mut self, level: Priority, to: Priority) -> Boost {
        self.boosts[level.index()].push(to);
        Boost { level, to }
    }

    pub(crate) fn unboost(&mut self, boost: Boost) {
        let boosts = &mut self.boosts[boost.level.index()];
        if let Some(at) = boosts.iter().position(|to| *to == boost.to) {
            boosts.swap_remove(at);
        }
    }

    pub(crate) fn set_exempt(&mut self, level: Priority, exempt: bool) {
        self.exempt[level.index()] = exempt;
    }

    /// No copy is pending any more, and lowers still to come do nothing. Returns how many were pending.
    pub(crate) fn open(&mut self) -> u32 {
        let pending = self.pending.iter().sum();
        self.epoch += 1;
        self.pending.fill(0);
        pending
    }

    pub(crate) fn pending_at(&self, priority: Priority) -> u32 {
        self.pending[priority.index()]
    }

    pub(crate) fn pending_above(&self, priority: Priority) -> u32 {
        self.pending[usize::from(priority.get())..].iter().sum()
    }

    /// The value that waiters of `level` compare with 0: the number of pending copies above the priority they pass
    /// as.
    pub(crate) fn word(&self, level: Priority) -> u32 {
        if self.exempt[level.index()] { 0 } else { self.pending_above(self.effective(level)) }
    }

    fn effective(&self, level: Priority) -> Priority {
        self.boosts[level.index()].iter().copied().fold(level, Priority::max)
    }

    pub(crate) fn priorities(&self) -> Priorities {
        self.priorities
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(priority: u8) -> Priority {
        Priority::new(priority).unwrap()
    }

    #[test]
    fn five_queued_copies_read_five() {
        let mut ledger = Ledger::new(Priorities::new(2).unwrap());
        let raised: Vec<_> = (0..5).map(|_| ledger.raise(at(2))).collect();
        assert_eq!((ledger.pending_at(at(2)), ledger.word(at(1))), (5, 5));
        raised.into_iter().for_each(|pending| ledger.lower(pending));
        assert_eq!(ledger.word(at(1)), 0);
    }

    #[test]
    fn the_middle_waits_for_the_top_only() {
        let mut ledger = Ledger::new(Priorities::new(3).unwrap());
        let middle = ledger.raise(at(2));
        assert_eq!((ledger.word(at(1)), ledger.word(at(2))), (1, 0));
        ledger.raise(at(3));
        ledger.lower(middle);
        assert_eq!((ledger.word(at(1)), ledger.word(at(2))), (1, 1));
    }

    #[test]
    fn a_boosted_level_passes_up_to_its_boost() {
        let mut ledger = Ledger::new(Priorities::new(4).unwrap());
        ledger.raise(at(2));
        ledger.raise(at(3));
        let boost = ledger.boost(at(1), at(3));
        assert_eq!(ledger.word(at(1)), 0);
        ledger.raise(at(4));
        assert_eq!(ledger.word(at(1)), 1, "a copy more urgent than the boost still holds it");
        ledger.unboost(boost);
        assert_eq!(ledger.word(at(1)), 3);
    }

    #[test]
    fn lowers_after_an_opening_are_void() {
        let mut ledger = Ledger::new(Priorities::new(2).unwrap());
        let old = ledger.raise(at(2));
        assert_eq!(ledger.open(), 1);
        let new = ledger.raise(at(2));
        ledger.lower(old);
        assert_eq!(ledger.word(at(1)), 1, "the new copy is still pending");
        ledger.lower(new);
        assert_eq!(ledger.word(at(1)), 0);
    }

    #[derive(Clone, Debug)]
    enum Act {
        Raise(u8),
        Lower(usize),
        Open,
    }

    fn acts() -> impl Strategy<Value = Vec<Act>> {
        let act = prop_oneof![
            4 => (1u8..=5).prop_map(Act::Raise),
            3 => (0usize..64).prop_map(Act::Lower),
            1 => Just(Act::Open),
        ];
        proptest::collection::vec(act, 0..120)
    }

    proptest! {
        /// Compares with the obvious model: a list of the pending copies.
        #[test]
        fn a_word_is_nonzero_exactly_while_something_above_is_pending(script in acts()) {
            let mut ledger = Ledger::new(Priorities::new(5).unwrap());
            let mut live: Vec<Pending> = Vec::new();
            let mut void: Vec<Pending> = Vec::new();
            for act in script {
                match act {
                    Act::Raise(priority) => live.push(ledger.raise(at(priority))),
                    Act::Lower(nth) if nth % 5 == 4 && !void.is_empty() => ledger.lower(void.remove(nth % void.len())),
                    Act::Lower(nth) if !live.is_empty() => ledger.lower(live.remove(nth % live.len())),
                    Act::Lower(_) => {}
                    Act::Open => { prop_assert_eq!(ledger.open() as usize, live.len()); void.append(&mut live); }
                }
                for level in 1..=5 {
                    let above = live.iter().filter(|pending| pending.priority > at(level)).count();
                    prop_assert_eq!(ledger.word(at(level)) as usize, above);
                }
            }
        }
    }
}
