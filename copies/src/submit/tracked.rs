//! Copies with a fence of their own, from the raise until the watcher takes over.
#![allow(unsafe_code)] // copies are unsafe; the tests make some

use std::sync::Arc;

use hal::{DevicePtr, Event, Nanos, Result};
use priority::Priority;
use semaphores::Pending;
use threads::stream_lock::Exclusive;

use crate::decide::{Plan, Readiness, Setback, Spent, readiness};
use crate::pool::follow;
use crate::records::{Dependency, Fence, InFlight, Raise, Room, Stay};
use crate::submit::asked::{Planned, Went};
use hal::locks::lock;

/// A copy that has a fence of its own, as its way has to know it.
#[derive(Clone, Copy)]
pub(super) struct Tracked {
    pub(super) fence: Fence,
    /// Its own word, if its kernel yields and may be lifted.
    pub(super) lift: Option<DevicePtr>,
    /// The room that it finds, if it is counted as bulk.
    pub(super) room: Option<Room>,
}

/// The hold of the stream for a copy of several calls.
pub(super) type StreamHold<'s> = Option<Exclusive<'s>>;

impl Planned<'_> {
    /// Submits by `copy`, and has the watcher see the copy complete. If it raises, its word is up from now on.
    ///
    /// The word is raised before the submission, because then bulk must begin to hold back. A copy that may have to
    /// wait, or whose stream is not trusted, raises when a marker tells that it has become schedulable; see
    /// [`readiness`]. `copy` gets the word by which a kernel is lifted.
    ///
    /// A way of several calls puts its hold of the stream into the place that it is given. The hold lasts until the
    /// fence is written behind the copy.
    pub(super) fn go_tracked<'s>(&'s self, copy: impl FnOnce(Tracked, &mut StreamHold<'s>) -> Went<()>) -> Went {
        let inner = self.inner();
        let (raises, waits_at) = (self.raises(), self.waits_at());
        let is_doubted = || lock(&self.asked.stream.burst).take_care();
        let readiness = raises.then(|| readiness(&self.placed.known, waits_at.is_some(), is_doubted));
        let fence = inner.records.fences.take().ok_or(Setback::RingFull)?;
        let is_marked = readiness == Some(Readiness::Marked);
        // If there is no marker, the copy goes without raising.
        let before = is_marked.then(|| self.mark().inspect_err(|_| inner.records.counters.failed()).ok()).flatten();
        let flight = InFlight { waits_at, is_bulk: self.is_bulk(), ..self.flight(fence, readiness) };
        self.fly(flight, before, copy)
    }

    /// The copy with that fence. It raises, if it does, by its readiness; a marked one is down still.
    fn flight(&self, landing: Fence, readiness: Option<Readiness>) -> InFlight {
        let (inner, asked, direction) = (self.inner(), self.asked, self.direction());
        let raise = |raised: fn(Pending) -> Raise| {
            inner.records.standing.raise(direction, asked.priority).map_or(Raise::Over, raised)
        };
        let raise = match readiness {
            None => Raise::Never,
            Some(Readiness::Stated) => raise(Raise::Proven),
            Some(Readiness::Trusted) => raise(Raise::OnTrust),
            Some(Readiness::Marked) => Raise::Over,
        };
        InFlight {
            landing,
            direction,
            priority: asked.priority,
            raise,
            waits_at: None,
            is_bulk: false,
            under_way: None,
            depends_on: Vec::new(),
            began: inner.driver.host().now(),
            expected: self.engine().expected(asked.cargo.bytes()),
            burst: Arc::clone(&asked.stream.burst),
            landed: false,
        }
    }

    /// Submits the copy, and hands it to the watcher.
    fn fly<'s>(
        &'s self,
        mut flight: InFlight,
        before: Option<Event>,
        copy: impl FnOnce(Tracked, &mut StreamHold<'s>) -> Went<()>,
    ) -> Went {
        let (inner, stream, fence) = (self.inner(), self.asked.stream, flight.landing);
        // A call that may wait in the driver for other copies must not make other threads wait for it.
        let stay = self.stay(flight.waits_at);
        let goes_first = self.plan != Plan::Engine { raises: false } && stay.is_none() && !flight.is_bulk;
        let _first = goes_first.then(|| inner.pace.urgent());
        let by_kernel = matches!(self.plan, Plan::Kernel { .. });
        let begins = |level| inner.records.standing.lifts.begin(fence, flight.direction, level, by_kernel);
        let lift = flight.waits_at.and_then(begins);
        let traffic = || inner.records.traffic(self.direction());
        let counted = stay.map(|stay| traffic().begin(flight.priority, stream.stream, stay));
        flight.under_way = counted.map(|(copy, _)| copy);
        let room = counted.map(|(_, room)| room);
        let mut whole = None;
        let submitted = copy(Tracked { fence, lift, room }, &mut whole);
        let is_tracked = submitted.is_ok() && self.complete(before, &mut flight).is_ok();
        drop(whole);
        before.into_iter().for_each(|event| inner.events.give(event));
        if !is_tracked {
            inner.records.withdraw(flight);
            // The copy is on its way, but its completion will not be written.
            return submitted.map(|()| {
                inner.records.counters.failed();
                None
            });
        }
        if flight.raise.is_urgent() && !self.asked.is_blocking() {
            flight.expected += lock(&stream.burst).begin(flight.direction, fence, flight.is_pending());
        }
        if flight.is_bulk {
            traffic().outlast_lull();
        }
        self.lift_dependencies(&mut flight);
        stream.ahead.remember(fence, self.asked.priority, self.direction(), &inner.records.fences);
        inner.records.watch(flight);
        Ok(Some(fence))
    }

    /// The time for which it keeps its engine in one turn, if it is bulk.
    fn stay(&self, waits_at: Option<Priority>) -> Option<Stay> {
        let budget = self.placed.known.budget.unwrap_or_default();
        match self.plan {
            _ if self.spent == Some(Spent::Stated) => Some(Stay::Whole(budget.cost)),
            _ if waits_at.is_none() => None,
            Plan::Engine { .. } => Some(Stay::Part(budget.chunk(self.inner().options.profile.chunk_max))),
            _ => Some(Stay::Part(Nanos::ZERO)),
        }
    }

    /// Has the fence written after the copy.
    fn complete(&self, before: Option<Event>, flight: &mut InFlight) -> Result<()> {
        let (inner, fence) = (self.inner(), flight.landing);
        if self.asked.is_blocking() && self.is_left_to_driver() {
            // The copy has completed, so no stream has to write it.
            inner.records.fences.complete(fence);
            return Ok(());
        }
        match flight.raise.is_urgent() {
            true => self.complete_by_shadow(before, flight),
            false => inner.driver.mem_op(self.asked.stream.stream, inner.records.fences.write(fence)),
        }
    }

    /// Has the shadow write the completion of the copy. If it was submitted with care, the shadow also writes that it
    /// has become schedulable.
    fn complete_by_shadow(&self, before: Option<Event>, flight: &mut InFlight) -> Result<()> {
        let (inner, stream) = (self.inner(), self.asked.stream);
        let (driver, fences) = (&*inner.driver, &inner.records.fences);
        let Some(shadow) = inner.shadows.shadow(&stream.shadow) else {
            return driver.mem_op(stream.stream, fences.write(flight.landing));
        };
        if let Some((event, ready)) = before.and_then(|event| Some((event, fences.take()?))) {
            follow(driver, shadow, event, fences.write(ready)).inspect_err(|_| fences.release(ready))?;
            flight.raise = Raise::WhenReady(ready);
        }
        let after = self.mark()?;
        let written = follow(driver, shadow, after, fences.write(flight.landing));
        inner.events.give(after);
        written
    }

    /// An event that completes with the work that is in the stream now.
    pub(super) fn mark(&self) -> Result<Event> {
        self.inner().events.mark(&*self.inner().driver, self.asked.stream.stream)
    }

    /// Boosts the copies that this one depends on: they pass as if they had its priority (T1).
    fn lift_dependencies(&self, flight: &mut InFlight) {
        for dependency in &self.placed.below {
            let engine = self.inner().engine(dependency.direction);
            // By kernel a copy waits at its own level, and in a channel at that of its group.
            let mut levels = vec![dependency.priority, engine.level(dependency.priority)];
            levels.dedup();
            let boosts = levels.into_iter().map(|level| engine.bank.boost(level, self.asked.priority)).collect();
            flight.depends_on.push(Dependency { boosts, ..dependency.clone() });
            self.inner().records.counters.boosts.add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hal::{Driver, HostAllocFlags};

    use super::*;
    use crate::cargo::Cargo;
    use crate::decide::Question;
    use crate::handle::CopyHandle;
    use crate::overtake::Overtake;
    use crate::request::Request;
    use crate::stream::PriorityStream;
    use crate::submit::asked::{Asked, Placed};
    use options::Options;

    const BYTES: u64 = 64 << 10;

    /// A layer on a software GPU, with a bulk stream, an urgent one, and memory for a copy of the urgent one.
    struct Bed {
        driver: Arc<dyn Driver>,
        _overtake: Overtake,
        _low: PriorityStream,
        high: PriorityStream,
        host: *mut u8,
        device: DevicePtr,
    }

    impl Bed {
        fn new() -> Bed {
            let driver = crate::soft::driver();
            let overtake = Overtake::attach(&driver, Options::default()).unwrap();
            let low = overtake.stream(Priority::LOWEST).unwrap();
            let high = overtake.stream(overtake.priorities().highest()).unwrap();
            let host = driver.host_alloc(BYTES, HostAllocFlags::PORTABLE).unwrap();
            let device = driver.mem_alloc(BYTES).unwrap();
            Bed { driver, _overtake: overtake, _low: low, high, host, device }
        }

        /// An urgent copy that has completed.
        fn copied(&self) -> CopyHandle {
            // SAFETY: both sides have BYTES and live until the copy has completed.
            let handle = unsafe { self.high.memcpy_htod_async(self.device, self.host, BYTES) }.unwrap();
            handle.wait().unwrap();
            handle
        }
    }

    impl Drop for Bed {
        fn drop(&mut self) {
            // SAFETY: no copy is under way any more.
            unsafe { self.driver.host_free(self.host) }.unwrap();
            self.driver.mem_free(self.device).unwrap();
        }
    }

    /// A thread that stands down sets the mark before it opens the words. A thread that raises reads the mark after it
    /// has raised.
    #[test]
    fn nothing_is_raised_any_more_after_standing_down() {
        let bed = Bed::new();
        let request = Request::htod(bed.device, bed.host, BYTES);
        let handle = bed.copied();
        let stream = &handle.stream;
        let mut placed = Placed::new(Asked::new(stream, Cargo::One(&request), None));
        placed.answer(Question::Placement);
        let planned = Planned { placed: &placed, asked: &placed.asked, plan: Plan::Urgent, spent: None };
        let (bank, priority) = (&planned.engine().bank, stream.priority);
        bed.driver.host().wait_until(Some(Nanos::from_ms(1_000)), &mut || bank.pending_at(priority) == 0);
        for stood_down in [false, true] {
            if stood_down {
                stream.inner.records.stand_down();
            }
            let flight = planned.flight(stream.inner.records.fences.take().unwrap(), Some(Readiness::Trusted));
            assert_eq!(flight.is_pending(), !stood_down);
            assert_eq!(bank.pending_at(priority), u32::from(!stood_down));
            stream.inner.records.abandon(flight);
            assert_eq!(bank.pending_at(priority), 0);
        }
    }

    /// The first copy of a stream has a fence. After a doubt that fence does not cover the next one.
    #[test]
    fn a_copy_of_a_doubted_stream_counts_once() {
        let bed = Bed::new();
        let first = bed.copied();
        let burst = &first.stream.burst;
        lock(burst).doubt(&first.stream.inner.records.standing, first.fence.unwrap());
        let second = bed.copied();
        assert!(second.fence.is_some());
        let left = std::iter::from_fn(|| lock(burst).take_care().then_some(())).count();
        assert_eq!(left, crate::records::CAREFUL_COPIES as usize - 1);
    }
}
