//! Closing: the layer in a context, dispatchers and sets of arrays, and handles of any kind. A dispatcher takes all
//! that belongs to it with it, from the tables of all rooms: so this file knows them, and none of them knows it.
#![allow(unsafe_code)] // symbols that C finds by name, and C's pointers

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use copies::Overtake;
use hal::Nanos;

use crate::arrays::store::{self, overtake_arrays};
use crate::arrays::{access, array, kernel};
use crate::codes::{OVERTAKE_ERROR_INVALID_HANDLE, OVERTAKE_ERROR_REFUSED, OVERTAKE_OK};
use crate::failure::{Failure, Outcome, catch, swap_last};
use crate::pipelines::{admission, end, pipeline};
use crate::provider::{checked, table};
use crate::tasks::callback::refuse_inside;
use crate::tasks::dispatcher::{self, is_child, overtake_dispatcher, refuse_in_child};
use crate::tasks::handles::HandleKind;
use crate::tasks::{set, task, template};
use crate::{native, queue};

/// A close waits this long for other threads that are inside calls with the set.
const OTHERS_WITHIN: Nanos = Nanos::from_ms(1000);

/// Frees the layer's state for the calling thread's current CUDA context, in which no dispatcher may be open. Call it
/// before the program destroys a context, after its copies. Under the drop-in, which sees contexts end by itself, it
/// does nothing.
///
/// Threads: any, but not in the function of a task, and no other thread may be inside a copy of the same context.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_close() -> c_int {
    catch("overtake_close", || {
        refuse_while_open("overtake_close")?;
        refuse_inside("overtake_close")?;
        let table = table();
        checked(table, (table.close)())
    })
}

/// An error if a dispatcher or a copy queue is open in the calling thread's current context.
fn refuse_while_open(call: &str) -> Outcome {
    // First: another thread of the parent may have held the lock of the handles.
    if is_child() {
        return Ok(());
    }
    if !dispatcher::is_open_in(|_| true) && !queue::is_open_in(|_| true) {
        return Ok(());
    }
    let current = native::driver().ok().and_then(|driver| hal::Driver::context_current(&*driver).ok().flatten());
    let (what, close) = match current {
        Some(context) if dispatcher::is_open_in(|its| its == context) => ("dispatcher", "overtake_dispatcher_close"),
        Some(context) if queue::is_open_in(|its| its == context) => ("copy queue", "overtake_copy_queue_close"),
        _ => return Ok(()),
    };
    let text = format!("{call}: a {what} is open in this context: call {close} first");
    Err(Failure::new(OVERTAKE_ERROR_REFUSED, &text))
}

/// Closes a dispatcher. Waits for the work that is on the device and for the functions that run; tasks that have not
/// been started fail, so wait for tasks before. The handles of its sets and tasks are freed with it. When it returns,
/// the data of all its tasks has been freed. Call it before the context is destroyed, and before the program exits.
///
/// Threads: any, but not in the function of a task. Other threads may be inside calls on its tasks: those that wait are
/// woken.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_dispatcher_close(dispatcher: *mut overtake_dispatcher) -> c_int {
    const CALL: &str = "overtake_dispatcher_close";
    catch(CALL, || {
        refuse_in_child(CALL)?;
        refuse_inside(CALL)?;
        let dispatcher::Opened { dispatcher, home, layers } = dispatcher::remove(CALL, dispatcher)?;
        home.close();
        drop(alone(dispatcher, &layers[0]));
        end::forget(home);
        pipeline::forget(home);
        access::forget(home);
        array::forget(home);
        kernel::forget(home);
        store::forget(home);
        task::forget(home);
        set::forget(home);
        Ok(())
    })
}

