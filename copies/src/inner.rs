//! What is open in one context.

use std::sync::{Arc, OnceLock};

use channels::Pace;
use contexts::{CudaContext, Going};
use hal::{CaptureMode, CaptureStatus, Code, DevicePtr, Driver, Error, Event, Result, Stream};
use os::forks::Process;
use priority::{Direction, Priority};
use semaphores::{Bank, Layout, Words};
use threads::{StreamLock, Worker};

use crate::decide::leaves_urgent_copies;
use crate::emulated::{self, Counting};
use crate::engine::Engine;
use crate::findings::Findings;
use crate::guard::{Blocking, Guard};
use crate::kernel::{CopyKernel, NEEDS, Yield};
use crate::pool::Pool;
use crate::reach::Home;
use crate::records::{Counters, Fences, Records, Standing, Trace};
use crate::service::batches::Batches;
use crate::service::calls::Calls;
use crate::staging::Staging;
use crate::watch::{BeatCall, watch};
use options::queues::LAUNCH_BLOCKING;
use options::{Options, Transport};

/// The state that streams and handles share. The fields that a copy needs in order to go at once come first, on one
/// cache line.
#[repr(C, align(64))]
pub struct Inner {
    pub(crate) driver: Arc<dyn Driver>,
    pub(crate) records: Arc<Records>,
    pub(crate) guard: Option<Arc<Guard>>,
    /// Keeps the program's threads out of a stream while a copy of several calls is submitted.
    pub(crate) stream_lock: Arc<StreamLock>,
    /// By direction.
    engines: Box<[Arc<Engine>; Direction::COUNT]>,
    pub(crate) pace: Pace,
    /// Whether copies may go at once: the option `enabled`.
    pub(crate) is_enabled: bool,
    /// The answer of [`leaves_urgent_copies`] for the options.
    pub(crate) leaves_urgent_copies: bool,
    /// All copies may go at once, before the driver is asked about them: the layer is enabled, and stages none.
    pub(crate) all_may_go_at_once: bool,
    pub(crate) options: Options,
    pub(crate) kernel: Option<Arc<CopyKernel>>,
    pub(crate) counting: Counting,
    pub(crate) events: Pool<Event>,
    pub(crate) shadows: Pool<Stream>,
    pub(crate) staging: Option<Arc<Staging>>,
    /// The copy service, once a queue has been made.
    batches: OnceLock<Arc<Batches>>,
    calls: OnceLock<Calls>,
    /// There from the beginning of the end on: all fields above were made in the context, and are dropped in it.
    going: Option<Going>,
    pub(crate) context: CudaContext,
    pub(crate) home: Home,
    process: Process,
}

const _: () = assert!(std::mem::offset_of!(Inner, options) <= 64);

impl Inner {
    pub(crate) fn new(context: &CudaContext, options: Options) -> Result<Inner> {
        let driver = context.driver();
        let findings = Findings::of(driver, options.guard.queues())?;
        // To load a kernel and to make streams keeps other threads' probes out too, so this ends behind them.
        let search = findings.search(driver.host(), &options);
        let engine = |direction| Engine::new(driver, direction, &options).map(Arc::new);
        let engines = Box::new([
            engine(Direction::HostToDevice)?,
            engine(Direction::DeviceToHost)?,
            engine(Direction::DeviceToDevice)?,
            engine(Direction::Peer)?,
        ]);
        let records = Arc::new(records(driver, &options, engines.each_ref().map(|engine| &engine.bank))?);
        stand_down_in_one_queue(&records, &options);
        let (kernel, counting) = emulated::of_its_mode(&options, load_kernel(driver, &options));
        let guard = guard(driver, &findings, &options, &records, kernel.as_ref(), &engines[0])?;
        drop(search);
        let ((shadows, events), staging) = (pools(&**driver)?, Staging::new(&options).map(Arc::new));
        let inner = Inner {
            all_may_go_at_once: options.enabled && staging.is_none(),
            staging,
            kernel,
            counting,
            guard,
            stream_lock: StreamLock::of(driver),
            events,
            shadows,
            batches: OnceLock::new(),
            calls: OnceLock::new(),
            pace: Pace::new(),
            records,
            driver: Arc::clone(driver),
            is_enabled: options.enabled,
            leaves_urgent_copies: leaves_urgent_copies(&options),
            options,
            engines,
            going: None,
            context: context.clone(),
            home: Home { context: context.raw(), device: context.device()? },
            process: Process::this(),
        };
        inner.tell();
        Ok(inner)
    }

