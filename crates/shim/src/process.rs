//! The one state of the process, and its life.
//!
//! Untouched until the driver has been initialised ([`start`]); idle until the program makes a context. The layer opens
//! there at once, because that is the one moment at which nothing can be under way; in a context that it has not seen
//! made, copies go natively. A child of a fork, and a process that exits, pass everything through.
#![allow(unsafe_code)] // copies are unsafe; the caller's promise is passed on

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use hal::{Code, Context, Device, Driver, Result, Stream};
use once_cell::sync::OnceCell;
use overtake::copy::{Door, Reason, Request};
use overtake::{Priorities, Priority};

use crate::call::Call;
use crate::context::{Adopted, Local};
use crate::report;
use crate::rules::{Decision, Rules, Witness};
use crate::settings::Settings;
use crate::streams::{Anywhere, Streams};
use crate::{trace, witness};

/// What the library that embeds the layer brings.
pub struct Start {
    /// Makes the driver that lies underneath: called once, when the layer first opens in a context.
    pub driver: fn() -> Result<Arc<dyn Driver>>,
    /// `preload`, `shadow`, `audit` or `c`.
    pub deployment: &'static std::ffi::CStr,
    /// The calls by symbol so far.
    pub calls: fn() -> Vec<CallCount>,
}

/// How often one entry point was called.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct CallCount {
    /// The exported name.
    pub symbol: &'static str,
    /// Calls that the layer looked at.
    pub intercepted: u64,
    /// Calls that went to the driver unseen.
    pub passed_on: u64,
}

/// Contexts on their way to being open, and those where it did not succeed.
#[derive(Default)]
struct Opening {
    under_way: HashSet<Context>,
    refused: HashMap<Context, hal::Error>,
}

pub(crate) struct Process {
    pub(crate) start: Start,
    pub(crate) settings: Settings,
    pub(crate) began: SystemTime,
    rules: RwLock<Arc<Rules>>,
    has_rules: AtomicBool,
    driver: OnceCell<Arc<dyn Driver>>,
    contexts: RwLock<HashMap<Context, Arc<Local>>>,
    streams: Streams,
    opening: Mutex<Opening>,
    opened: Condvar,
    /// Retained primary contexts, and how often.
    primaries: Mutex<HashMap<Device, (Context, u64)>>,
    captures: AtomicI64,
    pub(crate) closed: Mutex<Vec<report::Part>>,
    pub(crate) closed_traces: Mutex<Vec<trace::Part>>,
}

static PROCESS: OnceCell<Process> = OnceCell::new();
static OFF: AtomicBool = AtomicBool::new(false);
/// Contexts in which the layer is open: while there is none, a copy costs two loads.
static OPEN: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static THREAD_PRIORITY: Cell<u8> = const { Cell::new(0) };
}

/// Holds what no panic leaves half done.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The process, if it has started and is neither a fork's child nor exiting.
pub(crate) fn process() -> Option<&'static Process> {
    if OFF.load(Ordering::Relaxed) { None } else { PROCESS.get() }
}

/// The driver has been initialised. Cheap: nothing is opened, and no thread starts unless a report was asked for.
pub fn start(start: Start) {
    start_with(start, None);
}

/// The same, with a TOML text that has its say after file and variables.
pub(crate) fn start_with(start: Start, options: Option<&str>) {
    let mut first = false;
    let process = PROCESS.get_or_init(|| {
        first = true;
        Process::new(start, options)
    });
    if first {
        process.settings.complaints.iter().for_each(|complaint| eprintln!("overtake: {complaint}"));
        report::begin();
    }
}

