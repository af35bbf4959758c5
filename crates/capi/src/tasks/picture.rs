//! The picture of a dispatcher's tasks.
#![allow(unsafe_code)] // symbols that C finds by name, and C's pointers

use std::ffi::{c_char, c_int};
use std::ptr::NonNull;

use crate::codes::OVERTAKE_ERROR_BUFFER_TOO_SMALL;
use crate::failure::{Failure, catch};
use crate::tasks::dispatcher::{dot_of, overtake_dispatcher};

/// A picture of the tasks that have not ended, as text for Graphviz with a NUL at its end: what each does, its priority
/// and how far it is, and the edges that still stand. `needed` is null, or receives the size with the NUL. It does so
/// too if `size` is too small or `buffer` is null: the call then returns OVERTAKE_ERROR_BUFFER_TOO_SMALL. The text may
/// grow before the next call, so pass half as much again.
///
/// Threads: any. The dispatcher does nothing else while the text is written: it is for looking, not for watching.
///
/// # Safety
/// `buffer` is null or has `size` bytes; `needed` is null or points at a size_t.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_dispatcher_dot(
    dispatcher: *mut overtake_dispatcher,
    buffer: *mut c_char,
    size: usize,
    needed: *mut usize,
) -> c_int {
    const CALL: &str = "overtake_dispatcher_dot";
    catch(CALL, || {
        let text = dot_of(CALL, dispatcher)?;
        let bytes = text.len() + 1;
        if let Some(needed) = NonNull::new(needed) {
            // SAFETY: not null, and the caller's number.
            unsafe { needed.write(bytes) };
        }
        if buffer.is_null() || size < bytes {
            return Err(Failure::new(OVERTAKE_ERROR_BUFFER_TOO_SMALL, &format!("{CALL}: it needs {bytes} bytes")));
        }
        // SAFETY: the buffer has `size` bytes, which is enough for the text and its NUL.
        unsafe {
            buffer.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), text.len());
            buffer.add(text.len()).write(0);
        }
        Ok(())
    })
}
