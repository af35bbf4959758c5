//! All exported functions but the copies: versions, errors, opening, priorities, rules, statistics.
#![allow(unsafe_code)] // symbols that C finds by name, and C's pointers

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::NonNull;

use shim::statistics::Statistics;

use crate::codes;
use crate::failure::{Failure, Outcome, SAID, catch, catch_value, last_text, swap_last};
use crate::off;
use crate::provider::{checked, table, table_with};
use crate::scope;
use crate::sized::{self, bytes_of};

/// The version of this header: major.
pub const OVERTAKE_VERSION_MAJOR: c_int = 0;
/// The version of this header: minor.
pub const OVERTAKE_VERSION_MINOR: c_int = 1;
/// The version of this header: patch.
pub const OVERTAKE_VERSION_PATCH: c_int = 0;

/// In place of a priority: the rules decide, or an earlier priority is taken away.
pub const OVERTAKE_PRIORITY_BY_RULES: c_int = 0;
/// The lowest priority: bulk. Higher numbers are more urgent, up to overtake_priorities().
pub const OVERTAKE_PRIORITY_LOWEST: c_int = 1;

/// A message about a failure.
pub const OVERTAKE_LOG_ERROR: c_int = 1;
/// A message about copies that have no priority, with the remedy.
pub const OVERTAKE_LOG_WARNING: c_int = 2;
/// A message about normal progress.
pub const OVERTAKE_LOG_INFO: c_int = 3;
/// A message for the search for a fault.
pub const OVERTAKE_LOG_DEBUG: c_int = 4;

/// The size of the first released counts: no caller has a smaller one.
pub const STATISTICS_BYTES_MIN: usize = 96;

/// A function of the program's for messages. It gets the data that it was set with, one of OVERTAKE_LOG_..., and one
/// line of text that is valid during the call.
#[allow(non_camel_case_types)] // C's names
pub type overtake_log_callback = Option<unsafe extern "C" fn(data: *mut c_void, level: c_int, text: *const c_char)>;

/// A CUDA stream. `CUstream` of cuda.h and `cudaStream_t` of the runtime are pointers to this.
#[repr(C)]
#[allow(non_camel_case_types)] // CUDA's name
pub struct CUstream_st {
    _private: [u8; 0],
}

/// The version of the loaded library: major * 10000 + minor * 100 + patch. It may differ from the header's.
///
/// Threads: any, at any time.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_version() -> c_int {
    OVERTAKE_VERSION_MAJOR * 10_000 + OVERTAKE_VERSION_MINOR * 100 + OVERTAKE_VERSION_PATCH
}

/// The version as text, such as "0.1.0". Never null; valid for ever.
///
/// Threads: any, at any time.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_version_text() -> *const c_char {
    const TEXT: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    TEXT.as_ptr().cast()
}

/// The name of an error number, such as "OVERTAKE_ERROR_PANIC" or "CUDA_ERROR_OUT_OF_MEMORY"; "unknown" for others.
/// Never null; valid for ever.
///
/// Threads: any, at any time.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_error_name(error: c_int) -> *const c_char {
    catch_value(c"unknown", || codes::name(error)).as_ptr()
}

/// The meaning of an error number, in a few words. Never null; valid for ever.
///
/// Threads: any, at any time.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_error_text(error: c_int) -> *const c_char {
    catch_value(c"unknown", || codes::text(error)).as_ptr()
}

/// The cause of the calling thread's last failed call, and its remedy. Never null; empty if no call has failed; valid
/// until the next failed call of this thread. Calls that succeed leave it as it is.
///
/// Threads: any; each has its own text.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_last_error() -> *const c_char {
    catch_value(c"".as_ptr(), last_text)
}

/// Sets the text of overtake_last_error() for the calling thread: the function of a task that fails says why with it.
///
/// Threads: any; each has its own text.
///
/// # Safety
/// `text` is a NUL-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_set_last_error(text: *const c_char) -> c_int {
    catch("overtake_set_last_error", || {
        if text.is_null() {
            return Err(Failure::argument("overtake_set_last_error: text is null"));
        }
        // SAFETY: not null, and the caller promises a NUL-terminated string that outlives the call.
        let text = unsafe { CStr::from_ptr(text) }.to_owned();
        swap_last(Failure { code: SAID, text });
        Ok(())
    })
}

/// Makes the layer ready for the calling thread's current CUDA context, and returns when it is. The call is optional:
/// without it the first copies open the layer, and take longer. `options` is null, or a TOML text of options and rules.
/// Only the first call of a process uses them; under the drop-in the environment's options are in force. A text with a
/// fault is refused as a whole with OVERTAKE_ERROR_SYNTAX, and overtake_last_error() names line and column.
///
/// Threads: any. A call waits for other threads that open the same context.
///
/// # Safety
/// `options` is null or a NUL-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_open(options: *const c_char) -> c_int {
    catch("overtake_open", || {
        // SAFETY: not null, and the caller promises a NUL-terminated string that outlives the call.
        let text = (!options.is_null()).then(|| unsafe { CStr::from_ptr(options) }.to_str());
        let text = text.transpose().map_err(|_| Failure::argument("overtake_open: the options are not UTF-8"))?;
        let refused = |why: String| Failure::new(codes::OVERTAKE_ERROR_SYNTAX, &format!("overtake_open: {why}"));
        text.map_or(Ok(()), shim::check_options).map_err(refused)?;
        let table = table_with(text);
        // SAFETY: as above. The layer of this library already has the options.
        checked(table, unsafe { (table.open)(options) })
    })
}

