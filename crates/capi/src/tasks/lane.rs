//! The functions for the inside of a launch.
#![allow(unsafe_code)] // symbols that C finds by name, and C's pointers

use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

use overtake::task::{Lane, More, WorkResult};

use crate::exports::CUstream_st;
use crate::failure::{Failure, Outcome, catch};
use crate::provider::{checked, table};
use crate::tasks::callback::{answer, overtake_lane};
use crate::tasks::dispatcher::{Home, output};
use crate::tasks::handles::HandleKind;
use crate::tasks::task::{self, overtake_task};

/// A launch under way on this thread.
struct Current {
    handle: *mut overtake_lane,
    entered: *mut c_void,
    home: Home,
    is_again: bool,
}

thread_local! {
    /// The innermost launch is the last: a launch may submit to another dispatcher.
    static LAUNCHES: RefCell<Vec<Current>> = const { RefCell::new(Vec::new()) };
}

/// A launch under way, which ends when this is dropped.
struct Launch(*mut overtake_lane);

impl Launch {
    fn begin(entered: &mut Lane<'_>, home: Home) -> Launch {
        static COUNT: AtomicU64 = AtomicU64::new(1);
        let handle = HandleKind::Lane.handle(COUNT.fetch_add(1, Ordering::Relaxed) << 4);
        let entered = std::ptr::from_mut(entered).cast();
        LAUNCHES.with_borrow_mut(|all| all.push(Current { handle, entered, home, is_again: false }));
        Launch(handle)
    }

    fn more(&self) -> More {
        let is_again = LAUNCHES.with_borrow(|all| all.iter().any(|it| it.handle == self.0 && it.is_again));
        if is_again { More::Again } else { More::Done }
    }
}

impl Drop for Launch {
    fn drop(&mut self) {
        LAUNCHES.with_borrow_mut(|all| all.retain(|it| it.handle != self.0));
    }
}

/// Calls the program's function for a launch.
pub fn launch(entered: &mut Lane<'_>, home: Home, call: impl FnOnce(*mut overtake_lane) -> c_int) -> WorkResult<More> {
    let launch = Launch::begin(entered, home);
    answer(|| call(launch.0))?;
    Ok(launch.more())
}

/// The launch of a handle, and the dispatcher that makes it.
fn with<R>(call: &str, lane: *const overtake_lane, body: impl FnOnce(&mut Lane<'_>, Home) -> Outcome<R>) -> Outcome<R> {
    let found = LAUNCHES
        .with_borrow(|all| all.iter().find(|it| it.handle.cast_const() == lane).map(|it| (it.entered, it.home)));
    let (entered, home) = found.ok_or_else(|| HandleKind::Lane.unknown(call, lane))?;
    // SAFETY: the launch is under way on this thread (`Launch`), which has lent its `Lane` to the program's function
    // for as long. `body` calls nothing of the program's, so it is the only use.
    body(unsafe { &mut *entered.cast::<Lane<'_>>() }, home)
}

/// The CUstream of the lane: for kernel launches and for calls of libraries. Its context is current. Work in other
/// streams is not the task's.
///
/// Threads: that of the launch callback.
///
/// # Safety
/// `stream` points at a CUstream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_lane_stream(lane: *mut overtake_lane, stream: *mut *mut CUstream_st) -> c_int {
    const CALL: &str = "overtake_lane_stream";
    catch(CALL, || {
        let stream = output(CALL, "stream", stream)?;
        with(CALL, lane, |entered, _| {
            let handle = std::ptr::with_exposed_provenance_mut(entered.stream().0 as usize);
            // SAFETY: not null, and the caller's.
            unsafe { stream.write(handle) };
            Ok(())
        })
    })
}

/// How often the function has been called before for this task: 0 unless it has called overtake_lane_again.
///
/// Threads: that of the launch callback.
///
/// # Safety
/// `turn` points at an unsigned number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_lane_turn(lane: *mut overtake_lane, turn: *mut u32) -> c_int {
    const CALL: &str = "overtake_lane_turn";
    catch(CALL, || {
        let turn = output(CALL, "turn", turn)?;
        let found = with(CALL, lane, |entered, _| Ok(entered.turn()))?;
        // SAFETY: not null, and the caller's.
        unsafe { turn.write(found) };
        Ok(())
    })
}

/// The device of the lane, by its number among those of the dispatcher.
///
/// Threads: that of the launch callback.
///
/// # Safety
/// `device` points at an unsigned number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_lane_device(lane: *mut overtake_lane, device: *mut u32) -> c_int {
    const CALL: &str = "overtake_lane_device";
    catch(CALL, || {
        let device = output(CALL, "device", device)?;
        let found = with(CALL, lane, |entered, _| Ok(entered.device()))?;
        // SAFETY: not null, and the caller's.
        unsafe { device.write(u32::from(found)) };
        Ok(())
    })
}

