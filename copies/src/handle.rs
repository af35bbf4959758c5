//! What the caller of a copy gets back.

use std::sync::Arc;

use hal::{Nanos, Result, Wait};

use crate::decide::Plan;
use crate::records::Ticket;
use crate::state::StreamState;

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
    pub(crate) stream: Arc<StreamState>,
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

    /// How far it is. A copy without a completion ticket of its own (see [`CopyHandle::plan`]) is done when its stream
    /// is.
    pub fn status(&self) -> Result<Status> {
        let done = self.has_landed() || self.stream.inner.driver.stream_query(self.stream.stream)?;
        self.stream.inner.records.standing.check()?;
        Ok(if done { Status::Done } else { Status::Pending })
    }

    fn has_landed(&self) -> bool {
        self.ticket.is_some_and(|ticket| self.stream.inner.records.tickets.is_done(ticket))
    }

    /// Waits until it has completed; an error of the device comes back as that error, and so does a copy of the context
    /// that could not be made (see [`crate::Statistics::lost`]).
    pub fn wait(&self) -> Result<()> {
        self.wait_for_landing().and_then(|()| self.stream.inner.records.standing.check())
    }

    fn wait_for_landing(&self) -> Result<()> {
        let (driver, stream) = (&self.stream.inner.driver, self.stream.stream);
        if self.ticket.is_none() {
            return driver.stream_synchronize(stream);
        }
        let host = driver.host();
        loop {
            let deadline = host.now() + ASK_EVERY;
            match host.wait_until(Some(deadline), &mut || self.has_landed()) {
                Wait::Met => return Ok(()),
                Wait::Deadline | Wait::Stuck if hal::beside_captures(&**driver, || driver.stream_query(stream))? => {
                    return Ok(());
                }
                Wait::Deadline => {}
                // A proven deadlock: let the driver say so in its own words.
                Wait::Stuck => return driver.stream_synchronize(stream),
            }
        }
    }
}
