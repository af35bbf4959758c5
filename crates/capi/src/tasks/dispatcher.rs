//! Dispatchers: opening and counts.
#![allow(unsafe_code)] // symbols that C finds by name, and C's pointers

use std::cell::OnceCell;
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once};

use copies::Overtake;
use hal::Context;
use overtake::dispatch::{DispatchOptions, Dispatcher};
use overtake::task::{Order, Tasks};

use crate::codes::{OVERTAKE_ERROR_CLOSED, OVERTAKE_ERROR_OFF};
use crate::failure::{Failure, Outcome, catch};
use crate::sized::{self, bytes_of};
use crate::tasks::handles::{HandleKind, Handles};
pub use crate::tasks::home::Home;
use crate::tasks::layer;

/// A dispatcher: it runs tasks on the device of a context, with streams, events and threads that it makes when it is
/// opened.
#[repr(C)]
#[allow(non_camel_case_types)] // C's name
pub struct overtake_dispatcher {
    _private: [u8; 0],
}

/// The urgent tasks first, and those of one priority in the order of their submission.
pub const OVERTAKE_ORDER_DEFAULT: c_int = 0;
/// The order of PhysX's task manager, in which priorities are not seen.
pub const OVERTAKE_ORDER_PHYSX: c_int = 1;

/// The parameters of a dispatcher. Set struct_size before the call; 0 in another field is its default.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct DispatcherOptions {
    /// sizeof(struct overtake_dispatcher_options).
    pub struct_size: u32,
    /// Groups of neighbouring priorities; each has lanes of its own. 0: 2.
    pub groups: u32,
    /// The lanes of a group: streams, made at once. 0: 8.
    pub lanes: u32,
    /// Threads that run functions of the host. None is kept for urgent ones: have more than there are long functions at
    /// once. 0: 2.
    pub workers: u32,
    /// The most tasks that have not ended; a full dispatcher returns OVERTAKE_ERROR_WOULD_BLOCK. 0: 65536.
    pub tasks_max: u32,
    /// The order of ready tasks: OVERTAKE_ORDER_DEFAULT or OVERTAKE_ORDER_PHYSX.
    pub order: c_int,
}

/// The counts of a dispatcher. Set struct_size before the call.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct DispatcherStatistics {
    /// sizeof(struct overtake_dispatcher_statistics).
    pub struct_size: u32,
    /// 1 if the device has failed: no task of the device runs any more.
    pub is_device_lost: u32,
    /// Calls of functions that launch work.
    pub launches: u64,
    /// Functions of the host that have been run, light ones included.
    pub functions: u64,
    /// Events that a lane waited for before a launch.
    pub joins: u64,
    /// Events recorded in lanes: for joins, and for threads that wait.
    pub marks: u64,
    /// Tasks that have not ended.
    pub tasks: u64,
    /// Submitted copies that were raised because a more urgent task came to wait for them.
    pub lifts: u64,
    /// Captures that a task's function had begun in its lane and not ended. They were ended, and the task failed.
    pub captures_ended: u64,
    /// Waits of lanes for others that were left out, because an earlier one stands for them.
    pub joins_saved: u64,
    /// Replays of fixed templates that were one launch of a graph (overtake_template_fix).
    pub graph_launches: u64,
    /// Replays of fixed templates whose functions were called, as they can be no graph.
    pub graph_fallbacks: u64,
}

/// The size of the first released options.
pub const DISPATCHER_OPTIONS_BYTES_MIN: usize = 24;
/// The size of the first released counts.
pub const DISPATCHER_STATISTICS_BYTES_MIN: usize = 48;

/// A dispatcher that is open.
pub struct Opened {
    /// Calls share it, because none may enter it with the lock of the handles held.
    pub dispatcher: Arc<Dispatcher>,
    /// What its sets, tasks and arrays belong to.
    pub home: Home,
    /// One for each device.
    pub layers: Vec<Arc<Overtake>>,
}

static DISPATCHERS: Handles<Opened> = Handles::new(HandleKind::Dispatcher);
static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// Whether this process is the child of a fork. Another thread of the parent may have held any lock.
pub fn is_child() -> bool {
    IS_CHILD.load(Ordering::Relaxed)
}

/// An error in the child of a fork: it has no threads for tasks, and another thread of the parent may have held a lock.
pub fn refuse_in_child(call: &str) -> Outcome {
    match is_child() {
        false => Ok(()),
        true => {
            let text = format!("{call}: this process is the child of a fork, and has no tasks: start it anew for them");
            Err(Failure::new(OVERTAKE_ERROR_OFF, &text))
        }
    }
}