impl Process {
    fn new(start: Start, options: Option<&str>) -> Process {
        let mut settings = Settings::from_environment(|name| std::env::var(name).ok());
        if let Some(text) = options {
            settings.apply_toml(text, "the options");
        }
        settings.options.trace |= trace::folder().is_some();
        Process {
            start,
            began: SystemTime::now(),
            has_rules: AtomicBool::new(!settings.rules.is_empty()),
            rules: RwLock::new(Arc::new(settings.rules.clone())),
            settings,
            driver: OnceCell::new(),
            contexts: RwLock::default(),
            streams: Streams::default(),
            opening: Mutex::default(),
            opened: Condvar::new(),
            primaries: Mutex::default(),
            captures: AtomicI64::new(0),
            closed: Mutex::default(),
            closed_traces: Mutex::default(),
        }
    }

    pub(crate) fn driver(&self) -> Result<&Arc<dyn Driver>> {
        self.driver.get_or_try_init(self.start.driver)
    }

    pub(crate) fn priorities(&self) -> Priorities {
        self.settings.options.priorities
    }

    /// The contexts in which the layer is open.
    pub(crate) fn locals(&self) -> Vec<Arc<Local>> {
        self.contexts.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Why the layer could not be opened somewhere.
    pub(crate) fn refusals(&self) -> Vec<String> {
        lock(&self.opening).refused.values().map(ToString::to_string).collect()
    }

    /// The layer in the calling thread's current context, if it is open there.
    fn here(&self) -> Option<Arc<Local>> {
        let context = self.driver.get()?.context_current().ok()??;
        self.contexts.read().unwrap_or_else(PoisonError::into_inner).get(&context).cloned()
    }

    /// Opens the layer in a context, on the calling thread, unless it is open or on its way.
    ///
    /// Only where nothing is under way in the context, or at the program's own word: a driver that loads a module waits
    /// for the device and lets nobody else in meanwhile. A program whose next call would release what the device waits
    /// for would never get to make it (seen on an H100, with a thread of ours that opened in the background).
    fn open(&self, context: Context) {
        let mut opening = lock(&self.opening);
        let known = self.contexts.read().unwrap_or_else(PoisonError::into_inner).contains_key(&context);
        if known || !self.settings.options.enabled || !opening.under_way.insert(context) {
            return;
        }
        drop(opening);
        let made = self.driver().and_then(|driver| {
            let here = || Local::open(driver, context, &self.settings.options);
            if driver.context_current()? == Some(context) {
                return here();
            }
            elsewhere(|| driver.context_set_current(Some(context)).and_then(|()| here()))?
        });
        self.settle(context, made);
    }

    fn settle(&self, context: Context, made: Result<Local>) {
        let mut opening = lock(&self.opening);
        opening.under_way.remove(&context);
        match made {
            Ok(local) => {
                let mut contexts = self.contexts.write().unwrap_or_else(PoisonError::into_inner);
                contexts.insert(context, Arc::new(local));
                OPEN.store(contexts.len(), Ordering::SeqCst);
            }
            Err(error) => {
                eprintln!("overtake: copies of this context go natively: {error}");
                opening.refused.insert(context, error);
            }
        }
        self.opened.notify_all();
    }

    /// Opens the layer in the current context, and returns when it is open.
    pub(crate) fn open_now(&self) -> Result<Arc<Local>> {
        if let Some(open) = self.here() {
            return Ok(open);
        }
        let driver = self.driver()?;
        let none = || Code::INVALID_CONTEXT.at("overtake_open").because("make a CUDA context current first");
        let context = driver.context_current()?.ok_or_else(none)?;
        self.open(context);
        let opening = lock(&self.opening);
        let mut opening = self
            .opened
            .wait_while(opening, |opening| opening.under_way.contains(&context))
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = opening.refused.remove(&context) {
            return Err(error);
        }
        drop(opening);
        let none =
            || Code::NOT_PERMITTED.at("overtake_open").because("it is off here, or is being closed by another thread");
        self.here().ok_or_else(none)
    }

    /// Lets go of the current context, if there is a driver.
    pub(crate) fn close_here(&self) -> Result<()> {
        let context = self.driver.get().map_or(Ok(None), |driver| driver.context_current())?;
        context.into_iter().for_each(|context| self.close(context));
        Ok(())
    }

    /// Lets go of a context; of its latest state the report keeps the figures.
    pub(crate) fn close(&self, context: Context) {
        let opening = lock(&self.opening);
        // Whoever opens it is inside the driver, in this very context.
        let patience = Duration::from_secs(10);
        let under_way = |opening: &mut Opening| opening.under_way.contains(&context);
        let waited = self.opened.wait_timeout_while(opening, patience, under_way);
        let (mut opening, _) = waited.unwrap_or_else(PoisonError::into_inner);
        opening.refused.remove(&context);
        drop(opening);
        let mut contexts = self.contexts.write().unwrap_or_else(PoisonError::into_inner);
        let gone = contexts.remove(&context);
        OPEN.store(contexts.len(), Ordering::SeqCst);
        drop(contexts);
        let streams = self.streams.remove_all(context);
        if let Some(local) = &gone {
            lock(&self.closed).push(report::Part::of(local));
            lock(&self.closed_traces).push(trace::Part::of(local));
            // The streams were adopted in it. An error means that there is no thread to be had; then it is done here.
            let _ = elsewhere(move || drop((streams, gone)));
        }
    }

    /// What priority a copy has; `None`: it is left alone.
    pub(crate) fn priority(&self, call: &Call, bytes: u64, adopted: &Adopted) -> Option<Priority> {
        let said = thread_priority().or_else(|| adopted.given());
        if said.is_some() {
            return said;
        }
        if self.has_rules.load(Ordering::Relaxed) {
            let rules = Arc::clone(&self.rules.read().unwrap_or_else(PoisonError::into_inner));
            match rules.decide(call, bytes, &Seen { call, adopted }) {
                Some(Decision::At(priority)) => return Some(priority),
                Some(Decision::Pass) => return None,
                None => {}
            }
        }
        let small = Priority::new(2).unwrap_or(Priority::LOWEST).min(self.priorities().highest());
        let by_size = |min| if bytes >= min { Priority::LOWEST } else { small };
        adopted.own.or_else(|| self.settings.bulk_bytes_min.map(by_size))
    }

    /// Replaces the rules by those of a TOML text.
    pub(crate) fn set_rules(&self, text: &str) -> std::result::Result<(), String> {
        let mut table: toml::Table = text.parse().map_err(|error: toml::de::Error| error.message().to_owned())?;
        let rules = match table.remove("rule") {
            Some(rules) => Rules::from_toml(&rules, self.priorities())?,
            None => Rules::default(),
        };
        if let Some(name) = table.keys().next() {
            return Err(format!("rules hold [[rule]] tables and nothing else, not `{name}`"));
        }
        self.has_rules.store(!rules.is_empty(), Ordering::Relaxed);
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(rules);
        Ok(())
    }

    /// The stream, in the current context if it is new or one of the default streams.
    pub(crate) fn adopted(&self, stream: Stream) -> Option<Arc<Adopted>> {
        let current = || self.driver.get()?.context_current().ok()?;
        let which = Anywhere::of(stream, current)?;
        self.streams.find(&which).or_else(|| self.adopt(which))
    }

    fn adopt(&self, which: Anywhere) -> Option<Arc<Adopted>> {
        let adopted = Arc::new(self.here()?.adopt(which.stream())?);
        let contexts = self.contexts.read().unwrap_or_else(PoisonError::into_inner);
        // Closed meanwhile, it would never be forgotten again.
        contexts.get(&adopted.context)?;
        self.streams.keep(which, &adopted)
    }

    /// The application is about to destroy a stream.
    fn forget(&self, stream: Stream) {
        // Nobody destroys a default stream.
        let which = Anywhere::of(stream, || None);
        drop(which.and_then(|which| self.streams.remove(&which)));
    }

    /// Whether the calling thread's context is that of the stream: a copy from elsewhere goes natively.
    pub(crate) fn is_current(&self, adopted: &Adopted) -> bool {
        let current = self.driver.get().and_then(|driver| driver.context_current().ok().flatten());
        current == Some(adopted.context)
    }
}

/// Runs `body` on a thread of its own and waits for it. What is current on the calling thread may be a context that has
/// been destroyed; a driver that is asked to make it current again goes down with it.
fn elsewhere<T: Send>(body: impl FnOnce() -> T + Send) -> Result<T> {
    let refused = |text: String| Code::OPERATING_SYSTEM.at("overtake").because(text);
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("overtake-open".to_owned()).spawn_scoped(scope, body);
        let joined = thread.map_err(|error| refused(format!("no thread: {error}")))?.join();
        joined.map_err(|_| refused("a defect of overtake: please report it".to_owned()))
    })
}

