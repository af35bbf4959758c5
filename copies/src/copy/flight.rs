//! Copies with a ticket of their own, from the raise to the hand-over to the monitor.
#![allow(unsafe_code)] // copies are unsafe; the caller's promise is passed on

use std::sync::Arc;

use channels::Refusal;
use hal::{Event, Result};

use crate::copy::handle::CopyHandle;
use crate::copy::job::Job;
use crate::copy::plan::{Plan, Reason};
use crate::copy::ride::Passenger;
use crate::copy::ways::Submitted;
use crate::monitor::{Flight, Lift, Ticket};
use crate::shadow;

impl Job<'_> {
    /// Submits by `copy`, watched until it has completed and, if it raises, with the word up from now on.
    ///
    /// The word is raised before the submission, because that is when bulk must begin to hold back. A copy that may
    /// have to wait, or whose stream is not trusted, raises when a marker says that it has become schedulable.
    pub(super) unsafe fn tracked(&self, plan: Plan, copy: impl FnOnce() -> Submitted) -> Result<CopyHandle> {
        let (ring, raises, waits_at) = (&self.inner.shared.ring, self.raises(plan), self.waits_at(plan));
        let doubtful = raises && self.doubtful.unwrap_or_else(|| self.stream.trust.is_careful());
        let passenger = self.passenger();
        if plan == Plan::Urgent
            && self.below.is_empty()
            && !self.is_blocking()
            && let Some(ride) = passenger.enter(doubtful)
        {
            return match passenger.ride(&ride, copy) {
                Ok(()) => Ok(self.handle(plan, None)),
                // SAFETY: passed on to the caller.
                submitted => unsafe { self.after_failure(plan, submitted) },
            };
        }
        let Some(ticket) = ring.take() else {
            // SAFETY: passed on to the caller.
            unsafe { self.native()? };
            return Ok(self.handle(Plan::Native(Reason::RingFull), None));
        };
        let careful = raises && (waits_at.is_some() || !self.below.is_empty() || doubtful);
        // Without a marker it goes without raising.
        let before = careful.then(|| self.mark().inspect_err(|_| self.inner.shared.counters.failed()).ok()).flatten();
        let flight = Flight { waits_at, ..self.flight(ticket, raises, raises && !careful) };
        // SAFETY: passed on to the caller.
        unsafe { self.fly(plan, flight, before, copy) }
    }

    fn passenger(&self) -> Passenger<'_> {
        let (direction, bytes) = (self.direction(), self.shape.bytes());
        Passenger { stream: self.stream, direction, priority: self.priority, bytes }
    }

    fn flight(&self, landing: Ticket, raises: bool, raise_now: bool) -> Flight {
        let (shared, engine) = (&self.inner.shared, self.engine());
        let mut pending = raise_now.then(|| engine.bank.raise(self.priority));
        // Asked after the raise: whoever stands down opens the words after he has said so.
        if shared.is_passive() {
            pending.take().into_iter().for_each(|pending| engine.bank.lower(pending));
        }
        Flight {
            landing,
            ready: None,
            trusted: pending.is_some(),
            pending,
            bank: Arc::clone(&engine.bank),
            raises,
            waits_at: None,
            lifts: Vec::new(),
            priority: self.priority,
            began: self.inner.driver.host().now(),
            expected: engine.expected(self.shape.bytes()),
            trust: Arc::clone(&self.stream.trust),
            landed: false,
        }
    }

    /// Submits a copy with a ticket of its own, and hands it to the monitor.
    unsafe fn fly(
        &self,
        plan: Plan,
        mut flight: Flight,
        before: Option<Event>,
        copy: impl FnOnce() -> Submitted,
    ) -> Result<CopyHandle> {
        let (inner, ticket) = (self.inner, flight.landing);
        // Whoever waits in the driver for others must not be waited for.
        let _first = (plan != Plan::Engine { raises: false } && flight.waits_at.is_none()).then(|| inner.pace.urgent());
        let submitted = copy();
        let tracked = match (&submitted, flight.raises) {
            (Err(_), _) => false,
            // It has completed: there is nothing to wait for in any stream.
            (Ok(()), _) if self.is_blocking() && matches!(plan, Plan::Native(_) | Plan::Urgent) => {
                inner.shared.ring.complete(ticket);
                true
            }
            (Ok(()), true) => self.complete_by_shadow(before, &mut flight).is_ok(),
            (Ok(()), false) => inner.driver.mem_op(self.stream.stream, inner.shared.ring.write(ticket)).is_ok(),
        };
        before.into_iter().for_each(|event| inner.events.give(event));
        if !tracked {
            flight.withdraw(&inner.shared);
            // SAFETY: passed on to the caller.
            return unsafe { self.after_failure(plan, submitted) };
        }
        if flight.raises && !self.is_blocking() {
            flight.expected += self.stream.run.begin(ticket, flight.pending.is_some());
        }
        self.boost_dependencies(&mut flight);
        self.stream.ahead.remember(ticket, self.priority, self.direction(), &inner.shared.ring);
        inner.shared.watch(flight);
        Ok(self.handle(plan, Some(ticket)))
    }

    /// What is left to do when a copy is not tracked: nothing where it is on its way, else another way.
    pub(super) unsafe fn after_failure(&self, plan: Plan, submitted: Submitted) -> Result<CopyHandle> {
        let reason = match (plan, submitted) {
            (_, Ok(())) => {
                self.inner.shared.counters.failed();
                return Ok(self.handle(plan, None));
            }
            (Plan::Native(_) | Plan::Urgent, Err(Refusal::Failed(error))) => return Err(error),
            (_, Err(Refusal::Failed(_))) => {
                self.inner.shared.counters.failed();
                Reason::Failed
            }
            (Plan::Engine { raises }, Err(Refusal::Unready)) if self.fits_kernel => {
                // SAFETY: passed on to the caller.
                return unsafe { self.carry_out(Plan::Kernel { raises }) };
            }
            (Plan::Kernel { .. }, Err(Refusal::Unready)) => Reason::Unguarded,
            (_, Err(Refusal::Unready)) => Reason::Unready,
        };
        // SAFETY: passed on to the caller.
        unsafe { self.native()? };
        self.space(reason);
        Ok(self.handle(Plan::Native(reason), None))
    }

    /// Has the shadow write that the copy has completed and, where it was submitted with care, that it has become
    /// schedulable.
    fn complete_by_shadow(&self, before: Option<Event>, flight: &mut Flight) -> Result<()> {
        let (driver, ring) = (&*self.inner.driver, &self.inner.shared.ring);
        let Some(shadow) = self.stream.shadow.of(&self.inner.shadows) else {
            return driver.mem_op(self.stream.stream, ring.write(flight.landing));
        };
        if let Some((event, ready)) = before.and_then(|event| Some((event, ring.take()?))) {
            shadow::follow(driver, shadow, event, ring.write(ready)).inspect_err(|_| ring.release(ready))?;
            flight.ready = Some(ready);
        }
        let after = self.mark()?;
        let written = shadow::follow(driver, shadow, after, ring.write(flight.landing));
        self.inner.events.give(after);
        written
    }

    /// An event that says whether everything in the stream so far has completed.
    fn mark(&self) -> Result<Event> {
        let event = self.inner.events.take(&*self.inner.driver)?;
        let recorded = self.inner.driver.event_record(event, self.stream.stream);
        recorded.inspect_err(|_| self.inner.events.give(event))?;
        Ok(event)
    }

    /// Lets the copies that this one depends on pass as if they were as urgent (T1).
    fn boost_dependencies(&self, flight: &mut Flight) {
        for dependency in &self.below {
            let engine = self.inner.engine(dependency.direction);
            // By kernel it waits at its own level, in a channel at that of its group.
            let mut levels = vec![dependency.priority, engine.level(dependency.priority)];
            levels.dedup();
            let boosts = levels.into_iter().map(|level| engine.bank.boost(level, self.priority)).collect();
            flight.lifts.push(Lift { bank: Arc::clone(&engine.bank), boosts, until: dependency.tickets.clone() });
            self.inner.shared.counters.boosted();
        }
    }
}