/// Frees a handle: the body of the exports that do no more.
pub fn free<T, H>(call: &str, handles: &Handles<T>, handle: *const H) -> c_int {
    catch(call, || {
        refuse_in_child(call)?;
        handles.remove(call, handle).map(drop)
    })
}

/// Has [`refuse_in_child`] know the children of this process.
pub fn watch_forks() {
    extern "C" fn forked() {
        IS_CHILD.store(true, Ordering::Relaxed);
    }
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        // SAFETY: a function of this library, which is never unmapped.
        unsafe { libc::pthread_atfork(None, None, Some(forked)) };
    });
}

/// Whether a dispatcher is open in a context that is meant.
pub fn is_open_in(is_it: impl Fn(Context) -> bool) -> bool {
    DISPATCHERS.any(|opened| opened.layers.iter().any(|layer| is_it(layer.context())))
}

/// Takes the handle of a dispatcher away.
pub fn remove(call: &str, dispatcher: *const overtake_dispatcher) -> Outcome<Opened> {
    DISPATCHERS.remove(call, dispatcher)
}

/// Opens a dispatcher in the calling thread's current context, which takes some milliseconds: 12 streams, their events,
/// and threads. A dispatcher is meant to live as long as the program uses the device. `options` is null, or the
/// parameters. Copies of tasks share the priorities of the copies of overtake_memcpy_async.
///
/// Threads: any.
///
/// # Safety
/// `options` is null or points at a structure of the size that its struct_size says; `dispatcher` points at a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_dispatcher_open(
    options: *const DispatcherOptions,
    dispatcher: *mut *mut overtake_dispatcher,
) -> c_int {
    const CALL: &str = "overtake_dispatcher_open";
    catch(CALL, || {
        refuse_in_child(CALL)?;
        let output = output(CALL, "dispatcher", dispatcher)?;
        // SAFETY: the caller's promise.
        let options = unsafe { given(CALL, options) }?;
        let (overtake, is_relayed) = layer::open()?;
        let opened = open_on(vec![overtake], is_relayed, options)?;
        // SAFETY: not null, and the caller's.
        unsafe { output.write(opened) };
        Ok(())
    })
}

/// The same on several devices: `contexts` are `count` CUcontext, one of each device, in the order in which tasks and
/// arrays number them. The calling thread's current context stays.
///
/// Threads: any.
///
/// # Safety
/// As for overtake_dispatcher_open, and `contexts` has so many contexts, which live until the dispatcher is closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_dispatcher_open_on(
    contexts: *const *mut c_void,
    count: usize,
    options: *const DispatcherOptions,
    dispatcher: *mut *mut overtake_dispatcher,
) -> c_int {
    const CALL: &str = "overtake_dispatcher_open_on";
    catch(CALL, || {
        refuse_in_child(CALL)?;
        let output = output(CALL, "dispatcher", dispatcher)?;
        // SAFETY: the caller's promise.
        let contexts = unsafe { sized::slice(CALL, "contexts", contexts, count) }?;
        if contexts.is_empty() {
            return Err(Failure::argument(&format!("{CALL}: contexts has one context at least, for a device each")));
        }
        // SAFETY: the caller's promise.
        let options = unsafe { given(CALL, options) }?;
        let opened = contexts.iter().map(|context| layer::open_in(context.addr() as u64));
        let (layers, relayed): (Vec<_>, Vec<_>) = opened.collect::<Outcome<Vec<_>>>()?.into_iter().unzip();
        let opened = open_on(layers, relayed.into_iter().any(|is_relayed| is_relayed), options)?;
        // SAFETY: not null, and the caller's.
        unsafe { output.write(opened) };
        Ok(())
    })
}

/// # Safety
/// As for [`overtake_dispatcher_open`].
unsafe fn given(call: &str, options: *const DispatcherOptions) -> Outcome<DispatchOptions> {
    let options = match options.is_null() {
        true => DispatcherOptions::default(),
        // SAFETY: the caller's promise; the fields are numbers.
        false => unsafe { sized::read(call, "options", options, DISPATCHER_OPTIONS_BYTES_MIN) }?,
    };
    parameters(call, &options)
}

fn open_on(
    layers: Vec<Arc<Overtake>>,
    is_relayed: bool,
    options: DispatchOptions,
) -> Outcome<*mut overtake_dispatcher> {
    watch_forks();
    let dispatcher = Arc::new(Dispatcher::open_on(&layers, options)?);
    Ok(DISPATCHERS.add(Opened { dispatcher, home: Home::open(is_relayed), layers }))
}

