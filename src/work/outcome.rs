//! The outcome of a task, which its node and its handles share.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering};
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
