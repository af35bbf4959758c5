//! The entry point of the copy layer.

use std::fmt;
use std::sync::{Arc, Mutex};

use contexts::CudaContext;
use hal::{Context, Device, DevicePtr, Driver, Result, Stream, StreamFlags};
use priority::{Direction, Priorities, Priority};
use threads::Worker;

use crate::expected::Expected;
use crate::guard::{Blocking, Guard};
use crate::inner::Inner;
use crate::machine;
use crate::records::{Records, Statistics, TracedCopy};
use crate::staging::Staging;
use crate::state::Announces;
use crate::stream::PriorityStream;
use crate::submit;
use crate::watch::BeatCall;
use hal::locks::lock;
use options::Options;

/// Prioritised copies on one device, in its primary context or in a context that you provide.
///
/// # Example
/// ```
/// # use overtake_copies as overtake;
/// use overtake::hal::{Device, Driver, HostAllocFlags};
/// use overtake::{Options, Overtake, Priority};
/// # let driver: std::sync::Arc<dyn Driver> = std::sync::Arc::new(softgpu::SoftGpu::builder().build());
///
/// let overtake = Overtake::open(&driver, Device(0), Options::default())?;
/// let bulk = overtake.stream(Priority::LOWEST)?;
/// let urgent = overtake.stream(overtake.priorities().highest())?;
///
/// let (host, device) = (driver.host_alloc(1 << 20, HostAllocFlags::PORTABLE)?, driver.mem_alloc(1 << 20)?);
/// // SAFETY: both sides have 1 MiB and live until the copies have completed; the urgent copy reads only.
/// unsafe {
///     bulk.memcpy_htod_async(device, host, 1 << 20)?;
///     urgent.memcpy_htod_async(device, host, 64 << 10)?.wait()?;
/// }
/// overtake.synchronize()?;
/// assert_eq!(overtake.statistics().urgent.copies, 1);
/// # Ok::<(), hal::Error>(())
/// ```
pub struct Overtake {
    /// Dropped in this order: the watcher ends before the copies that it watches are dropped.
    threads: Mutex<Vec<Worker>>,
    inner: Arc<Inner>,
}

impl Overtake {
    /// Opens the device's primary context, makes it current on the calling thread, and starts the watcher.
    pub fn open(driver: &Arc<dyn Driver>, device: Device, options: Options) -> Result<Overtake> {
        let context = CudaContext::primary(driver, device)?;
        driver.context_set_current(Some(context.raw()))?;
        Overtake::begin(&context, options, None)
    }

    /// Opens in a context of any kind. The calling thread's current context does not change.
    pub fn open_in(context: &CudaContext, options: Options) -> Result<Overtake> {
        let _entered = context.enter()?;
        Overtake::begin(context, options, None)
    }

    /// Opens in the calling thread's current context, which the caller keeps. Drop the layer before you destroy the
    /// context.
    pub fn attach(driver: &Arc<dyn Driver>, options: Options) -> Result<Overtake> {
        Overtake::begin(&CudaContext::adopt_current(driver)?, options, None)
    }

    /// The same. The watcher makes the call `beat` now, and then twice a second in real time. It must neither wait nor
    /// call the driver: words stay up meanwhile.
    #[doc(hidden)] // for crates/shim
    pub fn attach_with(driver: &Arc<dyn Driver>, options: Options, beat: fn()) -> Result<Overtake> {
        Overtake::begin(&CudaContext::adopt_current(driver)?, options, Some(beat))
    }

    fn begin(context: &CudaContext, mut options: Options, beat: Option<BeatCall>) -> Result<Overtake> {
        machine::fit(context, &mut options)?;
        let open = || Inner::new(context, options).inspect(submit::prepare);
        let inner = Arc::new(hal::beside_captures(&**context.driver(), open)?);
        let watched = inner.options.enabled && !inner.records.standing.has_stood_down();
        let overtake = Overtake { threads: Mutex::default(), inner };
        // If the next thread cannot be started, the earlier ones end when `overtake` is dropped.
        if watched {
            overtake.start_threads(beat)?;
        }
        Ok(overtake)
    }

    fn start_threads(&self, beat: Option<BeatCall>) -> Result<()> {
        let (inner, mut threads) = (&self.inner, lock(&self.threads));
        threads.push(inner.start_watcher(beat)?);
        if let Some(guard) = &inner.guard {
            threads.push(inner.start_rescuer(guard)?);
        }
        Ok(())
    }

