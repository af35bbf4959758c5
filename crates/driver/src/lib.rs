//! The real driver: `libcuda.so.1` found at run time, and [`hal::Driver`] on top of it.
//!
//! | file | content |
//! |---|---|
//! | `library.rs` | dlopen and dlsym |
//! | `functions.rs` | the one list of driver functions, resolved through `cuGetProcAddress_v2` |
//! | `loaded.rs` | the driver of the process |
//! | `cuda.rs` | the implementation of the seam |
//! | `device.rs` `capture.rs` `memory.rs` `copy.rs` `external.rs` `memop.rs` `module.rs` | calls of several steps |
//! | `handle.rs` `out.rs` | the seam's handles and results, and the driver's pointers |
//! | `host.rs` | real time |
//!
//! No code here panics without a driver. A missing library, a missing function and a machine without a GPU are errors
//! that name the remedy.
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml has the list, with reasons
#![deny(unsafe_code)]

mod capture;
mod copy;
mod cuda;
mod device;
mod external;
mod functions;
mod handle;
mod host;
mod library;
mod loaded;
mod memop;
mod memory;
mod module;
mod out;

pub use functions::{Functions, Pointers};
pub use host::RealHost;
pub use library::{LIBRARY_VARIABLE, Library, Lookup};
pub use loaded::CudaDriver;