/// Frees the handle at a place, and writes null there: of a set of tasks, a task, an array, an access (which is
/// closed), a kernel, a pipeline, an end of one (which leaves, and may wait for the frame in hand), a template, an
/// admission or a copy queue (copies that were not flushed are not made). For finalizers: overtake_last_error stays as
/// it is. One that was freed before only becomes null. One that cannot be freed now stays as it is, and so do those of
/// dispatchers and sets of arrays.
///
/// Threads: any, and functions of tasks; an end of a pipeline as overtake_pipeline_leave.
///
/// # Safety
/// `place` points at a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_let_go(place: *mut *mut c_void) {
    // SAFETY: the caller's promise.
    let Some(place) = (unsafe { place.as_mut() }) else { return };
    let (handle, before) = (*place, swap_last(Failure::none()));
    let freed = match HandleKind::of(handle) {
        Some(HandleKind::Set) => set::overtake_tasks_free(handle.cast()),
        Some(HandleKind::Task) => task::overtake_task_free(handle.cast()),
        Some(HandleKind::Array) => array::overtake_array_free(handle.cast()),
        Some(HandleKind::Access) => access::overtake_access_close(handle.cast()),
        Some(HandleKind::Kernel) => kernel::overtake_kernel_free(handle.cast()),
        Some(HandleKind::Pipeline) => pipeline::overtake_pipeline_free(handle.cast()),
        Some(HandleKind::PipelineEnd) => end::overtake_pipeline_leave(handle.cast()),
        Some(HandleKind::Template) => template::overtake_template_free(handle.cast()),
        Some(HandleKind::Admission) => admission::overtake_admission_free(handle.cast()),
        Some(HandleKind::CopyQueue) => queue::let_go(handle.cast()),
        Some(HandleKind::Dispatcher | HandleKind::Arrays | HandleKind::Lane) | None => {
            swap_last(before);
            return;
        }
    };
    if matches!(freed, OVERTAKE_OK | OVERTAKE_ERROR_INVALID_HANDLE) {
        *place = std::ptr::null_mut();
    }
    swap_last(before);
}

/// A thing that calls share, when those of other threads that have it have returned: then there are no further ones.
fn alone<T>(mut shared: Arc<T>, layer: &Arc<Overtake>) -> T {
    loop {
        match Arc::try_unwrap(shared) {
            Ok(thing) => return thing,
            Err(others) => shared = others,
        }
        layer.driver().host().sleep(Nanos::from_us(10));
    }
}

/// Waits for the computations and transfers that can end; the others fail. Memory that was adopted has its results
/// then, and the first error is returned if some has not: the set is closed all the same. The handles of its kernels
/// become wrong; those of its arrays stay, for accesses to their contents, until they are freed or the dispatcher is
/// closed.
///
/// Threads: any, but not in the function of a task. Other threads may be inside calls with the set: it waits a second
/// for them, and fails what they wait for, unless that is the end of an open access.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_arrays_close(arrays: *mut overtake_arrays) -> c_int {
    const CALL: &str = "overtake_arrays_close";
    catch(CALL, || {
        refuse_in_child(CALL)?;
        refuse_inside(CALL)?;
        let set = store::remove(CALL, arrays)?;
        let ended = finish_arrays(set);
        Ok(ended?)
    })
}

/// Ends a set that has no handle any more. Calls of other threads may have submitted work that only the program could
/// start, and wait for it: that fails too, until they have returned. One that waits behind an open access of the caller
/// does not return before that is closed: it ends the set then.
fn finish_arrays(mut set: Arc<store::Opened>) -> Result<(), overtake::task::Error> {
    let layer = Arc::clone(&set.modules.layers[0]);
    let host = layer.driver().host();
    let deadline = host.now() + OTHERS_WITHIN;
    let mut ended = Ok(());
    loop {
        match Arc::try_unwrap(set) {
            Ok(store::Opened { arrays, modules, .. }) => {
                let last = arrays.finish();
                kernel::forget_of(&modules);
                return ended.and(last);
            }
            Err(others) => set = others,
        }
        ended = ended.and(set.arrays.clone().finish());
        if host.now() >= deadline {
            return ended;
        }
        host.sleep(Nanos::from_us(100));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::dispatcher::watch_forks;

    /// Another thread of the parent may have held the lock of the handles at the fork.
    #[test]
    fn the_child_of_a_fork_closes_without_the_lock_of_the_handles() {
        watch_forks();
        dispatcher::while_locked(|| {
            // SAFETY: the child calls what is to be tested, and ends. An alarm ends it if it hangs.
            let child = unsafe { libc::fork() };
            if child == 0 {
                // SAFETY: numbers.
                unsafe { libc::alarm(20) };
                let is_right = refuse_while_open("overtake_close").is_ok() && refuse_in_child("call").is_err();
                // SAFETY: a number.
                unsafe { libc::_exit(i32::from(!is_right)) };
            }
            let mut status = -1;
            // SAFETY: the status has a place of ours.
            assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
            assert_eq!(status, 0);
        });
    }
}
