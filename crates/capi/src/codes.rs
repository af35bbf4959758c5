//! The numbers that calls return. `errors.txt` lists every number that was ever used; no number is used twice.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_int};
use std::sync::Mutex;

use hal::Code;
use hal::locks::lock;

/// Success. Positive numbers are CUresult, as the driver returned them; negative ones are overtake's own.
pub const OVERTAKE_OK: c_int = 0;
/// An argument is outside the documented range; overtake_last_error names it.
pub const OVERTAKE_ERROR_INVALID_ARGUMENT: c_int = -1;
/// The buffer is too small. The size that it needs was written.
pub const OVERTAKE_ERROR_BUFFER_TOO_SMALL: c_int = -2;
/// A bug in overtake. The call did not do its work, and the program can go on.
pub const OVERTAKE_ERROR_PANIC: c_int = -3;
/// The layer has not been opened in this process.
pub const OVERTAKE_ERROR_NOT_STARTED: c_int = -4;
/// The option enabled = off switches overtake off, or this is a forked child, or the process is exiting. With
/// OVERTAKE=off in the environment no call fails.
pub const OVERTAKE_ERROR_OFF: c_int = -5;
/// The text of options or rules has a fault; overtake_last_error names its place.
pub const OVERTAKE_ERROR_SYNTAX: c_int = -6;
/// There is no CUDA driver: no libcuda.so.1 can be loaded.
pub const OVERTAKE_ERROR_NO_DRIVER: c_int = -7;
/// There was no overtake_push_priority on this thread before this overtake_pop_priority.
pub const OVERTAKE_ERROR_NO_SCOPE: c_int = -8;
/// The handle is null, was closed or freed, or names a thing of another kind.
pub const OVERTAKE_ERROR_INVALID_HANDLE: c_int = -9;
/// The call is not possible for this task, and has changed nothing; overtake_last_error names the tasks.
pub const OVERTAKE_ERROR_REFUSED: c_int = -10;
/// The dispatcher is full: wait until tasks have ended, and call again.
pub const OVERTAKE_ERROR_WOULD_BLOCK: c_int = -11;
/// The dispatcher has been closed.
pub const OVERTAKE_ERROR_CLOSED: c_int = -12;
/// The task failed; overtake_last_error has its name and the reason.
pub const OVERTAKE_ERROR_TASK_FAILED: c_int = -13;
/// The task was not run, because a task before it failed; overtake_last_error names both.
pub const OVERTAKE_ERROR_TASK_NOT_RUN: c_int = -14;
/// No thread and no device will ever complete the task: a model of the device has proven it.
pub const OVERTAKE_ERROR_STUCK: c_int = -15;
/// The time of the call is over; overtake_last_error tells what it waited for. Its task has not been submitted.
pub const OVERTAKE_ERROR_TIMEOUT: c_int = -16;
/// The other end of the pipeline has left: there are no further frames.
pub const OVERTAKE_ERROR_ENDED: c_int = -17;
/// A frame failed; overtake_last_error has its number and the reason. The next call is about the next frame.
pub const OVERTAKE_ERROR_FRAME_FAILED: c_int = -18;

struct Entry {
    code: c_int,
    name: &'static CStr,
    text: &'static CStr,
}

const fn entry(code: c_int, name: &'static CStr, text: &'static CStr) -> Entry {
    Entry { code, name, text }
}

const OURS: [Entry; 19] = [
    entry(OVERTAKE_OK, c"OVERTAKE_OK", c"success"),
    entry(OVERTAKE_ERROR_INVALID_ARGUMENT, c"OVERTAKE_ERROR_INVALID_ARGUMENT", c"invalid argument"),
    entry(OVERTAKE_ERROR_BUFFER_TOO_SMALL, c"OVERTAKE_ERROR_BUFFER_TOO_SMALL", c"the buffer is too small"),
    entry(OVERTAKE_ERROR_PANIC, c"OVERTAKE_ERROR_PANIC", c"a bug in overtake; please report it"),
    entry(OVERTAKE_ERROR_NOT_STARTED, c"OVERTAKE_ERROR_NOT_STARTED", c"overtake has not been opened in this process"),
    entry(OVERTAKE_ERROR_OFF, c"OVERTAKE_ERROR_OFF", c"overtake is off in this process"),
    entry(OVERTAKE_ERROR_SYNTAX, c"OVERTAKE_ERROR_SYNTAX", c"the text cannot be understood"),
    entry(OVERTAKE_ERROR_NO_DRIVER, c"OVERTAKE_ERROR_NO_DRIVER", c"there is no CUDA driver"),
    entry(OVERTAKE_ERROR_NO_SCOPE, c"OVERTAKE_ERROR_NO_SCOPE", c"no priority was pushed on this thread"),
    entry(OVERTAKE_ERROR_INVALID_HANDLE, c"OVERTAKE_ERROR_INVALID_HANDLE", c"not a handle, or no longer"),
    entry(OVERTAKE_ERROR_REFUSED, c"OVERTAKE_ERROR_REFUSED", c"not possible for this task"),
    entry(OVERTAKE_ERROR_WOULD_BLOCK, c"OVERTAKE_ERROR_WOULD_BLOCK", c"the dispatcher is full"),
    entry(OVERTAKE_ERROR_CLOSED, c"OVERTAKE_ERROR_CLOSED", c"the dispatcher has been closed"),
    entry(OVERTAKE_ERROR_TASK_FAILED, c"OVERTAKE_ERROR_TASK_FAILED", c"the task failed"),
    entry(OVERTAKE_ERROR_TASK_NOT_RUN, c"OVERTAKE_ERROR_TASK_NOT_RUN", c"a task before it failed"),
    entry(OVERTAKE_ERROR_STUCK, c"OVERTAKE_ERROR_STUCK", c"the task will never end"),
    entry(OVERTAKE_ERROR_TIMEOUT, c"OVERTAKE_ERROR_TIMEOUT", c"the time is over"),
    entry(OVERTAKE_ERROR_ENDED, c"OVERTAKE_ERROR_ENDED", c"the other end has left"),
    entry(OVERTAKE_ERROR_FRAME_FAILED, c"OVERTAKE_ERROR_FRAME_FAILED", c"the frame failed"),
];

