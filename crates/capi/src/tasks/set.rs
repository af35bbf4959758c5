//! Sets of tasks, and groups.
#![allow(unsafe_code)] // symbols that C finds by name, and C's pointers

use std::ffi::{c_char, c_int};

use overtake::task::{Group, Handle, Tasks};

use crate::codes::OVERTAKE_ERROR_REFUSED;
use crate::failure::{Failure, Outcome, catch};
use crate::tasks::callback::refuse_inside;
use crate::tasks::dispatcher::{Home, free, new_set, output, overtake_dispatcher, refuse_in_child};
use crate::tasks::handles::{HandleKind, Handles};
use crate::tasks::patience::Patience;
use crate::tasks::task::{self, overtake_task, text_of};

/// A set of tasks, to which tasks are submitted.
#[repr(C)]
#[allow(non_camel_case_types)] // C's name
pub struct overtake_tasks {
    _private: [u8; 0],
}

struct Set {
    tasks: Tasks,
    home: Home,
    /// The groups that are open, the innermost last.
    groups: Vec<Group>,
}

static SETS: Handles<Set> = Handles::new(HandleKind::Set);

/// The set of a handle, and its dispatcher.
pub fn find(call: &str, tasks: *const overtake_tasks) -> Outcome<(Tasks, Home)> {
    refuse_in_child(call)?;
    SETS.with(call, tasks, |set| (set.tasks.clone(), set.home))
}

/// Frees the sets of a dispatcher that is closed.
pub fn forget(home: Home) {
    drop(SETS.remove_all(|set| set.home == home));
}

/// Makes a set of tasks. A dispatcher may have several, which a program waits for one by one. `name` is null, or the
/// name of the set, in which the names of named tasks are its own.
///
/// Threads: any.
///
/// # Safety
/// `name` is null or a NUL-terminated string; `tasks` points at a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_tasks_open(
    dispatcher: *mut overtake_dispatcher,
    name: *const c_char,
    tasks: *mut *mut overtake_tasks,
) -> c_int {
    const CALL: &str = "overtake_tasks_open";
    catch(CALL, || {
        refuse_in_child(CALL)?;
        let output = output(CALL, "tasks", tasks)?;
        // SAFETY: the caller's promise.
        let name = unsafe { text_of(CALL, "name", name) }?.unwrap_or_default();
        let (tasks, home) = new_set(CALL, dispatcher, name)?;
        let handle = SETS.add_to(CALL, home, Set { tasks, home, groups: Vec::new() })?;
        // SAFETY: not null, and the caller's.
        unsafe { output.write(handle) };
        Ok(())
    })
}

/// Frees the handle of a set and ends its groups. Its tasks go on.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_tasks_free(tasks: *mut overtake_tasks) -> c_int {
    free("overtake_tasks_free", &SETS, tasks)
}

/// Waits until all tasks of the set have ended, and fails as the first of them that has failed, if any has.
///
/// Threads: any, but not in the function of a task.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_tasks_wait(tasks: *mut overtake_tasks) -> c_int {
    const CALL: &str = "overtake_tasks_wait";
    catch(CALL, || {
        let (tasks, _) = find(CALL, tasks)?;
        refuse_inside(CALL)?;
        tasks.wait()?;
        tasks.failure().map_or(Ok(()), |fault| Err(overtake::task::Error::Failed(fault).into()))
    })
}

/// The same for timeout_ns of the host's time at most (0: not at all; OVERTAKE_FOR_EVER). Fails as
/// overtake_tasks_wait; else `is_done` becomes 1 if all tasks have ended, and 0 if the time has passed before.
///
/// Threads: any; in the function of a task with timeout_ns 0 only.
///
/// # Safety
/// `is_done` points at an int.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_tasks_wait_for(
    tasks: *mut overtake_tasks,
    timeout_ns: i64,
    is_done: *mut c_int,
) -> c_int {
    const CALL: &str = "overtake_tasks_wait_for";
    catch(CALL, || {
        let output = output(CALL, "is_done", is_done)?;
        let patience = Patience::of(CALL, timeout_ns)?;
        let (tasks, _) = find(CALL, tasks)?;
        patience.may_wait(CALL)?;
        let has_ended = patience.wait(|| tasks.wait(), |span| tasks.wait_for(span))?;
        if let Some(fault) = tasks.failure().filter(|_| has_ended) {
            return Err(overtake::task::Error::Failed(fault).into());
        }
        // SAFETY: not null, and the caller's.
        unsafe { output.write(c_int::from(has_ended)) };
        Ok(())
    })
}

