//! What the caller of a copy gets back.

use std::sync::Arc;

use hal::{Driver, Nanos, Result, Stream, Wait};

use crate::copy::Plan;
use crate::monitor::{Shared, Ticket};

/// How far a copy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Submitted, not completed.
    Pending,
    /// Completed.
    Done,
}

/// A submitted copy. Dropping it changes nothing about the copy.
#[derive(Clone)]
pub struct CopyHandle {
    pub(crate) driver: Arc<dyn Driver>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) stream: Stream,
    pub(crate) ticket: Option<Ticket>,
    pub(crate) plan: Plan,
}

/// How often a waiter asks the driver whether something went wrong meanwhile.
const ASK_EVERY: Nanos = Nanos::from_ms(10);

impl CopyHandle {
    /// Which way the copy went.
    #[must_use]
    pub fn plan(&self) -> Plan {
        self.plan
    }

    /// How far it is. A copy without a completion ticket of its own (see [`CopyHandle::plan`]) is done when its stream is.
    pub fn status(&self) -> Result<Status> {
        let done = match self.ticket {
            Some(ticket) => self.shared.ring.is_done(ticket) || self.driver.stream_query(self.stream)?,
            None => self.driver.stream_query(self.stream)?,
        };
        Ok(if done { Status::Done } else { Status::Pending })
    }

    /// Waits until it has completed; an error of the device comes back as that error.
    pub fn wait(&self) -> Result<()> {
        let Some(ticket) = self.ticket else { return self.driver.stream_synchronize(self.stream) };
        let host = self.driver.host();
        loop {
            let deadline = host.now() + ASK_EVERY;
            match host.wait_until(Some(deadline), &mut || self.shared.ring.is_done(ticket)) {
                Wait::Met => return Ok(()),
                Wait::Deadline | Wait::Stuck if self.driver.stream_query(self.stream)? => return Ok(()),
                Wait::Deadline => {}
                // A proven deadlock: let the driver say so in its own words.
                Wait::Stuck => return self.driver.stream_synchronize(self.stream),
            }
        }
    }
}
