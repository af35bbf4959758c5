//! The two ends of a pipeline, each with the frame that it has in hand.
#![allow(unsafe_code)] // a frame borrows its end, and lies beside it

use std::ffi::c_int;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

use hal::locks::lock;
use hal::{Driver, HostThread, Nanos};
use overtake::heap::Heap;
use overtake::pipeline::{Behind, Consumer, Filled, Filling, Producer, StageBuffer};
use overtake::task::Tasks;

use crate::codes::OVERTAKE_ERROR_REFUSED;
use crate::failure::{Failure, Outcome, catch};
use crate::native;
use crate::tasks::callback::is_inside;
use crate::tasks::dispatcher::{Home, refuse_in_child};
use crate::tasks::handles::{HandleKind, Handles};

/// An end of a pipeline: the producer's or the consumer's, with the frame that it has in hand.
#[repr(C)]
#[allow(non_camel_case_types)] // C's name
pub struct overtake_pipeline_end {
    _private: [u8; 0],
}

/// The buffer of a stage, which keeps the heaps that it comes from.
pub struct Stage {
    /// First, because it goes back to them.
    pub buffer: StageBuffer,
    _heaps: Arc<[Heap; 2]>,
}

impl Stage {
    /// A stage with a buffer from these heaps.
    pub fn new(buffer: StageBuffer, heaps: &Arc<[Heap; 2]>) -> Stage {
        Stage { buffer, _heaps: Arc::clone(heaps) }
    }
}

/// An end at a place of its own, because a frame refers to it.
struct Placed<T>(NonNull<T>);

// SAFETY: it owns the value, as a box would.
unsafe impl<T: Send> Send for Placed<T> {}
// SAFETY: a reference to it can do nothing: `lend` needs it whole.
unsafe impl<T: Send> Sync for Placed<T> {}

impl<T> Placed<T> {
    fn new(value: T) -> Placed<T> {
        Placed(NonNull::from(Box::leak(Box::new(value))))
    }

    /// # Safety
    /// The reference, and all that refers to it, is gone before this is dropped, and before the next call.
    unsafe fn lend(&mut self) -> &'static mut T {
        // SAFETY: the value lives until this is dropped; the caller's promise for the rest.
        unsafe { self.0.as_mut() }
    }
}

