//! The product's front door.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use channels::probe;
use channels::{Adder, Direction, Pace};
use hal::{CaptureStatus, Code, Context, Device, Driver, Result, Stream, StreamFlags};
use semaphores::{Priorities, Priority};

use crate::engine::Engine;
use crate::events::Events;
use crate::kernel::CopyKernel;
use crate::monitor::{Monitor, Ring, Shared};
use crate::options::Options;
use crate::statistics::{Counters, Statistics};
use crate::stream::PriorityStream;

/// How many streams of each priority are open: 2 bits would do to know whether there are any, but closing needs the count.
struct Census {
    open: Vec<AtomicU64>,
    /// The lowest and highest open priority, packed, so that a copy reads one word to learn that it is alone.
    bounds: AtomicU64,
}

/// What streams, handles and the monitor share.
pub(crate) struct Inner {
    pub(crate) driver: Arc<dyn Driver>,
    pub(crate) options: Options,
    pub(crate) shared: Arc<Shared>,
    pub(crate) kernel: Option<CopyKernel>,
    pub(crate) events: Events,
    pub(crate) pace: Pace,
    pub(crate) marker_stream: Stream,
    device: Device,
    context: Context,
    to_device: Arc<Engine>,
    to_host: Arc<Engine>,
    census: Census,
}

/// Prioritised copies on one device, in its primary context.
pub struct Overtake {
    // Dropped first: the monitor must end before what it watches goes.
    monitor: Option<Monitor>,
    inner: Arc<Inner>,
}

impl Overtake {
    /// Opens the device's primary context, makes it current on the calling thread, probes the hardware queues and starts the monitor.
    pub fn open(driver: &Arc<dyn Driver>, device: Device, options: Options) -> Result<Overtake> {
        let context = driver.primary_context_retain(device)?;
        let inner = driver
            .context_set_current(Some(context))
            .and_then(|()| Inner::new(driver, device, context, options))
            .inspect_err(|_| drop(driver.primary_context_release(device)))?;
        let inner = Arc::new(inner);
        let watched = inner.options.enabled && !inner.shared.has_stood_down();
        let monitor = watched.then(|| Monitor::start(driver, &inner.shared, &inner.options));
        Ok(Overtake { monitor, inner })
    }

    /// Makes a stream whose copies have `priority`. Its kernels get the CUDA priority that corresponds.
    pub fn stream(&self, priority: Priority) -> Result<PriorityStream> {
        self.check(priority, "overtake stream")?;
        let range = self.inner.driver.priority_range()?;
        let span = range.least - range.greatest;
        let top = i32::from(self.inner.options.priorities.count()) - 1;
        let cuda = range.least - (i32::from(priority.get()) - 1) * span / top.max(1);
        let stream = self.inner.driver.stream_create(StreamFlags::NON_BLOCKING, cuda)?;
        Ok(PriorityStream::new(&self.inner, stream, priority, true))
    }

    /// Gives the copies of an existing CUDA stream a priority. The stream stays the caller's and must outlive what is returned.
    pub fn adopt(&self, stream: Stream, priority: Priority) -> Result<PriorityStream> {
        self.check(priority, "overtake adopt")?;
        Ok(PriorityStream::new(&self.inner, stream, priority, false))
    }

    fn check(&self, priority: Priority, call: &'static str) -> Result<()> {
        let priorities = self.priorities();
        if priorities.contains(priority) {
            return Ok(());
        }
        let count = priorities.count();
        Err(Code::INVALID_VALUE
            .at(call)
            .because(format!("priority {priority} is not one of 1..={count}; see the option priorities")))
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
        self.inner.context
    }

    /// Waits for everything in the context.
    pub fn synchronize(&self) -> Result<()> {
        self.inner.driver.context_synchronize()
    }

    /// What happened so far.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.inner.shared.counters.snapshot(self.inner.shared.has_stood_down())
    }

    /// Copies that are tracked and have not completed, as far as the monitor has seen.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.inner.shared.ring.outstanding()
    }

    /// How many copies above `priority` are pending on the engine of `direction`: what its semaphores say.
    #[must_use]
    pub fn pending_above(&self, direction: Direction, priority: Priority) -> u32 {
        self.inner.engine(direction).bank.pending_above(priority)
    }
}

impl Drop for Overtake {
    fn drop(&mut self) {
        self.monitor = None;
        // What is still queued must not wait for words that nobody will lower any more.
        self.inner.shared.stand_down();
    }
}