/// What rules may ask.
struct Seen<'a> {
    call: &'a Call,
    adopted: &'a Adopted,
}

impl Witness for Seen<'_> {
    fn stream_priority(&self) -> Option<i32> {
        Some(self.adopted.cuda_priority.unwrap_or(0))
    }

    fn thread(&self) -> String {
        witness::thread_name()
    }

    fn library(&self) -> String {
        witness::library_of(self.call.caller)
    }
}

/// What the calling thread has said about its copies.
pub(crate) fn thread_priority() -> Option<Priority> {
    // A thread that is going away has no say any more.
    THREAD_PRIORITY.try_with(Cell::get).ok().and_then(Priority::new)
}

/// Replaces it, and returns what it was.
pub(crate) fn swap_thread_priority(priority: Option<Priority>) -> Option<Priority> {
    let number = priority.map_or(0, Priority::get);
    THREAD_PRIORITY.try_with(|cell| cell.replace(number)).ok().and_then(Priority::new)
}

/// One copy. Returns what the driver returned; `native` makes the real call, and is called at most once.
///
/// # Safety
/// The ranges of the call are valid as the real call demands.
pub unsafe fn copy(call: &Call, native: &mut dyn FnMut() -> u32) -> u32 {
    // SAFETY: passed on to the caller.
    unsafe { copy_batch(std::slice::from_ref(call), native) }
}

