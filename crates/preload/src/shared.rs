//! What the C library of the same process finds here.
#![allow(unsafe_code)] // a C function

/// The table of the layer, through which the C library shares this one's state.
#[unsafe(no_mangle)]
extern "C" fn overtake_shared() -> *const shim::table::Table {
    shim::table()
}
