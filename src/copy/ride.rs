//! Copies without a ticket of their own: the last ticket of their stream, and the time that copies take, tell enough
//! about them. A ticket per copy would cost a burst a third of its speed.
#![allow(unsafe_code)] // copies are unsafe; the caller's promise is passed on

use std::sync::Arc;

use channels::Direction;
use hal::{Nanos, Result};
use semaphores::Priority;

use crate::copy::door::Door;
use crate::copy::handle::CopyHandle;
use crate::copy::plan::Plan;
use crate::copy::request::{Placement, Request};
use crate::run::{Ask, Ride};
use crate::stream::StreamState;

/// An urgent copy that may ride.
#[derive(Clone, Copy)]
pub(super) struct Passenger<'a> {
    pub(super) stream: &'a Arc<StreamState>,
    pub(super) direction: Direction,
    pub(super) priority: Priority,
    pub(super) bytes: u64,
}

impl Passenger<'_> {
    /// A place behind the last ticket of its stream, if there is one.
    pub(super) fn enter(&self, doubtful: bool) -> Option<Ride> {
        let inner = &self.stream.inner;
        let engine = inner.engine(self.direction);
        self.stream.run.enter(&Ask {
            shared: &inner.shared,
            direction: self.direction,
            priority: self.priority,
            expected: engine.expected(self.bytes),
            ticket_every: inner.options.ticket_every,
            timely: !doubtful && !engine.uses_channels(),
        })
    }

    /// Submits by `copy`.
    pub(super) fn ride<E>(
        &self,
        ride: &Ride,
        copy: impl FnOnce() -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let inner = &self.stream.inner;
        let submitted = {
            let _first = inner.pace.urgent();
            copy()
        };
        let now = if ride.is_timed() { inner.driver.host().now() } else { Nanos::ZERO };
        inner.shared.leave(&self.stream.run, ride, submitted.is_err(), now);
        submitted
    }
}

/// An urgent copy that needs no ticket of its own goes before anything is asked about it: every question to the driver
/// costs a caller who has slept for a while a quarter of what the copy costs. If its bytes turn out to lie where no
/// engine is needed, or its stream captures, it has held others off for a few microseconds in vain.
///
/// Such a caller finds little of this in his caches either: that is why it stands by itself, before all that other
/// copies need.
///
/// # Safety
/// As for [`super::submit::submit`].
pub(super) unsafe fn at_once(
    stream: &Arc<StreamState>,
    request: &Request,
    door: &Door<'_>,
) -> Option<Result<CopyHandle>> {
    let (inner, direction, priority) =
        (&*stream.inner, request.direction?, request.priority.unwrap_or(stream.priority));
    let (lowest, highest) = inner.engine(direction).census.bounds_with(priority);
    let urgent = lowest < priority && priority == highest && inner.options.priorities.contains(priority);
    let may_ride = urgent
        && !door.blocking
        && inner.lets_ride
        && stream.is_announced(direction, priority)
        && !inner.shared.has_stood_down()
        && stream.trust.is_whole()
        && !stream.ahead.may_be_below(priority);
    if !may_ride {
        return None;
    }
    let shape = request.shape.flattened();
    let bytes = shape.bytes();
    let supposed = Placement { direction, pinned: true, managed: false, host_seen_by_device: None };
    if !supposed.meets_engine(&shape) {
        return None;
    }
    let passenger = Passenger { stream, direction, priority, bytes };
    let ride = passenger.enter(false)?;
    let began = inner.shared.trace.is_on().then(|| inner.driver.host().now());
    // SAFETY: passed on to the caller.
    let submitted = passenger.ride(&ride, || unsafe { stream.copy_natively(direction, &shape, door) });
    let result = submitted.map(|()| CopyHandle { stream: Arc::clone(stream), ticket: None, plan: Plan::Urgent });
    stream.account(&result, priority, Some(direction), bytes, began);
    Some(result)
}