/// From now on tasks that are submitted to the set wait until it is started.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_tasks_stop(tasks: *mut overtake_tasks) -> c_int {
    const CALL: &str = "overtake_tasks_stop";
    catch(CALL, || {
        find(CALL, tasks)?.0.stop();
        Ok(())
    })
}

/// Starts the tasks that have been submitted since the set was stopped.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_tasks_start(tasks: *mut overtake_tasks) -> c_int {
    const CALL: &str = "overtake_tasks_start";
    catch(CALL, || Ok(find(CALL, tasks)?.0.start()?))
}

/// The task to which others refer by this name, before it is submitted with is_named. It has a reference until then; if
/// that is released instead (overtake_task_release), the tasks after it run without it.
///
/// Threads: any.
///
/// # Safety
/// `name` is a NUL-terminated string; `task` points at a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_tasks_named(
    tasks: *mut overtake_tasks,
    name: *const c_char,
    task: *mut *mut overtake_task,
) -> c_int {
    const CALL: &str = "overtake_tasks_named";
    catch(CALL, || {
        let output = output(CALL, "task", task)?;
        let (tasks, home) = find(CALL, tasks)?;
        // SAFETY: the caller's promise.
        let name = unsafe { text_of(CALL, "name", name) }?;
        let name = name.ok_or_else(|| Failure::argument(&format!("{CALL}: name is null")))?;
        let handle = task::add(CALL, tasks.named(name)?, home)?;
        // SAFETY: not null, and the caller's.
        unsafe { output.write(handle) };
        Ok(())
    })
}

/// Begins a group: its tasks of the device start when overtake_group_end is called, and not before. While a group is
/// open, no task of the device starts in any set of the dispatcher, so wait for none.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_group_begin(tasks: *mut overtake_tasks) -> c_int {
    const CALL: &str = "overtake_group_begin";
    catch(CALL, || {
        let (set, _) = find(CALL, tasks)?;
        let mut group = Some(set.group()?);
        let kept = SETS.change(CALL, tasks, |set| set.groups.extend(group.take()));
        // It ends here if the set has been freed meanwhile.
        drop(group);
        kept
    })
}

/// Ends the innermost open group of the set.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_group_end(tasks: *mut overtake_tasks) -> c_int {
    const CALL: &str = "overtake_group_end";
    catch(CALL, || {
        refuse_in_child(CALL)?;
        SETS.change(CALL, tasks, |set| set.groups.pop())?.map(drop).ok_or_else(|| none_open(CALL))
    })
}

/// A task that ends when the innermost open group of the set ends, before the group's tasks start: for tasks that come
/// after it. overtake_task_free frees the handle.
///
/// Threads: any.
///
/// # Safety
/// `task` points at a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_group_before(tasks: *mut overtake_tasks, task: *mut *mut overtake_task) -> c_int {
    const CALL: &str = "overtake_group_before";
    // SAFETY: the caller's promise.
    catch(CALL, || unsafe { join_of(CALL, tasks, task, Group::before) })
}

/// The same that ends when the ready tasks of the group have been launched.
///
/// Threads: any.
///
/// # Safety
/// `task` points at a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_group_behind(tasks: *mut overtake_tasks, task: *mut *mut overtake_task) -> c_int {
    const CALL: &str = "overtake_group_behind";
    // SAFETY: the caller's promise.
    catch(CALL, || unsafe { join_of(CALL, tasks, task, Group::behind) })
}

/// # Safety
/// `task` points at a handle, or is null.
unsafe fn join_of(
    call: &str,
    tasks: *mut overtake_tasks,
    task: *mut *mut overtake_task,
    join: fn(&Group) -> &Handle,
) -> Outcome {
    refuse_in_child(call)?;
    let output = output(call, "task", task)?;
    let found = SETS.with(call, tasks, |set| Some((join(set.groups.last()?).clone(), set.home)))?;
    let (handle, home) = found.ok_or_else(|| none_open(call))?;
    let handle = task::add(call, handle, home)?;
    // SAFETY: not null, and the caller's.
    unsafe { output.write(handle) };
    Ok(())
}

fn none_open(call: &str) -> Failure {
    Failure::new(OVERTAKE_ERROR_REFUSED, &format!("{call}: no group of the set is open"))
}
