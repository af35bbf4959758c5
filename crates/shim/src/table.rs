//! The table of functions through which a process uses the layer, from the drop-in or the C library. New fields are
//! only added at the end; `struct_size` tells which fields a table has.

use std::ffi::{c_char, c_int, c_void};

use crate::statistics::Statistics;

/// The version of the table's meaning. Libraries use no table of another version.
pub const TABLE_ABI: u32 = 1;

/// The symbol of the drop-in that returns the table: `const Table *overtake_shared(void)`.
pub const SHARED_SYMBOL: &std::ffi::CStr = c"overtake_shared";

/// Functions return 0, a CUresult (positive), or one of the negative numbers of [`crate::Failure`].
#[repr(C)]
pub struct Table {
    /// The number of bytes of this structure in the library that made it.
    pub struct_size: u32,
    /// [`TABLE_ABI`] of that library.
    pub abi: u32,
    /// Makes the layer ready for the calling thread's current context, and returns when it is. `options` is null, or a
    /// TOML text of options and rules, which only the first call of a process uses.
    pub open: unsafe extern "C" fn(options: *const c_char) -> c_int,
    /// Closes the layer of the current context. Under the drop-in it stays open, and this returns 0.
    pub close: extern "C" fn() -> c_int,
    /// Gives the copies of a stream of the current context a priority; 0 takes it away.
    pub set_stream_priority: extern "C" fn(stream: *mut c_void, priority: c_int) -> c_int,
    /// The priority of a stream's copies, set or by its CUDA priority; 0 where sizes decide.
    pub stream_priority: unsafe extern "C" fn(stream: *mut c_void, priority: *mut c_int) -> c_int,
    /// Gives all copies of the calling thread a priority; 0 takes it away. Writes the earlier one, if `before` is not
    /// null.
    pub swap_thread_priority: unsafe extern "C" fn(priority: c_int, before: *mut c_int) -> c_int,
    /// The number of priorities.
    pub priorities: extern "C" fn() -> c_int,
    /// One copy; `kind` numbers as in cudaMemcpyKind (1 H2D, 2 D2H, 3 D2D, 4 by addresses); priority 0: by the rules.
    pub copy_async: unsafe extern "C" fn(
        target: *mut c_void,
        source: *const c_void,
        bytes: usize,
        kind: c_int,
        stream: *mut c_void,
        priority: c_int,
    ) -> c_int,
    /// A rectangle, as `cudaMemcpy2DAsync` has it.
    pub copy_2d_async: unsafe extern "C" fn(
        target: *mut c_void,
        target_pitch: usize,
        source: *const c_void,
        source_pitch: usize,
        width: usize,
        height: usize,
        kind: c_int,
        stream: *mut c_void,
        priority: c_int,
    ) -> c_int,
    /// Several copies without an order among them.
    pub copy_batch_async: unsafe extern "C" fn(
        targets: *const *mut c_void,
        sources: *const *const c_void,
        sizes: *const usize,
        count: usize,
        stream: *mut c_void,
        priority: c_int,
    ) -> c_int,
    /// Replaces the rules by those of a TOML text.
    pub set_rules: unsafe extern "C" fn(rules: *const c_char) -> c_int,
    /// Writes the report of this process as JSON with a NUL into `buffer`, and its size into `needed`. For a buffer
    /// that is too small, or null, it writes only the size and returns `BUFFER_TOO_SMALL`.
    pub report: unsafe extern "C" fn(buffer: *mut c_char, size: usize, needed: *mut usize) -> c_int,
    /// Sums over the devices of this process. Callers set `struct_size` to the size that they know; later fields are
    /// not written.
    pub totals: unsafe extern "C" fn(totals: *mut Statistics) -> c_int,
    /// The text of the calling thread's last error; never null, valid until the thread's next error.
    pub last_error: extern "C" fn() -> *const c_char,
    /// The library of the table: `preload`, `shadow`, `audit` or `c`.
    pub deployment: extern "C" fn() -> *const c_char,
    /// Sends messages to a function of the program's; with null, to standard error again.
    pub set_log_callback: unsafe extern "C" fn(callback: Option<LogCallback>, data: *mut c_void) -> c_int,
}

/// A function of the program's for messages. Its arguments are the program's pointer, the level (1 error, 2 warning, 3
/// info, 4 debug), and the text, NUL-terminated and valid during the call.
pub type LogCallback = unsafe extern "C" fn(data: *mut c_void, level: c_int, text: *const c_char);