#[cfg(test)]
mod tests {
    use hal::{HostAllocFlags, Nanos};
    use semaphores::Priority;

    use crate::copy::job::Job;
    use crate::copy::request::{Request, place};
    use crate::options::Options;
    use crate::overtake::Overtake;

    const BYTES: u64 = 64 << 10;

    /// Whoever stands down opens the words after he has said so; whoever raises looks after he has raised.
    #[test]
    fn nothing_is_raised_any_more_after_standing_down() {
        let driver = crate::soft::driver();
        let overtake = Overtake::attach(&driver, Options::default()).unwrap();
        let _low = overtake.stream(Priority::LOWEST).unwrap();
        let high = overtake.stream(overtake.priorities().highest()).unwrap();
        let host = driver.host_alloc(BYTES, HostAllocFlags::PORTABLE).unwrap();
        let device = driver.mem_alloc(BYTES).unwrap();
        let request = Request::htod(device, host, BYTES);
        // SAFETY: both sides have BYTES and live until the copy has completed.
        let handle = unsafe { high.memcpy_async(&request) }.unwrap();
        handle.wait().unwrap();
        let stream = &handle.stream;
        let job = Job {
            inner: &stream.inner,
            stream,
            shape: request.shape,
            priority: stream.priority,
            placement: place(&*driver, &request),
            below: Vec::new(),
            fits_kernel: false,
            native: None,
            doubtful: None,
            pieces: Vec::new(),
            requests: std::slice::from_ref(&request),
        };
        let bank = &job.engine().bank;
        driver.host().wait_until(Some(Nanos::from_ms(1_000)), &mut || bank.pending_at(job.priority) == 0);
        for stood_down in [false, true] {
            if stood_down {
                stream.inner.shared.stand_down();
            }
            let flight = job.flight(stream.inner.shared.ring.take().unwrap(), true, true);
            assert_eq!(flight.is_pending(), !stood_down);
            assert_eq!(bank.pending_at(job.priority), u32::from(!stood_down));
            flight.abandon();
            assert_eq!(bank.pending_at(job.priority), 0);
        }
        // SAFETY: nothing copies any more.
        unsafe { driver.host_free(host) }.unwrap();
        driver.mem_free(device).unwrap();
    }
}
