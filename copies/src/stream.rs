//! Streams whose copies have a priority.
#![allow(unsafe_code)] // copies are unsafe; the caller's promise is passed on

use std::fmt;
use std::sync::Arc;

use hal::{Code, DevicePtr, Nanos, Result, Shape, Stream};
use priority::{Direction, Priority};

use crate::decide::{Plan, Reason};
use crate::handle::CopyHandle;
use crate::inner::Inner;
use crate::native::Native;
use crate::request::Request;
use crate::state::{Announces, StreamState};
use crate::submit::{self, Look, Met};
use hal::locks::lock;

/// A stream whose copies have a priority. [`crate::Overtake::stream`] and [`crate::Overtake::adopt`] create it.
///
/// While it is open, other streams expect copies of its priority: bulk yields, which costs bandwidth. A quiet stream
/// ([`crate::Overtake::quiet_stream`], [`crate::Overtake::adopt_quiet`]) leaves the announcement to
/// [`crate::Expected`].
///
/// # Example
/// ```
/// # use overtake_copies as overtake;
/// use overtake::copy::Request;
/// use overtake::hal::{Device, Driver, HostAllocFlags, StreamFlags};
/// use overtake::{Options, Overtake, Priority};
/// # let driver: std::sync::Arc<dyn Driver> = std::sync::Arc::new(softgpu::SoftGpu::builder().build());
///
/// let overtake = Overtake::open(&driver, Device(0), Options::default())?;
/// let existing = driver.stream_create(StreamFlags::NON_BLOCKING, 0)?;
/// let stream = overtake.adopt(existing, Priority::LOWEST)?;
///
/// let (host, device) = (driver.host_alloc(1 << 20, HostAllocFlags::PORTABLE)?, driver.mem_alloc(1 << 20)?);
/// let request = Request::dtoh(host, device, 1 << 20).at(overtake.priorities().highest());
/// // SAFETY: both sides have 1 MiB, live until the copy has completed, and are left alone until then.
/// let copy = unsafe { stream.memcpy_async(&request)? };
/// stream.synchronize()?;
/// assert!(copy.is_done()?);
/// # Ok::<(), hal::Error>(())
/// ```
pub struct PriorityStream {
    state: Arc<StreamState>,
}

impl PriorityStream {
    pub(crate) fn new(inner: &Arc<Inner>, stream: Stream, announces: Announces, owned: bool) -> PriorityStream {
        PriorityStream { state: Arc::new(StreamState::new(inner, stream, announces, owned)) }
    }

    /// The CUDA stream, for kernels and all work other than copies.
    #[must_use]
    pub fn raw(&self) -> Stream {
        self.state.stream
    }

    pub(crate) fn state(&self) -> &Arc<StreamState> {
        &self.state
    }

    /// The state of the layer that the stream is of.
    #[doc(hidden)] // for the buffers of the front door
    #[must_use]
    pub fn inner(&self) -> &Arc<Inner> {
        &self.state.inner
    }

    /// The priority of its copies, unless a request states another one.
    #[must_use]
    pub fn priority(&self) -> Priority {
        self.state.priority
    }

    /// Checks whether a copy of this kind would go natively because it meets no other priority. The check costs a few
    /// loads; submitting the copy costs several hundred instructions. The caller passes such a copy to the driver with
    /// [`PriorityStream::pass_on`], and submits any other with [`PriorityStream::memcpy_met`].
    #[doc(hidden)] // for crates/shim
    #[inline(always)] // each copy looks
    #[must_use]
    pub fn look(&self, request: &Request, priority: Priority) -> Look {
        if self.state.inner.records.trace.is_on() {
            return Look::Met(Met::default());
        }
        submit::look(&self.state, request, priority)
    }

    /// The calling thread's time.
    #[doc(hidden)] // for crates/shim
    #[must_use]
    pub fn now(&self) -> Nanos {
        self.state.inner.driver.host().now()
    }

    /// Lets the driver make a copy for this reason, without a request here, and counts it.
    #[doc(hidden)] // for crates/shim
    #[inline(always)] // as above
    pub fn pass_on<T>(
        &self,
        reason: Reason,
        direction: Option<Direction>,
        bytes: u64,
        native: impl FnOnce() -> T,
    ) -> T {
        let (state, inner) = (&*self.state, &*self.state.inner);
        inner.records.counters.copied(Plan::Native(reason), direction, bytes);
        state.note_engine();
        state.natively(native)
    }

    /// Lets the driver make a copy that may wait for the device and keep all other threads out.
    #[doc(hidden)] // for crates/shim
    #[inline(always)] // as above
    pub fn natively<T>(&self, native: impl FnOnce() -> T) -> T {
        self.state.note_engine();
        self.state.natively(native)
    }

