//! The layer of one process: what the drop-in and the C library have in common.
//!
//! | file | what it holds |
//! |---|---|
//! | `call.rs` | a copy as it is handed over |
//! | `process.rs` | the one state of the process, and its life |
//! | `context.rs` | one CUDA context: opened when it is made, closed before the application destroys it |
//! | `streams.rs` | the streams of all contexts that have copied |
//! | `rules.rs`, `settings.rs`, `witness.rs` | which priority a copy has |
//! | `report.rs`, `trace.rs` | what happened, as files |
//! | `table.rs`, `functions.rs` | the table of C functions that both libraries share |
#![deny(unsafe_code)]

mod call;
mod context;
mod failure;
mod functions;
mod process;
mod report;
pub mod rules;
pub mod settings;
mod streams;
pub mod table;
mod trace;
mod witness;

pub use call::Call;
pub use failure::Failure;
pub use functions::{start_for_c, table};
pub use process::{
    Blocked, CallCount, Start, about_to_block, capture_began, capture_ended, context_going, context_made, copy,
    copy_batch, deployment, exiting, forked, primary_releasing, primary_resetting, primary_retained, start,
    stream_going,
};
