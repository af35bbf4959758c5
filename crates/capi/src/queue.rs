//! Copy queues: many small copies and sets in one launch.
#![allow(unsafe_code)] // symbols that C finds by name, and C's pointers

use std::ffi::{c_int, c_void};

use copies::Priority;
use copies::copy::{CopyQueue, check_literal, set_natively};
use hal::{Context, DevicePtr, Driver};

use crate::codes::OVERTAKE_ERROR_REFUSED;
use crate::copies::batch;
use crate::exports::{CUstream_st, overtake_priorities};
use crate::failure::{Failure, Outcome, catch};
use crate::native::{self, stream_of};
use crate::provider::table;
use crate::tasks::dispatcher::{output, refuse_in_child, watch_forks};
use crate::tasks::handles::{HandleKind, Handles};

/// A queue of copies and sets for one stream, which are launched together when it is flushed.
#[repr(C)]
#[allow(non_camel_case_types)] // C's name
pub struct overtake_copy_queue {
    _private: [u8; 0],
}

/// The copies and sets between two flushes.
enum Work {
    /// They are in the layer of this library.
    Served(CopyQueue),
    /// They wait here, for the drop-in, which sees all copies of the process, or for the driver.
    Collected(Collected),
}

#[derive(Default)]
struct Collected {
    targets: Vec<*mut c_void>,
    sources: Vec<*const c_void>,
    sizes: Vec<usize>,
    sets: Vec<(DevicePtr, u32, u64)>,
}

struct Queue {
    work: Work,
    /// It is checked here, because collected work is too.
    is_literal: bool,
    stream: *mut c_void,
    priority: c_int,
}

// SAFETY: the pointers are the program's, which promises that they are valid on any thread; nothing here follows them.
unsafe impl Send for Queue {}
// SAFETY: a reference to a queue can do nothing: all its functions need it whole.
unsafe impl Sync for Queue {}

/// A queue with its context. A thread takes the queue out for the time of a call.
struct Slot {
    queue: Option<Queue>,
    context: Option<Context>,
}

static QUEUES: Handles<Slot> = Handles::new(HandleKind::CopyQueue);

/// Whether a queue is open in such a context.
pub fn is_open_in(is_it: impl Fn(Context) -> bool) -> bool {
    QUEUES.any(|slot| slot.context.is_some_and(&is_it))
}

impl Queue {
    fn open(call: &str, stream: *mut c_void, number: c_int, reserve: usize) -> Outcome<(Queue, Option<Context>)> {
        let count = overtake_priorities();
        let wrong = || Failure::argument(&format!("{call}: priority {number} is not 1 (bulk) to {count}"));
        let is_known = (1..=count).contains(&number);
        if reserve > CopyQueue::RESERVE_MAX {
            let most = CopyQueue::RESERVE_MAX;
            return Err(Failure::argument(&format!("{call}: reserve is {reserve} copies, at most {most}")));
        }
        let priority = u8::try_from(number).ok().filter(|_| is_known).and_then(Priority::new).ok_or_else(wrong)?;
        let layer = std::ptr::eq(table(), shim::table()).then(shim::layer).and_then(Result::ok);
        let context = native::driver()?.context_current()?;
        let work = match layer {
            Some(layer) => Work::Served(CopyQueue::new(&layer.adopt(stream_of(stream), priority)?, reserve)?),
            None => Work::Collected(Collected::default()),
        };
        Ok((Queue { work, is_literal: false, stream, priority: number }, context))
    }

    /// Addresses and sizes, put together by a bitwise or.
    fn check(&self, multiple: u64) -> Outcome {
        if self.is_literal { Ok(check_literal(multiple)?) } else { Ok(()) }
    }

    fn flush(&mut self) -> Outcome {
        let Queue { work, stream, priority, .. } = self;
        let collected = match work {
            Work::Served(queue) => return Ok(queue.flush().map(drop)?),
            Work::Collected(collected) => std::mem::take(collected),
        };
        let Collected { targets, sources, sizes, sets } = collected;
        let driver = native::driver()?;
        let set = |&(target, value, bytes): &_| set_natively(&*driver, target, value, bytes, stream_of(*stream));
        let all_set = sets.iter().try_for_each(set);
        // SAFETY: the arrays have one element for each copy, and the program keeps the ranges.
        unsafe { batch(targets.as_ptr(), sources.as_ptr(), sizes.as_ptr(), sizes.len(), *stream, *priority) }?;
        Ok(all_set?)
    }
}

/// Lets `body` have the queue of a handle. No lock is held meanwhile.
fn with(call: &str, handle: *const overtake_copy_queue, body: impl FnOnce(&mut Queue) -> Outcome) -> Outcome {
    let mut queue = take(call, handle)?;
    let outcome = body(&mut queue);
    QUEUES.change(call, handle, |slot| slot.queue = Some(queue))?;
    outcome
}

fn take(call: &str, handle: *const overtake_copy_queue) -> Outcome<Queue> {
    refuse_in_child(call)?;
    let busy = || format!("{call}: another thread is in a call with this queue: give each thread one of its own");
    let queue = QUEUES.change(call, handle, |slot| slot.queue.take())?;
    queue.ok_or_else(|| Failure::new(OVERTAKE_ERROR_REFUSED, &busy()))
}

