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
use crate::pool::follow;
use crate::records::{Dependency, Flight, Raise, Ticket};
use hal::locks::lock;

impl Job<'_> {
    /// Submits by `copy`, watched until it has completed and, if it raises, with the word up from now on.
    ///
    /// The word is raised before the submission, because that is when bulk must begin to hold back. A copy that may
    /// have to wait, or whose stream is not trusted, raises when a marker says that it has become schedulable.
    pub(super) unsafe fn tracked(&self, plan: Plan, copy: impl FnOnce() -> Submitted) -> Result<CopyHandle> {
        let (raises, waits_at) = (self.raises(plan), self.waits_at(plan));
        let passenger = self.passenger();
        if plan == Plan::Urgent
            && self.below.is_empty()
            && !self.is_blocking()
            && let Some(pass) = passenger.enter()
        {
            return match passenger.ride(&pass, copy) {
                Ok(()) => Ok(self.handle(plan, None)),
                // SAFETY: passed on to the caller.
                submitted => unsafe { self.after_failure(plan, submitted) },
            };
        }
        let doubtful = raises && lock(&self.stream.burst).take_care();
        let Some(ticket) = self.inner.records.tickets.take() else {
            // SAFETY: passed on to the caller.
            unsafe { self.native()? };
            return Ok(self.handle(Plan::Native(Reason::RingFull), None));
        };
        let careful = raises && (waits_at.is_some() || !self.below.is_empty() || doubtful);
        // Without a marker it goes without raising.
        let before = careful.then(|| self.mark().inspect_err(|_| self.inner.records.counters.failed()).ok()).flatten();
        let flight = Flight { waits_at, ..self.flight(ticket, raises, raises && !careful) };
        // SAFETY: passed on to the caller.
        unsafe { self.fly(plan, flight, before, copy) }
    }

    fn passenger(&self) -> Passenger<'_> {
        let (direction, bytes) = (self.direction(), self.shape.bytes());
        Passenger { stream: self.stream, direction, priority: self.priority, bytes }
    }

    fn flight(&self, landing: Ticket, raises: bool, raise_now: bool) -> Flight {
        let raise = || self.inner.records.standing.raise(self.direction(), self.priority);
        let raised = raise_now.then(raise).flatten().map_or(Raise::Over, Raise::OnTrust);
        Flight {
            landing,
            direction: self.direction(),
            priority: self.priority,
            raise: if raises { raised } else { Raise::Never },
            waits_at: None,
            depends_on: Vec::new(),
            began: self.inner.driver.host().now(),
            expected: self.engine().expected(self.shape.bytes()),
            burst: Arc::clone(&self.stream.burst),
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
        let tracked = match (&submitted, flight.raise.is_urgent()) {
            (Err(_), _) => false,
            // It has completed: there is nothing to wait for in any stream.
            (Ok(()), _) if self.is_blocking() && matches!(plan, Plan::Native(_) | Plan::Urgent) => {
                inner.records.tickets.complete(ticket);
                true
            }
            (Ok(()), true) => self.complete_by_shadow(before, &mut flight).is_ok(),
            (Ok(()), false) => inner.driver.mem_op(self.stream.stream, inner.records.tickets.write(ticket)).is_ok(),
        };
        before.into_iter().for_each(|event| inner.events.give(event));
        if !tracked {
            inner.records.withdraw(flight);
            // SAFETY: passed on to the caller.
            return unsafe { self.after_failure(plan, submitted) };
        }
        if flight.raise.is_urgent() && !self.is_blocking() {
            flight.expected += lock(&self.stream.burst).begin(flight.direction, ticket, flight.is_pending());
        }
        self.boost_dependencies(&mut flight);
        self.stream.ahead.remember(ticket, self.priority, self.direction(), &inner.records.tickets);
        inner.records.watch(flight);
        Ok(self.handle(plan, Some(ticket)))
    }

    /// What is left to do when a copy is not tracked: nothing where it is on its way, else another way.
    pub(super) unsafe fn after_failure(&self, plan: Plan, submitted: Submitted) -> Result<CopyHandle> {
        let reason = match (plan, submitted) {
            (_, Ok(())) => {
                self.inner.records.counters.failed();
                return Ok(self.handle(plan, None));
            }
            (Plan::Native(_) | Plan::Urgent, Err(Refusal::Failed(error))) => return Err(error),
            (_, Err(Refusal::Failed(_))) => {
                self.inner.records.counters.failed();
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
        let (driver, tickets) = (&*self.inner.driver, &self.inner.records.tickets);
        let Some(shadow) = self.inner.shadows.shadow(&self.stream.shadow) else {
            return driver.mem_op(self.stream.stream, tickets.write(flight.landing));
        };
        if let Some((event, ready)) = before.and_then(|event| Some((event, tickets.take()?))) {
            follow(driver, shadow, event, tickets.write(ready)).inspect_err(|_| tickets.release(ready))?;
            flight.raise = Raise::WhenReady(ready);
        }
        let after = self.mark()?;
        let written = follow(driver, shadow, after, tickets.write(flight.landing));
        self.inner.events.give(after);
        written
    }

    /// An event that says whether everything in the stream so far has completed.
    fn mark(&self) -> Result<Event> {
        self.inner.events.mark(&*self.inner.driver, self.stream.stream)
    }

    /// Lets the copies that this one depends on pass as if they were as urgent (T1).
    fn boost_dependencies(&self, flight: &mut Flight) {
        for dependency in &self.below {
            let engine = self.inner.engine(dependency.direction);
            // By kernel it waits at its own level, in a channel at that of its group.
            let mut levels = vec![dependency.priority, engine.level(dependency.priority)];
            levels.dedup();
            let boosts: Vec<_> = levels.into_iter().map(|level| engine.bank.boost(level, self.priority)).collect();
            flight.depends_on.push(Dependency { boosts, ..dependency.clone() });
            self.inner.records.counters.boosted();
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
            pieces: Vec::new(),
            requests: std::slice::from_ref(&request),
        };
        let bank = &job.engine().bank;
        driver.host().wait_until(Some(Nanos::from_ms(1_000)), &mut || bank.pending_at(job.priority) == 0);
        for stood_down in [false, true] {
            if stood_down {
                stream.inner.records.stand_down();
            }
            let flight = job.flight(stream.inner.records.tickets.take().unwrap(), true, true);
            assert_eq!(flight.is_pending(), !stood_down);
            assert_eq!(bank.pending_at(job.priority), u32::from(!stood_down));
            flight.abandon(&stream.inner.records.standing);
            assert_eq!(bank.pending_at(job.priority), 0);
        }
        // SAFETY: nothing copies any more.
        unsafe { driver.host_free(host) }.unwrap();
        driver.mem_free(device).unwrap();
    }
}
