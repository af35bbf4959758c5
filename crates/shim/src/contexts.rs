//! The contexts of the process: opened when they are made, found again, closed before they go.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, RwLock};
use std::time::Duration;

use hal::{Code, Context, Device, Result};

use crate::context::Local;
use crate::process::{Process, lock, process};
use crate::{report, trace};

/// Contexts in which the layer is open: while there is none, a copy costs two loads.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// Whether the layer is open anywhere.
pub(crate) fn is_open() -> bool {
    OPEN.load(Ordering::Relaxed) != 0
}

/// Contexts on their way to being open, and those where it did not succeed.
#[derive(Default)]
struct Opening {
    under_way: HashSet<Context>,
    refused: HashMap<Context, hal::Error>,
}

/// The contexts.
#[derive(Default)]
pub(crate) struct Contexts {
    open: RwLock<HashMap<Context, Arc<Local>>>,
    opening: Mutex<Opening>,
    opened: Condvar,
    /// Retained primary contexts, and how often.
    primaries: Mutex<HashMap<Device, (Context, u64)>>,
}

impl Process {
    /// The contexts in which the layer is open.
    pub(crate) fn locals(&self) -> Vec<Arc<Local>> {
        self.contexts.open.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Why the layer could not be opened somewhere.
    pub(crate) fn refusals(&self) -> Vec<String> {
        lock(&self.contexts.opening).refused.values().map(ToString::to_string).collect()
    }

    /// The layer in the calling thread's current context, if it is open there.
    pub(crate) fn here(&self) -> Option<Arc<Local>> {
        let context = self.driver.get()?.context_current().ok()??;
        self.contexts.open.read().unwrap_or_else(PoisonError::into_inner).get(&context).cloned()
    }

    /// Opens the layer in a context, on the calling thread, unless it is open or on its way.
    ///
    /// Only where nothing is under way in the context, or at the program's own word: a driver that loads a module waits
    /// for the device and lets nobody else in meanwhile. A program whose next call would release what the device waits
    /// for would never get to make it (seen on an H100, with a thread of ours that opened in the background).
    fn open(&self, context: Context) {
        let mut opening = lock(&self.contexts.opening);
        let known = self.contexts.open.read().unwrap_or_else(PoisonError::into_inner).contains_key(&context);
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
        if let Err(error) = &made {
            log::warn!("copies of this context go natively: {error}");
        }
        let mut opening = lock(&self.contexts.opening);
        opening.under_way.remove(&context);
        match made {
            Ok(local) => {
                let mut contexts = self.contexts.open.write().unwrap_or_else(PoisonError::into_inner);
                contexts.insert(context, Arc::new(local));
                OPEN.store(contexts.len(), Ordering::SeqCst);
            }
            Err(error) => {
                opening.refused.insert(context, error);
            }
        }
        self.contexts.opened.notify_all();
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
        let opening = lock(&self.contexts.opening);
        let mut opening = self
            .contexts
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
        let opening = lock(&self.contexts.opening);
        // Whoever opens it is inside the driver, in this very context.
        let patience = Duration::from_secs(10);
        let under_way = |opening: &mut Opening| opening.under_way.contains(&context);
        let waited = self.contexts.opened.wait_timeout_while(opening, patience, under_way);
        let (mut opening, _) = waited.unwrap_or_else(PoisonError::into_inner);
        opening.refused.remove(&context);
        drop(opening);
        let mut contexts = self.contexts.open.write().unwrap_or_else(PoisonError::into_inner);
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

    /// Runs `body` if the layer is open in a context, which is not closed meanwhile.
    pub(crate) fn while_open<T>(&self, context: Context, body: impl FnOnce() -> Option<T>) -> Option<T> {
        let contexts = self.contexts.open.read().unwrap_or_else(PoisonError::into_inner);
        contexts.contains_key(&context).then(body)?
    }

    /// Waits, not for ever, until no thread of the program's is opening a context.
    pub(crate) fn await_openings(&self) {
        let patience = Duration::from_secs(2);
        let opening = lock(&self.contexts.opening);
        drop(self.contexts.opened.wait_timeout_while(opening, patience, |opening| !opening.under_way.is_empty()));
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

/// The application has just made a context, in which nothing is under way yet.
pub fn context_made(context: Context) {
    if let Some(process) = process() {
        process.open(context);
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
        let mut primaries = lock(&process.contexts.primaries);
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
    let mut primaries = lock(&process.contexts.primaries);
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
    let context = lock(&process.contexts.primaries).remove(&device).map(|(context, _)| context);
    context.into_iter().for_each(|context| process.close(context));
}