/// Opens a queue of copies and sets for `stream`, in the calling thread's current context. Each copy has `priority`: 1
/// (bulk) to overtake_priorities(). A launch has room for `reserve` copies of 4 KiB, at most 1048576; one that is full
/// goes at once. The first queue of a context loads a kernel, and may wait for all work in the context.
///
/// Copies of up to 64 KiB between the device and pinned memory share one launch for each direction; others go as with
/// overtake_memcpy_async. Under the drop-in all go as with overtake_memcpy_batch_async.
///
/// Threads: any.
///
/// # Safety
/// `queue` points at a handle; the stream lives longer than the queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_copy_queue_open(
    stream: *mut CUstream_st,
    priority: c_int,
    reserve: usize,
    queue: *mut *mut overtake_copy_queue,
) -> c_int {
    const CALL: &str = "overtake_copy_queue_open";
    catch(CALL, || {
        refuse_in_child(CALL)?;
        let output = output(CALL, "queue", queue)?;
        let (opened, context) = Queue::open(CALL, stream.cast(), priority, reserve)?;
        watch_forks();
        // SAFETY: not null, and the caller's.
        unsafe { output.write(QUEUES.add(Slot { queue: Some(opened), context })) };
        Ok(())
    })
}

/// From now on the queue refuses addresses and sizes that are no multiples of 4, as PhysX does (`physx-order`), with
/// CUDA's number for an invalid value. Work that has been queued stays.
///
/// Threads: as for overtake_copy_queue_copy.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_copy_queue_literal(queue: *mut overtake_copy_queue) -> c_int {
    const CALL: &str = "overtake_copy_queue_literal";
    catch(CALL, || {
        with(CALL, queue, |queue| {
            queue.is_literal = true;
            Ok(())
        })
    })
}

/// Queues a copy. `kind` is one of OVERTAKE_COPY_... The copies and sets of one flush have no order among them; they
/// come after all earlier work of the stream, and all later work comes after them.
///
/// Threads: any, one at a time: a call beside another one with the same queue is OVERTAKE_ERROR_REFUSED. The context in
/// which the queue was opened is current.
///
/// # Safety
/// As for overtake_memcpy_async. The ranges stay valid, and unchanged or untouched, from this call until the stream has
/// passed the flush.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_copy_queue_copy(
    queue: *mut overtake_copy_queue,
    target: *mut c_void,
    source: *const c_void,
    bytes: usize,
    kind: c_int,
) -> c_int {
    const CALL: &str = "overtake_copy_queue_copy";
    catch(CALL, || {
        let unknown = || Failure::argument(&format!("{CALL}: kind is one of OVERTAKE_COPY_..."));
        let request = shim::request(target, source, bytes, kind).ok_or_else(unknown)?;
        with(CALL, queue, |queue| {
            if bytes > 0 {
                queue.check((target.addr() | source.addr() | bytes) as u64)?;
            }
            match &mut queue.work {
                // SAFETY: the caller's promise is the one that `copy` demands.
                Work::Served(queue) => unsafe { queue.copy(&request) }?,
                Work::Collected(collected) if bytes > 0 => {
                    collected.targets.push(target);
                    collected.sources.push(source);
                    collected.sizes.push(bytes);
                }
                Work::Collected(_) => {}
            }
            Ok(())
        })
    })
}

/// Queues a set: `bytes` of the device's memory from `target` on become the 4 bytes of `value`, repeated.
///
/// Threads: as for overtake_copy_queue_copy.
///
/// # Safety
/// As for `cuMemsetD32Async`; the range stays valid and untouched until the stream has passed the flush.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_copy_queue_set(
    queue: *mut overtake_copy_queue,
    target: *mut c_void,
    value: u32,
    bytes: usize,
) -> c_int {
    const CALL: &str = "overtake_copy_queue_set";
    catch(CALL, || {
        let (target, bytes) = (DevicePtr(target.expose_provenance() as u64), bytes as u64);
        with(CALL, queue, |queue| {
            if bytes > 0 {
                queue.check(target.0 | bytes)?;
            }
            match &mut queue.work {
                // SAFETY: the caller's promise is the one that `set` demands.
                Work::Served(queue) => unsafe { queue.set(target, value, bytes) }?,
                Work::Collected(collected) => collected.sets.extend((bytes > 0).then_some((target, value, bytes))),
            }
            Ok(())
        })
    })
}

/// Launches the copies and sets that were queued since the last flush. A failure is that of the first that could not be
/// launched; the others are on their way.
///
/// Threads: as for overtake_copy_queue_copy.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_copy_queue_flush(queue: *mut overtake_copy_queue) -> c_int {
    const CALL: &str = "overtake_copy_queue_flush";
    catch(CALL, || with(CALL, queue, Queue::flush))
}

/// Frees a queue that the program has lost. What it has not launched is lost too.
pub fn let_go(queue: *mut overtake_copy_queue) -> c_int {
    const CALL: &str = "overtake_let_go";
    catch(CALL, || {
        let mut taken = take(CALL, queue)?;
        if let Work::Served(queue) = &mut taken.work {
            queue.clear();
        }
        QUEUES.remove(CALL, queue).map(drop)
    })
}

/// Flushes a queue and frees it: before its stream or its context is destroyed, and before overtake_close. It is freed
/// also if the flush fails.
///
/// Threads: as for overtake_copy_queue_copy.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_copy_queue_close(queue: *mut overtake_copy_queue) -> c_int {
    const CALL: &str = "overtake_copy_queue_close";
    catch(CALL, || {
        let mut taken = take(CALL, queue)?;
        let flushed = taken.flush();
        QUEUES.remove(CALL, queue)?;
        flushed
    })
}
