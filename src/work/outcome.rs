//! The outcome of a task, which its node and its handles share.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Waker;

use hal::locks::lock;

use crate::work::fault::Error;

const PENDING: u8 = 0;
const DONE: u8 = 1;
const FAILED: u8 = 2;

/// An outcome that is still to come, or has.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    state: AtomicU8,
    told: Mutex<Told>,
}

#[derive(Debug, Default)]
struct Told {
    error: Option<Error>,
    wakers: Vec<Waker>,
}

impl Outcome {
    /// Whether the task has ended.
    #[inline]
    pub fn is_known(&self) -> bool {
        self.state.load(Ordering::Acquire) != PENDING
    }

    /// The outcome, if the task has ended.
    pub fn get(&self) -> Option<Result<(), Error>> {
        match self.state.load(Ordering::Acquire) {
            PENDING => None,
            DONE => Some(Ok(())),
            _ => Some(Err(lock(&self.told).error.clone().unwrap_or(Error::Closed))),
        }
    }

    /// The task has ended. Its waiting threads see it now; [`Outcome::wake`] tells the futures. The first end counts.
    pub fn set(&self, outcome: Result<(), Error>) {
        if self.is_known() {
            return;
        }
        let state = match outcome {
            Ok(()) => DONE,
            Err(error) => {
                lock(&self.told).error = Some(error);
                FAILED
            }
        };
        self.state.store(state, Ordering::Release);
    }

    /// Wakes the futures that wait. This calls code of others: no lock may be held.
    pub fn wake(&self) {
        let wakers = std::mem::take(&mut lock(&self.told).wakers);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// The outcome, or the waker is woken when it is known.
    pub fn poll(&self, waker: &Waker) -> Option<Result<(), Error>> {
        if !self.is_known() {
            let mut told = lock(&self.told);
            if !told.wakers.iter().any(|other| other.will_wake(waker)) {
                told.wakers.push(waker.clone());
            }
        }
        // The state is read again: the task may have ended before the waker was there.
        self.get()
    }
}

/// Outcomes for later tasks: to allocate and free one costs as much as to dispatch its task.
#[derive(Debug)]
pub(crate) struct Spare {
    outcomes: Vec<Arc<Outcome>>,
    /// The outcome of all tasks whose own is kept here.
    done: Arc<Outcome>,
}

/// Further outcomes are freed.
const SPARE_MAX: usize = 256;

impl Default for Spare {
    fn default() -> Spare {
        let done = Arc::new(Outcome { state: AtomicU8::new(DONE), ..Outcome::default() });
        Spare { outcomes: Vec::new(), done }
    }
}

impl Spare {
    /// An outcome that is still to come.
    pub fn take(&mut self) -> Arc<Outcome> {
        self.outcomes.pop().unwrap_or_default()
    }

    /// Keeps the outcome of a task that has ended well, if no handle has it any more.
    pub fn keep(&mut self, outcome: &mut Arc<Outcome>) {
        if self.outcomes.len() == SPARE_MAX {
            return;
        }
        let Some(own) = Arc::get_mut(outcome) else { return };
        // A waker is code of others, which is dropped without the dispatcher's lock.
        let has_waker = own.told.get_mut().map_or(true, |told| !told.wakers.is_empty());
        if *own.state.get_mut() != DONE || has_waker {
            return;
        }
        *own.state.get_mut() = PENDING;
        self.outcomes.push(std::mem::replace(outcome, Arc::clone(&self.done)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_outcomes_that_no_handle_has_are_used_again() {
        let mut spare = Spare::default();
        let [mut free, mut held, mut failed, mut pending] = [(); 4].map(|()| spare.take());
        free.set(Ok(()));
        held.set(Ok(()));
        failed.set(Err(Error::Closed));
        let (handle, address) = (Arc::clone(&held), Arc::as_ptr(&free));
        for outcome in [&mut free, &mut held, &mut failed, &mut pending] {
            spare.keep(outcome);
        }
        assert_eq!(spare.outcomes.len(), 1);
        assert!(free.is_known() && Arc::ptr_eq(&held, &handle) && failed.get().is_some_and(|it| it.is_err()));
        let again = spare.take();
        assert_eq!((Arc::as_ptr(&again), again.get().is_none()), (address, true));
    }

    #[test]
    fn an_outcome_with_a_waker_is_not_used_again() {
        let (mut spare, mut outcome) = (Spare::default(), Arc::new(Outcome::default()));
        assert!(outcome.poll(Waker::noop()).is_none());
        outcome.set(Ok(()));
        spare.keep(&mut outcome);
        assert!(spare.outcomes.is_empty());
    }
}