impl Inner {
    fn new(driver: &Arc<dyn Driver>, device: Device, context: Context, options: Options) -> Result<Inner> {
        let queues = |direction| -> Result<usize> {
            let map = probe::probe_queues(driver, direction, &probe::ProbeOptions::default())?;
            Ok(map.queues())
        };
        let queues = (queues(Direction::HostToDevice)?, queues(Direction::DeviceToHost)?);
        let to_device = Arc::new(Engine::new(driver, options.priorities, queues.0)?);
        let to_host = Arc::new(Engine::new(driver, options.priorities, queues.1)?);
        let banks = vec![Arc::clone(&to_device.bank), Arc::clone(&to_host.bank)];
        let shared = Shared::new(Ring::new(driver)?, Counters::new(options.priorities), banks);
        if queues.0.min(queues.1) < 2 {
            eprintln!(
                "overtake: stood down to plain copies: all copies share one hardware queue, so whatever waits blocks everything. \
                 Set CUDA_DEVICE_MAX_COPY_CONNECTIONS=8 before the program starts (CUDA_DEVICE_MAX_CONNECTIONS=1 may stay)."
            );
            shared.stand_down();
        }
        Ok(Inner {
            kernel: CopyKernel::load(driver).ok(),
            events: Events::default(),
            pace: Pace::new(),
            marker_stream: driver.stream_create(StreamFlags::NON_BLOCKING, driver.priority_range()?.greatest)?,
            census: Census::new(options.priorities),
            shared: Arc::new(shared),
            driver: Arc::clone(driver),
            device,
            context,
            options,
            to_device,
            to_host,
        })
    }

    pub(crate) fn engine(&self, direction: Direction) -> &Arc<Engine> {
        match direction {
            Direction::DeviceToHost => &self.to_host,
            _ => &self.to_device,
        }
    }

    pub(crate) fn is_capturing(&self, stream: Stream) -> bool {
        // Asking about the legacy stream while another captures is itself an error: any doubt counts as capturing.
        !matches!(self.driver.stream_capture_status(stream), Ok(CaptureStatus::None))
    }

    pub(crate) fn adder(&self) -> Result<&dyn Adder> {
        static NONE: NoAdder = NoAdder;
        Ok(self.kernel.as_ref().map_or(&NONE as &dyn Adder, |kernel| kernel))
    }

    /// The lowest and highest priority of the open streams and of a copy of `priority`.
    pub(crate) fn open_priorities(&self, priority: Priority) -> (Priority, Priority) {
        let (lowest, highest) = self.census.bounds();
        (lowest.min(priority), highest.max(priority))
    }

    pub(crate) fn opened(&self, priority: Priority) {
        self.census.change(priority, 1);
    }

    pub(crate) fn closed(&self, priority: Priority) {
        self.census.change(priority, -1);
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Errors mean that the context is gone, and everything in it.
        let _ = self.driver.context_set_current(Some(self.context));
        let _ = self.driver.stream_destroy(self.marker_stream);
        self.events.clear(&*self.driver);
        self.kernel = None;
        let _ = self.driver.primary_context_release(self.device);
    }
}

/// Stands where there is no kernel to add with.
struct NoAdder;

impl Adder for NoAdder {
    fn add(&self, _: Stream, _: hal::DevicePtr, _: i32) -> Result<()> {
        Err(Code::NOT_SUPPORTED
            .at("overtake atomics")
            .because("the driver could not load the kernels; use emulation hold"))
    }
}

impl Census {
    fn new(priorities: Priorities) -> Census {
        let open = priorities.iter().map(|_| AtomicU64::new(0)).collect();
        Census { open, bounds: AtomicU64::new(0) }
    }

    fn change(&self, priority: Priority, by: i64) {
        self.open[usize::from(priority.get()) - 1].fetch_add(by as u64, Ordering::SeqCst);
        let mut open = (1u8..).zip(&self.open).filter(|(_, count)| count.load(Ordering::SeqCst) > 0).map(|(at, _)| at);
        let lowest = open.next().unwrap_or(0);
        let highest = open.last().unwrap_or(lowest);
        // Two threads that open streams at once may store in either order; the next copy of either sees at least its own stream,
        // because its own priority is joined in.
        self.bounds.store(u64::from(lowest) << 8 | u64::from(highest), Ordering::SeqCst);
    }

    fn bounds(&self) -> (Priority, Priority) {
        let bounds = self.bounds.load(Ordering::Relaxed);
        let at = |value: u64| Priority::new(value as u8).unwrap_or(Priority::LOWEST);
        (at(bounds >> 8), at(bounds & 0xff))
    }
}
