//! A stream with a priority that copies heed.
#![allow(unsafe_code)] // copies are unsafe; the caller's promise is passed on

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use channels::Direction;
use hal::{Code, Copy2d, Copy3d, DevicePtr, Driver, Nanos, Result, Stream};
use semaphores::Priority;

use crate::copy::submit::{submit, submit_all};
use crate::copy::{CopyHandle, Native, Plan, Reason, Request};
use crate::overtake::Inner;
use crate::records::{Ahead, Burst, TracedCopy};
use hal::locks::lock;

/// A stream as the copy layer sees it. Handles of its copies keep it, so that they can ask it when its owner has gone.
pub(crate) struct StreamState {
    pub(crate) stream: Stream,
    pub(crate) priority: Priority,
    pub(crate) burst: Arc<Mutex<Burst>>,
    /// Its shadow, if it has needed one and one was there.
    pub(crate) shadow: OnceLock<Stream>,
    pub(crate) ahead: Ahead,
    /// The priorities that it copies with, one bit each: H2D in the lower half, D2H in the upper. A stream with a
    /// priority of its own has it in both, whether it has copied or not; requests bring others.
    announced: AtomicU64,
    owned: bool,
    // Dropped last: the burst tells of words, which go back to the context that this keeps.
    pub(crate) inner: Arc<Inner>,
}

impl StreamState {
    /// Whether copies of others reckon with copies of `priority` in this stream already.
    pub(crate) fn is_announced(&self, direction: Direction, priority: Priority) -> bool {
        self.announced.load(Ordering::Relaxed) & announcement(direction, priority) != 0
    }

    /// The lowest and the highest priority of a copy of `priority` in this stream and of all other streams' copies on
    /// that engine.
    pub(crate) fn bounds_with(&self, direction: Direction, priority: Priority) -> (Priority, Priority) {
        let own = self.announced.load(Ordering::Relaxed) >> half(direction);
        self.inner.engine(direction).census.bounds_with(priority, own as u32)
    }

    /// A request has brought a priority of its own: from now on, and as long as the stream is open, copies of others
    /// on that engine reckon with more of the kind.
    pub(crate) fn announce(&self, direction: Direction, priority: Priority) {
        let bit = announcement(direction, priority);
        self.inner.engine(direction).census.open(priority, &self.announced, bit);
    }

    /// When a copy began, if anybody wants to know.
    pub(crate) fn began(&self) -> Option<Nanos> {
        self.inner.records.trace.is_on().then(|| self.inner.driver.host().now())
    }

    /// What became of a copy, for the books.
    pub(crate) fn account(
        &self,
        result: &Result<CopyHandle>,
        priority: Priority,
        direction: Option<Direction>,
        bytes: u64,
        began: Option<Nanos>,
    ) {
        let records = &self.inner.records;
        let Ok(handle) = result else { return records.counters.failed() };
        records.counters.copied(handle.plan, bytes);
        if let Some(began) = began {
            let (returned, stream, plan) = (self.inner.driver.host().now(), self.stream, handle.plan);
            let copy = TracedCopy { began, returned, landed: None, stream, priority, direction, bytes, plan };
            records.trace.submitted(copy, handle.ticket);
        }
    }

    /// The stream's owner lets go of it.
    fn close(&self) {
        // The handle of the per-thread stream is that of other threads' streams too, and no thread comes back.
        if let Some(guard) = self.inner.guard.as_ref().filter(|_| self.stream != Stream::PER_THREAD) {
            guard.forget(self.stream);
        }
        let announced = self.announced.load(Ordering::SeqCst);
        for direction in directions(None) {
            let census = &self.inner.engine(direction).census;
            let priorities = self.inner.options.priorities.iter();
            priorities
                .filter(|priority| announced & announcement(direction, *priority) != 0)
                .for_each(|priority| census.close(priority));
        }
    }
}

/// The bit that says that copies of `priority` have been seen on an engine.
fn announcement(direction: Direction, priority: Priority) -> u64 {
    1 << (u32::from(priority.get()) - 1 + half(direction))
}

/// The engines that a copy may come to whose direction may be known.
pub(crate) fn directions(known: Option<Direction>) -> impl Iterator<Item = Direction> {
    let both = [Direction::HostToDevice, Direction::DeviceToHost].into_iter();
    both.filter(move |direction| known.is_none_or(|known| known == *direction))
}

