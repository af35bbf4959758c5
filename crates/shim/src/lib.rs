//! The layer of one process: what the drop-in and the C library have in common.
//!
//! | file | what it holds |
//! |---|---|
//! | `call.rs` | a copy as it is handed over |
//! | `copies.rs` | copies and other calls of the program, on their way through |
//! | `process.rs` | the one state of the process, and its life |
//! | `contexts.rs`, `context.rs` | the CUDA contexts: opened when made, closed before the program destroys them |
//! | `lease.rs` | who owns the layer of a context, and who only uses it |
//! | `streams.rs`, `thread.rs` | the streams of all contexts that have copied, and the threads that come and go |
//! | `passed.rs` | copies that no context's layer had a say in, by reason |
//! | `choice.rs`, `rules.rs`, `settings.rs`, `witness.rs` | which priority a copy has |
//! | `report.rs`, `trace.rs` | what happened, as files |
//! | `verdict.rs` | what a report comes down to, in words |
//! | `table.rs`, `functions.rs`, `trouble.rs` | the table of C functions that both libraries share |
//! | `listener.rs` | the program's own function for messages |
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml says what, and why
#![deny(unsafe_code)]

mod call;
mod choice;
mod context;
mod contexts;
mod copies;
mod failure;
mod functions;
mod lease;
mod listener;
mod passed;
mod process;
mod report;
pub mod room;
mod rules;
pub mod settings;
mod streams;
pub mod table;
mod thread;
mod trace;
mod trouble;
pub mod verdict;
mod witness;

pub use ::copies::copy::Native;
pub use call::Call;
pub use contexts::{context_going, context_made, primary_releasing, primary_resetting, primary_retained};
pub use copies::{Blocked, about_to_block, copy, freeing, lost, natively, stream_going};
pub use failure::Failure;
pub use functions::{check_options, start_for_c, table};
pub use listener::listen;
pub use passed::{Passed, passed_on};
pub use process::{CallCount, Start, capture_began, capture_ended, deployment, exiting, forked, start};