/// The name of a number, such as `OVERTAKE_ERROR_PANIC` or `CUDA_ERROR_OUT_OF_MEMORY`.
pub fn name(code: c_int) -> &'static CStr {
    match OURS.iter().find(|entry| entry.code == code) {
        Some(entry) => entry.name,
        None => driver_code(code).and_then(Code::name).map_or(c"unknown", interned),
    }
}

/// The meaning of a number, in a few words.
pub fn text(code: c_int) -> &'static CStr {
    match OURS.iter().find(|entry| entry.code == code) {
        Some(entry) => entry.text,
        None => driver_code(code).and_then(Code::text).map_or(c"a number that overtake does not know", interned),
    }
}

fn driver_code(code: c_int) -> Option<Code> {
    u32::try_from(code).ok().and_then(Code::new)
}

/// The text with a NUL at its end, made once. The texts stay for ever: there are no more than the driver has codes.
fn interned(text: &'static str) -> &'static CStr {
    static TEXTS: Mutex<BTreeMap<&str, &CStr>> = Mutex::new(BTreeMap::new());
    let mut texts = lock(&TEXTS);
    texts.entry(text).or_insert_with(|| match CString::new(text) {
        Ok(text) => Box::leak(text.into_boxed_c_str()),
        Err(_) => c"unknown",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of `errors.txt`: number, name, and whether the number is retired.
    fn listed() -> Vec<(c_int, &'static str, bool)> {
        let lines = include_str!("../errors.txt").lines().filter(|line| !line.starts_with('#'));
        let parsed = lines.map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            assert!(matches!(words[..], [_, _] | [_, _, "retired"]), "{line}");
            (words[0].parse().unwrap_or_else(|_| panic!("{line}")), words[1], words.len() == 3)
        });
        parsed.collect()
    }

    #[test]
    fn every_number_is_listed_once_with_its_meaning() {
        let listed = listed();
        for (index, (code, name, _)) in listed.iter().enumerate() {
            let index = c_int::try_from(index).unwrap();
            assert_eq!(*code, -index, "{name}: numbers count down without a gap, so none is taken away or used again");
        }
        let current: Vec<(c_int, &str)> = listed.iter().filter(|line| !line.2).map(|line| (line.0, line.1)).collect();
        let ours: Vec<(c_int, &str)> = OURS.iter().map(|entry| (entry.code, entry.name.to_str().unwrap())).collect();
        assert_eq!(ours, current);
    }

    #[test]
    fn the_layer_means_the_same_by_its_numbers() {
        use shim::Failure;
        let layer = |failure| match failure {
            Failure::InvalidArgument => OVERTAKE_ERROR_INVALID_ARGUMENT,
            Failure::BufferTooSmall => OVERTAKE_ERROR_BUFFER_TOO_SMALL,
            Failure::Panic => OVERTAKE_ERROR_PANIC,
            Failure::NotStarted => OVERTAKE_ERROR_NOT_STARTED,
            Failure::Off => OVERTAKE_ERROR_OFF,
            Failure::Syntax => OVERTAKE_ERROR_SYNTAX,
            Failure::NoDriver => OVERTAKE_ERROR_NO_DRIVER,
        };
        for failure in Failure::ALL {
            assert_eq!(failure.number(), layer(failure), "{failure:?}");
        }
    }

    #[test]
    fn numbers_of_the_driver_have_its_names() {
        assert_eq!(name(2), c"CUDA_ERROR_OUT_OF_MEMORY");
        assert_eq!(text(2), c"out of memory");
        assert_eq!(name(2).as_ptr(), name(2).as_ptr(), "made once");
        for unknown in [4711, -4711] {
            assert_eq!((name(unknown), text(unknown)), (c"unknown", c"a number that overtake does not know"));
        }
    }
}
