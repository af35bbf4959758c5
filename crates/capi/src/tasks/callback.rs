//! Functions of the program: their data, which is freed once, and their answers.
#![allow(unsafe_code)] // calls functions of the program

use std::cell::Cell;
use std::ffi::{c_int, c_void};

use overtake::task::WorkResult;

use crate::codes;
use crate::failure::{self, Failure, Outcome};

/// A lane, as the launch callback of a task gets it: a stream of the device in which the task's work goes. It is valid
/// during that call, on its thread.
#[repr(C)]
#[allow(non_camel_case_types)] // C's name
pub struct overtake_lane {
    _private: [u8; 0],
}

/// Submits the work of a task to its lane. It gets the lane, and the data that the task was submitted with. It returns
/// 0, or any other number if the task has failed: overtake_set_last_error can say why. It must not wait, and no C++
/// exception may leave it.
#[allow(non_camel_case_types)] // C's names
pub type overtake_launch_callback = Option<unsafe extern "C" fn(lane: *mut overtake_lane, data: *mut c_void) -> c_int>;

/// A function of the host. It gets the data that the task was submitted with, and returns as a launch callback.
#[allow(non_camel_case_types)] // C's names
pub type overtake_run_callback = Option<unsafe extern "C" fn(data: *mut c_void) -> c_int>;

/// Frees the data of a task.
#[allow(non_camel_case_types)] // C's names
pub type overtake_free_callback = Option<unsafe extern "C" fn(data: *mut c_void)>;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// The thread is in a function of the program's that the library has called.
struct Inside;

impl Inside {
    fn begin() -> Inside {
        DEPTH.set(DEPTH.get() + 1);
        Inside
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// Whether the calling thread is in a function of the program's that the library has called.
pub fn is_inside() -> bool {
    DEPTH.get() > 0
}

/// An error for calls that wait: the work that they wait for may be behind the function that makes the call.
pub fn refuse_inside(call: &str) -> Outcome {
    match is_inside() {
        false => Ok(()),
        true => {
            let text =
                format!("{call}: not from the function of a task: it would wait for itself; use a task after it");
            Err(Failure::new(codes::OVERTAKE_ERROR_REFUSED, &text))
        }
    }
}

/// The data of a function, freed when this is dropped.
pub struct Data {
    data: *mut c_void,
    free: overtake_free_callback,
}

// SAFETY: the program promises that its functions take the data on any thread.
unsafe impl Send for Data {}

impl Data {
    /// The data of a function.
    ///
    /// # Safety
    /// `free` is null, or takes `data` once, on any thread.
    pub unsafe fn new(data: *mut c_void, free: overtake_free_callback) -> Data {
        Data { data, free }
    }

    /// The pointer, for a call.
    pub fn get(&self) -> *mut c_void {
        self.data
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        if let Some(free) = self.free.take() {
            let before = failure::swap_last(Failure::none());
            let inside = Inside::begin();
            // SAFETY: the promise of `new`; this is the only call.
            unsafe { free(self.data) };
            drop(inside);
            failure::swap_last(before);
        }
    }
}

/// Calls a function of the program's. The thread's last failure is that of the program around it again afterwards.
pub fn answer(call: impl FnOnce() -> c_int) -> WorkResult<()> {
    let before = failure::swap_last(Failure::none());
    let inside = Inside::begin();
    let code = call();
    drop(inside);
    let said = failure::swap_last(before);
    match code {
        codes::OVERTAKE_OK => Ok(()),
        _ if said.code == code || said.code == failure::SAID => Err(said.text.to_string_lossy().into()),
        _ => {
            let (name, text) = (codes::name(code).to_string_lossy(), codes::text(code).to_string_lossy());
            Err(format!("its function returned {code}, {name}: {text}").into())
        }
    }
}