    /// Creates a stream whose copies have `priority`. Its kernels get the corresponding CUDA priority.
    pub fn stream(&self, priority: Priority) -> Result<PriorityStream> {
        self.make(priority, Announces::Own(priority))
    }

    /// As [`Overtake::stream`], for an owner that announces its copies itself ([`Overtake::expect`]): other copies do
    /// not yield just because the stream is open.
    pub fn quiet_stream(&self, priority: Priority) -> Result<PriorityStream> {
        self.make(priority, Announces::Nothing(priority))
    }

    fn make(&self, priority: Priority, announces: Announces) -> Result<PriorityStream> {
        self.inner.check(priority, "overtake stream")?;
        let range = self.inner.driver.priority_range()?;
        let span = range.least - range.greatest;
        let top = i32::from(self.inner.options.priorities.count()) - 1;
        let cuda = range.least - (i32::from(priority.get()) - 1) * span / top.max(1);
        self.inner.shadows.provide(&*self.inner.driver)?;
        let stream = self.inner.driver.stream_create(StreamFlags::NON_BLOCKING, cuda)?;
        Ok(PriorityStream::new(&self.inner, stream, announces, true))
    }

    /// Gives the copies of an existing CUDA stream a priority. The caller keeps the stream, which must outlive the
    /// priority stream.
    pub fn adopt(&self, stream: Stream, priority: Priority) -> Result<PriorityStream> {
        self.take_in(stream, priority, Announces::Own(priority))
    }

    /// As [`Overtake::adopt`], but quiet like [`Overtake::quiet_stream`].
    pub fn adopt_quiet(&self, stream: Stream, priority: Priority) -> Result<PriorityStream> {
        self.take_in(stream, priority, Announces::Nothing(priority))
    }

    fn take_in(&self, stream: Stream, priority: Priority, announces: Announces) -> Result<PriorityStream> {
        self.inner.check(priority, "overtake adopt")?;
        self.inner.shadows.provide(&*self.inner.driver)?;
        Ok(PriorityStream::new(&self.inner, stream, announces, false))
    }

    /// Adopts a stream without a priority of its own: each request names one, or counts as bulk.
    #[must_use]
    pub fn adopt_plain(&self, stream: Stream) -> PriorityStream {
        PriorityStream::new(&self.inner, stream, Announces::Requested, false)
    }

    /// Announces copies of `priority`, in one direction or both, until the result is dropped; see [`Expected`].
    pub fn expect(&self, priority: Priority, direction: Option<Direction>) -> Result<Expected> {
        self.inner.check(priority, "overtake expect")?;
        Ok(Expected::new(&self.inner, priority, direction))
    }

