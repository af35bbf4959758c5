//! Carries plans out.
#![allow(unsafe_code)] // copies are unsafe; the caller's promise is passed on

use std::sync::Arc;

use channels::{Direction, Shape, Submission, chunk, copy_shape};
use hal::{Event, Nanos, Result};
use semaphores::{Layout, Priority, emulation};

use crate::copy::handle::CopyHandle;
use crate::copy::plan::{Plan, Reason, Situation, plan};
use crate::copy::request::{Placement, Request, place};
use crate::engine::Engine;
use crate::kernel::{Descriptor, Yield};
use crate::monitor::{Flight, Landing, Ticket};
use crate::overtake::Inner;
use crate::run::Cover;
use crate::stream::StreamState;

/// Blocks of an ungated kernel that carries an urgent copy: more than bulk gets, because it is short.
const URGENT_BLOCKS: u32 = 16;

/// One copy on its way through the layer.
struct Job<'a> {
    inner: &'a Arc<Inner>,
    stream: &'a StreamState,
    shape: Shape,
    priority: Priority,
    placement: Option<Placement>,
}

/// Submits one request.
///
/// # Safety
/// The ranges of the request stay valid until the copy has completed, as the driver's copy of that kind demands.
pub(crate) unsafe fn submit(inner: &Arc<Inner>, stream: &StreamState, request: &Request) -> Result<CopyHandle> {
    let priority = request.priority.unwrap_or(stream.priority);
    let (lowest, highest) = inner.census.bounds_with(priority);
    let alone = lowest == highest || !inner.options.enabled;
    let mut job = Job { inner, stream, shape: request.shape.flattened(), priority, placement: None };
    let mut capturing = false;
    if !alone {
        capturing = inner.is_capturing(stream.stream);
        job.placement = place(&*inner.driver, request);
    }
    let decided = plan(
        &inner.options,
        &Situation {
            shape: &job.shape,
            placement: job.placement,
            priority,
            highest_open: highest,
            lowest_open: lowest,
            capturing,
            stood_down: inner.shared.has_stood_down(),
            kernel_available: inner.kernel.is_some(),
        },
    );
    // SAFETY: passed on to the caller.
    let result = unsafe { job.carry_out(decided) };
    match &result {
        Ok(handle) => inner.shared.counters.copied(handle.plan, job.shape.bytes()),
        Err(_) => inner.shared.counters.failed(),
    }
    result
}