    /// Tells the device, the ways of copies and the queues, at the level info.
    fn tell(&self) {
        if !log::log_enabled!(log::Level::Info) {
            return;
        }
        let device = self.driver.context_device().and_then(|device| self.driver.device_name(device));
        let device = device.unwrap_or_else(|error| format!("a device without a name ({error})"));
        let queues = self.options.guard.queues();
        let urgent = self.options.urgent_transport().name();
        log::info!(
            "open on {device}: {} priorities, bulk {}, urgent copies by {urgent}; {queues} hardware queues a direction",
            self.options.priorities.count(),
            self.way_of_bulk()
        );
    }

    /// The way of bulk copies with these options, on this machine.
    fn way_of_bulk(&self) -> &'static str {
        let (options, by_kernel) = (&self.options, self.may_use_kernel());
        match options.transport_of(Direction::HostToDevice) {
            _ if !self.is_enabled => "by the driver alone, as enabled = false",
            _ if self.records.standing.has_stood_down() => "by the driver alone, as there is one hardware queue",
            Transport::Native => "by the driver alone, whole",
            Transport::Auto | Transport::Kernel if by_kernel && self.guard.is_some() => "by guarded copy kernel",
            Transport::Auto | Transport::Kernel if by_kernel => "by copy kernel",
            _ if options.profile.channels => "by copy engine in chunks",
            _ => "by the driver alone, as no copy kernel can be used",
        }
    }

    /// Starts the watcher. It gets no driver.
    pub(crate) fn start_watcher(&self, beat: Option<BeatCall>) -> Result<Worker> {
        let [ends, watched, lost] = [(); 3].map(|()| Arc::clone(&self.records));
        let options = self.options.clone();
        let watcher = Worker::start_small(
            &self.driver,
            "overtake-watcher",
            move || ends.bell.end(),
            move |host| watch(&watched, host, &options, beat),
            // The watcher's list of copies is lost, and with it the times at which to lower their words.
            move || lost.stand_down(),
        )?;
        // Copies may be handed over only now, when a thread watches them.
        self.records.open();
        Ok(watcher)
    }

    /// Starts the rescuer in the layer's context. Unlike the watcher it calls the driver.
    pub(crate) fn start_rescuer(&self, guard: &Arc<Guard>) -> Result<Worker> {
        let [ends, looks, given_up] = [(); 3].map(|()| Arc::clone(guard));
        let (driver, context) = (Arc::clone(&self.driver), self.context.raw());
        Worker::start(
            &self.driver,
            "overtake-rescuer",
            move || ends.end(),
            move |host| {
                // An error means that the context is gone; every later call will return it too.
                let _ = driver.context_set_current(Some(context));
                let _ = driver.exchange_capture_mode(CaptureMode::Relaxed);
                looks.look_after(host);
            },
            move || given_up.give_up(),
        )
    }

    /// Whether copies may go by kernel. If they are to be guarded, the guard must not have stood down.
    pub(crate) fn may_use_kernel(&self) -> bool {
        let guarded = || self.guard.as_ref().is_some_and(|guard| guard.is_trusted());
        self.kernel.is_some() && (self.options.profile.guard_bytes_min.is_none() || guarded())
    }

    /// Runs `body` in the layer's context, with any context current on the calling thread.
    pub fn at_home<T>(&self, body: impl FnOnce() -> T) -> T {
        self.context.visit(|| hal::beside_captures(&*self.driver, body))
    }

    /// Whether the caller is in the child of a fork. There the threads and the device are the parent's, and a lock may
    /// be held for ever: an object that is dropped there stays as it is, and is leaked.
    pub(crate) fn is_of_parent(&self) -> bool {
        !self.process.is_this()
    }

    /// Refuses the child of a fork.
    pub fn may_enter(&self) -> Result<()> {
        Inner::may_be_used(self.process)
    }

    /// The same for what was made in that process, with a layer or without one.
    pub fn may_be_used(made_in: Process) -> Result<()> {
        match made_in.is_this() {
            true => Ok(()),
            false => Err(Code::NOT_INITIALIZED.at("overtake").because("this process is the child of a fork")),
        }
    }

    /// The process that has the layer's threads.
    pub fn process(&self) -> Process {
        self.process
    }

    /// The driver underneath.
    #[must_use]
    pub fn driver(&self) -> &dyn Driver {
        &*self.driver
    }

    /// The batches of the copy service. The first call loads its kernel, and may wait for all work in the context.
    pub(crate) fn batches(&self) -> Result<Arc<Batches>> {
        if let Some(batches) = self.batches.get() {
            return Ok(Arc::clone(batches));
        }
        let made = self.beside_all(|_| Ok(Batches::new(&self.driver, &self.records, self.kernel.as_ref())))?;
        // Another thread may have been first; then ours is dropped.
        Ok(Arc::clone(self.batches.get_or_init(|| Arc::new(made))))
    }

    /// What programs' calls of many small copies need, once [`Inner::make_calls`] has made it.
    pub(crate) fn calls(&self) -> Option<&Calls> {
        self.calls.get()
    }

    /// Makes it, if the driver has loaded the kernel of the copy service.
    pub(crate) fn make_calls(&self) -> Result<Option<&Calls>> {
        let batches = self.batches()?;
        let has_kernel = batches.kernel().is_some();
        Ok(has_kernel.then(|| self.calls.get_or_init(|| Calls::new(batches.another()))))
    }

    /// Whether no launch of the copy service reads memory of the layer's.
    pub(crate) fn is_service_at_rest(&self) -> bool {
        self.batches.get().is_none_or(|batches| batches.is_at_rest())
            && self.calls.get().is_none_or(|calls| calls.batches.is_at_rest())
    }

    /// Announces a driver call that may wait for the device: see [`crate::Overtake::blocking`].
    pub(crate) fn blocking(&self) -> Blocking {
        self.guard.as_ref().map(|guard| guard.blocking(|body| self.at_home(body))).unwrap_or_default()
    }

    /// Makes such a call in the layer's context: memory is allocated and freed by one. If the context has ended, the
    /// call is not made, nor is it in the child of a fork.
    pub fn beside_all<T>(&self, call: impl FnOnce(&dyn Driver) -> Result<T>) -> Result<T> {
        self.may_enter()?;
        let _blocking = self.blocking();
        self.context.call(call)
    }

    /// Announces that memory is freed in stream order: see [`crate::Overtake::freeing`].
    pub fn freeing(&self, memory: DevicePtr) {
        if let Some(guard) = self.guard.as_ref().filter(|guard| !guard.is_idle()) {
            self.at_home(|| {
                let bytes = self.driver.pointer_bytes_left(memory.0).unwrap_or(0);
                guard.let_go_of(memory.0..memory.0 + bytes);
            });
        }
    }

    /// Makes a call of the driver's own. No copy is taken over meanwhile.
    #[inline(always)] // each copy that goes at once is one
    pub(crate) fn natively<T>(&self, native: impl FnOnce() -> T) -> T {
        let _inside = self.guard.as_ref().map(|guard| guard.inside());
        native()
    }

    pub(crate) fn engine(&self, direction: Direction) -> &Arc<Engine> {
        &self.engines[direction.index()]
    }

    /// The directions whose copies have priorities here.
    pub(crate) fn managed(&self) -> impl Iterator<Item = Direction> {
        Direction::ALL.into_iter().filter(|direction| self.options.manages(*direction))
    }

    /// Whether the stream is being captured. Doubt counts as a capture.
    #[must_use]
    pub fn is_capturing(&self, stream: Stream) -> bool {
        // To ask about the legacy stream while another stream captures is itself an error, so every error counts as
        // capturing.
        !matches!(self.driver.stream_capture_status(stream), Ok(CaptureStatus::None))
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
        self.going = Some(self.context.begin_to_go());
        self.staging.iter().for_each(|staging| staging.clear(&*self.driver));
        self.events.clear(&*self.driver);
        self.shadows.clear(&*self.driver);
    }
}

