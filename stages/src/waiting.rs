//! How a thread waits: the crate has no clock and no threads, so its caller says how.

use std::task::Waker;

/// The end of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// It is over.
    Met,
    /// The deadline passed first.
    Deadline,
    /// It will never be over: a model of time has proven that no thread can go on.
    Stuck,
}

/// Looks whether a wait is over. With a waker it also leaves word that the waker is to be woken when it may be.
///
/// Without a waker it only reads an atomic, so that any thread may call it at any time.
pub type Watch<'w> = &'w mut (dyn FnMut(Option<&Waker>) -> bool + Send);

/// The sleep of the calling thread.
pub trait Waiting {
    /// Waits until `is_over` answers yes, or until the deadline has passed.
    fn until(&self, deadline_ns: Option<u64>, is_over: Watch<'_>) -> Waited;
}
