//! The program's own function for messages.
#![allow(unsafe_code)] // it calls a function pointer from C

use std::ffi::{CString, c_int, c_void};

use hal::{Code, Result};
use os::messages;

use crate::table::LogCallback;

/// A function of the program, and the pointer that it is called with.
struct Listener {
    callback: LogCallback,
    data: *mut c_void,
}

// SAFETY: the pointer is only ever handed back to the callback, which by its setter's promise takes it on
// another thread.
unsafe impl Send for Listener {}
// SAFETY: as above; one message is told at a time.
unsafe impl Sync for Listener {}

impl Listener {
    fn tell(&self, level: log::Level, text: &str) {
        let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
        // SAFETY: the promise of the caller that set the callback; the text is NUL-terminated and outlives the call.
        unsafe { (self.callback)(self.data, level as c_int, text.as_ptr()) };
    }
}

/// Sends the messages of this library to a function of the program, or with `None` to standard error again. After the
/// return the previous function is no longer called, except where that function itself made this call.
///
/// # Errors
/// The system gave no thread. Nothing has changed then.
///
/// # Safety
/// The callback may be called on another thread, with this pointer, until it is replaced.
pub unsafe fn listen(callback: Option<LogCallback>, data: *mut c_void) -> Result<()> {
    let listener = callback.map(|callback| Listener { callback, data });
    let boxed = |listener: Listener| -> messages::Listener { Box::new(move |level, text| listener.tell(level, text)) };
    let no_thread =
        |error| Code::OPERATING_SYSTEM.at("overtake_set_log_callback").because(format!("no thread: {error}"));
    messages::listen(listener.map(boxed)).map_err(no_thread)
}