/// Several copies of one stream that have no order among them, made by one real call. Copies elsewhere, or of another
/// kind, than the first make the whole go natively.
///
/// # Safety
/// As for [`copy`], for each.
pub unsafe fn copy_batch(calls: &[Call], native: &mut dyn FnMut() -> u32) -> u32 {
    if OPEN.load(Ordering::Relaxed) == 0 {
        return native();
    }
    let Some((process, adopted, call)) = addressee(calls) else { return native() };
    let bytes = calls.iter().map(|call| call.request.bytes()).sum();
    let Some(priority) = process.priority(call, bytes, &adopted) else {
        adopted.copies.passed_on(Reason::LeftAlone, bytes);
        return native();
    };
    if let [one] = calls
        && adopted.copies.is_alone(one.direction(), priority)
    {
        adopted.copies.passed_on(Reason::Alone, bytes);
        return native();
    }
    if !process.is_current(&adopted) {
        return native();
    }
    let made = Cell::new(None);
    let native = RefCell::new(native);
    let through = || {
        let result = (*native.borrow_mut())();
        made.set(Some(result));
        Code::new(result).map_or(Ok(()), |code| Err(code.at("the driver's copy")))
    };
    let no_captures = process.captures.load(Ordering::Relaxed) == 0;
    let door = Door { native: Some(&through), blocking: call.blocking, no_captures };
    // SAFETY: passed on to the caller.
    let result = unsafe {
        match calls {
            [one] => adopted.copies.memcpy_through(&one.request.at(priority), &door),
            many => {
                let requests: Vec<Request> = many.iter().map(|call| call.request.at(priority)).collect();
                adopted.copies.memcpy_batch_through(&requests, &door)
            }
        }
    };
    // What the driver said to the call itself is what the application hears.
    made.get().unwrap_or_else(|| result.err().map_or(0, |error| error.code().get()))
}