impl Job<'_> {
    unsafe fn carry_out(&self, plan: Plan) -> Result<CopyHandle> {
        // SAFETY: passed on to the caller, in every arm.
        unsafe {
            match plan {
                Plan::Native(_) => {
                    self.native()?;
                    Ok(self.handle(plan, None))
                }
                Plan::Urgent => self.tracked(plan, true, || self.native()),
                Plan::UrgentKernel => self.tracked(plan, false, || self.by_kernel(None, URGENT_BLOCKS)),
                Plan::Kernel { raises } => {
                    let (yields, blocks) = self.bulk_kernel();
                    self.tracked(plan, raises, || self.by_kernel(Some(yields), blocks))
                }
                Plan::Engine { raises } => self.tracked(plan, raises && self.counts_on_cpu(), || self.by_engine()),
            }
        }
    }

    fn handle(&self, plan: Plan, ticket: Option<Ticket>) -> CopyHandle {
        CopyHandle {
            driver: Arc::clone(&self.inner.driver),
            shared: Arc::clone(&self.inner.shared),
            stream: self.stream.stream,
            ticket,
            plan,
        }
    }

    fn counts_on_cpu(&self) -> bool {
        emulation(self.inner.options.emulation).counts_on_cpu()
    }

    fn engine(&self) -> &Arc<Engine> {
        self.inner.engine(self.direction())
    }

    fn direction(&self) -> Direction {
        self.placement.map_or(Direction::Peer, |placement| placement.direction)
    }

    /// The copy as the driver does it.
    unsafe fn native(&self) -> Result<()> {
        let driver = &*self.inner.driver;
        // An address that nobody could place goes through the driver's own inference, as `Peer` does.
        // SAFETY: passed on to the caller.
        unsafe { copy_shape(driver, self.direction(), &self.shape, self.stream.stream) }
    }

    fn bulk_kernel(&self) -> (Yield, u32) {
        let options = &self.inner.options;
        let blocks = match self.direction() {
            Direction::HostToDevice => options.kernel_blocks_h2d,
            _ => options.kernel_blocks_d2h,
        };
        (Yield { word: self.engine().bank.gate_address(self.priority), wait_max: options.kernel_wait_max }, blocks)
    }

    unsafe fn by_kernel(&self, yields: Option<Yield>, blocks: u32) -> Result<()> {
        let kernel = self.inner.kernel.as_ref().expect("planned only where the kernel is there");
        let shape = self.seen_by_device();
        // SAFETY: the plan made sure that the device sees both sides; the caller vouches for their lives.
        unsafe { kernel.launch(&[Descriptor::copy(&shape)], blocks, yields, self.stream.stream) }
    }

    /// The shape with the host side's address as the device sees it.
    fn seen_by_device(&self) -> Shape {
        let mut shape = self.shape;
        let Some(Placement { direction, host_seen_by_device: Some(seen), .. }) = self.placement else { return shape };
        match direction {
            Direction::HostToDevice => shape.source.address = seen.0,
            _ => shape.target.address = seen.0,
        }
        shape
    }

    unsafe fn by_engine(&self) -> Result<()> {
        let (inner, engine) = (self.inner, self.engine());
        let channel = engine.channel(&inner.driver, self.direction(), self.priority)?;
        let size = chunk::chunk_bytes(inner.options.blocking_max, engine.bytes_per_second, engine.gap);
        let chunks = chunk::cut(&self.shape, size);
        inner.shared.counters.chunked(chunks.len());
        let submission = Submission {
            from: self.stream.stream,
            priority: self.priority,
            chunks: &chunks,
            bank: &engine.bank,
            emulation: emulation(inner.options.emulation),
            adder: inner.adder()?,
            pace: &inner.pace,
            in_stream: inner.options.in_stream_brackets,
        };
        // SAFETY: passed on to the caller; chunks are parts of the shape.
        unsafe { channel.submit(&submission) }
    }

    /// Submits by `copy`, watched until it has completed and, if it raises, with the word up from now on.
    ///
    /// The word is raised before the submission, because that is when bulk must begin to hold back. In a stream that is not trusted it is
    /// raised when a marker says that the copy has become schedulable.
    unsafe fn tracked(&self, plan: Plan, raises: bool, copy: impl FnOnce() -> Result<()>) -> Result<CopyHandle> {
        let (ring, expected) = (&self.inner.shared.ring, self.expected(self.engine()));
        if let Some(cover) = raises.then(|| self.stream.run.join(ring, expected)).flatten() {
            return self.covered(plan, expected, cover, copy);
        }
        let Some(ticket) = ring.take() else {
            // SAFETY: passed on to the caller.
            unsafe { self.native()? };
            return Ok(self.handle(Plan::Native(Reason::RingFull), None));
        };
        let careful = raises && self.stream.trust.is_careful();
        let before = if careful { Some(self.mark().inspect_err(|_| ring.release(ticket))?) } else { None };
        let flight = self.flight(Landing::OnTicket(ticket), raises, raises && !careful, expected);
        self.fly(plan, flight, before, copy)
    }

    /// A copy that follows another of its stream so closely that the other's ticket, and the time that copies take, tell enough about it:
    /// a ticket per copy would cost a burst a third of its speed.
    fn covered(
        &self,
        plan: Plan,
        expected: Nanos,
        cover: Cover,
        copy: impl FnOnce() -> Result<()>,
    ) -> Result<CopyHandle> {
        let landing = Landing::After(cover.ticket, cover.tail);
        let flight = self.flight(landing, true, cover.ready, expected);
        let _first = self.inner.pace.urgent();
        match copy() {
            Ok(()) => {
                self.inner.shared.watch(flight);
                Ok(self.handle(plan, None))
            }
            Err(error) => {
                flight.abandon(&self.inner.shared.ring);
                Err(error)
            }
        }
    }

    fn flight(&self, landing: Landing, raises: bool, raise_now: bool, expected: Nanos) -> Flight {
        let bank = Arc::clone(&self.engine().bank);
        Flight {
            landing,
            ready: None,
            pending: raise_now.then(|| bank.raise(self.priority)),
            bank,
            raises,
            boosts: Vec::new(),
            priority: self.priority,
            began: self.inner.driver.host().now(),
            expected,
            trust: Arc::clone(&self.stream.trust),
            landed: false,
        }
    }

    /// Submits a copy with a ticket of its own, and hands it to the monitor.
    fn fly(
        &self,
        plan: Plan,
        mut flight: Flight,
        before: Option<Event>,
        copy: impl FnOnce() -> Result<()>,
    ) -> Result<CopyHandle> {
        let (inner, ticket) = (self.inner, flight.landing.ticket());
        let _first = flight.raises.then(|| inner.pace.urgent());
        let submitted = copy();
        let completion = match (&submitted, flight.raises) {
            (Err(error), _) => Err(error.clone()),
            (Ok(()), true) => self.complete_by_shadow(before, &mut flight),
            (Ok(()), false) => inner.driver.mem_op(self.stream.stream, inner.shared.ring.write(ticket)),
        };
        before.into_iter().for_each(|event| inner.events.give(event));
        if completion.is_err() {
            // Nothing will ever say that it completed, so it must hold nobody back.
            flight.abandon(&inner.shared.ring);
            submitted?;
            inner.shared.counters.failed();
            return Ok(self.handle(plan, None));
        }
        if flight.raises {
            self.stream.run.begin(ticket, flight.pending.is_some());
        }
        self.boost_dependencies(&mut flight);
        self.stream.remember(ticket, self.priority, self.direction());
        inner.shared.watch(flight);
        Ok(self.handle(plan, Some(ticket)))
    }

    /// Has the shadow write that the copy has completed and, where it was submitted with care, that it has become schedulable.
    fn complete_by_shadow(&self, before: Option<Event>, flight: &mut Flight) -> Result<()> {
        let (driver, ring, shadow) = (&*self.inner.driver, &self.inner.shared.ring, &self.stream.shadow);
        if let Some((event, ready)) = before.and_then(|event| Some((event, ring.take()?))) {
            shadow.follow(driver, event, ring.write(ready)).inspect_err(|_| ring.forget(ready))?;
            flight.ready = Some(ready);
        }
        let after = self.mark()?;
        let written = shadow.follow(driver, after, ring.write(flight.landing.ticket()));
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
        for (dependency, direction) in self.stream.dependencies_below(self.priority, &self.inner.shared.ring) {
            let bank = Arc::clone(&self.inner.engine(direction).bank);
            let boost = bank.boost(dependency, self.priority);
            flight.boosts.push((bank, boost));
            self.inner.shared.counters.boosted();
        }
    }

    fn expected(&self, engine: &Engine) -> Nanos {
        let moving = u128::from(self.shape.bytes()) * 1_000_000_000 / u128::from(engine.bytes_per_second.max(1));
        Nanos(u64::try_from(moving).unwrap_or(u64::MAX / 4)) + engine.gap
    }
}
