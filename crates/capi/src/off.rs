//! The table of a process that has switched overtake off (`OVERTAKE=off`): no call has an effect, no call fails, and
//! the driver makes the copies.
#![allow(unsafe_code)] // the table's functions take C's pointers

use std::ffi::{c_char, c_int, c_void};
use std::mem::size_of;

use shim::settings::Settings;
use shim::statistics::Statistics;
use shim::table::{LogCallback, TABLE_ABI, Table};

use crate::codes::{OVERTAKE_ERROR_BUFFER_TOO_SMALL, OVERTAKE_ERROR_OFF, OVERTAKE_OK};

const REPORT: &[u8] = b"{\"format\":1,\"state\":\"off\",\"deployment\":\"off\"}\0";

/// The values of `OVERTAKE` that switch everything off.
const WORDS: [&str; 4] = ["off", "0", "false", "no"];

pub static TABLE: Table = Table {
    struct_size: size_of::<Table>() as u32,
    abi: TABLE_ABI,
    open,
    close,
    set_stream_priority,
    stream_priority: no_priority,
    swap_thread_priority,
    priorities,
    copy_async,
    copy_2d_async,
    copy_batch_async,
    set_rules: open,
    report,
    totals,
    last_error,
    deployment,
    set_log_callback,
};

pub fn means_off(value: &str) -> bool {
    WORDS.iter().any(|word| value.eq_ignore_ascii_case(word))
}

/// The number of priorities of a process in which overtake is on.
pub extern "C" fn priorities() -> c_int {
    let settings = Settings::from_environment(|name| std::env::var(name).ok());
    c_int::from(settings.options.priorities.count())
}

unsafe extern "C" fn open(_text: *const c_char) -> c_int {
    OVERTAKE_OK
}

extern "C" fn close() -> c_int {
    OVERTAKE_OK
}

extern "C" fn set_stream_priority(_stream: *mut c_void, _priority: c_int) -> c_int {
    OVERTAKE_OK
}

unsafe extern "C" fn no_priority(_stream: *mut c_void, priority: *mut c_int) -> c_int {
    // SAFETY: the caller, an export of ours, passes an int of its own.
    unsafe { priority.write(0) };
    OVERTAKE_OK
}

unsafe extern "C" fn swap_thread_priority(_priority: c_int, before: *mut c_int) -> c_int {
    // SAFETY: as above.
    unsafe { before.write(0) };
    OVERTAKE_OK
}

unsafe extern "C" fn copy_async(
    _: *mut c_void,
    _: *const c_void,
    _: usize,
    _: c_int,
    _: *mut c_void,
    _: c_int,
) -> c_int {
    OVERTAKE_ERROR_OFF
}

unsafe extern "C" fn copy_2d_async(
    _: *mut c_void,
    _: usize,
    _: *const c_void,
    _: usize,
    _: usize,
    _: usize,
    _: c_int,
    _: *mut c_void,
    _: c_int,
) -> c_int {
    OVERTAKE_ERROR_OFF
}

unsafe extern "C" fn copy_batch_async(
    _: *const *mut c_void,
    _: *const *const c_void,
    _: *const usize,
    _: usize,
    _: *mut c_void,
    _: c_int,
) -> c_int {
    OVERTAKE_ERROR_OFF
}

unsafe extern "C" fn report(buffer: *mut c_char, size: usize, needed: *mut usize) -> c_int {
    // SAFETY: the caller, an export of ours, passes a number of its own.
    unsafe { needed.write(REPORT.len()) };
    if buffer.is_null() || size < REPORT.len() {
        return OVERTAKE_ERROR_BUFFER_TOO_SMALL;
    }
    // SAFETY: the buffer has `size` bytes by the promise of the export's caller, which is enough.
    unsafe { buffer.cast::<u8>().copy_from_nonoverlapping(REPORT.as_ptr(), REPORT.len()) };
    OVERTAKE_OK
}

unsafe extern "C" fn totals(_totals: *mut Statistics) -> c_int {
    OVERTAKE_OK
}

unsafe extern "C" fn set_log_callback(_callback: Option<LogCallback>, _data: *mut c_void) -> c_int {
    OVERTAKE_OK
}

extern "C" fn last_error() -> *const c_char {
    c"".as_ptr()
}

extern "C" fn deployment() -> *const c_char {
    c"off".as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_those_of_the_drop_in() {
        for word in ["off", "OFF", "0", "false", "No"] {
            assert!(means_off(word), "{word}");
        }
        for word in ["", "on", "1", "offf", "yes"] {
            assert!(!means_off(word), "{word}");
        }
    }
}
