//! Carries plans out.
#![allow(unsafe_code)] // copies are unsafe; the caller's promise is passed on

use std::sync::Arc;

use channels::{Direction, Refusal, Shape, Submission, chunk, copy_shape};
use hal::{Event, Nanos, Result, Stream};
use semaphores::{Kind, Layout, Priority, emulation};

use crate::ahead::Dependency;
use crate::copy::batch;
use crate::copy::door::Door;
use crate::copy::handle::CopyHandle;
use crate::copy::plan::{Plan, Reason, Situation, fits_kernel, plan};
use crate::copy::request::{Placement, Request, is_allocated, place};
use crate::engine::Engine;
use crate::guard::Guarded;
use crate::kernel::{Descriptor, GUARDED_DESCRIPTORS, INLINE_DESCRIPTORS, Yield};
use crate::monitor::{Flight, Lift, Ticket};
use crate::options::UrgentTransport;
use crate::overtake::Inner;
use crate::run::{Ask, Ride};
use crate::stream::StreamState;
use crate::trace::TracedCopy;

/// Blocks of an ungated kernel that carries an urgent copy: more than bulk gets, because it is short.
const URGENT_BLOCKS: u32 = 16;

/// How handing a copy to the driver ended.
type Submitted = std::result::Result<(), Refusal>;

/// One copy on its way through the layer.
struct Job<'a> {
    inner: &'a Inner,
    stream: &'a Arc<StreamState>,
    shape: Shape,
    priority: Priority,
    placement: Option<Placement>,
    /// The levels and engines of unfinished copies before it in its stream that are less urgent.
    below: Vec<Dependency>,
    /// Whether it could go by kernel, if the channel does not take it.
    fits_kernel: bool,
    door: &'a Door<'a>,
    /// Whether its stream is to be treated with care, once that has been asked.
    doubtful: Option<bool>,
    /// What the kernel has to do where that is not just the shape.
    pieces: Vec<Descriptor>,
    requests: &'a [Request],
}

/// Submits one request.
///
/// # Safety
/// The ranges of the request stay valid until the copy has completed, as the driver's copy of that kind demands.
pub(crate) unsafe fn submit(stream: &Arc<StreamState>, request: &Request, door: &Door<'_>) -> Result<CopyHandle> {
    // SAFETY: passed on to the caller.
    unsafe { submit_all(stream, std::slice::from_ref(request), door) }
}

/// Submits several requests that have no order among them, as one copy of all their bytes with the first one's
/// priority. Where they do not go one way together, the door takes them.
///
/// # Safety
/// As for [`submit`], for each.
pub(crate) unsafe fn submit_all(
    stream: &Arc<StreamState>,
    requests: &[Request],
    door: &Door<'_>,
) -> Result<CopyHandle> {
    let inner = &*stream.inner;
    let request = &requests[0];
    let priority = request.priority.unwrap_or(stream.priority);
    inner.check(priority, "overtake memcpy_async")?;
    let mut job = Job {
        inner,
        stream,
        shape: request.shape.flattened(),
        priority,
        placement: None,
        below: Vec::new(),
        fits_kernel: false,
        door,
        doubtful: None,
        pieces: Vec::new(),
        requests,
    };
    if requests.len() > 1 {
        job.shape = batch::sum(requests);
    }
    let began = inner.shared.trace.is_on().then(|| inner.driver.host().now());
    let (lowest, highest) = if inner.options.enabled { job.company(request) } else { (priority, priority) };
    let mut capturing = false;
    if lowest != highest {
        job.below = stream.ahead.below(priority, &inner.shared.ring);
        // SAFETY: passed on to the caller.
        if let Some(result) = unsafe { job.at_once(lowest, highest) } {
            job.account(&result, began);
            return result;
        }
        job.find(request);
        capturing = !door.no_captures && inner.is_capturing(stream.stream);
        if requests.len() > 1 {
            let combined = batch::combine(&*inner.driver, requests);
            (job.placement, job.pieces) = combined.map_or((None, Vec::new()), |(place, pieces)| (Some(place), pieces));
        }
    }
    let situation = Situation {
        shape: &job.shape,
        placement: job.placement,
        priority,
        highest_open: highest,
        lowest_open: lowest,
        capturing,
        stood_down: inner.shared.has_stood_down(),
        kernel_available: inner.may_use_kernel(),
    };
    let decided = plan(&inner.options, &situation);
    job.fits_kernel = matches!(decided, Plan::Engine { .. }) && fits_kernel(&inner.options, &situation);
    // SAFETY: passed on to the caller.
    let result = unsafe { job.carry_out(decided) }.and_then(|copied| job.settle(copied));
    job.account(&result, began);
    result
}

