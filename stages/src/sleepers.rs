//! The threads and tasks that sleep until a round of a stage is over.

use std::task::Waker;

use crate::primitive::{Mutex, lock};

#[derive(Debug)]
struct Sleeper {
    stage: u8,
    /// How many had come before it.
    number: u64,
    waker: Waker,
}

#[derive(Debug, Default)]
struct List {
    sleepers: Vec<Sleeper>,
    /// How many have come so far.
    come: u64,
}

/// The sleepers, each with the stage that it waits at.
#[derive(Debug, Default)]
pub(crate) struct Sleepers(Mutex<List>);

impl List {
    fn position(&self, stage: u8, waker: &Waker) -> Option<usize> {
        self.sleepers.iter().position(|other| other.stage == stage && other.waker.will_wake(waker))
    }

    /// Takes one out that waits at a stage, and that came before the sleeper of that number.
    fn take(&mut self, stage: u8, before: u64) -> Option<Waker> {
        let index = self.sleepers.iter().position(|other| other.stage == stage && other.number < before)?;
        Some(self.sleepers.swap_remove(index).waker)
    }
}

impl Sleepers {
    /// Adds a sleeper, once.
    pub fn add(&self, stage: u8, waker: &Waker) {
        // Wakers are code of others, and no lock is held across it, except for a comparison of two pointers.
        let mut own = Some(waker.clone());
        let mut list = lock(&self.0);
        if list.position(stage, waker).is_none() {
            let number = list.come;
            list.come += 1;
            list.sleepers.extend(own.take().map(|waker| Sleeper { stage, number, waker }));
        }
        drop(list);
    }

    /// Takes a sleeper out that is awake for another reason.
    pub fn remove(&self, stage: u8, waker: &Waker) {
        let mut list = lock(&self.0);
        let index = list.position(stage, waker);
        let removed = index.map(|index| list.sleepers.swap_remove(index));
        drop(list);
        drop(removed);
    }

    /// Wakes those that wait at a stage, but none that comes meanwhile. Such a one waits for the next round, which may
    /// need the caller's own arrival: a caller that woke it as well could wake it again and again, and never arrive.
    pub fn wake(&self, stage: u8) {
        let before = lock(&self.0).come;
        loop {
            let waker = lock(&self.0).take(stage, before);
            match waker {
                Some(waker) => waker.wake(),
                None => return,
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::task::{Wake, Waker};

    use super::Sleepers;

    /// A sleeper that waits for the next round as soon as it is woken.
    #[derive(Default)]
    struct Eager {
        sleepers: Sleepers,
        wakes: AtomicU32,
    }

    impl Wake for Eager {
        fn wake(self: Arc<Self>) {
            // Without end it would hang in place of failing.
            if self.wakes.fetch_add(1, Ordering::Relaxed) < 10 {
                self.sleepers.add(0, &Waker::from(Arc::clone(&self)));
            }
        }
    }

    #[test]
    fn a_sleeper_that_comes_during_a_wake_sleeps_on() {
        let eager = Arc::new(Eager::default());
        let waker = Waker::from(Arc::clone(&eager));
        eager.sleepers.add(0, &waker);
        eager.sleepers.wake(0);
        assert_eq!(eager.wakes.load(Ordering::Relaxed), 1);
        eager.sleepers.wake(0);
        assert_eq!(eager.wakes.load(Ordering::Relaxed), 2);
        eager.sleepers.remove(0, &waker);
        eager.sleepers.wake(0);
        assert_eq!(eager.wakes.load(Ordering::Relaxed), 2);
    }
}