impl<T> Drop for Placed<T> {
    fn drop(&mut self) {
        // SAFETY: it comes from a box, and nothing refers to it any more, as the callers of `lend` promise.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// An end, and the frame that it has in hand. The frame is first, because it refers to the end.
pub struct Held<F, E> {
    /// The frame.
    pub frame: Option<F>,
    end: Placed<E>,
}

impl<F, E: 'static> Held<F, E> {
    fn new(end: E) -> Held<F, E> {
        Held { frame: None, end: Placed::new(end) }
    }

    /// The next frame, which `take` asks the end for.
    ///
    /// # Safety
    /// All that `take` returns of the end is in the frame.
    pub unsafe fn take<X>(&mut self, take: impl FnOnce(&'static mut E) -> Result<Option<F>, X>) -> Result<bool, X> {
        debug_assert!(self.frame.is_none(), "a frame in hand is refused before");
        // SAFETY: no frame refers to it, and the next one is dropped before the end.
        self.frame = take(unsafe { self.end.lend() })?;
        Ok(self.frame.is_some())
    }
}

/// The producer's end.
pub type Filler = Held<Filling<'static, Stage>, Producer<Stage>>;
/// The consumer's end.
pub type Emptier = Held<Filled<'static, Stage>, Consumer<Stage>>;

/// One of the two.
pub enum End {
    /// It fills frames.
    Producer(Filler),
    /// It empties them.
    Consumer(Emptier),
}

/// An end with all that its calls need.
pub struct Side {
    /// The end.
    pub end: End,
    /// The fate of frames when the consumer is behind.
    pub behind: Behind,
    /// The set of its copies and tasks.
    pub tasks: Tasks,
    /// Its dispatcher.
    pub home: Home,
}

/// A thread takes the end out for the time of a call.
struct Slot {
    side: Option<Side>,
    home: Home,
}

static ENDS: Handles<Slot> = Handles::new(HandleKind::PipelineEnd);

/// The handle of C for one of the two.
fn add(call: &str, end: End, behind: Behind, (tasks, home): (&Tasks, Home)) -> Outcome<*mut overtake_pipeline_end> {
    let side = Some(Side { end, behind, tasks: tasks.clone(), home });
    ENDS.add_to(call, home, Slot { side, home })
}

/// The handle of C for an end.
pub fn add_producer(
    call: &str,
    end: Producer<Stage>,
    behind: Behind,
    set: (&Tasks, Home),
) -> Outcome<*mut overtake_pipeline_end> {
    add(call, End::Producer(Held::new(end)), behind, set)
}

/// The same for the other one.
pub fn add_consumer(
    call: &str,
    end: Consumer<Stage>,
    behind: Behind,
    set: (&Tasks, Home),
) -> Outcome<*mut overtake_pipeline_end> {
    add(call, End::Consumer(Held::new(end)), behind, set)
}

/// Frees the ends of a dispatcher that is closed.
pub fn forget(home: Home) {
    drop(ENDS.remove_all(|slot| slot.home == home));
    await_leaving(home);
}

/// A call that makes no sense.
pub fn refused(call: &str, text: &str) -> Failure {
    Failure::new(OVERTAKE_ERROR_REFUSED, &format!("{call}: {text}"))
}

/// Lets `body` have the end of a handle. No lock is held meanwhile. An end that is freed in between goes here.
pub fn with<R>(
    call: &str,
    handle: *const overtake_pipeline_end,
    body: impl FnOnce(&mut Side) -> Outcome<R>,
) -> Outcome<R> {
    let mut side = take(call, handle)?;
    let outcome = body(&mut side);
    ENDS.change(call, handle, |slot| slot.side = Some(side))?;
    outcome
}

fn take(call: &str, handle: *const overtake_pipeline_end) -> Outcome<Side> {
    refuse_in_child(call)?;
    let side = ENDS.change(call, handle, |slot| slot.side.take())?;
    side.ok_or_else(|| busy(call))
}

fn busy(call: &str) -> Failure {
    refused(call, "another thread is in a call with this end: let one thread at a time have it")
}

/// The same with the producer's end.
pub fn with_producer<R>(
    call: &str,
    handle: *const overtake_pipeline_end,
    body: impl FnOnce(&mut Filler, Behind) -> Outcome<R>,
) -> Outcome<R> {
    with(call, handle, |side| match &mut side.end {
        End::Producer(filler) => body(filler, side.behind),
        End::Consumer(_) => Err(refused(call, "this is the consumer's end: call it with the producer's")),
    })
}

/// The same with the consumer's.
pub fn with_consumer<R>(
    call: &str,
    handle: *const overtake_pipeline_end,
    body: impl FnOnce(&mut Emptier) -> Outcome<R>,
) -> Outcome<R> {
    with(call, handle, |side| match &mut side.end {
        End::Consumer(emptier) => body(emptier),
        End::Producer(_) => Err(refused(call, "this is the producer's end: call it with the consumer's")),
    })
}

/// Leaves a pipeline: the other end waits for this one no more, and its handle is freed. A consumer still gets the
/// frames that have been committed. A frame in hand is given up by a producer, and released by a consumer. In the
/// function of a task another thread leaves for it, a moment later.
///
/// Threads: any, one at a time for an end; and functions of tasks.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_pipeline_leave(end: *mut overtake_pipeline_end) -> c_int {
    const CALL: &str = "overtake_pipeline_leave";
    catch(CALL, || {
        refuse_in_child(CALL)?;
        let mut begun = None;
        let Slot { side, home } = ENDS.remove_if(CALL, end, |slot| {
            slot.side.as_ref().ok_or_else(|| busy(CALL))?;
            begun = Some(Begun::of(slot.home));
            Ok(())
        })?;
        let left = match side {
            Some(side) if is_inside() => leave_elsewhere(side, home),
            side => {
                drop(side);
                Ok(())
            }
        };
        drop(begun);
        left
    })
}

/// Those that leave, for the end of their dispatcher, which waits for them.
struct Leaving {
    /// A call has taken the end out, and has not returned.
    begun: Vec<Home>,
    /// The threads that leave for functions of tasks.
    threads: Vec<(Home, HostThread<()>)>,
}

static LEAVING: Mutex<Leaving> = Mutex::new(Leaving { begun: Vec::new(), threads: Vec::new() });

/// A call that leaves, until this is dropped. Made while the end is in its place: the end of a dispatcher finds the one
/// or the other.
struct Begun(Home);

impl Begun {
    fn of(home: Home) -> Begun {
        lock(&LEAVING).begun.push(home);
        Begun(home)
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        let begun = &mut lock(&LEAVING).begun;
        if let Some(at) = begun.iter().position(|home| *home == self.0) {
            begun.swap_remove(at);
        }
    }
}

/// Has another thread leave: without room for a task it waits for the work of the frame in hand. If there is no thread
/// to be had, this one leaves.
fn leave_elsewhere(side: Side, home: Home) -> Outcome {
    let driver: Arc<dyn Driver> = native::driver()?;
    match hal::spawn(&driver, "overtake-leaving", move || drop(side)) {
        Ok(thread) => {
            let threads = &mut lock(&LEAVING).threads;
            threads.retain(|(_, thread)| !thread.is_done());
            threads.push((home, thread));
        }
        Err(error) => log::debug!("an end of a pipeline is left in the function of a task: {error}"),
    }
    Ok(())
}

/// Waits for those that leave pipelines of a dispatcher that is closed: none begins any more.
fn await_leaving(home: Home) {
    let Ok(driver) = native::driver() else { return };
    while lock(&LEAVING).begun.contains(&home) {
        driver.host().sleep(Nanos::from_us(10));
    }
    let ours: Vec<_> = lock(&LEAVING).threads.extract_if(.., |(its, _)| *its == home).collect();
    ours.into_iter().for_each(|(_, thread)| thread.join(driver.host()));
}
