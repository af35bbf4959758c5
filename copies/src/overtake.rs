//! The product's front door.

use std::sync::{Arc, Mutex};

use channels::probe;
use channels::{Adder, Direction, Pace};
use hal::{CaptureMode, CaptureStatus, Code, Context, Device, DevicePtr, Driver, Event, Result, Stream, StreamFlags};
use semaphores::{Kind, Layout, Priorities, Priority, Words};

use crate::engine::Engine;
use crate::guard::{Blocking, Guard};
use crate::kernel::{CopyKernel, Yield};
use crate::options::{Options, UrgentTransport};
use crate::pool::Pool;
use crate::primary::Primary;
use crate::records::{Counters, Records, Standing, Statistics, Tickets, Trace, TracedCopy};
use crate::stream::PriorityStream;
use crate::watch::watch;
use crate::worker::Worker;
use hal::locks::lock;

/// What streams and handles share. What a copy needs that goes at once comes first, on one cache line.
#[repr(C, align(64))]
pub(crate) struct Inner {
    pub(crate) driver: Arc<dyn Driver>,
    pub(crate) records: Arc<Records>,
    pub(crate) guard: Option<Arc<Guard>>,
    to_device: Arc<Engine>,
    to_host: Arc<Engine>,
    pub(crate) pace: Pace,
    /// Whether copies may go at once: the option `enabled`.
    pub(crate) is_enabled: bool,
    /// Whether urgent copies may go without a ticket of their own: in their own streams, with a word that the CPU sets.
    pub(crate) lets_ride: bool,
    pub(crate) options: Options,
    pub(crate) kernel: Option<Arc<CopyKernel>>,
    pub(crate) events: Pool<Event>,
    pub(crate) shadows: Pool<Stream>,
    // Dropped last: everything above was made in it.
    pub(crate) primary: Primary,
}

const _: () = assert!(std::mem::offset_of!(Inner, options) <= 64);

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

impl Inner {
    fn new(driver: &Arc<dyn Driver>, primary: Primary, options: Options) -> Result<Inner> {
        let queues = |direction| -> Result<usize> {
            // Without channels nothing of ours waits in a hardware queue, so it does not matter how many there are.
            if !options.channels {
                return Ok(usize::from(u8::MAX));
            }
            let map = probe::probe_queues(driver, direction, &probe::ProbeOptions::default())?;
            Ok(map.queues())
        };
        let queues = (queues(Direction::HostToDevice)?, queues(Direction::DeviceToHost)?);
        let engine = |queues| Engine::new(driver, options.priorities, queues, options.counters_from).map(Arc::new);
        let (to_device, to_host) = (engine(queues.0)?, engine(queues.1)?);
        let tickets = Tickets::new(Words::new(driver, Tickets::WORDS)?);
        let standing = Standing::new([Arc::clone(&to_device.bank), Arc::clone(&to_host.bank)]);
        let records = Records::new(tickets, standing, Counters::new(options.priorities), Trace::new(options.trace));
        if options.counters_from > 0 {
            records.tickets.skip_to(options.counters_from.into());
        }
        if queues.0.min(queues.1) < 2 {
            log::warn!(
                "stood down to plain copies: all copies share one hardware queue, so whatever waits blocks \
                 everything. Set CUDA_DEVICE_MAX_COPY_CONNECTIONS=8 before the program starts \
                 (CUDA_DEVICE_MAX_CONNECTIONS=1 may stay)."
            );
            records.stand_down();
        }
        let (records, kernel) = (Arc::new(records), CopyKernel::load(driver).ok().map(Arc::new));
        kernel.iter().for_each(|kernel| kernel.skip_to(options.counters_from));
        let guarded = options.enabled && options.guard_bytes_min.is_some();
        let guard = match kernel.as_ref().filter(|_| guarded) {
            Some(kernel) => {
                let word = to_device.bank.gate_address(Priority::LOWEST);
                let yields = Yield { word, wait_max: options.kernel_wait_max };
                Guard::new(driver, &records, kernel, options.guard, yields, options.counters_from)?.map(Arc::new)
            }
            None => None,
        };
        let (shadows, events) = (Pool::<Stream>::default(), Pool::<Event>::default());
        let provided = shadows.provide(&**driver).and_then(|()| events.provide(&**driver));
        provided.inspect_err(|_| {
            events.clear(&**driver);
            shadows.clear(&**driver);
        })?;
        Ok(Inner {
            kernel,
            guard,
            events,
            shadows,
            pace: Pace::new(),
            records,
            driver: Arc::clone(driver),
            is_enabled: options.enabled,
            lets_ride: options.emulation == Kind::Hold && options.urgent_transport == UrgentTransport::Engine,
            options,
            to_device,
            to_host,
            primary,
        })
    }

    /// Starts the thread that watches completions; it is given no driver.
    fn start_watcher(&self) -> Result<Worker> {
        let [ends, watched, lost] = [(); 3].map(|()| Arc::clone(&self.records));
        let options = self.options.clone();
        let watcher = Worker::start(
            &self.driver,
            "overtake-watcher",
            move || ends.bell.end(),
            move |host| watch(&watched, host, &options),
            // What it had out is lost, and with it when to lower for it.
            move || lost.stand_down(),
        )?;
        // Not before: what is handed over has to be seen to.
        self.records.open();
        Ok(watcher)
    }

    /// Starts the thread that looks after guarded copies, in the layer's context. Unlike the watcher it calls the
    /// driver.
    fn start_rescuer(&self, guard: &Arc<Guard>) -> Result<Worker> {
        let [ends, looks, given_up] = [(); 3].map(|()| Arc::clone(guard));
        let (driver, context) = (Arc::clone(&self.driver), self.primary.context());
        Worker::start(
            &self.driver,
            "overtake-rescuer",
            move || ends.end(),
            move |host| {
                // Errors mean that the context is gone; every later call will say so too.
                let _ = driver.context_set_current(Some(context));
                let _ = driver.exchange_capture_mode(CaptureMode::Relaxed);
                looks.look_after(host);
            },
            move || given_up.give_up(),
        )
    }

    /// Whether copies may go by kernel: where they are to be guarded, only as long as the guard can be trusted.
    pub(crate) fn may_use_kernel(&self) -> bool {
        let guarded = || self.guard.as_ref().is_some_and(|guard| guard.is_trusted());
        self.kernel.is_some() && (self.options.guard_bytes_min.is_none() || guarded())
    }

    /// Runs `body` in the layer's context, whatever the calling thread is about.
    fn at_home<T>(&self, body: impl FnOnce() -> T) -> T {
        self.primary.visit(|| hal::beside_captures(&*self.driver, body))
    }

    /// Makes a call of the driver's own, during which nothing is taken over.
    pub(crate) fn natively<T>(&self, native: impl FnOnce() -> T) -> T {
        let _inside = self.guard.as_ref().map(|guard| guard.inside());
        native()
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
        Ok(self.kernel.as_ref().map_or(&NONE as &dyn Adder, |kernel| &**kernel as &dyn Adder))
    }

    /// Refuses a priority that does not exist.
    pub(crate) fn check(&self, priority: Priority, call: &'static str) -> Result<()> {
        if self.options.priorities.contains(priority) {
            return Ok(());
        }
        let count = self.options.priorities.count();
        Err(Code::INVALID_VALUE
            .at(call)
            .because(format!("priority {priority} is not one of 1..={count}; see the option priorities")))
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.primary.begin_to_go();
        self.events.clear(&*self.driver);
        self.shadows.clear(&*self.driver);
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
