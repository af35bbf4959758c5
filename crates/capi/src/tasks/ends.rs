//! Ends of tasks: the functions that hear of them, and tasks that end before they start.
#![allow(unsafe_code)] // symbols that C finds by name, and C's pointers

use std::ffi::{c_int, c_void};
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};

use hal::locks;
use overtake::task::WorkResult;

use crate::failure::{Failure, catch};
use crate::tasks::callback::{Data, answer, overtake_free_callback, overtake_run_callback};
use crate::tasks::dispatcher::output;
use crate::tasks::task::{any, overtake_task};

/// Leaves the task out, if it has not started: it ends as one that was not run (OVERTAKE_ERROR_TASK_NOT_RUN), and so
/// do those that have been submitted to come after it; in the order of PhysX those run. Tasks before it go on. The
/// elements that a computation was to write are lost with it, until a discard. Writes 1 then, and 0 if it goes on: it
/// has started or ended, is a join, or is a replay.
///
/// Threads: any.
///
/// # Safety
/// `is_cancelled` points at an int.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_task_cancel(task: *mut overtake_task, is_cancelled: *mut c_int) -> c_int {
    const CALL: &str = "overtake_task_cancel";
    catch(CALL, || {
        let output = output(CALL, "is_cancelled", is_cancelled)?;
        let left_out = any(CALL, task)?.cancel()?;
        // SAFETY: not null, and the caller's.
        unsafe { output.write(c_int::from(left_out)) };
        Ok(())
    })
}

/// Calls `run` once when the task has ended, on the thread that sees it end, or here if it has ended before. It must
/// not wait. A number that it returns is told to the log, and nothing else. `free_data` is null, or frees the data
/// behind that, also if this call fails.
///
/// Threads: any, and functions of tasks.
///
/// # Safety
/// `run` and `free_data` take the data on any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_task_when_done(
    task: *mut overtake_task,
    run: overtake_run_callback,
    data: *mut c_void,
    free_data: overtake_free_callback,
) -> c_int {
    const CALL: &str = "overtake_task_when_done";
    // SAFETY: the caller's promise. From here on the data is freed on every path.
    let data = unsafe { Data::new(data, free_data) };
    catch(CALL, || {
        let function = run.ok_or_else(|| Failure::argument(&format!("{CALL}: run is null")))?;
        // SAFETY: the caller's promise.
        let call = move || answer(|| unsafe { function(data.get()) });
        let listener = Arc::new(Listener(Mutex::new(Some(Box::new(call)))));
        let (task, waker) = (any(CALL, task)?, Waker::from(Arc::clone(&listener)));
        if pin!(task).poll(&mut Context::from_waker(&waker)).is_ready() {
            listener.wake();
        }
        Ok(())
    })
}

/// Hears of the end of a task.
struct Listener(Mutex<Option<Call>>);

type Call = Box<dyn FnOnce() -> WorkResult<()> + Send>;

impl Wake for Listener {
    fn wake(self: Arc<Listener>) {
        // Taken first: it is called, and what it owns is freed, without the lock.
        let call = locks::lock(&self.0).take();
        if let Some(Err(error)) = call.map(|call| call()) {
            log::warn!("a function that was called at the end of a task failed: {error}");
        }
    }
}