/// The way in which the layer came into the process. Under the drop-in, which sees every copy: "preload", "shadow" or
/// "audit", but "idle" until the program has initialised the driver. Without the drop-in: "c"; only the copies of this
/// library have priorities. With OVERTAKE=off: "off"; no call has an effect. Never null; valid for ever.
///
/// Threads: any, at any time.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_deployment() -> *const c_char {
    catch_value(c"".as_ptr(), || {
        let deployment = (table().deployment)();
        // SAFETY: the table's contract: NUL-terminated and static.
        if unsafe { CStr::from_ptr(deployment) }.is_empty() { c"idle".as_ptr() } else { deployment }
    })
}

/// The number of priorities, which count from 1 (bulk) up to it.
///
/// Threads: any, at any time.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_priorities() -> c_int {
    // An idle drop-in has not read the variables yet, but will read the same ones.
    catch_value(0, || match (table().priorities)() {
        0 => off::priorities(),
        count => count,
    })
}

/// Makes the layer ready for the current context, as overtake_open does, and gives the copies of a stream a priority
/// from OVERTAKE_PRIORITY_LOWEST up. The stream stays the program's: it calls overtake_release_stream, and then
/// destroys the stream as usual.
///
/// Threads: any.
///
/// # Safety
/// `stream` is a stream of the current context, or one of CUDA's special handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_adopt_stream(stream: *mut CUstream_st, priority: c_int) -> c_int {
    catch("overtake_adopt_stream", || {
        if priority < OVERTAKE_PRIORITY_LOWEST {
            return Err(Failure::argument("overtake_adopt_stream: a priority is 1 (bulk) or more"));
        }
        let table = table();
        // SAFETY: a null pointer means no options.
        checked(table, unsafe { (table.open)(std::ptr::null()) })?;
        checked(table, (table.set_stream_priority)(stream.cast(), priority))
    })
}

/// Takes away the priority that overtake_adopt_stream or overtake_set_stream_priority gave. Call it before the stream
/// is destroyed, because CUDA may give the same handle to another stream.
///
/// Threads: any.
///
/// # Safety
/// As for overtake_adopt_stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_release_stream(stream: *mut CUstream_st) -> c_int {
    catch("overtake_release_stream", || {
        let table = table();
        checked(table, (table.set_stream_priority)(stream.cast(), OVERTAKE_PRIORITY_BY_RULES))
    })
}

/// Gives later copies of a stream of the current context a priority; OVERTAKE_PRIORITY_BY_RULES takes it away. If the
/// calling thread has a priority, that goes before the stream's.
///
/// Threads: any.
///
/// # Safety
/// As for overtake_adopt_stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_set_stream_priority(stream: *mut CUstream_st, priority: c_int) -> c_int {
    catch("overtake_set_stream_priority", || {
        let table = table();
        checked(table, (table.set_stream_priority)(stream.cast(), priority))
    })
}

/// The priority of a stream's copies: the one that was set, or that of CUDA's own stream priority.
/// OVERTAKE_PRIORITY_BY_RULES where rules and sizes decide.
///
/// Threads: any.
///
/// # Safety
/// `stream` as for overtake_adopt_stream; `priority` points at an int.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_stream_priority(stream: *mut CUstream_st, priority: *mut c_int) -> c_int {
    catch("overtake_stream_priority", || {
        let output =
            NonNull::new(priority).ok_or_else(|| Failure::argument("overtake_stream_priority: priority is null"))?;
        let (table, mut found) = (table(), 0);
        // SAFETY: `found` is an int of ours.
        checked(table, unsafe { (table.stream_priority)(stream.cast(), &raw mut found) })?;
        // SAFETY: not null, and the caller's int.
        unsafe { output.write(found) };
        Ok(())
    })
}

/// Gives every copy of the calling thread a priority, in any stream; OVERTAKE_PRIORITY_BY_RULES takes it away. `before`
/// is null, or receives the thread's earlier priority.
///
/// Threads: any; each has its own priority.
///
/// # Safety
/// `before` is null or points at an int.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_set_thread_priority(priority: c_int, before: *mut c_int) -> c_int {
    catch("overtake_set_thread_priority", || {
        let found = swap_thread_priority(priority)?;
        if let Some(before) = NonNull::new(before) {
            // SAFETY: not null, and the caller's int.
            unsafe { before.write(found) };
        }
        Ok(())
    })
}

