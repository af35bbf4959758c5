//! Functions of languages in which an exception can end a function before its first statement. The library calls the
//! functions of this file, which call those, and answer for them.
#![allow(unsafe_code)] // calls functions of the program, with C's pointers

use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::codes::{OVERTAKE_ERROR_INVALID_ARGUMENT, OVERTAKE_ERROR_TASK_FAILED};
use crate::failure::{Failure, SAID, swap_last};
use crate::tasks::callback::{overtake_free_callback, overtake_lane};
use crate::tasks::interpreter::Interpreter;

/// The function of a task, of a computation or of a step, in a language in which an exception can end a function at any
/// point (Ctrl-C in Python). It writes its answer at its end: 0, or an error. A function that ends without it has
/// failed. `lane` is null for functions of the host, `addresses` for those that use no arrays, and `arguments` for
/// those that are no steps. `data` is the data of the function, and points at its struct overtake_answering.
#[allow(non_camel_case_types)] // C's names
pub type overtake_answering_callback = Option<
    unsafe extern "C" fn(
        lane: *mut overtake_lane,
        addresses: *const *mut c_void,
        arguments: *mut c_void,
        data: *mut c_void,
        answer: *mut c_int,
    ),
>;

/// The data of a function that is one of overtake_answer_..., which call `call` and return its answer, or `free`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Answering {
    /// The function of the program's.
    pub call: overtake_answering_callback,
    /// Null, or a counter of the calls that have ended without an answer. Several threads add to it.
    pub unanswered: *mut u32,
    /// Frees the data, for overtake_answer_free.
    pub free: overtake_free_callback,
    /// Null, or the interpreter that both are functions of.
    pub interpreter: *const Interpreter,
}

impl Answering {
    /// # Safety
    /// `data` is null or points at one.
    unsafe fn of(data: *mut c_void) -> Option<Answering> {
        // SAFETY: the caller's promise.
        unsafe { data.cast::<Answering>().as_ref() }.copied()
    }

    /// Calls a function of the interpreter's, if there is one.
    ///
    /// # Safety
    /// Its interpreter is null or points at one.
    unsafe fn inside<R>(&self, function: impl FnOnce() -> R) -> R {
        // SAFETY: the caller's promise.
        match unsafe { self.interpreter.as_ref() } {
            // SAFETY: the caller's promise.
            Some(interpreter) => unsafe { interpreter.call(function) },
            None => function(),
        }
    }
}

/// No function answers so.
const NO_ANSWER: c_int = c_int::MIN;

/// # Safety
/// `data` is null or points at a structure whose function takes all this, and whose counter lives as long.
unsafe fn answered(
    lane: *mut overtake_lane,
    addresses: *const *mut c_void,
    arguments: *mut c_void,
    data: *mut c_void,
) -> c_int {
    // SAFETY: the caller's promise.
    let Some(answering @ Answering { call: Some(call), unanswered, .. }) = (unsafe { Answering::of(data) }) else {
        return OVERTAKE_ERROR_INVALID_ARGUMENT;
    };
    let mut answer = NO_ANSWER;
    // SAFETY: as above; the answer has a place of ours.
    unsafe { answering.inside(|| call(lane, addresses, arguments, data, &raw mut answer)) };
    if answer != NO_ANSWER {
        return answer;
    }
    if !unanswered.is_null() {
        // SAFETY: not null, and the caller's promise; all accesses are atomic ones.
        unsafe { AtomicU32::from_ptr(unanswered) }.fetch_add(1, Ordering::Relaxed);
    }
    let text = "an exception, such as Ctrl-C, has ended its function before it could answer";
    swap_last(Failure { code: SAID, ..Failure::new(OVERTAKE_ERROR_TASK_FAILED, text) });
    OVERTAKE_ERROR_TASK_FAILED
}

/// An overtake_free_callback, by the `free` of the struct overtake_answering that its data points at.
///
/// Threads: any; the library calls it.
///
/// # Safety
/// `data` is null or points at one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_answer_free(data: *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe { free_by(data, data) };
}

/// Frees a thing by the `free` of a structure.
///
/// # Safety
/// `answering` is null or points at a structure, whose function takes this.
pub unsafe fn free_by(answering: *mut c_void, data: *mut c_void) {
    // SAFETY: the caller's promise.
    if let Some(answering @ Answering { free: Some(free), .. }) = unsafe { Answering::of(answering) } {
        // SAFETY: the caller's promise; what both point at is not looked at behind it.
        unsafe { answering.inside(|| free(data)) };
    }
}

/// An overtake_launch_callback, by the struct overtake_answering that its data points at.
///
/// Threads: any; the library calls it.
///
/// # Safety
/// `data` points at one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_answer_launch(lane: *mut overtake_lane, data: *mut c_void) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { answered(lane, null_mut(), null_mut(), data) }
}

/// An overtake_run_callback, in the same way.
///
/// Threads: any; the library calls it.
///
/// # Safety
/// As for overtake_answer_launch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_answer_run(data: *mut c_void) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { answered(null_mut(), null_mut(), null_mut(), data) }
}

/// An overtake_launch_uses_callback, in the same way.
///
/// Threads: any; the library calls it.
///
/// # Safety
/// As for overtake_answer_launch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_answer_launch_uses(
    lane: *mut overtake_lane,
    addresses: *const *mut c_void,
    data: *mut c_void,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { answered(lane, addresses, null_mut(), data) }
}

/// An overtake_run_uses_callback, in the same way.
///
/// Threads: any; the library calls it.
///
/// # Safety
/// As for overtake_answer_launch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_answer_run_uses(addresses: *const *mut c_void, data: *mut c_void) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { answered(null_mut(), addresses, null_mut(), data) }
}

/// An overtake_launch_step_callback, in the same way.
///
/// Threads: any; the library calls it.
///
/// # Safety
/// As for overtake_answer_launch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_answer_launch_step(
    lane: *mut overtake_lane,
    arguments: *mut c_void,
    data: *mut c_void,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { answered(lane, null_mut(), arguments, data) }
}

/// An overtake_run_step_callback, in the same way.
///
/// Threads: any; the library calls it.
///
/// # Safety
/// As for overtake_answer_launch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_answer_run_step(arguments: *mut c_void, data: *mut c_void) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { answered(null_mut(), null_mut(), arguments, data) }
}

/// An overtake_log_callback, in the same way: `arguments` is the text of the message, and the place of the answer has
/// its level.
///
/// Threads: any; the library calls it.
///
/// # Safety
/// As for overtake_answer_launch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_answer_log(data: *mut c_void, mut level: c_int, text: *const c_char) {
    // SAFETY: the caller's promise.
    if let Some(answering @ Answering { call: Some(call), .. }) = unsafe { Answering::of(data) } {
        let text = text.cast_mut().cast();
        // SAFETY: the caller's promise.
        unsafe { answering.inside(|| call(null_mut(), std::ptr::null(), text, data, &raw mut level)) };
    }
}
