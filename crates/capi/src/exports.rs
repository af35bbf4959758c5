//! Everything that C can call, save the copies: versions, errors, opening, priorities, rules, statistics.
#![allow(unsafe_code)] // symbols that C finds by name, and C's pointers

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::size_of;
use std::ptr::NonNull;

use shim::table::Totals;

use crate::codes;
use crate::failure::{Failure, Outcome, fence, fence_value, last_text};
use crate::off;
use crate::provider::{checked, table, table_with};
use crate::scope;
use crate::statistics::{STATISTICS_BYTES_MIN, Statistics};

/// The version of this header: major.
pub const OVERTAKE_VERSION_MAJOR: c_int = 0;
/// The version of this header: minor.
pub const OVERTAKE_VERSION_MINOR: c_int = 1;
/// The version of this header: patch.
pub const OVERTAKE_VERSION_PATCH: c_int = 0;

/// Instead of a priority: let the rules decide, or take away what was set.
pub const OVERTAKE_PRIORITY_BY_RULES: c_int = 0;
/// The lowest priority: bulk. Higher numbers are more urgent, up to overtake_priorities().
pub const OVERTAKE_PRIORITY_LOWEST: c_int = 1;

/// A message about something that failed.
pub const OVERTAKE_LOG_ERROR: c_int = 1;
/// A message about something that costs priorities, with its cure.
pub const OVERTAKE_LOG_WARNING: c_int = 2;
/// A message about what goes on.
pub const OVERTAKE_LOG_INFO: c_int = 3;
/// A message for those who look for a fault.
pub const OVERTAKE_LOG_DEBUG: c_int = 4;

/// A function of yours for messages: the data that it was set with, one of OVERTAKE_LOG_..., and one line of text
/// that is valid during the call.
#[allow(non_camel_case_types)] // C's names
pub type overtake_log_callback = Option<unsafe extern "C" fn(data: *mut c_void, level: c_int, text: *const c_char)>;

/// A CUDA stream: what cuda.h calls `CUstream` and the runtime `cudaStream_t` is a pointer to this.
#[repr(C)]
#[allow(non_camel_case_types)] // CUDA's name
pub struct CUstream_st {
    _private: [u8; 0],
}

/// The version of the library that is loaded: major * 10000 + minor * 100 + patch. It may differ from the header's.
///
/// Threads: any, at any time.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_version() -> c_int {
    OVERTAKE_VERSION_MAJOR * 10_000 + OVERTAKE_VERSION_MINOR * 100 + OVERTAKE_VERSION_PATCH
}

/// The same as text, such as "0.1.0". Never null; valid for ever.
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
    fence_value(c"unknown", || codes::name(error)).as_ptr()
}

/// What an error number means, in a few words. Never null; valid for ever.
///
/// Threads: any, at any time.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_error_text(error: c_int) -> *const c_char {
    fence_value(c"unknown", || codes::text(error)).as_ptr()
}

/// What the last failed call of this thread was about, and what to do about it. Never null, empty if no call has
/// failed; valid until the next failed call of this thread. Calls that succeed leave it alone.
///
/// Threads: any; each has its own text.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_last_error() -> *const c_char {
    fence_value(c"".as_ptr(), last_text)
}

/// Makes the layer ready for the calling thread's current CUDA context, and returns when it is. The call is
/// optional: otherwise the first copies do the same, and take longer. `options` is null, or a text of TOML with options
/// and rules, which only the first call of a process heeds; under the drop-in the environment's options are in force. A
/// text with a fault is refused with OVERTAKE_ERROR_SYNTAX: nothing of it is heeded, and overtake_last_error() names
/// line and column.
///
/// Threads: any; waits for others that open the same context.
///
/// # Safety
/// `options` is null or a NUL-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_open(options: *const c_char) -> c_int {
    fence("overtake_open", || {
        // SAFETY: not null, and the caller promises a NUL-terminated string that outlives the call.
        let text = (!options.is_null()).then(|| unsafe { CStr::from_ptr(options) }.to_str());
        let text = text.transpose().map_err(|_| Failure::argument("overtake_open: the options are not UTF-8"))?;
        let refused = |why: String| Failure::new(codes::OVERTAKE_ERROR_SYNTAX, &format!("overtake_open: {why}"));
        text.map_or(Ok(()), shim::check_options).map_err(refused)?;
        let table = table_with(text);
        // SAFETY: as above; the layer in here has heeded the options already.
        checked(table, unsafe { (table.open)(options) })
    })
}

