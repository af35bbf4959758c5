//! The real driver: `libcuda.so.1` found at run time, and [`hal::Driver`] on top of it.
//!
//! | file | what it holds |
//! |---|---|
//! | `library.rs` | dlopen and dlsym |
//! | `functions.rs` | the one list of driver functions, resolved through `cuGetProcAddress_v2` |
//! | `cuda.rs` | the implementation of the seam |
//! | `memop.rs` `memory.rs` `module.rs` `handle.rs` | how the seam's nouns look to the driver |
//! | `host.rs` | real time |
//!
//! Nothing here panics for want of a driver: an absent library, an absent function and a device-less machine are errors
//! that name the cure.
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml says what, and why
#![deny(unsafe_code)]

mod cuda;
mod functions;
mod handle;
mod host;
mod library;
mod memop;
mod memory;
mod module;

pub use cuda::CudaDriver;
pub use functions::{Functions, Pointers};
pub use host::RealHost;
pub use library::{LIBRARY_VARIABLE, Library, Lookup};