    /// Copies asynchronously, in the order of the stream.
    ///
    /// # Safety
    /// The ranges of the request stay valid, and unchanged or untouched as the direction demands, until the copy has
    /// completed; pageable host memory follows the driver's own rules.
    pub unsafe fn memcpy_async(&self, request: &Request) -> Result<CopyHandle> {
        // SAFETY: passed on to the caller.
        unsafe { submit::submit(&self.state, request, None) }
    }

    /// Makes the copy of one driver call of a program. `met` is what [`PriorityStream::look`] has found.
    ///
    /// # Safety
    /// As for [`PriorityStream::memcpy_through`].
    #[doc(hidden)] // for crates/shim
    pub unsafe fn memcpy_met(&self, request: &Request, native: &Native<'_>, met: Met) -> Result<CopyHandle> {
        // SAFETY: passed on to the caller.
        unsafe { submit::submit_met(&self.state, request, Some(native), met) }
    }

    /// Makes the copies of one driver call of a program. They are unordered, and all have the priority of the first. If
    /// they go natively, that call is made; if they go by kernel, several share a launch.
    ///
    /// # Safety
    /// As for [`PriorityStream::memcpy_async`], for each request; `native` makes the copies of all requests and nothing
    /// else.
    #[doc(hidden)] // for crates/shim
    pub unsafe fn memcpy_through(&self, requests: &[Request], native: &Native<'_>) -> Result<CopyHandle> {
        if requests.is_empty() {
            return Err(Code::INVALID_VALUE.at("overtake memcpy_through").because("no copies"));
        }
        // SAFETY: passed on to the caller.
        unsafe { submit::submit_all(&self.state, requests, native) }
    }

    /// Makes several copies, in order. The first failure ends the batch; the copies before it are in flight.
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

    /// A rectangle or a box. Any shape is allowed: the driver refuses invalid ones.
    ///
    /// # Safety
    /// As for [`PriorityStream::memcpy_async`], for every row.
    pub unsafe fn memcpy_shape_async(&self, shape: &Shape) -> Result<CopyHandle> {
        let state = &self.state;
        // SAFETY: passed on to the caller.
        unsafe {
            match Request::shaped(shape) {
                Some(request) => self.memcpy_async(&request),
                None => submit::as_it_is(state, Reason::Misshapen, || {
                    state.inner.driver.copy_shape_async(shape, state.stream)
                }),
            }
        }
    }

    /// Orders later work in this stream after everything that is in `other` now. Unlike a plain event, this tells the
    /// copy layer about the dependency: a later urgent copy boosts the bulk copies that it waits for. `other` may
    /// belong to another context or device; the order is kept then, but no copy is boosted.
    pub fn wait_for(&self, other: &PriorityStream) -> Result<()> {
        let (own, theirs) = (&self.state.inner, &other.state.inner);
        // An event is of the context of the stream that it is recorded in. It may be made here, and the handles of
        // default streams mean those of the current context.
        let event = theirs.context.visit(|| theirs.events.mark(&*theirs.driver, other.state.stream))?;
        let waited = own.context.visit(|| own.driver.stream_wait_event(self.state.stream, event));
        theirs.events.give(event);
        lock(&self.state.burst).end();
        // Fences mean nothing in another context.
        if Arc::ptr_eq(own, theirs) {
            self.state.ahead.inherit(&other.state.ahead, &own.records.fences);
        }
        waited
    }

    /// Returns an error if an accepted copy of the context could not be made.
    pub fn loss(&self) -> Result<()> {
        self.state.inner.records.standing.check()
    }

    /// From now on the handle means another stream, as the per-thread default stream does on another thread. Only the
    /// priorities of the copies so far are kept.
    #[doc(hidden)] // for crates/shim
    pub fn renew(&self) {
        lock(&self.state.burst).end();
        self.state.ahead.clear();
    }

    /// Waits for all work in the stream.
    pub fn synchronize(&self) -> Result<()> {
        self.state.inner.driver.stream_synchronize(self.state.stream).and_then(|()| self.loss())
    }
}

impl fmt::Debug for PriorityStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (raw, priority) = (self.raw(), self.priority());
        f.debug_struct("PriorityStream").field("raw", &raw).field("priority", &priority).finish_non_exhaustive()
    }
}

impl Drop for PriorityStream {
    fn drop(&mut self) {
        if self.state.inner.is_of_parent() {
            return std::mem::forget(Arc::clone(&self.state));
        }
        self.state.close();
    }
}