fn stand_down_in_one_queue(records: &Records, options: &Options) {
    // Without channels no copy of ours waits in a hardware queue.
    if !options.profile.channels || options.guard.queues() > 1 {
        return;
    }
    log::warn!(
        "stood down to plain copies, without priorities: all copies share one hardware queue, where a waiting copy \
         blocks all others. Set CUDA_DEVICE_MAX_COPY_CONNECTIONS=8 before the program starts \
         (CUDA_DEVICE_MAX_CONNECTIONS=1 may stay)."
    );
    records.stand_down();
}

fn records(driver: &Arc<dyn Driver>, options: &Options, banks: [&Arc<Bank>; Direction::COUNT]) -> Result<Records> {
    let fences = Fences::new(Words::new(driver, Fences::WORDS)?);
    let standing = Standing::new(banks.map(Arc::clone));
    let (counters, trace) = (Counters::new(options.priorities), Trace::new(options.trace));
    let records = Records::new(fences, standing, counters, trace, options.profile.lull);
    if options.profile.counters_from > 0 {
        records.fences.skip_to(options.profile.counters_from.into());
    }
    Ok(records)
}

/// The guard, where the options ask for one and there is a kernel to be guarded.
fn guard(
    driver: &Arc<dyn Driver>,
    findings: &Findings,
    options: &Options,
    records: &Arc<Records>,
    kernel: Option<&Arc<CopyKernel>>,
    to_device: &Engine,
) -> Result<Option<Arc<Guard>>> {
    let asked_for = options.enabled && options.profile.guard_bytes_min.is_some();
    let Some(kernel) = kernel.filter(|_| asked_for) else { return Ok(None) };
    let word = to_device.bank.gate_address(Priority::LOWEST);
    let yields = Yield { word, lift: None, wait_max: options.profile.kernel_wait_max };
    let guard = Guard::new(driver, findings, records, kernel, options.guard, yields, options.profile.counters_from)?;
    Ok(guard.map(Arc::new))
}

