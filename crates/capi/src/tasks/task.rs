//! Submitted tasks: their handles, and what C does with them.
#![allow(unsafe_code)] // symbols that C finds by name, and C's pointers

use std::ffi::{CStr, c_char, c_int};

use copies::Priority;
use overtake::task::Handle;

use crate::failure::{Failure, Outcome, catch};
use crate::sized;
use crate::tasks::callback::refuse_inside;
use crate::tasks::dispatcher::{Home, free, output, refuse_in_child};
use crate::tasks::handles::{HandleKind, Handles};
use crate::tasks::patience::Patience;

/// A submitted task.
#[repr(C)]
#[allow(non_camel_case_types)] // C's name
pub struct overtake_task {
    _private: [u8; 0],
}

/// A task that C has a handle of.
#[derive(Clone)]
struct Submitted {
    handle: Handle,
    home: Home,
}

static TASKS: Handles<Submitted> = Handles::new(HandleKind::Task);

/// The handle of C for a task.
pub fn add(call: &str, handle: Handle, home: Home) -> Outcome<*mut overtake_task> {
    TASKS.add_to(call, home, Submitted { handle, home })
}

/// Writes the handle of C for a task, unless `place` is null.
///
/// # Safety
/// `place` is null or points at a handle.
pub unsafe fn hand_out(call: &str, handle: Handle, home: Home, place: *mut *mut overtake_task) -> Outcome {
    if !place.is_null() {
        let handle = add(call, handle, home)?;
        // SAFETY: not null, and the caller's.
        unsafe { place.write(handle) };
    }
    Ok(())
}

/// The task of a handle, if it belongs to this dispatcher.
pub fn find(call: &str, task: *const overtake_task, home: Home) -> Outcome<Handle> {
    let found = TASKS.with(call, task, Submitted::clone)?;
    match found.home == home {
        true => Ok(found.handle),
        false => Err(Failure::argument(&format!("{call}: the tasks belong to two dispatchers, and have no order"))),
    }
}

/// The task of a handle.
pub fn any(call: &str, task: *const overtake_task) -> Outcome<Handle> {
    Ok(of_a_dispatcher(call, task)?.handle)
}

fn of_a_dispatcher(call: &str, task: *const overtake_task) -> Outcome<Submitted> {
    refuse_in_child(call)?;
    TASKS.with(call, task, Submitted::clone)
}

/// Frees the handles of a dispatcher's tasks.
pub fn forget(home: Home) {
    drop(TASKS.remove_all(|task| task.home == home));
}

/// A text of C; `None` for a null pointer.
///
/// # Safety
/// `text` is null or a NUL-terminated string that outlives the result.
pub unsafe fn text_of<'a>(call: &str, name: &str, text: *const c_char) -> Outcome<Option<&'a str>> {
    // SAFETY: not null, and the caller's promise.
    let text = (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_str());
    text.transpose().map_err(|_| Failure::argument(&format!("{call}: {name} is not UTF-8")))
}

/// The tasks of an array of handles, whose field behind it has their number.
///
/// # Safety
/// The array has as many handles as it says.
pub unsafe fn handles(
    call: &str,
    name: &str,
    array: (*const *mut overtake_task, usize),
    home: Home,
) -> Outcome<Vec<Handle>> {
    // SAFETY: the caller's promise.
    let tasks = unsafe { sized::list(call, name, array.0, array.1) }?;
    tasks.iter().map(|task| find(call, *task, home)).collect()
}

/// A priority that a caller names.
pub fn priority(call: &str, number: c_int) -> Outcome<Priority> {
    let priority = u8::try_from(number).ok().and_then(Priority::new);
    priority.ok_or_else(|| Failure::argument(&format!("{call}: priority {number} is not one of 1 (bulk) or more")))
}

/// Waits until the task has ended: its work is done, and so is all that it comes after. Fails if the task has failed or
/// was not run; overtake_last_error then names the task. Tasks before one that was not run may go on.
///
/// Threads: any, but not in the function of a task.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_task_wait(task: *mut overtake_task) -> c_int {
    const CALL: &str = "overtake_task_wait";
    catch(CALL, || {
        let task = any(CALL, task)?;
        if task.is_done() {
            return Ok(task.wait()?);
        }
        refuse_inside(CALL)?;
        Ok(task.wait()?)
    })
}

/// The same for timeout_ns of the host's time at most (0: not at all; OVERTAKE_FOR_EVER). Fails as
/// overtake_task_wait; else `is_done` becomes 1 if the task has ended, and 0 if the time has passed before.
///
/// Threads: any; in the function of a task with timeout_ns 0 only.
///
/// # Safety
/// `is_done` points at an int.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_task_wait_for(
    task: *mut overtake_task,
    timeout_ns: i64,
    is_done: *mut c_int,
) -> c_int {
    const CALL: &str = "overtake_task_wait_for";
    catch(CALL, || {
        let output = output(CALL, "is_done", is_done)?;
        let patience = Patience::of(CALL, timeout_ns)?;
        let task = any(CALL, task)?;
        if !task.is_done() {
            patience.may_wait(CALL)?;
        }
        let has_ended = patience.wait(|| task.wait(), |span| task.wait_for(span))?;
        // SAFETY: not null, and the caller's.
        unsafe { output.write(c_int::from(has_ended)) };
        Ok(())
    })
}

/// Writes 1 if the task has ended, one way or the other, and 0 if not. overtake_task_wait then returns its outcome at
/// once.
///
/// Threads: any.
///
/// # Safety
/// `is_done` points at an int.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_task_is_done(task: *mut overtake_task, is_done: *mut c_int) -> c_int {
    const CALL: &str = "overtake_task_is_done";
    catch(CALL, || {
        let output = output(CALL, "is_done", is_done)?;
        let task = any(CALL, task)?;
        // SAFETY: not null, and the caller's.
        unsafe { output.write(c_int::from(task.is_done())) };
        Ok(())
    })
}

/// Gives the task one more reference, which overtake_task_release takes away: until then it does not start. Fails if it
/// no longer waits.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_task_hold(task: *mut overtake_task) -> c_int {
    const CALL: &str = "overtake_task_hold";
    catch(CALL, || Ok(any(CALL, task)?.hold()?))
}

/// Releases a reference of the task. A task without references starts when all tasks before it let it.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_task_release(task: *mut overtake_task) -> c_int {
    const CALL: &str = "overtake_task_release";
    catch(CALL, || Ok(any(CALL, task)?.release()?))
}

/// Gives the task another priority of its own. The tasks before it inherit it. A task that is submitted later, by its
/// name, then has the priority of its description.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_task_raise(task: *mut overtake_task, to: c_int) -> c_int {
    const CALL: &str = "overtake_task_raise";
    catch(CALL, || {
        let priority = priority(CALL, to)?;
        Ok(any(CALL, task)?.raise(priority)?)
    })
}

/// `other` comes after `task`. Fails if `other` no longer waits: hold a reference of it before.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_task_before(task: *mut overtake_task, other: *mut overtake_task) -> c_int {
    const CALL: &str = "overtake_task_before";
    catch(CALL, || {
        let first = of_a_dispatcher(CALL, task)?;
        let then = find(CALL, other, first.home)?;
        Ok(first.handle.precede(&then)?)
    })
}

/// Frees the handle of a task. The task goes on.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_task_free(task: *mut overtake_task) -> c_int {
    free("overtake_task_free", &TASKS, task)
}
