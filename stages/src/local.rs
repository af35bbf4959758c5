//! A ring for one thread, without shared state (PL-09): batches of operations, in the order of their commits.

use std::collections::VecDeque;
use std::task::Waker;

use crate::arrival::Arrival;
use crate::barrier::{Barrier, Round};
use crate::refused::Error;
use crate::waiting::{Waited, Waiting};

/// The state of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It is under way.
    Running,
    /// It has ended.
    Done,
    /// It has failed.
    Failed,
}

/// An operation that ends by itself, such as a copy.
pub trait Operation: Send + Sync {
    /// Its state. With a waker it also leaves word that the waker is to be woken at its end. Without one it only reads
    /// memory, so that any thread may ask at any time.
    fn progress(&self, waker: Option<&Waker>) -> Progress;
}

/// A pipeline of one thread. There is nothing to acquire or to release: a commit closes a batch, and a wait takes the
/// oldest.
#[derive(Debug)]
pub struct Local<O> {
    operations: VecDeque<O>,
    /// The operations of each batch.
    batches: VecDeque<usize>,
    /// Those of the batch that is open.
    open: usize,
    /// The number of the oldest batch.
    position: u64,
}

impl<O> Default for Local<O> {
    fn default() -> Local<O> {
        Local { operations: VecDeque::new(), batches: VecDeque::new(), open: 0, position: 0 }
    }
}

impl<O: Operation> Local<O> {
    /// No batch yet.
    #[must_use]
    pub fn new() -> Local<O> {
        Local::default()
    }

    /// The operation joins the open batch (PL-12).
    pub fn join(&mut self, operation: O) {
        self.operations.push_back(operation);
        self.open += 1;
    }

    /// Closes the batch.
    pub fn commit(&mut self) {
        self.batches.push_back(std::mem::take(&mut self.open));
    }

    /// Closes the batch, whose end arrives at a barrier instead (PL-10). The caller gives the arrival to the last of
    /// these operations.
    pub fn commit_to(&mut self, barrier: &Barrier) -> (impl Iterator<Item = O> + '_, Round, Arrival) {
        let first = self.operations.len() - std::mem::take(&mut self.open);
        let (round, arrival) = barrier.arrive_later();
        (self.operations.drain(first..), round, arrival)
    }

    /// The batches that have been committed and not waited for.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.batches.len()
    }

    /// Waits until the oldest batch has ended. Without one it returns at once.
    pub fn wait(&mut self, waiting: &dyn Waiting) -> Result<(), Error> {
        if self.batches.is_empty() { Ok(()) } else { self.wait_oldest(waiting, None).map(drop) }
    }

    /// The same until a time. `false` if it passes first.
    pub fn wait_until(&mut self, waiting: &dyn Waiting, deadline_ns: u64) -> Result<bool, Error> {
        if self.batches.is_empty() { Ok(true) } else { self.wait_oldest(waiting, Some(deadline_ns)) }
    }

    /// Waits until all batches but the last `newest` have ended.
    pub fn wait_prior(&mut self, newest: usize, waiting: &dyn Waiting) -> Result<(), Error> {
        let mut first = Ok(());
        while self.batches.len() > newest {
            match self.wait_oldest(waiting, None) {
                Err(Error::Stuck) => return Err(Error::Stuck),
                ended => first = first.and(ended.map(drop)),
            }
        }
        first
    }

    /// The oldest batch. It is there.
    fn wait_oldest(&mut self, waiting: &dyn Waiting, deadline_ns: Option<u64>) -> Result<bool, Error> {
        let count = self.batches.front().copied().unwrap_or(0);
        let batch = &self.operations;
        let mut is_over = |waker: Option<&Waker>| {
            batch.range(..count).all(|operation| operation.progress(waker) != Progress::Running)
        };
        if !is_over(None) {
            match waiting.until(deadline_ns, &mut is_over) {
                Waited::Met => {}
                Waited::Deadline => return Ok(false),
                Waited::Stuck => return Err(Error::Stuck),
            }
        }
        self.batches.pop_front();
        let position = self.position;
        self.position += 1;
        let failed =
            self.operations.drain(..count).filter(|operation| operation.progress(None) == Progress::Failed).count();
        if failed == 0 { Ok(true) } else { Err(Error::Spoilt { position }) }
    }
}
