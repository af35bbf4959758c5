//! The threads of the dispatcher that sleep until they are rung. They say so under the lock, and a thread that lets go
//! of the lock rings those that have something to do.

/// The threads that sleep, which is a part of the state behind the lock.
#[derive(Debug, Default)]
pub(crate) struct Sleepers {
    /// The workers, a bit each.
    workers: u64,
    is_completion_asleep: bool,
    /// There is something that the completion thread has not seen.
    pub has_news: bool,
}

/// The threads that are to be rung, once the lock is let go of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Calls {
    pub worker: Option<u32>,
    pub completion: bool,
}

/// A state with sleepers.
pub(crate) trait Sleeps {
    /// Whether there may be threads that have something to do.
    fn may_call(&self) -> bool;

    /// The threads that have something to do: they do not sleep from now on.
    fn calls(&mut self) -> Calls;
}

impl Sleepers {
    /// The worker has found no function.
    pub fn worker_sleeps(&mut self, index: usize) {
        self.workers |= 1 << index;
    }

    /// The completion thread has seen all that there is, but for this.
    pub fn completion_sleeps(&mut self, has_news: bool) {
        (self.has_news, self.is_completion_asleep) = (has_news, true);
    }

    /// Whether a worker sleeps.
    #[inline]
    pub fn has_worker(&self) -> bool {
        self.workers != 0
    }

    /// Whether the completion thread sleeps, and there is something for it.
    #[inline]
    pub fn is_completion_called(&self) -> bool {
        self.has_news && self.is_completion_asleep
    }

    /// The threads that have something to do.
    pub fn calls(&mut self, has_function: bool) -> Calls {
        let mut calls = Calls { worker: None, completion: self.is_completion_called() };
        if self.has_worker() && has_function {
            // One is enough: it rings the next if there is more.
            calls.worker = Some(self.workers.trailing_zeros());
            self.workers &= self.workers - 1;
        }
        if calls.completion {
            self.is_completion_asleep = false;
        }
        calls
    }
}