/// Begins a scope in which every copy of the calling thread has this priority. Scopes nest.
///
/// Threads: any; each has its own scopes.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_push_priority(priority: c_int) -> c_int {
    catch("overtake_push_priority", || scope::push(|| swap_thread_priority(priority)))
}

/// Ends the innermost scope of the calling thread. The thread has its priority from before that scope again.
///
/// Threads: the one that began the scope.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_pop_priority() -> c_int {
    catch("overtake_pop_priority", || scope::pop(|before| swap_thread_priority(before).map(drop)))
}

fn swap_thread_priority(priority: c_int) -> Outcome<c_int> {
    let (table, mut before) = (table(), 0);
    // SAFETY: `before` is an int of ours.
    checked(table, unsafe { (table.swap_thread_priority)(priority, &raw mut before) })?;
    Ok(before)
}

/// Replaces the rules of the process by those of a TOML text. Copies under way keep their priorities.
///
/// Threads: any.
///
/// # Safety
/// `rules` is a NUL-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_set_rules(rules: *const c_char) -> c_int {
    catch("overtake_set_rules", || {
        if rules.is_null() {
            return Err(Failure::argument("overtake_set_rules: rules is null; an empty text takes all rules away"));
        }
        let table = table();
        // SAFETY: not null, and the caller's promise is the one that the table demands.
        checked(table, unsafe { (table.set_rules)(rules) })
    })
}

/// Sends messages to a function of the program's; with null, to standard error again, as at first. Call it before all
/// other functions to get all messages. The variable OVERTAKE_LOG limits them to a level (off, error, warn, info or
/// debug; warn if not set). Under the drop-in the function gets the messages of the drop-in too.
///
/// Threads: any, but not with a lock that the earlier function takes: it is no longer called when this call returns.
/// One thread of the library calls the function, for one message at a time, a moment after the event. While 256
/// messages wait, later ones are dropped, and the report counts them.
///
/// # Safety
/// `callback` is null or takes `data` on another thread, until it is replaced.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_set_log_callback(callback: overtake_log_callback, data: *mut c_void) -> c_int {
    catch("overtake_set_log_callback", || {
        // The layer of this library may write a message during the search for the table.
        // SAFETY: the caller's promise is the same, here and below.
        unsafe { shim::listen(callback, data) }?;
        let table = table();
        // SAFETY: as above.
        checked(table, unsafe { (table.set_log_callback)(callback, data) })
    })
}

/// The counts of this process so far. Set struct_size to sizeof(struct overtake_statistics) before the call. The
/// structure is written only if the call succeeds; struct_size is then the number of bytes that the library knows.
///
/// Threads: any. The sums are read one after another while copies go on.
///
/// # Safety
/// `statistics` points at a structure of the size that its struct_size says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_read_statistics(statistics: *mut Statistics) -> c_int {
    catch("overtake_read_statistics", || {
        const CALL: &str = "overtake_read_statistics";
        let struct_size = bytes_of::<Statistics>();
        let (table, mut totals) = (table(), Statistics { struct_size, ..Statistics::default() });
        // SAFETY: `totals` is a structure of ours that says its size.
        match unsafe { (table.totals)(&raw mut totals) } {
            // No copy has been made yet.
            codes::OVERTAKE_ERROR_NOT_STARTED => {}
            code => checked(table, code)?,
        }
        let fresh = Statistics { struct_size, ..totals };
        // SAFETY: the caller's promise.
        unsafe { sized::write(CALL, "statistics", statistics, STATISTICS_BYTES_MIN, &fresh) }
    })
}

/// The report of this process as JSON, with a NUL at its end. `needed` is null, or receives the size with the NUL. It
/// does so too if `size` is too small or `buffer` is null: the call then returns OVERTAKE_ERROR_BUFFER_TOO_SMALL. The
/// report may grow before the next call, so pass a little more than the needed size.
///
/// Threads: any.
///
/// # Safety
/// `buffer` is null or has `size` bytes; `needed` is null or points at a size_t.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_report_json(buffer: *mut c_char, size: usize, needed: *mut usize) -> c_int {
    catch("overtake_report_json", || {
        let (table, mut bytes) = (table(), 0);
        // SAFETY: `buffer` and `size` are as the caller promises; `bytes` is a number of ours.
        let code = unsafe { (table.report)(buffer, size, &raw mut bytes) };
        let answered = code == codes::OVERTAKE_OK || code == codes::OVERTAKE_ERROR_BUFFER_TOO_SMALL;
        if let (true, Some(needed)) = (answered, NonNull::new(needed)) {
            // SAFETY: not null, and the caller's number.
            unsafe { needed.write(bytes) };
        }
        checked(table, code)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_the_version_are_those_of_the_package() {
        let text = format!("{OVERTAKE_VERSION_MAJOR}.{OVERTAKE_VERSION_MINOR}.{OVERTAKE_VERSION_PATCH}");
        assert_eq!(text, env!("CARGO_PKG_VERSION"));
        // SAFETY: the text is static and ends with a NUL.
        assert_eq!(unsafe { CStr::from_ptr(overtake_version_text()) }.to_str(), Ok(text.as_str()));
    }
}
