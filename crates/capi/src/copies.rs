//! The functions that copy: `cudaMemcpyAsync` and its relatives, with a priority at the end.
#![allow(unsafe_code)] // symbols that C finds by name, and C's pointers
#![allow(clippy::too_many_arguments)] // the prototypes are CUDA's

use std::ffi::{c_int, c_void};

use shim::table::Table;

use crate::exports::CUstream_st;
use crate::failure::{Failure, Outcome, catch};
use crate::native::{self, Rectangle};
use crate::provider::{checked, is_away, table};

/// From host to device; the numbers are those of `enum cudaMemcpyKind`.
pub const OVERTAKE_COPY_HOST_TO_DEVICE: c_int = 1;
/// From device to host.
pub const OVERTAKE_COPY_DEVICE_TO_HOST: c_int = 2;
/// From device to device.
pub const OVERTAKE_COPY_DEVICE_TO_DEVICE: c_int = 3;
/// CUDA finds the direction from the two addresses.
pub const OVERTAKE_COPY_DEFAULT: c_int = 4;

/// `cudaMemcpyAsync` with a priority: the same arguments in the same order, the same order in the stream, the same
/// rules for pageable memory. The priority is 1 (bulk) to overtake_priorities(), or OVERTAKE_PRIORITY_BY_RULES. A copy
/// goes to the driver unchanged if no other copy contends for its engine, if it cannot be prioritised safely, or where
/// overtake is off or cannot work.
///
/// Threads: any. As with CUDA, copies of two threads into one stream are in no order unless the program orders them.
///
/// # Safety
/// As for `cudaMemcpyAsync`: the ranges stay valid until the stream has passed the copy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_memcpy_async(
    target: *mut c_void,
    source: *const c_void,
    bytes: usize,
    kind: c_int,
    stream: *mut CUstream_st,
    priority: c_int,
) -> c_int {
    catch("overtake_memcpy_async", || {
        let (table, stream) = (table(), stream.cast());
        // SAFETY: the caller's promise is the one that the table demands.
        let code = unsafe { (table.copy_async)(target, source, bytes, kind, stream, priority) };
        // SAFETY: the same promise. A call that failed because the layer is not there has made no copy.
        or_natively(table, code, || unsafe { native::copy(target, source, bytes, kind, stream) })
    })
}

/// `cudaMemcpy2DAsync` with a priority: a rectangle of `height` rows of `width` bytes; pitches are the distances of
/// rows in bytes.
///
/// Threads: as for overtake_memcpy_async.
///
/// # Safety
/// As for `cudaMemcpy2DAsync`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_memcpy_2d_async(
    target: *mut c_void,
    target_pitch: usize,
    source: *const c_void,
    source_pitch: usize,
    width: usize,
    height: usize,
    kind: c_int,
    stream: *mut CUstream_st,
    priority: c_int,
) -> c_int {
    catch("overtake_memcpy_2d_async", || {
        let (table, stream) = (table(), stream.cast());
        // SAFETY: the caller's promise is the one that the table demands.
        let code = unsafe {
            let copy = table.copy_2d_async;
            copy(target, target_pitch, source, source_pitch, width, height, kind, stream, priority)
        };
        let rectangle = Rectangle { target, target_pitch, source, source_pitch, width, height };
        // SAFETY: the same promise. A call that failed because the layer is not there has made no copy.
        or_natively(table, code, || unsafe { native::copy_2d(&rectangle, kind, stream) })
    })
}