fn addressee(calls: &[Call]) -> Option<(&'static Process, Arc<Adopted>, &Call)> {
    let (process, call) = (process()?, calls.first()?);
    let adopted = process.adopted(call.stream)?;
    Some((process, adopted, call))
}

/// The application has just made a context, in which nothing is under way yet.
pub fn context_made(context: Context) {
    if let Some(process) = process() {
        process.open(context);
    }
}

/// The application is about to make a driver call that may wait for the device and let no other thread into the driver
/// meanwhile, such as freeing memory. What is returned is kept until that call has returned.
#[must_use]
pub fn about_to_block() -> Blocked {
    if OPEN.load(Ordering::Relaxed) == 0 {
        return Blocked { _here: Vec::new() };
    }
    let locals = process().map(Process::locals).unwrap_or_default();
    Blocked { _here: locals.iter().map(|local| local.overtake.blocking()).collect() }
}

/// A call that may wait inside the driver is under way: see [`about_to_block`].
#[derive(Debug)]
pub struct Blocked {
    _here: Vec<overtake::Blocking>,
}

/// The application is about to destroy a stream.
pub fn stream_going(stream: Stream) {
    if OPEN.load(Ordering::Relaxed) == 0 {
        return;
    }
    if let Some(process) = process() {
        process.forget(stream);
    }
}

/// The application is about to destroy a context.
pub fn context_going(context: Context) {
    if let Some(process) = process() {
        process.close(context);
    }
}

/// The application has retained a primary context.
pub fn primary_retained(device: Device, context: Context) {
    let Some(process) = process() else { return };
    let count = {
        let mut primaries = lock(&process.primaries);
        let (_, count) = primaries.entry(device).or_insert((context, 0));
        *count += 1;
        *count
    };
    if count == 1 {
        process.open(context);
    }
}

/// The application is about to release a primary context once.
pub fn primary_releasing(device: Device) {
    let Some(process) = process() else { return };
    let mut primaries = lock(&process.primaries);
    let Some((context, count)) = primaries.get_mut(&device) else { return };
    *count = count.saturating_sub(1);
    let last = (*count == 0).then_some(*context);
    if last.is_some() {
        primaries.remove(&device);
    }
    drop(primaries);
    last.into_iter().for_each(|context| process.close(context));
}

/// The application is about to reset a primary context.
pub fn primary_resetting(device: Device) {
    let Some(process) = process() else { return };
    // The next one who retains it makes it anew.
    let context = lock(&process.primaries).remove(&device).map(|(context, _)| context);
    context.into_iter().for_each(|context| process.close(context));
}

/// The application has begun to capture a stream.
pub fn capture_began() {
    if let Some(process) = process() {
        process.captures.fetch_add(1, Ordering::SeqCst);
    }
}

/// The application has ended a capture.
pub fn capture_ended() {
    if let Some(process) = process() {
        process.captures.fetch_sub(1, Ordering::SeqCst);
    }
}

/// This is a child of a fork: everything passes through from now on, if its parent had begun anything. Safe in a
/// signal's handler.
pub fn forked() {
    if PROCESS.get().is_some() {
        OFF.store(true, Ordering::SeqCst);
    }
}

/// The process is exiting: copies pass through, and nothing of ours is inside the driver any more.
pub fn exiting() {
    let Some(process) = process() else { return };
    OFF.store(true, Ordering::SeqCst);
    let patience = Duration::from_secs(2);
    let opening = lock(&process.opening);
    drop(process.opened.wait_timeout_while(opening, patience, |opening| !opening.under_way.is_empty()));
    report::end(process);
    trace::end(process);
}

/// Who brought the layer, if it has started.
#[must_use]
pub fn deployment() -> Option<&'static str> {
    PROCESS.get().and_then(|process| process.start.deployment.to_str().ok())
}