/// A place for a result.
pub fn output<T>(call: &str, name: &str, pointer: *mut T) -> Outcome<NonNull<T>> {
    NonNull::new(pointer).ok_or_else(|| Failure::argument(&format!("{call}: {name} is null")))
}

fn parameters(call: &str, options: &DispatcherOptions) -> Outcome<DispatchOptions> {
    let default = DispatchOptions::default();
    let number = |name: &str, value: u32, default: u8| match value {
        0 => Ok(default),
        _ => u8::try_from(value).map_err(|_| Failure::argument(&format!("{call}: {name} is {value}, at most 255"))),
    };
    let order = match options.order {
        OVERTAKE_ORDER_DEFAULT => Order::Default,
        OVERTAKE_ORDER_PHYSX => Order::PhysX,
        other => return Err(Failure::argument(&format!("{call}: order {other} is not one of OVERTAKE_ORDER_..."))),
    };
    Ok(DispatchOptions {
        order,
        groups: number("groups", options.groups, default.groups)?,
        lanes: number("lanes", options.lanes, default.lanes)?,
        workers: number("workers", options.workers, default.workers)?,
        tasks_max: if options.tasks_max == 0 { default.tasks_max } else { options.tasks_max },
    })
}

/// The counts of a dispatcher. The structure is written only if the call succeeds; struct_size is then the number of
/// bytes that the library knows.
///
/// Threads: any.
///
/// # Safety
/// `statistics` points at a structure of the size that its struct_size says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_dispatcher_read_statistics(
    dispatcher: *mut overtake_dispatcher,
    statistics: *mut DispatcherStatistics,
) -> c_int {
    const CALL: &str = "overtake_dispatcher_read_statistics";
    catch(CALL, || {
        refuse_in_child(CALL)?;
        let (dispatcher, _) = find(CALL, dispatcher)?;
        let (counts, graph) = (dispatcher.statistics(), dispatcher.graph_statistics());
        drop(dispatcher);
        let fresh = DispatcherStatistics {
            struct_size: bytes_of::<DispatcherStatistics>(),
            is_device_lost: u32::from(counts.is_device_lost),
            launches: counts.launches,
            functions: counts.functions,
            joins: counts.joins,
            marks: counts.marks,
            tasks: graph.nodes as u64,
            lifts: counts.lifts,
            captures_ended: counts.captures_ended,
            joins_saved: graph.joins_saved,
            graph_launches: counts.graph_launches,
            graph_fallbacks: counts.graph_fallbacks,
        };
        // SAFETY: the caller's promise.
        unsafe { sized::write(CALL, "statistics", statistics, DISPATCHER_STATISTICS_BYTES_MIN, &fresh) }
    })
}

/// The picture of its tasks.
pub fn dot_of(call: &str, dispatcher: *mut overtake_dispatcher) -> Outcome<String> {
    refuse_in_child(call)?;
    let (dispatcher, _) = find(call, dispatcher)?;
    Ok(dispatcher.dot())
}

fn find(call: &str, dispatcher: *const overtake_dispatcher) -> Outcome<(Arc<Dispatcher>, Home)> {
    DISPATCHERS.with(call, dispatcher, |opened| (Arc::clone(&opened.dispatcher), opened.home))
}

/// A new set of tasks of a dispatcher, and the dispatcher.
pub fn new_set(call: &str, dispatcher: *mut overtake_dispatcher, name: &str) -> Outcome<(Tasks, Home)> {
    let (dispatcher, home) = find(call, dispatcher)?;
    Ok((Tasks::with_name(&dispatcher, name), home))
}

/// The same of the dispatcher that a set belongs to.
pub fn layers_of(call: &str, home: Home) -> Outcome<Vec<Arc<Overtake>>> {
    let found = OnceCell::new();
    DISPATCHERS.any(|opened| opened.home == home && found.set(opened.layers.clone()).is_ok());
    found.into_inner().ok_or_else(|| Failure::new(OVERTAKE_ERROR_CLOSED, &format!("{call}: the dispatcher is closed")))
}

/// The copy layers of a dispatcher, one for each device.
pub fn layers(call: &str, dispatcher: *mut overtake_dispatcher) -> Outcome<Vec<Arc<Overtake>>> {
    DISPATCHERS.with(call, dispatcher, |opened| opened.layers.clone())
}

/// Runs a test as another thread has the lock of the handles.
#[cfg(test)]
pub fn while_locked(test: impl FnOnce()) {
    DISPATCHERS.while_locked(test);
}
