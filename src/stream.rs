//! A stream with a priority that copies heed.
#![allow(unsafe_code)] // copies are unsafe; the caller's promise is passed on

use std::sync::{Arc, Mutex, PoisonError};

use channels::Direction;
use hal::{Copy2d, Copy3d, DevicePtr, Result, Stream};
use semaphores::Priority;

use crate::copy::submit::submit;
use crate::copy::{CopyHandle, Request};
use crate::monitor::{Ring, Ticket};
use crate::overtake::Inner;
use crate::run::Run;
use crate::shadow::Shadow;
use crate::trust::Trust;

/// A copy in flight that later work of a stream comes after.
#[derive(Clone, Copy, Debug)]
struct Ahead {
    ticket: Ticket,
    priority: Priority,
    direction: Direction,
}

/// A stream as the copy layer sees it.
pub(crate) struct StreamState {
    pub(crate) stream: Stream,
    pub(crate) priority: Priority,
    pub(crate) run: Run,
    pub(crate) trust: Arc<Trust>,
    pub(crate) shadow: Shadow,
    ahead: Mutex<Vec<Ahead>>,
}

impl StreamState {
    /// Remembers a copy that everything later in the stream comes after.
    pub(crate) fn remember(&self, ticket: Ticket, priority: Priority, direction: Direction) {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner).push(Ahead { ticket, priority, direction });
    }

    /// The levels and engines of unfinished copies that come before a copy of `priority` and are less urgent, each once.
    pub(crate) fn dependencies_below(&self, priority: Priority, ring: &Ring) -> Vec<(Priority, Direction)> {
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        ahead.retain(|copy| !ring.is_done(copy.ticket));
        let mut below: Vec<_> =
            ahead.iter().filter(|copy| copy.priority < priority).map(|copy| (copy.priority, copy.direction)).collect();
        below.sort_unstable();
        below.dedup();
        below
    }

    fn inherit(&self, other: &StreamState) {
        let theirs = other.ahead.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner).extend(theirs);
    }
}

/// A stream with a priority that copies heed. Made by [`crate::Overtake::stream`] or [`crate::Overtake::adopt`].
pub struct PriorityStream {
    pub(crate) inner: Arc<Inner>,
    pub(crate) state: StreamState,
    pub(crate) owned: bool,
}

impl PriorityStream {
    pub(crate) fn new(inner: &Arc<Inner>, stream: Stream, priority: Priority, owned: bool) -> PriorityStream {
        inner.census.opened(priority);
        let state = StreamState {
            stream,
            priority,
            run: Run::default(),
            trust: Arc::default(),
            shadow: Shadow::default(),
            ahead: Mutex::default(),
        };
        PriorityStream { inner: Arc::clone(inner), state, owned }
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

    /// Copies asynchronously, in the order of the stream.
    ///
    /// # Safety
    /// The ranges of the request stay valid, and unchanged or untouched as the direction demands, until the copy has completed;
    /// pageable host memory follows the driver's own rules.
    pub unsafe fn memcpy_async(&self, request: &Request) -> Result<CopyHandle> {
        // SAFETY: passed on to the caller.
        unsafe { submit(&self.inner, &self.state, request) }
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
        // SAFETY: passed on to the caller.
        unsafe { self.memcpy_async(&Request::two_d(copy)) }
    }

    /// A box.
    ///
    /// # Safety
    /// As for [`PriorityStream::memcpy_async`], for every row.
    pub unsafe fn memcpy_3d_async(&self, copy: &Copy3d) -> Result<CopyHandle> {
        // SAFETY: passed on to the caller.
        unsafe { self.memcpy_async(&Request::three_d(copy)) }
    }

    /// Everything later in this stream comes after everything that is in `other` now. Unlike a plain event, this tells the copy layer
    /// of the dependency: an urgent copy that comes later boosts the bulk copies that it waits for.
    pub fn wait_for(&self, other: &PriorityStream) -> Result<()> {
        let (driver, events) = (&self.inner.driver, &self.inner.events);
        let event = events.take(&**driver)?;
        let waited = driver
            .event_record(event, other.state.stream)
            .and_then(|()| driver.stream_wait_event(self.state.stream, event));
        events.give(event);
        self.state.inherit(&other.state);
        waited
    }

    /// Waits for everything in the stream.
    pub fn synchronize(&self) -> Result<()> {
        self.inner.driver.stream_synchronize(self.state.stream)
    }
}

impl Drop for PriorityStream {
    fn drop(&mut self) {
        self.inner.census.closed(self.state.priority);
        self.state.shadow.end(&*self.inner.driver);
        if self.owned {
            // Work in it still completes; an error means that the context is gone.
            let _ = self.inner.driver.stream_destroy(self.state.stream);
        }
    }
}