/// Where an engine's announcements begin.
fn half(direction: Direction) -> u32 {
    if direction == Direction::DeviceToHost { 32 } else { 0 }
}

impl Drop for StreamState {
    fn drop(&mut self) {
        // What it was asked for still happens.
        self.shadow.take().into_iter().for_each(|shadow| self.inner.shadows.give(shadow));
        if self.owned {
            // The last handle may go on a thread that has nothing to do with the context. Work in the stream still
            // completes; an error means that the context is gone.
            let _ = self.inner.primary.visit(|| self.inner.driver.stream_destroy(self.stream));
        }
    }
}

/// A stream with a priority that copies heed. Made by [`crate::Overtake::stream`] or [`crate::Overtake::adopt`].
pub struct PriorityStream {
    state: Arc<StreamState>,
}

impl PriorityStream {
    pub(crate) fn new(inner: &Arc<Inner>, stream: Stream, priority: Option<Priority>, owned: bool) -> PriorityStream {
        let state = StreamState {
            inner: Arc::clone(inner),
            stream,
            priority: priority.unwrap_or(Priority::LOWEST),
            burst: Arc::new(Mutex::new(Burst::new(inner.options.ticket_every))),
            shadow: OnceLock::new(),
            ahead: Ahead::default(),
            announced: AtomicU64::new(0),
            owned,
        };
        for (direction, priority) in directions(None).zip(priority.into_iter().cycle()) {
            state.announce(direction, priority);
        }
        PriorityStream { state: Arc::new(state) }
    }

    /// The CUDA stream, for kernels and everything else that is not a copy.
    #[must_use]
    pub fn raw(&self) -> Stream {
        self.state.stream
    }

    /// The priority of its copies, unless a request has one of its own.
    #[must_use]
    pub fn priority(&self) -> Priority {
        self.state.priority
    }

    /// Whether a copy of this kind would go to the driver because nobody more or less urgent is about. Costs a few
    /// loads, where asking for the copy costs several hundred instructions; tell [`PriorityStream::passed_on`].
    #[must_use]
    pub fn is_alone(&self, request: &Request, priority: Priority) -> bool {
        let state = &self.state;
        let announced = directions(request.direction).any(|direction| state.is_announced(direction, priority));
        let alone = |direction| {
            let (lowest, highest) = state.bounds_with(direction, priority);
            lowest == highest
        };
        // What never meets an engine is never announced, and need not be.
        (announced || request.is_inlined())
            && !state.inner.records.trace.is_on()
            && directions(request.direction).all(alone)
    }

    /// A copy of so many bytes has gone to the driver without being asked for here.
    pub fn passed_on(&self, reason: Reason, bytes: u64) {
        self.state.inner.records.counters.copied(Plan::Native(reason), bytes);
    }

    /// Has the driver make a copy of its own, which may wait for the device and keep everybody else out.
    pub fn natively<T>(&self, native: impl FnOnce() -> T) -> T {
        self.state.inner.natively(native)
    }

    /// Copies asynchronously, in the order of the stream.
    ///
    /// # Safety
    /// The ranges of the request stay valid, and unchanged or untouched as the direction demands, until the copy has
    /// completed; pageable host memory follows the driver's own rules.
    pub unsafe fn memcpy_async(&self, request: &Request) -> Result<CopyHandle> {
        // SAFETY: passed on to the caller.
        unsafe { submit(&self.state, request, None) }
    }

    /// The copies of one driver call that a program has made. They have no order among them, and the first one's
    /// priority is that of all. Where they go natively, that call is made; where bulk goes by kernel, several share a
    /// launch.
    ///
    /// # Safety
    /// As for [`PriorityStream::memcpy_async`], for each request; `native` makes the copies of all requests and nothing
    /// else.
    pub unsafe fn memcpy_through(&self, requests: &[Request], native: &Native<'_>) -> Result<CopyHandle> {
        if requests.is_empty() {
            return Err(Code::INVALID_VALUE.at("overtake memcpy_through").because("no copies"));
        }
        // SAFETY: passed on to the caller.
        unsafe { submit_all(&self.state, requests, native) }
    }

