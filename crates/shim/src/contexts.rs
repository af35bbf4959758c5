//! The contexts of the process. The layer opens in a context when the program makes it, and closes before the program
//! destroys it.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock};

use hal::locks::{self, lock};
use hal::{Code, Context, Device, Driver, Nanos, Result};

use crate::context::{Adopted, Local};
use crate::lease::{Lease, Owner};
use crate::process::{Process, process};
use crate::{report, trace};

/// A call that destroys a context waits this long for a thread that is opening the layer there.
const OPENS_WITHIN: Nanos = Nanos::from_ms(10_000);

/// The exit of the process waits this long for threads that are opening the layer.
const EXITS_WITHIN: Nanos = Nanos::from_ms(2_000);

/// A call that destroys a context waits this long for threads that use its layer, and for its copy kernels. Meanwhile
/// those threads make no call that waits for the device, unless they use the context itself, which a program must not
/// do during its destruction. A kernel that has not begun by then ends with the context, like those of the program.
const COMES_TO_REST_WITHIN: Nanos = Nanos::from_ms(1_000);

/// The number of contexts in which the layer is open. While it is 0, a copy costs two loads.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// Whether the layer is open anywhere.
pub(crate) fn is_open() -> bool {
    OPEN.load(Ordering::Relaxed) != 0
}

/// Contexts in which a thread is opening the layer, and those in which that failed.
#[derive(Default)]
struct Opening {
    under_way: HashSet<Context>,
    refused: HashMap<Context, hal::Error>,
}

#[derive(Default)]
pub(crate) struct Contexts {
    open: RwLock<HashMap<Context, Owner<Local>>>,
    opening: Mutex<Opening>,
    /// Retained primary contexts, and the number of times.
    primaries: Mutex<HashMap<Device, (Context, u64)>>,
}

impl Contexts {
    /// Whether a thread is opening the layer in the context. For conditions of waits: the lock is held for a few
    /// statements only.
    fn is_under_way(&self, context: Context) -> bool {
        lock(&self.opening).under_way.contains(&context)
    }

    fn set_open(
        &self,
        change: impl FnOnce(&mut HashMap<Context, Owner<Local>>) -> Option<Owner<Local>>,
    ) -> Option<Owner<Local>> {
        let mut open = locks::write(&self.open);
        let changed = change(&mut open);
        OPEN.store(open.len(), Ordering::SeqCst);
        changed
    }
}

/// Ends a thread's opening of the layer on drop, successful or not, so that other threads go on and may try again.
struct UnderWay<'a>(&'a Contexts, Context);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        lock(&self.0.opening).under_way.remove(&self.1);
    }
}

impl Process {
    /// The contexts in which the layer is open.
    pub(crate) fn locals(&self) -> Vec<Lease<Local>> {
        locks::read(&self.contexts.open).values().map(Owner::lease).collect()
    }

    /// The errors of layers that could not be opened.
    pub(crate) fn refusals(&self) -> Vec<String> {
        lock(&self.contexts.opening).refused.values().map(ToString::to_string).collect()
    }

    /// The calling thread's current context.
    #[inline(always)] // each copy asks
    pub(crate) fn current_context(&self) -> Option<Context> {
        self.driver.get()?.context_current().ok()?
    }

    /// The layer in the calling thread's current context, if it is open there.
    pub(crate) fn here(&self) -> Option<Lease<Local>> {
        let context = self.current_context()?;
        locks::read(&self.contexts.open).get(&context).map(Owner::lease)
    }

    /// Opens the layer in a context, on the calling thread, unless it is open or being opened.
    ///
    /// Called only while no work is under way in the context, or at the program's own request: a driver that loads a
    /// module waits for the device and keeps other threads out meanwhile. If the program's next call would end that
    /// wait, the program would hang (seen on an H100, when a thread of ours opened in the background).
    fn open(&self, context: Context) {
        let mut opening = lock(&self.contexts.opening);
        let known = locks::read(&self.contexts.open).contains_key(&context);
        if known || !self.settings.options.enabled || !opening.under_way.insert(context) {
            return;
        }
        drop(opening);
        let under_way = UnderWay(&self.contexts, context);
        match self.make(context) {
            Ok(local) => {
                lock(&self.contexts.opening).refused.remove(&context);
                self.contexts.set_open(|open| open.insert(context, Owner::new(local)));
            }
            Err(error) => {
                log::warn!("copies of this context have no priorities, because overtake cannot open in it: {error}");
                lock(&self.contexts.opening).refused.insert(context, error);
            }
        }
        drop(under_way);
    }

    fn make(&self, context: Context) -> Result<Local> {
        let driver = self.driver()?;
        if driver.context_current()? == Some(context) {
            return Local::open(driver, context, &self.settings.options);
        }
        let (their_driver, options) = (Arc::clone(driver), self.settings.options.clone());
        let elsewhere = hal::spawn(driver, "overtake-open", move || {
            their_driver.context_set_current(Some(context))?;
            Local::open(&their_driver, context, &options)
        });
        elsewhere?.join(driver.host())
    }

