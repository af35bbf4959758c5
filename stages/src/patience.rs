//! A wait for the end of a round, as a blocking call and as a poll.

use std::task::{Poll, Waker};

use crate::refused::Error;
use crate::side::Side;
use crate::waiting::{Waited, Waiting};
use crate::word::{Look, Parity};

/// The round of a stage that a member waits for.
#[derive(Clone, Copy)]
pub(crate) struct Goal<'r> {
    pub side: &'r Side,
    pub stage: u8,
    pub round: Parity,
}

impl Goal<'_> {
    #[inline]
    pub fn look(self) -> Look {
        self.side.look(self.stage, self.round)
    }

    /// Waits until the round is not open any more. `false` if the deadline passed first.
    pub fn wait(self, waiting: &dyn Waiting, deadline_ns: Option<u64>) -> Result<bool, Error> {
        let mut registered: Option<Waker> = None;
        let mut is_over = |waker: Option<&Waker>| {
            let Some(waker) = waker else { return self.look() != Look::Open };
            if registered.is_none() {
                registered = Some(waker.clone());
            }
            self.side.look_or_register(self.stage, self.round, waker) != Look::Open
        };
        let waited = waiting.until(deadline_ns, &mut is_over);
        if let Some(waker) = registered {
            self.side.forget(self.stage, &waker);
        }
        match waited {
            Waited::Met => Ok(true),
            Waited::Deadline => Ok(self.look() != Look::Open),
            Waited::Stuck => Err(Error::Stuck),
        }
    }

    /// The same for a future.
    pub fn poll(self, waker: &Waker) -> Poll<()> {
        match self.side.look_or_register(self.stage, self.round, waker) {
            Look::Open => Poll::Pending,
            _ => Poll::Ready(()),
        }
    }
}