    /// The state that is open in the context. It lives as long as anything that was made in it.
    #[doc(hidden)] // for the buffers of the front door
    #[must_use]
    pub fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }

    /// The range that [`Options`] set.
    #[must_use]
    pub fn priorities(&self) -> Priorities {
        self.inner.options.priorities
    }

    /// The driver with which it was opened.
    #[must_use]
    pub fn driver(&self) -> &Arc<dyn Driver> {
        &self.inner.driver
    }

    /// The driver's handle of its context. Make it current on every thread that copies.
    #[must_use]
    pub fn context(&self) -> Context {
        self.inner.context.raw()
    }

    /// Its context: clones share it.
    #[must_use]
    pub fn cuda_context(&self) -> &CudaContext {
        &self.inner.context
    }

    /// Announces a driver call that may wait for the device and keep other threads out of the driver meanwhile, such as
    /// freeing memory. The copy engine makes those guarded copies that could have started and have not, and no copy is
    /// guarded until the announcement is dropped.
    #[must_use]
    pub fn blocking(&self) -> Blocking {
        self.inner.blocking()
    }

    /// The same before the first launch of a kernel, which matters if guarded copies are in flight.
    #[doc(hidden)] // for crates/shim
    #[must_use]
    pub fn loading(&self) -> Blocking {
        if self.inner.guard.as_ref().is_some_and(|guard| !guard.is_idle()) {
            self.inner.records.counters.first_launches.add(1);
        }
        self.inner.blocking()
    }

    /// Announces that memory is freed in stream order. Copies in flight that use it are finished first.
    #[doc(hidden)] // for crates/shim
    pub fn freeing(&self, memory: DevicePtr) {
        self.inner.freeing(memory);
    }

    /// Announces a copy that the driver makes. The call may wait there and keep all other threads out. No copy is taken
    /// over until the announcement is dropped; bulk is still guarded.
    #[doc(hidden)] // for crates/shim
    #[must_use]
    pub fn inside(&self) -> Blocking {
        let inner = &self.inner;
        inner.guard.as_ref().map(|guard| guard.inside_owned()).unwrap_or_default()
    }

    /// Ends the threads of the layer. Copies in flight complete without them, and later copies go natively. It waits
    /// for no call of the program. Dropping does the same.
    #[doc(hidden)] // for crates/shim
    pub fn leave(&self) {
        let threads = std::mem::take(&mut *lock(&self.threads));
        threads.iter().for_each(Worker::end);
        drop(threads);
        self.inner.staging.iter().for_each(|staging| staging.leave());
        // Queued copies must not wait for words that no thread would lower.
        self.inner.records.standing.leave();
    }

    /// As [`Overtake::leave`], if the context is already gone and its handle may name another one: no thread of the
    /// layer calls the driver any more. Never drop the layer after this.
    #[doc(hidden)] // for crates/shim
    pub fn abandon(&self) {
        self.inner.guard.iter().for_each(|guard| guard.abandon());
        self.leave();
    }

    /// Whether dropping this would not wait for any stream: no stream or handle is left that keeps objects of the
    /// context, and no copy kernel is in flight.
    #[doc(hidden)] // for crates/shim
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        let inner = &self.inner;
        let is_drained = |guard: &Arc<Guard>| inner.at_home(|| guard.is_drained());
        let is_at_rest = |staging: &Arc<Staging>| inner.at_home(|| staging.is_at_rest(&*inner.driver, &inner.events));
        Arc::strong_count(inner) == 1
            && inner.guard.as_ref().is_none_or(is_drained)
            // After the carriers, which keep the batches that they have under way.
            && inner.is_service_at_rest()
            && inner.staging.as_ref().is_none_or(is_at_rest)
    }

    /// Returns an error if an accepted copy of the context could not be made, so that its bytes are missing.
    pub fn loss(&self) -> Result<()> {
        self.inner.records.standing.check()
    }

    /// Waits for everything in the context.
    pub fn synchronize(&self) -> Result<()> {
        self.inner.driver.context_synchronize().and_then(|()| self.loss())
    }

    pub(crate) fn records(&self) -> &Records {
        &self.inner.records
    }

    /// The counters so far.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.inner.records.statistics()
    }

    /// Every copy so far, if the option `trace` is on, and the number of copies that did not fit into the trace.
    #[must_use]
    pub fn trace(&self) -> (Vec<TracedCopy>, u64) {
        self.inner.records.trace.copies()
    }

    /// The number of tracked copies that the watcher has not seen complete.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.inner.records.fences.outstanding()
    }

    /// The number of copies above `priority` that are pending on the engine of `direction`, by its semaphores.
    #[must_use]
    pub fn pending_above(&self, direction: Direction, priority: Priority) -> u32 {
        self.inner.engine(direction).bank.pending_above(priority)
    }
}

impl fmt::Debug for Overtake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (context, options) = (self.context(), &self.inner.options);
        f.debug_struct("Overtake").field("context", &context).field("options", options).finish_non_exhaustive()
    }
}

impl Drop for Overtake {
    fn drop(&mut self) {
        if self.inner.is_of_parent() {
            return std::mem::forget((std::mem::take(&mut self.threads), Arc::clone(&self.inner)));
        }
        self.leave();
        if log::log_enabled!(log::Level::Info) {
            let Statistics { urgent, kernel, engine, native, rescues, guard_rescues, .. } = self.statistics();
            let native: u64 = native.values().map(|class| class.copies).sum();
            log::info!(
                "closed after {} urgent copies, {} by copy kernel, {} by copy engine in chunks, {native} by the driver \
                 alone; the watcher opened words {rescues} times, the copy engine replaced {guard_rescues} kernels",
                urgent.copies,
                kernel.copies,
                engine.copies
            );
        }
    }
}
