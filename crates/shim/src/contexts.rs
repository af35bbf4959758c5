//! The contexts of the process. The layer opens in a context when the program creates it, and closes before the program
//! destroys it.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock};

use hal::locks::{self, lock};
use hal::{Code, Context, Driver, Nanos, Result};

use crate::context::{Adopted, Local};
use crate::lease::{Lease, Owner};
use crate::process::Process;
use crate::record::DeviceRecord;
use crate::trace;
use crate::uses::Uses;

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

/// The layer tries so many times to open in a new context, with a pause between: a thread of the program may have kept
/// it out of the driver for a moment.
const TRIES: u32 = 3;
const PAUSE: Nanos = Nanos::from_ms(5);

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
    pub(crate) uses: Mutex<Uses>,
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

    /// The same, for a thread that must not wait.
    pub(crate) fn locals_at_once(&self) -> Option<Vec<Lease<Local>>> {
        Some(self.contexts.open.try_read().ok()?.values().map(Owner::lease).collect())
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

    /// Opens the layer in a context, on the calling thread, unless it is open there. If another thread is opening it,
    /// this waits for that thread, but not for ever.
    ///
    /// Called only while no work is under way in the context, or at the program's own request: a driver that loads a
    /// module waits for the device and keeps other threads out meanwhile. If the program's next call would end that
    /// wait, the program would hang (seen on an H100, when a thread of ours opened in the background). For the same
    /// reason a second thread goes on only when the first has opened, and an opening that has failed is not tried again
    /// later.
    pub(crate) fn open(&self, context: Context) {
        self.try_to_open(context, TRIES);
    }

    /// The last try of several leaves its error.
    fn try_to_open(&self, context: Context, tries: u32) {
        let mut opening = lock(&self.contexts.opening);
        let known = locks::read(&self.contexts.open).contains_key(&context);
        if known || self.is_off() {
            return;
        }
        let is_first = opening.under_way.insert(context);
        drop(opening);
        if !is_first {
            return self.await_opening(context);
        }
        let under_way = UnderWay(&self.contexts, context);
        match self.make(context, tries) {
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

    /// Waits until no thread is opening the layer in the context, for a while.
    pub(crate) fn await_opening(&self, context: Context) {
        let Some(driver) = self.driver.get() else { return };
        let host = driver.host();
        host.wait_until(Some(host.now() + OPENS_WITHIN), &mut || !self.contexts.is_under_way(context));
    }

    /// Several tries are for a context that is new. The program's own request has one.
    fn make(&self, context: Context, tries: u32) -> Result<Local> {
        let driver = self.driver()?;
        let mut made = self.make_once(driver, context, tries > 1);
        for _ in 1..tries {
            if made.is_ok() {
                break;
            }
            driver.host().sleep(PAUSE);
            made = self.make_once(driver, context, true);
        }
        made
    }

    fn make_once(&self, driver: &Arc<dyn Driver>, context: Context, is_new: bool) -> Result<Local> {
        if driver.context_current()? == Some(context) {
            return Local::open(driver, context, &self.settings.options, is_new);
        }
        let (their_driver, options) = (Arc::clone(driver), self.settings.options.clone());
        let elsewhere = hal::spawn(driver, "overtake-open", move || {
            their_driver.context_set_current(Some(context))?;
            Local::open(&their_driver, context, &options, is_new)
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
        self.try_to_open(context, 1);
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
        self.captures.forget_all(context);
        // Without a driver no layer is open.
        let Some(driver) = self.driver.get() else { return };
        // The thread that opens the layer is inside the driver, in this context.
        self.await_opening(context);
        let Some((parting, number)) = self.take_out(context) else { return };
        match part(driver, parting) {
            Some((part, trace)) => {
                lock(&self.closed).end(number, Some(part));
                lock(&self.closed_traces).extend(trace);
            }
            None => log::warn!(
                "a context is destroyed while a thread is inside a copy in it, or while its kernels leave no \
                 multiprocessor free. The driver frees overtake's streams and memory with the context. Finish the \
                 copies first to avoid this."
            ),
        }
        lock(&self.closed).end(number, None);
    }

    /// Takes the layer of a context out of all lists, and returns it with its number among the closed ones.
    fn take_out(&self, context: Context) -> Option<(Parting, u64)> {
        lock(&self.contexts.opening).refused.remove(&context);
        // Under the lock of the report, so that a report finds the context in one of the two lists, and not in both.
        let mut closed = lock(&self.closed);
        let owner = self.contexts.set_open(|open| open.remove(&context))?;
        let number = closed.begin(DeviceRecord::of(&owner.lease()));
        drop(closed);
        Some((Parting { owner, streams: self.streams.remove_all(context) }, number))
    }

    /// The layer of a context that has ended unseen: its handle has just come again for a new one. Nothing of it may
    /// call the driver, so all of it is left alone, but for the threads, which end.
    pub(crate) fn leave_stale(&self, context: Context) {
        self.captures.forget_all(context);
        let Some((Parting { owner, streams }, number)) = self.take_out(context) else { return };
        owner.lease().overtake.abandon();
        std::mem::forget(streams);
        lock(&self.closed).end(number, None);
        log::warn!(
            "a context has ended by a call that overtake does not know, and its handle has come again: what overtake \
             had made in it is left behind"
        );
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
type Figures = (DeviceRecord, Option<trace::Part>);

impl Parting {
    /// Ends the layer, and returns its last figures. `None` if a thread goes on using it: the layer's own threads have
    /// ended by then, and its streams and memory are left to the driver.
    fn end(self, host: &dyn hal::Host) -> Option<Figures> {
        self.owner.lease().overtake.leave();
        drop(self.streams);
        let local = self.owner.end(host, COMES_TO_REST_WITHIN, Local::is_at_rest)?;
        Some((DeviceRecord::of(&local), trace::Part::of_closing(&local)))
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

#[cfg(test)]
mod tests;