/// Several copies in one stream without an order among them, each as with OVERTAKE_COPY_DEFAULT: `targets[i]` receives
/// `sizes[i]` bytes from `sources[i]`. The three arrays are read before the call returns. If the call fails, some of
/// the copies may have been made.
///
/// Threads: as for overtake_memcpy_async.
///
/// # Safety
/// The arrays have `count` elements, and each copy is as for overtake_memcpy_async.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_memcpy_batch_async(
    targets: *const *mut c_void,
    sources: *const *const c_void,
    sizes: *const usize,
    count: usize,
    stream: *mut CUstream_st,
    priority: c_int,
) -> c_int {
    catch("overtake_memcpy_batch_async", || {
        let is_given = !(targets.is_null() || sources.is_null() || sizes.is_null());
        if count > 0 && !is_given {
            let text = "overtake_memcpy_batch_async: targets, sources and sizes are arrays of count elements, not null";
            return Err(Failure::argument(text));
        }
        // SAFETY: the arrays are not null, and the rest is the caller's promise.
        unsafe { batch(targets, sources, sizes, count, stream.cast(), priority) }
    })
}

/// Several copies without an order among them.
///
/// # Safety
/// As for [`overtake_memcpy_batch_async`]; the arrays are not null, unless `count` is 0.
pub unsafe fn batch(
    targets: *const *mut c_void,
    sources: *const *const c_void,
    sizes: *const usize,
    count: usize,
    stream: *mut c_void,
    priority: c_int,
) -> Outcome {
    if count == 0 {
        return Ok(());
    }
    let table = table();
    // SAFETY: the arrays are not null, and the caller's promise is the one that the table demands.
    let code = unsafe { (table.copy_batch_async)(targets, sources, sizes, count, stream, priority) };
    or_natively(table, code, || {
        (0..count).try_for_each(|index| {
            // SAFETY: the index is below `count`; the same promise. A copy that the layer has made already is made
            // again with the same bytes.
            unsafe {
                let (target, source, bytes) = (*targets.add(index), *sources.add(index), *sizes.add(index));
                native::copy(target, source, bytes, OVERTAKE_COPY_DEFAULT, stream)
            }
        })
    })
}

/// The layer's answer. Where the layer is off or cannot work in the current context, the driver makes the copy.
fn or_natively(table: &Table, code: c_int, native: impl FnOnce() -> Outcome) -> Outcome {
    match checked(table, code) {
        Err(failure) if is_away(table, &failure) => native(),
        outcome => outcome,
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::c_char;

    use super::*;
    use crate::codes::*;
    use crate::off;

    extern "C" fn opens(_: *const c_char) -> c_int {
        0
    }

    extern "C" fn does_not_open(_: *const c_char) -> c_int {
        1
    }

    extern "C" fn says() -> *const std::ffi::c_char {
        c"what the layer said".as_ptr()
    }

    /// The outcome for a code of the layer's, and whether the driver was asked for the copy.
    fn outcome(code: c_int, open: unsafe extern "C" fn(*const c_char) -> c_int) -> (Outcome, bool) {
        let table = Table { open, last_error: says, ..off::TABLE };
        let mut natively = false;
        let outcome = or_natively(&table, code, || {
            natively = true;
            Ok(())
        });
        (outcome, natively)
    }

    #[test]
    fn only_copies_that_the_layer_has_not_touched_go_natively() {
        const OUT_OF_MEMORY: c_int = 2;
        for open in [opens, does_not_open] {
            assert_eq!(outcome(OVERTAKE_OK, open), (Ok(()), false));
            for away in [OVERTAKE_ERROR_OFF, OVERTAKE_ERROR_NOT_STARTED] {
                assert_eq!(outcome(away, open), (Ok(()), true), "code {away}: the layer is not there");
            }
            for final_word in [OVERTAKE_ERROR_INVALID_ARGUMENT, OVERTAKE_ERROR_PANIC, OVERTAKE_ERROR_NO_DRIVER] {
                let failure = Failure { code: final_word, text: c"what the layer said".to_owned() };
                assert_eq!(outcome(final_word, open), (Err(failure), false), "code {final_word} is final");
            }
        }
        let failure = Failure { code: OUT_OF_MEMORY, text: c"what the layer said".to_owned() };
        assert_eq!(outcome(OUT_OF_MEMORY, opens), (Err(failure), false), "the driver refused the copy itself");
        assert_eq!(outcome(OUT_OF_MEMORY, does_not_open), (Ok(()), true), "the layer cannot open here");
    }
}