/// Lets go of what was made for the calling thread's current CUDA context: call it before you destroy a context, after
/// its copies. Under the drop-in, which sees contexts end by itself, it does nothing.
///
/// Threads: any, but no other may be inside a copy of the same context.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_close() -> c_int {
    fence("overtake_close", || {
        let table = table();
        checked(table, (table.close)())
    })
}

/// Who brought the layer: "preload", "shadow" or "audit" where the process runs under the drop-in, which sees every
/// copy ("idle" until the program has initialised the driver); "c" where it does not, and only the copies of this
/// library have priorities; "off" with OVERTAKE=off, when nothing here has an effect. Never null; valid for ever.
///
/// Threads: any, at any time.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_deployment() -> *const c_char {
    fence_value(c"".as_ptr(), || {
        let deployment = (table().deployment)();
        // SAFETY: the table's contract: NUL-terminated and static.
        if unsafe { CStr::from_ptr(deployment) }.is_empty() { c"idle".as_ptr() } else { deployment }
    })
}

/// How many priorities there are: 1 (bulk) up to this number.
///
/// Threads: any, at any time.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_priorities() -> c_int {
    // A drop-in that is idle does not know yet, but reads the same variables later.
    fence_value(0, || match (table().priorities)() {
        0 => off::priorities(),
        count => count,
    })
}

/// Takes a stream into care: makes the layer ready for the current context, as overtake_open does, and gives the
/// stream's copies a priority from OVERTAKE_PRIORITY_LOWEST up. It remains your stream: destroy it as usual, after
/// overtake_release_stream.
///
/// Threads: any.
///
/// # Safety
/// `stream` is a stream of the current context, or one of CUDA's special handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_adopt_stream(stream: *mut CUstream_st, priority: c_int) -> c_int {
    fence("overtake_adopt_stream", || {
        if priority < OVERTAKE_PRIORITY_LOWEST {
            return Err(Failure::argument("overtake_adopt_stream: a priority is 1 (bulk) or more"));
        }
        let table = table();
        // SAFETY: null stands for no options.
        checked(table, unsafe { (table.open)(std::ptr::null()) })?;
        checked(table, (table.set_stream_priority)(stream.cast(), priority))
    })
}

/// Takes away what overtake_adopt_stream or overtake_set_stream_priority gave: call it before the stream is destroyed,
/// because CUDA may give the same handle to another stream.
///
/// Threads: any.
///
/// # Safety
/// As for overtake_adopt_stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_release_stream(stream: *mut CUstream_st) -> c_int {
    fence("overtake_release_stream", || {
        let table = table();
        checked(table, (table.set_stream_priority)(stream.cast(), OVERTAKE_PRIORITY_BY_RULES))
    })
}

/// Gives the copies of a stream of the current context a priority from now on; OVERTAKE_PRIORITY_BY_RULES takes it
/// away. The priority of a thread, where it has one, goes before the stream's.
///
/// Threads: any.
///
/// # Safety
/// As for overtake_adopt_stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_set_stream_priority(stream: *mut CUstream_st, priority: c_int) -> c_int {
    fence("overtake_set_stream_priority", || {
        let table = table();
        checked(table, (table.set_stream_priority)(stream.cast(), priority))
    })
}