    /// Opens the layer in the current context, and returns when it is open.
    pub(crate) fn open_now(&self) -> Result<Lease<Local>> {
        if let Some(open) = self.here() {
            return Ok(open);
        }
        let driver = self.driver()?;
        let none = || Code::INVALID_CONTEXT.at("overtake_open").because("make a CUDA context current first");
        let context = driver.context_current()?.ok_or_else(none)?;
        self.open(context);
        driver.host().wait_until(None, &mut || !self.contexts.is_under_way(context));
        if let Some(error) = lock(&self.contexts.opening).refused.remove(&context) {
            return Err(error);
        }
        let none =
            || Code::NOT_PERMITTED.at("overtake_open").because("it is off here, or is being closed by another thread");
        self.here().ok_or_else(none)
    }

    /// Closes the layer of the current context, if there is a driver.
    pub(crate) fn close_here(&self) -> Result<()> {
        let context = self.driver.get().map_or(Ok(None), |driver| driver.context_current())?;
        context.into_iter().for_each(|context| self.close(context));
        Ok(())
    }

    /// Closes the layer of a context, and returns when no thread of the layer works in it. `README.md` says why this
    /// ends.
    pub(crate) fn close(&self, context: Context) {
        // Without a driver no layer is open.
        let Some(driver) = self.driver.get() else { return };
        let host = driver.host();
        // The thread that opens the layer is inside the driver, in this context.
        host.wait_until(Some(host.now() + OPENS_WITHIN), &mut || !self.contexts.is_under_way(context));
        lock(&self.contexts.opening).refused.remove(&context);
        // Under the lock of the report, so that a report finds the context in one of the two lists, and not in both.
        let mut closed = lock(&self.closed);
        let Some(owner) = self.contexts.set_open(|open| open.remove(&context)) else { return };
        let place = closed.len();
        closed.push(report::Part::of(&owner.lease()));
        drop(closed);
        let streams = self.streams.remove_all(context);
        match part(driver, Parting { owner, streams }) {
            Some((part, trace)) => {
                lock(&self.closed)[place] = part;
                lock(&self.closed_traces).push(trace);
            }
            None => log::warn!(
                "a context is destroyed while a thread is inside a copy in it, or while its kernels leave no \
                 multiprocessor free. The driver frees overtake's streams and memory with the context. Finish the \
                 copies first to avoid this."
            ),
        }
    }

    /// Runs `body` if the layer is open in a context; it is not closed meanwhile.
    pub(crate) fn while_open<T>(&self, context: Context, body: impl FnOnce() -> Option<T>) -> Option<T> {
        let contexts = locks::read(&self.contexts.open);
        contexts.contains_key(&context).then(body)?
    }

    /// Waits for a while until no thread of the program is opening the layer.
    pub(crate) fn await_openings(&self) {
        let Some(driver) = self.driver.get() else { return };
        let host = driver.host();
        let mut is_quiet = || lock(&self.contexts.opening).under_way.is_empty();
        host.wait_until(Some(host.now() + EXITS_WITHIN), &mut is_quiet);
    }
}

/// The parts of a context that end with it.
struct Parting {
    owner: Owner<Local>,
    streams: Vec<Arc<Adopted>>,
}

/// The last figures of a closed context.
type Figures = (report::Part, trace::Part);

impl Parting {
    /// Ends the layer, and returns its last figures. `None` if a thread goes on using it: the layer's own threads have
    /// ended by then, and its streams and memory are left to the driver.
    fn end(self, host: &dyn hal::Host) -> Option<Figures> {
        self.owner.lease().overtake.leave();
        drop(self.streams);
        let local = self.owner.end(host, COMES_TO_REST_WITHIN, Local::is_at_rest)?;
        Some((report::Part::of(&local), trace::Part::of(&local)))
    }
}

/// Ends the layer of a context on a thread of its own. The calling thread's current context may have been destroyed,
/// and a driver crashes when it makes such a context current again. If the system gives no thread, the layer ends on
/// the calling one.
fn part(driver: &Arc<dyn Driver>, parting: Parting) -> Option<Figures> {
    let parting = Arc::new(Mutex::new(Some(parting)));
    let (theirs, their_driver) = (Arc::clone(&parting), Arc::clone(driver));
    let take = |parting: &Mutex<Option<Parting>>| lock(parting).take();
    let elsewhere = hal::spawn(driver, "overtake-close", move || take(&theirs)?.end(their_driver.host()));
    match elsewhere {
        Ok(thread) => thread.join(driver.host()),
        Err(_) => take(&parting)?.end(driver.host()),
    }
}

/// The program has just made a context. No work is under way in it yet.
pub fn context_made(context: Context) {
    if let Some(process) = process() {
        process.open(context);
    }
}

/// The program is about to destroy a context.
pub fn context_going(context: Context) {
    if let Some(process) = process() {
        process.close(context);
    }
}

/// The program has retained a primary context.
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

/// The program is about to release a primary context once.
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

/// The program is about to reset a primary context.
pub fn primary_resetting(device: Device) {
    let Some(process) = process() else { return };
    // The next call that retains the context makes it again.
    let context = lock(&process.contexts.primaries).remove(&device).map(|(context, _)| context);
    context.into_iter().for_each(|context| process.close(context));
}
