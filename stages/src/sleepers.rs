//! The threads and tasks that sleep until a round of a stage is over.

use std::task::Waker;

use crate::primitive::{Mutex, lock};

/// The sleepers, each with the stage that it waits at.
#[derive(Debug, Default)]
pub(crate) struct Sleepers(Mutex<Vec<(u8, Waker)>>);

impl Sleepers {
    /// Adds a sleeper, once.
    pub fn add(&self, stage: u8, waker: &Waker) {
        // Wakers are code of others, and no lock is held across it, except for a comparison of two pointers.
        let mut own = Some((stage, waker.clone()));
        let mut sleepers = lock(&self.0);
        if !sleepers.iter().any(|(at, other)| *at == stage && other.will_wake(waker)) {
            sleepers.extend(own.take());
        }
        drop(sleepers);
    }

    /// Takes a sleeper out that is awake for another reason.
    pub fn remove(&self, stage: u8, waker: &Waker) {
        let mut sleepers = lock(&self.0);
        let index = sleepers.iter().position(|(at, other)| *at == stage && other.will_wake(waker));
        let removed = index.map(|index| sleepers.swap_remove(index));
        drop(sleepers);
        drop(removed);
    }

    /// Wakes those that wait at a stage.
    pub fn wake(&self, stage: u8) {
        loop {
            let mut sleepers = lock(&self.0);
            let index = sleepers.iter().position(|(at, _)| *at == stage);
            let sleeper = index.map(|index| sleepers.swap_remove(index));
            drop(sleepers);
            match sleeper {
                Some((_, waker)) => waker.wake(),
                None => return,
            }
        }
    }
}