impl Job<'_> {
    /// The bounds of all priorities on its engine. Copies of others reckon with its kind from now on.
    fn company(&mut self, request: &Request) -> (Priority, Priority) {
        let (inner, priority) = (self.inner, self.priority);
        let known = |direction| self.stream.is_announced(direction, priority);
        let announced = match request.direction {
            Some(direction) => known(direction),
            None => known(Direction::HostToDevice) || known(Direction::DeviceToHost),
        };
        if !announced {
            self.find(request);
        }
        let engines = inner.engines(request.direction.or(self.placement.map(|placement| placement.direction)));
        let bounds = engines.map(|engine| engine.census.bounds_with(priority));
        bounds.fold((priority, priority), |(low, high), (lowest, highest)| (low.min(lowest), high.max(highest)))
    }

    /// An urgent copy that needs no ticket of its own goes before anything is asked about it: every question to the
    /// driver costs a caller who has slept for a while a quarter of what the copy costs. If its bytes turn out to lie
    /// where no engine is needed, or its stream captures, it has held others off for a few microseconds in vain.
    unsafe fn at_once(&mut self, lowest: Priority, highest: Priority) -> Option<Result<CopyHandle>> {
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
    fn ride(&self, doubtful: bool) -> Option<Ride> {
        self.stream.run.enter(&Ask {
            shared: &self.inner.shared,
            direction: self.direction(),
            priority: self.priority,
            expected: self.engine().expected(self.shape.bytes()),
            ticket_every: self.inner.options.ticket_every,
            timely: !doubtful && !self.engine().uses_channels(),
        })
    }

    /// What became of it, for the books.
    fn account(&self, result: &Result<CopyHandle>, began: Option<Nanos>) {
        match result {
            Ok(handle) => {
                self.inner.shared.counters.copied(handle.plan, self.shape.bytes());
                began.into_iter().for_each(|began| self.trace(began, handle));
            }
            Err(_) => self.inner.shared.counters.failed(),
        }
    }

    /// Asks where its bytes are, and announces it on the engine that it will meet.
    fn find(&mut self, request: &Request) {
        if self.placement.is_some() {
            return;
        }
        self.placement = place(&*self.inner.driver, request);
        if let Some(placement) = self.placement.filter(|placement| placement.meets_engine(&self.shape))
            && !self.stream.is_announced(placement.direction, self.priority)
        {
            self.stream.announce(placement.direction, self.priority);
        }
    }

    unsafe fn carry_out(&self, plan: Plan) -> Result<CopyHandle> {
        // SAFETY: passed on to the caller, in every arm.
        unsafe {
            match plan {
                Plan::Native(reason) if !self.lifts(reason) => {
                    self.native()?;
                    self.space(reason);
                    Ok(self.handle(plan, None))
                }
                Plan::Native(_) | Plan::Urgent => self.tracked(plan, || Ok(self.native()?)),
                Plan::UrgentKernel => self.tracked(plan, || Ok(self.by_kernel(None, URGENT_BLOCKS)?)),
                Plan::Kernel { .. } => {
                    if !self.lies_within() {
                        return self.carry_out(Plan::Native(Reason::Unknown));
                    }
                    self.tracked(plan, || self.by_bulk_kernel())
                }
                Plan::Engine { .. } => self.tracked(plan, || self.by_engine()),
            }
        }
    }

    fn trace(&self, began: Nanos, handle: &CopyHandle) {
        let copy = TracedCopy {
            began,
            returned: self.inner.driver.host().now(),
            landed: None,
            stream: self.stream.stream,
            priority: self.priority,
            direction: self.placement.map(|placement| placement.direction),
            bytes: self.shape.bytes(),
            plan: handle.plan,
        };
        self.inner.shared.trace.submitted(copy, handle.ticket);
    }

    /// Whether a copy that goes natively is tracked nevertheless, because copies that it depends on are to be lifted
    /// for as long as it is pending.
    fn lifts(&self, reason: Reason) -> bool {
        let off = matches!(reason, Reason::Disabled | Reason::StoodDown | Reason::Capturing);
        !off && !self.below.is_empty()
    }

    /// Whether it holds off what is below.
    fn raises(&self, plan: Plan) -> bool {
        match plan {
            Plan::Native(_) | Plan::UrgentKernel => false,
            Plan::Urgent => true,
            Plan::Kernel { raises } => raises,
            Plan::Engine { raises } => raises && self.counts_on_cpu(),
        }
    }

    /// The level whose word it waits for, if it does.
    fn waits_at(&self, plan: Plan) -> Option<Priority> {
        let level = match plan {
            Plan::Kernel { .. } => self.priority,
            Plan::Engine { .. } => self.engine().level(self.priority),
            Plan::Native(_) | Plan::Urgent | Plan::UrgentKernel => return None,
        };
        (level < self.inner.options.priorities.highest()).then_some(level)
    }

    fn handle(&self, plan: Plan, ticket: Option<Ticket>) -> CopyHandle {
        CopyHandle { stream: Arc::clone(self.stream), ticket, plan }
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
        if let Some(native) = self.door.native {
            return native();
        }
        let driver = &*self.inner.driver;
        // An address that nobody could place goes through the driver's own inference, as `Peer` does.
        // SAFETY: passed on to the caller.
        unsafe { copy_shape(driver, self.direction(), &self.shape, self.stream.stream) }
    }

    /// Lets other streams have their turn behind a bulk copy that went natively: the engine would otherwise go on with
    /// the same stream as long as that has copies and nothing else (facts, section 2).
    fn space(&self, reason: Reason) {
        if matches!(reason, Reason::Unchannelled | Reason::Unguarded) && self.stream.stream != Stream::LEGACY {
            // Not written: others wait longer. Nothing depends on it.
            let _ = self.inner.driver.mem_op(self.stream.stream, self.inner.shared.ring.write_nothing());
        }
    }

    /// Whether both sides lie within their allocations: past them a kernel would take the context down, where the
    /// driver only refuses.
    fn lies_within(&self) -> bool {
        if !self.pieces.is_empty() {
            return true;
        }
        [&self.shape.target, &self.shape.source].into_iter().all(|side| {
            let last_row = (self.shape.rows - 1) * side.row_pitch_bytes;
            is_allocated(&*self.inner.driver, side.address, last_row + self.shape.width_bytes)
        })
    }

    /// Waits for a copy that has to have completed when its call returns.
    fn settle(&self, copied: CopyHandle) -> Result<CopyHandle> {
        if self.door.blocking && !matches!(copied.plan, Plan::Native(_) | Plan::Urgent) {
            self.inner.driver.stream_synchronize(self.stream.stream)?;
        }
        Ok(copied)
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
        let whole = [Descriptor::copy(&self.seen_by_device())];
        let pieces = if self.pieces.is_empty() { &whole[..] } else { &self.pieces[..] };
        // SAFETY: the plan made sure that the device sees both sides; the caller vouches for their lives.
        pieces
            .chunks(INLINE_DESCRIPTORS)
            .try_for_each(|some| unsafe { kernel.launch(some, blocks, yields, self.stream.stream) })
    }

    unsafe fn by_bulk_kernel(&self) -> Submitted {
        let ((yields, blocks), direction) = (self.bulk_kernel(), self.direction());
        let (Some(guard), Some(kernel)) = (&self.inner.guard, &self.inner.kernel) else {
            // SAFETY: passed on to the caller.
            unsafe { self.by_kernel(Some(yields), blocks)? };
            return Ok(());
        };
        let (shapes, descriptors) = match self.pieces.is_empty() {
            true => (vec![self.shape], vec![Descriptor::copy(&self.seen_by_device())]),
            // As many as there are descriptors, and in the same order: `batch::combine`.
            false => {
                let moving = self.requests.iter().filter(|request| request.bytes() > 0);
                (moving.map(|request| request.shape).collect(), self.pieces.clone())
            }
        };
        let launches = shapes.chunks(GUARDED_DESCRIPTORS).zip(descriptors.chunks(GUARDED_DESCRIPTORS));
        for (shapes, descriptors) in launches {
            let stream = self.stream.stream;
            // SAFETY: the plan made sure that the device sees both sides; the caller vouches for their lives.
            unsafe { guard.submit(kernel, &Guarded { stream, shapes, descriptors, direction, blocks, yields })? };
        }
        self.inner.shared.counters.guarded(self.shape.bytes());
        Ok(())
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

    unsafe fn by_engine(&self) -> Submitted {
        let (inner, engine) = (self.inner, self.engine());
        let channel = engine.channel(&inner.driver, self.direction(), self.priority)?;
        let chunks = chunk::cut(&self.shape, engine.chunk_bytes(inner.options.blocking_max));
        inner.shared.counters.chunked(chunks.len());
        let submission = Submission {
            from: self.stream.stream,
            priority: self.priority,
            chunks: &chunks,
            bank: &engine.bank,
            emulation: emulation(inner.options.emulation),
            adder: inner.adder()?,
            // Nobody lets himself go first.
            pace: self.waits_at(Plan::Engine { raises: false }).map(|_| &inner.pace),
            in_stream: inner.options.in_stream_brackets,
        };
        // SAFETY: passed on to the caller; chunks are parts of the shape.
        unsafe { channel.submit(&submission) }
    }

    /// Submits by `copy`, watched until it has completed and, if it raises, with the word up from now on.
    ///
    /// The word is raised before the submission, because that is when bulk must begin to hold back. A copy that may
    /// have to wait, or whose stream is not trusted, raises when a marker says that it has become schedulable.
    unsafe fn tracked(&self, plan: Plan, copy: impl FnOnce() -> Submitted) -> Result<CopyHandle> {
        let (ring, raises, waits_at) = (&self.inner.shared.ring, self.raises(plan), self.waits_at(plan));
        let doubtful = raises && self.doubtful.unwrap_or_else(|| self.stream.trust.is_careful());
        if plan == Plan::Urgent
            && self.below.is_empty()
            && !self.door.blocking
            && let Some(ride) = self.ride(doubtful)
        {
            // SAFETY: passed on to the caller.
            return unsafe { self.ridden(plan, &ride, copy) };
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

    /// A copy without a ticket of its own: the last ticket of its stream, and the time that copies take, tell enough
    /// about it. A ticket per copy would cost a burst a third of its speed.
    unsafe fn ridden(&self, plan: Plan, ride: &Ride, copy: impl FnOnce() -> Submitted) -> Result<CopyHandle> {
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

    fn flight(&self, landing: Ticket, raises: bool, raise_now: bool) -> Flight {
        let (shared, engine) = (&self.inner.shared, self.engine());
        let mut pending = raise_now.then(|| engine.bank.raise(self.priority));
        // Asked after the raise: whoever stands down opens the words after he has said so.
        if shared.has_stood_down() {
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
            (Ok(()), _) if self.door.blocking && matches!(plan, Plan::Native(_) | Plan::Urgent) => {
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
        if flight.raises && !self.door.blocking {
            flight.expected += self.stream.run.begin(ticket, flight.pending.is_some());
        }
        self.boost_dependencies(&mut flight);
        self.stream.ahead.remember(ticket, self.priority, self.direction(), &inner.shared.ring);
        inner.shared.watch(flight);
        Ok(self.handle(plan, Some(ticket)))
    }

    /// What is left to do when a copy is not tracked: nothing where it is on its way, else another way.
    unsafe fn after_failure(&self, plan: Plan, submitted: Submitted) -> Result<CopyHandle> {
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
        let (driver, ring, shadow) = (&*self.inner.driver, &self.inner.shared.ring, &self.stream.shadow);
        if let Some((event, ready)) = before.and_then(|event| Some((event, ring.take()?))) {
            shadow.follow(driver, event, ring.write(ready)).inspect_err(|_| ring.release(ready))?;
            flight.ready = Some(ready);
        }
        let after = self.mark()?;
        let written = shadow.follow(driver, after, ring.write(flight.landing));
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
