//! The C ABI: `overtake.h` in Rust. Programs that want to say themselves how urgent their copies are link with it; a
//! process that runs under the drop-in shares the drop-in's state.
//!
//! | file | what it holds |
//! |---|---|
//! | `exports.rs` | every exported function |
//! | `copies.rs` | those that copy |
//! | `codes.rs` | error numbers, their names and texts |
//! | `failure.rs` | a failure on its way out: the panic fence, the text of the last failure |
//! | `provider.rs` | who does the work: the drop-in's table of functions, or our own layer |
//! | `off.rs`, `native.rs` | a process that has switched overtake off; copies as the driver makes them |
//! | `scope.rs` | the priorities that a thread has pushed |
//! | `statistics.rs` | the sized structure |
//!
//! `include/overtake.h` is generated from this crate (`cargo xtask header`), so the documentation of exports is written
//! for C.
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml says what, and why
#![deny(unsafe_code)]

pub mod codes;
pub mod copies;
pub mod exports;
mod failure;
mod native;
mod off;
mod provider;
mod scope;
pub mod statistics;
