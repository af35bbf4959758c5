//! The symbol by which the C library of the same process finds the drop-in.
#![allow(unsafe_code)] // a C function

/// The layer's table, through which the C library shares the state of this library.
#[unsafe(no_mangle)]
extern "C" fn overtake_shared() -> *const shim::table::Table {
    shim::table()
}
