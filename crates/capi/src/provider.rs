//! The table of functions that does the work: the drop-in's, where the process has the drop-in, or else that of the
//! layer in this library. The first call that needs the table finds it; loading the library does nothing.
#![allow(unsafe_code)] // it looks up a symbol and calls through function pointers

use std::ffi::{CStr, c_int, c_void};
use std::mem::{size_of, transmute};
use std::ptr::NonNull;
use std::sync::OnceLock;

use shim::table::{SHARED_SYMBOL, TABLE_ABI, Table};

use crate::codes::{
    OVERTAKE_ERROR_INVALID_ARGUMENT, OVERTAKE_ERROR_NO_DRIVER, OVERTAKE_ERROR_NOT_STARTED, OVERTAKE_ERROR_OFF,
    OVERTAKE_ERROR_PANIC,
};
use crate::failure::{Failure, Outcome, catch_value, explained};
use crate::off;

/// The file name of a shadow drop-in, and of one that an audit module has loaded.
const DRIVER_LIBRARY: &CStr = c"libcuda.so.1";

/// The function that the drop-in exports.
type Shared = unsafe extern "C" fn() -> *const Table;

/// The table of functions of this process.
pub fn table() -> &'static Table {
    table_with(None)
}

/// The table of this process. If this call is the first that needs it, and the process has no drop-in, the layer gets
/// these options (TOML).
pub fn table_with(options: Option<&str>) -> &'static Table {
    static TABLE: OnceLock<&'static Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        if std::env::var("OVERTAKE").is_ok_and(|value| off::means_off(&value)) {
            return &off::TABLE;
        }
        shared().unwrap_or_else(|| own(options))
    })
}

/// Starts the layer of this library. That loads no driver yet.
fn own(options: Option<&str>) -> &'static Table {
    os::messages::catch_panics();
    shim::start_for_c(options);
    watch_process();
    shim::table()
}

/// Tells the layer of forks and of the exit, when it writes its last report.
fn watch_process() {
    extern "C" fn forked() {
        shim::forked();
    }
    extern "C" fn exiting() {
        catch_value((), shim::exiting);
    }
    // SAFETY: both are functions of this library, which is never unmapped (it is linked with nodelete; a static library
    // is part of the program).
    unsafe {
        libc::pthread_atfork(None, None, Some(forked));
        libc::atexit(exiting);
    }
}

/// Whether a copy failed because the layer is not at work here. It has then copied nothing.
pub fn is_away(table: &Table, failure: &Failure) -> bool {
    match failure.code {
        OVERTAKE_ERROR_OFF | OVERTAKE_ERROR_NOT_STARTED => true,
        OVERTAKE_ERROR_INVALID_ARGUMENT | OVERTAKE_ERROR_PANIC | OVERTAKE_ERROR_NO_DRIVER => false,
        // SAFETY: a null pointer means no options.
        _ => unsafe { (table.open)(std::ptr::null()) != 0 },
    }
}

/// Turns a code from the table into an outcome, with the text of its last failure.
pub fn checked(table: &Table, code: c_int) -> Outcome {
    if code == 0 {
        return Ok(());
    }
    let text = (table.last_error)();
    // SAFETY: the table's contract: never null, NUL-terminated, valid until the thread's next failure. It is copied
    // before any other call.
    let text = unsafe { CStr::from_ptr(text) };
    Err(explained(code, text))
}

/// The drop-in's table, if the process has a drop-in with our version of it.
fn shared() -> Option<&'static Table> {
    let function = preloaded().or_else(instead_of_the_driver)?;
    // SAFETY: a symbol of this name is the drop-in's alone, and has this type in every version of the table.
    let shared = unsafe { transmute::<NonNull<c_void>, Shared>(function) };
    // SAFETY: it takes nothing and may be called at any time.
    let table = NonNull::new(unsafe { shared() }.cast_mut())?;
    // SAFETY: every version of the table begins with these two numbers, and the drop-in is never unmapped.
    let (abi, bytes) = unsafe { ((*table.as_ptr()).abi, (*table.as_ptr()).struct_size) };
    if !usable(abi, bytes) {
        return None;
    }
    // SAFETY: a table that is usable has every field that we know, and is never freed or written.
    Some(unsafe { table.as_ref() })
}

/// Whether a table has our version, and every field that we know.
fn usable(abi: u32, bytes: u32) -> bool {
    abi == TABLE_ABI && usize::try_from(bytes).is_ok_and(|bytes| bytes >= size_of::<Table>())
}

/// The symbol in a library that every lookup sees, as with LD_PRELOAD.
fn preloaded() -> Option<NonNull<c_void>> {
    // SAFETY: the name is NUL-terminated and static.
    NonNull::new(unsafe { libc::dlsym(libc::RTLD_DEFAULT, SHARED_SYMBOL.as_ptr()) })
}

/// The symbol in the library with the driver's file name. The layer of this library would load that library next
/// anyway.
fn instead_of_the_driver() -> Option<NonNull<c_void>> {
    // SAFETY: the name is NUL-terminated and static. The initialisers that run are those of the installed driver, or of
    // the library in its place, which any CUDA program runs. The handle is never closed.
    let handle = unsafe { libc::dlopen(DRIVER_LIBRARY.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL) };
    let handle = NonNull::new(handle)?;
    // SAFETY: the handle is open; the name is NUL-terminated and static.
    NonNull::new(unsafe { libc::dlsym(handle.as_ptr(), SHARED_SYMBOL.as_ptr()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_another_meaning_or_with_fields_missing_are_not_used() {
        let bytes = u32::try_from(size_of::<Table>()).unwrap();
        assert!(usable(TABLE_ABI, bytes) && usable(TABLE_ABI, bytes + 64));
        assert!(!usable(TABLE_ABI + 1, bytes) && !usable(TABLE_ABI, bytes - 1));
    }
}
