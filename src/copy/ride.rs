//! Copies without a ticket of their own: the last ticket of their stream, and the time that copies take, tell enough
//! about them.
#![allow(unsafe_code)] // copies are unsafe; the caller's promise is passed on

use hal::{Nanos, Result};
use semaphores::{Kind, Priority};

use crate::copy::handle::CopyHandle;
use crate::copy::job::Job;
use crate::copy::plan::Plan;
use crate::copy::request::{Placement, Request};
use crate::copy::ways::Submitted;
use crate::options::UrgentTransport;
use crate::run::{Ask, Ride};

impl Job<'_> {
    /// An urgent copy that needs no ticket of its own goes before anything is asked about it: every question to the
    /// driver costs a caller who has slept for a while a quarter of what the copy costs. If its bytes turn out to lie
    /// where no engine is needed, or its stream captures, it has held others off for a few microseconds in vain.
    pub(super) unsafe fn at_once(&mut self, lowest: Priority, highest: Priority) -> Option<Result<CopyHandle>> {
        let [Request { direction: Some(direction), .. }] = self.requests else { return None };
        let (options, direction) = (&self.inner.options, *direction);
        let urgent = self.priority > lowest && self.priority == highest && !self.door.blocking;
        let by_engine = options.emulation == Kind::Hold && options.urgent_transport == UrgentTransport::Engine;
        let supposed = Placement { direction, pinned: true, managed: false, host_seen_by_device: None };
        if !urgent || !by_engine || self.inner.shared.has_stood_down() || !supposed.meets_engine(&self.shape) {
            return None;
        }
        let known = self.placement.replace(supposed);
        let doubtful = self.stream.trust.is_careful();
        self.doubtful = Some(doubtful);
        if self.below.is_empty()
            && let Some(ride) = self.ride(doubtful)
        {
            // SAFETY: passed on to the caller.
            return Some(unsafe { self.ridden(Plan::Urgent, &ride, || Ok(self.native()?)) });
        }
        self.placement = known;
        None
    }

    /// A place behind the last ticket of its stream, if there is one.
    pub(super) fn ride(&self, doubtful: bool) -> Option<Ride> {
        self.stream.run.enter(&Ask {
            shared: &self.inner.shared,
            direction: self.direction(),
            priority: self.priority,
            expected: self.engine().expected(self.shape.bytes()),
            ticket_every: self.inner.options.ticket_every,
            timely: !doubtful && !self.engine().uses_channels(),
        })
    }

    /// A copy without a ticket of its own: the last ticket of its stream, and the time that copies take, tell enough
    /// about it. A ticket per copy would cost a burst a third of its speed.
    pub(super) unsafe fn ridden(
        &self,
        plan: Plan,
        ride: &Ride,
        copy: impl FnOnce() -> Submitted,
    ) -> Result<CopyHandle> {
        let submitted = {
            let _first = self.inner.pace.urgent();
            copy()
        };
        let now = if ride.is_timed() { self.inner.driver.host().now() } else { Nanos::ZERO };
        self.inner.shared.leave(&self.stream.run, ride, submitted.is_err(), now);
        match submitted {
            Ok(()) => Ok(self.handle(plan, None)),
            // SAFETY: passed on to the caller.
            Err(_) => unsafe { self.after_failure(plan, submitted) },
        }
    }
}