    /// Copies several, in order. The first that fails ends the batch; those before it are on their way.
    ///
    /// # Safety
    /// As for [`PriorityStream::memcpy_async`], for each.
    pub unsafe fn memcpy_batch_async(&self, requests: &[Request]) -> Result<Vec<CopyHandle>> {
        // SAFETY: passed on to the caller.
        requests.iter().map(|request| unsafe { self.memcpy_async(request) }).collect()
    }

    /// Host to device.
    ///
    /// # Safety
    /// As for [`PriorityStream::memcpy_async`].
    pub unsafe fn memcpy_htod_async(&self, target: DevicePtr, source: *const u8, bytes: u64) -> Result<CopyHandle> {
        // SAFETY: passed on to the caller.
        unsafe { self.memcpy_async(&Request::htod(target, source, bytes)) }
    }

    /// Device to host.
    ///
    /// # Safety
    /// As for [`PriorityStream::memcpy_async`].
    pub unsafe fn memcpy_dtoh_async(&self, target: *mut u8, source: DevicePtr, bytes: u64) -> Result<CopyHandle> {
        // SAFETY: passed on to the caller.
        unsafe { self.memcpy_async(&Request::dtoh(target, source, bytes)) }
    }

    /// A rectangle.
    ///
    /// # Safety
    /// As for [`PriorityStream::memcpy_async`], for every row.
    pub unsafe fn memcpy_2d_async(&self, copy: &Copy2d) -> Result<CopyHandle> {
        let Some(request) = Request::two_d(copy) else {
            // SAFETY: passed on to the caller.
            return self.as_it_is(|driver, stream| unsafe { driver.copy_2d_async(copy, stream) });
        };
        // SAFETY: passed on to the caller.
        unsafe { self.memcpy_async(&request) }
    }

    /// A box.
    ///
    /// # Safety
    /// As for [`PriorityStream::memcpy_async`], for every row.
    pub unsafe fn memcpy_3d_async(&self, copy: &Copy3d) -> Result<CopyHandle> {
        let Some(request) = Request::three_d(copy) else {
            // SAFETY: passed on to the caller.
            return self.as_it_is(|driver, stream| unsafe { driver.copy_3d_async(copy, stream) });
        };
        // SAFETY: passed on to the caller.
        unsafe { self.memcpy_async(&request) }
    }

    /// A copy of a shape that the driver may not take: it is asked, in the caller's own words.
    fn as_it_is(&self, copy: impl FnOnce(&dyn Driver, Stream) -> Result<()>) -> Result<CopyHandle> {
        let (state, began) = (&self.state, self.state.began());
        let copied = state.inner.natively(|| copy(&*state.inner.driver, state.stream));
        let (stream, plan) = (Arc::clone(state), Plan::Native(Reason::Misshapen));
        let result = copied.map(|()| CopyHandle { stream, ticket: None, plan });
        state.account(&result, state.priority, None, 0, began);
        result
    }

    /// Everything later in this stream comes after everything that is in `other` now. Unlike a plain event, this tells
    /// the copy layer of the dependency: an urgent copy that comes later boosts the bulk copies that it waits for.
    pub fn wait_for(&self, other: &PriorityStream) -> Result<()> {
        let inner = &self.state.inner;
        let event = inner.events.take(&*inner.driver)?;
        let waited = inner
            .driver
            .event_record(event, other.state.stream)
            .and_then(|()| inner.driver.stream_wait_event(self.state.stream, event));
        inner.events.give(event);
        lock(&self.state.burst).end();
        self.state.ahead.inherit(&other.state.ahead, &inner.records.tickets);
        waited
    }

    /// The error of every call since a copy of the context that had been accepted could not be made.
    pub fn loss(&self) -> Result<()> {
        self.state.inner.records.standing.check()
    }

    /// The handle means another stream from now on, as that of the per-thread default stream does on another thread:
    /// what is known of the copies so far says nothing of those to come, except of what kind they may be.
    pub fn renew(&self) {
        lock(&self.state.burst).end();
        self.state.ahead.clear();
    }

    /// Waits for everything in the stream.
    pub fn synchronize(&self) -> Result<()> {
        self.state.inner.driver.stream_synchronize(self.state.stream).and_then(|()| self.loss())
    }
}

impl Drop for PriorityStream {
    fn drop(&mut self) {
        self.state.close();
    }
}
