//! The product's front door.

use std::sync::{Arc, Mutex};

use channels::Direction;
use hal::{Context, Device, DevicePtr, Driver, Result, Stream, StreamFlags};
use semaphores::{Priorities, Priority};

use crate::guard::{Blocking, Guard};
use crate::inner::Inner;
use crate::options::Options;
use crate::primary::Primary;
use crate::records::{Records, Statistics, TracedCopy};
use crate::stream::PriorityStream;
use crate::worker::Worker;
use hal::locks::lock;

/// Prioritised copies on one device, in its primary context.
pub struct Overtake {
    /// Dropped in this order: the watcher must end before the copies that it watches go.
    threads: Mutex<Vec<Worker>>,
    inner: Arc<Inner>,
}

impl Overtake {
    /// Opens the device's primary context, makes it current on the calling thread, probes the hardware queues and
    /// starts the watcher.
    pub fn open(driver: &Arc<dyn Driver>, device: Device, options: Options) -> Result<Overtake> {
        Overtake::begin(driver, || Inner::new(driver, Primary::retain(driver, device)?, options))
    }

    /// Opens in the calling thread's current context, which stays the caller's: it must be dropped before the context
    /// is destroyed.
    pub fn attach(driver: &Arc<dyn Driver>, options: Options) -> Result<Overtake> {
        Overtake::begin(driver, || Inner::new(driver, Primary::borrow(driver)?, options))
    }

    fn begin(driver: &Arc<dyn Driver>, make: impl FnOnce() -> Result<Inner>) -> Result<Overtake> {
        let inner = Arc::new(hal::beside_captures(&**driver, make)?);
        let watched = inner.options.enabled && !inner.records.standing.has_stood_down();
        let overtake = Overtake { threads: Mutex::default(), inner };
        // What has been started when the next is refused ends with `overtake`.
        if watched {
            overtake.start_threads()?;
        }
        Ok(overtake)
    }

    fn start_threads(&self) -> Result<()> {
        let (inner, mut threads) = (&self.inner, lock(&self.threads));
        threads.push(inner.start_watcher()?);
        if let Some(guard) = &inner.guard {
            threads.push(inner.start_rescuer(guard)?);
        }
        Ok(())
    }

    /// Makes a stream whose copies have `priority`. Its kernels get the CUDA priority that corresponds.
    pub fn stream(&self, priority: Priority) -> Result<PriorityStream> {
        self.inner.check(priority, "overtake stream")?;
        let range = self.inner.driver.priority_range()?;
        let span = range.least - range.greatest;
        let top = i32::from(self.inner.options.priorities.count()) - 1;
        let cuda = range.least - (i32::from(priority.get()) - 1) * span / top.max(1);
        self.inner.shadows.provide(&*self.inner.driver)?;
        let stream = self.inner.driver.stream_create(StreamFlags::NON_BLOCKING, cuda)?;
        Ok(PriorityStream::new(&self.inner, stream, Some(priority), true))
    }

    /// Gives the copies of an existing CUDA stream a priority. The stream stays the caller's and must outlive what is
    /// returned.
    pub fn adopt(&self, stream: Stream, priority: Priority) -> Result<PriorityStream> {
        self.inner.check(priority, "overtake adopt")?;
        self.inner.shadows.provide(&*self.inner.driver)?;
        Ok(PriorityStream::new(&self.inner, stream, Some(priority), false))
    }

    /// The same for a stream without a priority of its own: every request brings one, or counts as bulk.
    #[must_use]
    pub fn adopt_plain(&self, stream: Stream) -> PriorityStream {
        PriorityStream::new(&self.inner, stream, None, false)
    }

    /// The priorities there are.
    #[must_use]
    pub fn priorities(&self) -> Priorities {
        self.inner.options.priorities
    }

    /// The driver underneath.
    #[must_use]
    pub fn driver(&self) -> &Arc<dyn Driver> {
        &self.inner.driver
    }

    /// The device's primary context; make it current on every thread that copies.
    #[must_use]
    pub fn context(&self) -> Context {
        self.inner.primary.context()
    }

    /// To be called before, and kept during, a driver call that may wait for the device and let no other thread into
    /// the driver meanwhile, such as freeing memory: guarded copies that could begin and do not are made by the copy
    /// engine at once, and none is guarded until what is returned is dropped.
    #[must_use]
    pub fn blocking(&self) -> Blocking {
        let inner = &self.inner;
        inner.guard.as_ref().map(|guard| guard.blocking(|body| inner.at_home(body))).unwrap_or_default()
    }

    /// To be called before memory is freed in stream order: copies that are under way with it are seen to first.
    pub fn freeing(&self, memory: DevicePtr) {
        let inner = &self.inner;
        if let Some(guard) = inner.guard.as_ref().filter(|guard| !guard.is_idle()) {
            inner.at_home(|| {
                let bytes = inner.driver.pointer_bytes_left(memory.0).unwrap_or(0);
                guard.let_go_of(memory.0..memory.0 + bytes);
            });
        }
    }

    /// The same for a call that is a copy of the driver's own: it may wait there and keep everybody else out, and while
    /// what is returned lives nothing is taken over. Bulk goes on being guarded meanwhile.
    #[must_use]
    pub fn inside(&self) -> Blocking {
        let inner = &self.inner;
        inner.guard.as_ref().map(|guard| guard.inside_owned()).unwrap_or_default()
    }

    /// Ends the threads of the layer. What is under way arrives without them, and whatever comes later goes natively.
    /// Waits for no call of the program's. Dropping does the same.
    pub fn leave(&self) {
        let threads = std::mem::take(&mut *lock(&self.threads));
        drop(threads);
        // What is still queued must not wait for words that nobody will lower any more.
        self.inner.records.standing.leave();
    }

    /// Whether dropping this waits for nobody: no stream or handle is left that keeps what was made in the context, and
    /// no copy kernel is under way beside a stream.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        let inner = &self.inner;
        let is_drained = |guard: &Arc<Guard>| inner.at_home(|| guard.is_drained());
        Arc::strong_count(inner) == 1 && inner.guard.as_ref().is_none_or(is_drained)
    }

    /// The error of every call since a copy that had been accepted could not be made: its bytes are missing.
    pub fn loss(&self) -> Result<()> {
        self.inner.records.standing.check()
    }

    /// Waits for everything in the context.
    pub fn synchronize(&self) -> Result<()> {
        self.inner.driver.context_synchronize().and_then(|()| self.loss())
    }

    /// What is pending, and what became of it.
    pub(crate) fn records(&self) -> &Records {
        &self.inner.records
    }

    /// What happened so far.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.inner.records.statistics()
    }

    /// Every copy so far, where the option `trace` is on, and how many there was no room for.
    #[must_use]
    pub fn trace(&self) -> (Vec<TracedCopy>, u64) {
        self.inner.records.trace.copies()
    }

    /// Copies that are tracked and have not completed, as far as the watcher has seen.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.inner.records.tickets.outstanding()
    }

    /// How many copies above `priority` are pending on the engine of `direction`: what its semaphores say.
    #[must_use]
    pub fn pending_above(&self, direction: Direction, priority: Priority) -> u32 {
        self.inner.engine(direction).bank.pending_above(priority)
    }
}

impl Drop for Overtake {
    fn drop(&mut self) {
        self.leave();
    }
}