/// The task's priority at its launch: its own, or a higher one that it inherits from tasks that wait for it.
///
/// Threads: that of the launch callback.
///
/// # Safety
/// `priority` points at an int.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_lane_priority(lane: *mut overtake_lane, priority: *mut c_int) -> c_int {
    const CALL: &str = "overtake_lane_priority";
    catch(CALL, || {
        let priority = output(CALL, "priority", priority)?;
        let found = with(CALL, lane, |entered, _| Ok(entered.priority().get()))?;
        // SAFETY: not null, and the caller's.
        unsafe { priority.write(c_int::from(found)) };
        Ok(())
    })
}

/// Copies in the lane, at the priority of the task. `kind` is one of OVERTAKE_COPY_...
///
/// Threads: that of the launch callback.
///
/// # Safety
/// As for overtake_memcpy_async; the ranges stay valid until the task has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_lane_copy(
    lane: *mut overtake_lane,
    target: *mut c_void,
    source: *const c_void,
    bytes: usize,
    kind: c_int,
) -> c_int {
    const CALL: &str = "overtake_lane_copy";
    catch(CALL, || {
        // SAFETY: the caller's promise.
        with(CALL, lane, |entered, home| unsafe { copy(CALL, entered, home, (target, source, bytes, kind)) })
    })
}

/// Copies in the lane: target, source, bytes, and one of OVERTAKE_COPY_...
///
/// # Safety
/// As for [`overtake_lane_copy`].
pub unsafe fn copy(
    call: &str,
    entered: &mut Lane<'_>,
    home: Home,
    (target, source, bytes, kind): (*mut c_void, *const c_void, usize, c_int),
) -> Outcome {
    let unknown = || Failure::argument(&format!("{call}: kind is one of OVERTAKE_COPY_..."));
    let request = shim::request(target, source, bytes, kind).ok_or_else(unknown)?;
    if home.is_relayed() {
        let (table, stream) = (table(), std::ptr::with_exposed_provenance_mut(entered.stream().0 as usize));
        let priority = c_int::from(entered.priority().get());
        // SAFETY: the caller's promise is the one that the table demands.
        return checked(table, unsafe { (table.copy_async)(target, source, bytes, kind, stream, priority) });
    }
    // SAFETY: the caller's promise is the one that `copy` demands.
    Ok(unsafe { entered.copy(&request) }?)
}

/// The function is to be called again for this task, after the other tasks that are ready: so a long task gives way.
///
/// Threads: that of the launch callback.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_lane_again(lane: *mut overtake_lane) -> c_int {
    const CALL: &str = "overtake_lane_again";
    catch(CALL, || {
        let found =
            LAUNCHES.with_borrow_mut(|all| all.iter_mut().find(|it| it.handle == lane).map(|it| it.is_again = true));
        found.ok_or_else(|| HandleKind::Lane.unknown(CALL, lane))
    })
}

/// All that tasks submit to the device later waits for all that they have submitted by now.
///
/// Threads: that of the launch callback.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_lane_sync_point(lane: *mut overtake_lane) -> c_int {
    const CALL: &str = "overtake_lane_sync_point";
    catch(CALL, || with(CALL, lane, |entered, _| Ok(entered.sync_point()?)))
}

/// Another task waits until this one is complete. It must not have been started: hold a reference of it
/// (overtake_task_hold), and release it afterwards.
///
/// Threads: that of the launch callback.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_lane_completes(lane: *mut overtake_lane, task: *mut overtake_task) -> c_int {
    const CALL: &str = "overtake_lane_completes";
    catch(CALL, || {
        with(CALL, lane, |entered, home| {
            let other = task::find(CALL, task, home)?;
            Ok(entered.completes(&other)?)
        })
    })
}