/// The priority that the copies of a stream have: the one that was set, or that of CUDA's own stream priority;
/// OVERTAKE_PRIORITY_BY_RULES where rules and sizes decide.
///
/// Threads: any.
///
/// # Safety
/// `stream` as for overtake_adopt_stream; `priority` points at an int.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_stream_priority(stream: *mut CUstream_st, priority: *mut c_int) -> c_int {
    fence("overtake_stream_priority", || {
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

/// Gives every copy that the calling thread makes a priority, whatever the stream; OVERTAKE_PRIORITY_BY_RULES takes it
/// away. `before` is null, or receives the priority that the thread had.
///
/// Threads: any; each has its own priority.
///
/// # Safety
/// `before` is null or points at an int.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_set_thread_priority(priority: c_int, before: *mut c_int) -> c_int {
    fence("overtake_set_thread_priority", || {
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
    fence("overtake_push_priority", || scope::push(|| swap_thread_priority(priority)))
}

/// Ends the innermost scope of the calling thread: its priority is again what it was before the scope.
///
/// Threads: the one that pushed.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_pop_priority() -> c_int {
    fence("overtake_pop_priority", || scope::pop(|before| swap_thread_priority(before).map(drop)))
}

fn swap_thread_priority(priority: c_int) -> Outcome<c_int> {
    let (table, mut before) = (table(), 0);
    // SAFETY: `before` is an int of ours.
    checked(table, unsafe { (table.swap_thread_priority)(priority, &raw mut before) })?;
    Ok(before)
}

/// Replaces the rules of the process by those of a TOML text; copies that are under way keep their priorities.
///
/// Threads: any.
///
/// # Safety
/// `rules` is a NUL-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_set_rules(rules: *const c_char) -> c_int {
    fence("overtake_set_rules", || {
        if rules.is_null() {
            return Err(Failure::argument("overtake_set_rules: rules is null; an empty text takes all rules away"));
        }
        let table = table();
        // SAFETY: not null, and the caller's promise is what the table asks for.
        checked(table, unsafe { (table.set_rules)(rules) })
    })
}

/// Sends messages to a function of yours; null: to standard error again, where they go at first. Call it before
/// everything else to hear everything. What the variable OVERTAKE_LOG asks for is sent (off, error, warn, info or
/// debug; warn when it is not set). Under the drop-in these are the messages of the drop-in too.
///
/// Threads: any, but not with a lock that the function before takes: when this returns, that one is no longer called.
/// The function is called on a thread of the library's that does nothing else, one message at a time, a moment after
/// what the message is about. What comes while 256 messages wait is dropped, and counted in the report.
///
/// # Safety
/// `callback` is null or takes `data` on another thread, until it is replaced.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_set_log_callback(callback: overtake_log_callback, data: *mut c_void) -> c_int {
    fence("overtake_set_log_callback", || {
        // The layer in here may have something to say when the table is looked for.
        // SAFETY: the caller's promise is the same, here and below.
        unsafe { shim::listen(callback, data) }?;
        let table = table();
        // SAFETY: as above.
        checked(table, unsafe { (table.set_log_callback)(callback, data) })
    })
}

/// What has happened so far. Set struct_size to sizeof(struct overtake_statistics) before the call. Nothing is written
/// unless the call succeeds; struct_size is then how much of the structure the library knows.
///
/// Threads: any. The sums are read one after another while copies go on.
///
/// # Safety
/// `statistics` points at a structure of the size that its struct_size says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_read_statistics(statistics: *mut Statistics) -> c_int {
    fence("overtake_read_statistics", || {
        let output = NonNull::new(statistics)
            .ok_or_else(|| Failure::argument("overtake_read_statistics: statistics is null"))?;
        // SAFETY: not null, and every version of the structure begins with its size.
        let room = unsafe { (*output.as_ptr()).struct_size } as usize;
        if room < STATISTICS_BYTES_MIN {
            let text =
                "overtake_read_statistics: set struct_size to sizeof(struct overtake_statistics) before the call";
            return Err(Failure::argument(text));
        }
        let (table, mut totals) = (table(), Totals { struct_size: bytes_of::<Totals>(), ..Totals::default() });
        // SAFETY: `totals` is a structure of ours that says its size.
        match unsafe { (table.totals)(&raw mut totals) } {
            // Nothing has happened yet.
            codes::OVERTAKE_ERROR_NOT_STARTED => {}
            code => checked(table, code)?,
        }
        let known = room.min(size_of::<Statistics>());
        let fresh = Statistics { struct_size: bytes_of::<Statistics>(), ..Statistics::from(totals) };
        // SAFETY: the caller's structure has `room` bytes, of which `known` are written from a structure that has as
        // many, and the rest, where there is any, is cleared.
        unsafe {
            output.as_ptr().cast::<u8>().copy_from_nonoverlapping((&raw const fresh).cast(), known);
            output.as_ptr().cast::<u8>().add(known).write_bytes(0, room - known);
        }
        Ok(())
    })
}

fn bytes_of<T>() -> u32 {
    u32::try_from(size_of::<T>()).unwrap_or(u32::MAX)
}

/// The report of this process as JSON, with a NUL at its end. `needed` is null, or receives the size with the NUL, also
/// when `size` is too small or `buffer` is null: the call is then OVERTAKE_ERROR_BUFFER_TOO_SMALL. The report may have
/// grown by the next call, so ask for a little more than what was needed.
///
/// Threads: any.
///
/// # Safety
/// `buffer` is null or has `size` bytes; `needed` is null or points at a size_t.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_report_json(buffer: *mut c_char, size: usize, needed: *mut usize) -> c_int {
    fence("overtake_report_json", || {
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