/// The copy kernel, where copies may go by it. Loading a module waits for the device. Where copies are plain ones, it
/// would wait for nothing.
fn load_kernel(driver: &Arc<dyn Driver>, options: &Options) -> Option<Arc<CopyKernel>> {
    if !options.enabled {
        return None;
    }
    if options.launches_block {
        log::warn!(
            "copies have no priorities, because {LAUNCH_BLOCKING} has each launch wait for its kernel: a copy kernel \
             would keep the program's thread until earlier work and more urgent copies are done"
        );
        return None;
    }
    let kernel = CopyKernel::load(driver).inspect_err(|error| warn_of(&**driver, options, error));
    kernel.ok().map(Arc::new).inspect(|kernel| kernel.skip_to(options.profile.counters_from))
}

/// Names the error, both versions, and what works without the copy kernel.
#[cold]
fn warn_of(driver: &dyn Driver, options: &Options, error: &Error) {
    let cuda = driver.version().unwrap_or(0);
    let (major, minor) = (cuda / 1000, cuda % 1000 / 10);
    let works = match options.profile.channels {
        true => "bulk goes in chunks by the copy engine, urgent copies between them",
        false => "urgent copies wait for bulk as natively; pageable ones are staged as usual",
    };
    log::warn!("no copy kernel: {error} (it needs {NEEDS}, and this driver has CUDA {major}.{minor}); {works}");
}

/// Streams and events to begin with: all of them, or none.
fn pools(driver: &dyn Driver) -> Result<(Pool<Stream>, Pool<Event>)> {
    let (shadows, events) = (Pool::<Stream>::default(), Pool::<Event>::to_wait_for(driver));
    let provided = shadows.provide(driver).and_then(|()| events.provide(driver));
    provided.inspect_err(|_| {
        events.clear(driver);
        shadows.clear(driver);
    })?;
    Ok((shadows, events))
}
