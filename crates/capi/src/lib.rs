//! The C ABI: `overtake.h` in Rust, for programs that set the priorities of their copies themselves. In a process under
//! the drop-in the two share one state.
//!
//! | file | content |
//! |---|---|
//! | `exports.rs` | functions about the layer as a whole |
//! | `closing.rs` | those that close: the layer, dispatchers, sets of arrays |
//! | `copies.rs` | those that copy |
//! | `queue.rs` | those that collect copies for one launch |
//! | `codes.rs` | error numbers, their names and texts |
//! | `failure.rs` | failures: the catch for panics, the text of the last failure |
//! | `provider.rs` | the table of functions that does the work: the drop-in's, or that of our own layer |
//! | `off.rs`, `native.rs` | the table of a process that has switched overtake off; copies by the driver |
//! | `scope.rs` | the priorities that a thread has pushed |
//! | `sized.rs` | structures that begin with their size, and arrays |
//! | `arrays/` | arrays, and computations that use them |
//! | `pipelines/` | pipelines: frames from a producer to a consumer, in stages with buffers |
//! | `tasks/` | dispatchers, sets, tasks and lanes: their functions, and their handles |
//!
//! `include/overtake.h` is generated from this crate (`cargo xtask header`), so the documentation of exports is written
//! for C.
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml has the list, with reasons
#![deny(unsafe_code)]

pub mod arrays;
pub mod closing;
pub mod codes;
pub mod copies;
pub mod exports;
mod failure;
mod native;
mod off;
pub mod pipelines;
mod provider;
pub mod queue;
mod scope;
mod sized;
pub mod tasks;
