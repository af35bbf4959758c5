//! Copies that need nothing asked: those that are alone, and those without a ticket of their own, where the last ticket
//! of their stream, and the time that copies take, tell enough. A ticket per copy would cost a burst a third of its
//! speed. They go the way that [`crate::copy::plan`] has for them; the checks `rides` and `passing` hold both together.
#![allow(unsafe_code)] // copies are unsafe; the caller's promise is passed on

use std::sync::Arc;

use channels::{Direction, Shape};
use hal::{Nanos, Result};
use semaphores::Priority;

use crate::copy::handle::CopyHandle;
use crate::copy::native::Native;
use crate::copy::plan::{Plan, Reason};
use crate::copy::request::{Placement, Request};
use crate::records::Pass;
use crate::stream::StreamState;
use hal::locks::lock;

/// A copy that may go without a ticket of its own.
#[derive(Clone, Copy)]
pub(super) struct Passenger<'a> {
    pub(super) stream: &'a Arc<StreamState>,
    pub(super) direction: Direction,
    pub(super) priority: Priority,
    pub(super) bytes: u64,
}

impl Passenger<'_> {
    /// A place behind the last ticket of its stream, if there is one.
    pub(super) fn enter(&self) -> Option<Pass> {
        let inner = &self.stream.inner;
        let (records, engine) = (&*inner.records, inner.engine(self.direction));
        let (expected, timely) = (engine.expected(self.bytes), !engine.uses_channels());
        let mut burst = lock(&self.stream.burst);
        burst.enter(&records.standing, &records.tickets, self.direction, self.priority, expected, timely)
    }

    /// Submits by `copy`.
    pub(super) fn ride<E>(
        &self,
        pass: &Pass,
        copy: impl FnOnce() -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let inner = &self.stream.inner;
        let submitted = {
            let _first = inner.pace.urgent();
            copy()
        };
        let now = if pass.is_timed() { inner.driver.host().now() } else { Nanos::ZERO };
        inner.records.leave(&self.stream.burst, pass, submitted.is_err(), now);
        submitted
    }

    unsafe fn alone(&self, shape: &Shape, native: Option<&Native<'_>>) -> Result<CopyHandle> {
        let began = self.stream.began();
        // SAFETY: passed on to the caller.
        let submitted = unsafe { self.stream.copy_natively(self.direction, shape, native) };
        self.told(submitted, Plan::Native(Reason::Alone), began)
    }

    unsafe fn urgently(&self, shape: &Shape, native: Option<&Native<'_>>) -> AtOnce {
        let Passenger { stream, direction, priority, .. } = *self;
        let supposed = Placement { direction, pinned: true, managed: false, host_seen_by_device: None };
        if stream.ahead.may_be_below(priority) || !supposed.meets_engine(&shape.flattened()) {
            return AtOnce::Not;
        }
        let Some(pass) = self.enter() else { return AtOnce::Not };
        let began = stream.began();
        // SAFETY: passed on to the caller.
        let submitted = self.ride(&pass, || unsafe { stream.copy_natively(direction, shape, native) });
        AtOnce::Went(self.told(submitted, Plan::Urgent, began))
    }

    fn told(&self, submitted: Result<()>, plan: Plan, began: Option<Nanos>) -> Result<CopyHandle> {
        let result = submitted.map(|()| CopyHandle { stream: Arc::clone(self.stream), ticket: None, plan });
        self.stream.account(&result, self.priority, Some(self.direction), self.bytes, began);
        result
    }
}

/// What became of a copy that might go at once.
pub(super) enum AtOnce {
    /// It went, or the driver refused it.
    Went(Result<CopyHandle>),
    /// There is more to ask first.
    Not,
}

/// A copy that is alone, or urgent and needs no ticket of its own, goes before anything is asked about it: every
/// question to the driver costs a caller who has slept for a while a quarter of what the copy costs. If an urgent
/// copy's bytes turn out to lie where no engine is needed, or its stream captures, it has held others off for a few
/// microseconds in vain.
///
/// Such a caller finds little of this in his caches either: that is why it stands by itself, before all that other
/// copies need.
///
/// # Safety
/// As for [`super::submit::submit`].
pub(super) unsafe fn at_once(stream: &Arc<StreamState>, request: &Request, native: Option<&Native<'_>>) -> AtOnce {
    let (inner, priority) = (&*stream.inner, request.priority.unwrap_or(stream.priority));
    let valid = request.priority.is_none_or(|priority| inner.options.priorities.contains(priority));
    let Some(direction) = request.direction.filter(|_| valid && inner.is_enabled) else {
        return AtOnce::Not;
    };
    if !stream.is_announced(direction, priority) || inner.records.standing.is_passive() {
        return AtOnce::Not;
    }
    let (lowest, highest) = stream.bounds_with(direction, priority);
    let passenger = Passenger { stream, direction, priority, bytes: request.bytes() };
    if lowest == highest {
        // SAFETY: passed on to the caller.
        return AtOnce::Went(unsafe { passenger.alone(&request.shape, native) });
    }
    if priority != highest || native.is_some_and(Native::is_blocking) || !inner.lets_ride {
        return AtOnce::Not;
    }
    // SAFETY: passed on to the caller.
    unsafe { passenger.urgently(&request.shape, native) }
}

#[cfg(test)]
mod tests {
    use hal::HostAllocFlags;

    use super::*;
    use crate::options::Options;
    use crate::overtake::Overtake;
    use crate::records::CAREFUL_COPIES;

    const BYTES: u64 = 64 << 10;

    #[test]
    fn a_copy_of_a_doubted_stream_counts_once() {
        let driver = crate::soft::driver();
        let overtake = Overtake::attach(&driver, Options::default()).unwrap();
        let _low = overtake.stream(Priority::LOWEST).unwrap();
        let high = overtake.stream(overtake.priorities().highest()).unwrap();
        let host = driver.host_alloc(BYTES, HostAllocFlags::PORTABLE).unwrap();
        let device = driver.mem_alloc(BYTES).unwrap();
        // SAFETY: both sides have BYTES and live until the copy has completed.
        let copy = || unsafe { high.memcpy_htod_async(device, host, BYTES) }.unwrap();
        let first = copy();
        first.wait().unwrap();
        let burst = &first.stream.burst;
        // The ticket of the first copy no longer tells about the next one, which has to ask therefore.
        let landing = first.ticket.unwrap();
        lock(burst).doubt(&first.stream.inner.records.standing, landing);
        let second = copy();
        second.wait().unwrap();
        assert!(second.ticket.is_some());
        let left = std::iter::from_fn(|| lock(burst).take_care().then_some(())).count();
        assert_eq!(left, CAREFUL_COPIES as usize - 1);
        // SAFETY: nothing copies any more.
        unsafe { driver.host_free(host) }.unwrap();
        driver.mem_free(device).unwrap();
    }
}
