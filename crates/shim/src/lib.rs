//! The layer of one process, which the drop-in and the C library share.
//!
//! | file | content |
//! |---|---|
//! | `call.rs` | one call of the program that copies |
//! | `copies.rs` | passes copies to the copy layer, and tells it of other calls |
//! | `process.rs` | the state of the process, and its life cycle |
//! | `contexts.rs`, `context.rs` | the CUDA contexts: the layer opens and closes in them |
//! | `uses.rs` | the life of each context, as the program's calls show it |
//! | `lease.rs` | the owner of a context's layer, and the leases of threads that use it |
//! | `streams.rs`, `thread.rs` | the streams that have copied, and the notice that a thread has ended |
//! | `passed.rs`, `tally.rs` | counts of copies that reached no layer, by reason |
//! | `choice.rs`, `rules.rs`, `demand.rs`, `settings.rs`, `witness.rs` | the priority of a copy |
//! | `waits.rs` | threads that wait, with the rule of demand |
//! | `observe/`, `observed.rs` | watches copies; what was seen of them |
//! | `report.rs`, `record.rs`, `trace.rs` | report and trace, as files; the figures of a context |
//! | `report/live.rs` | the figures while the process runs |
//! | `verdict.rs`, `help.rs` | the summary of a report, in words; whether overtake helps |
//! | `table.rs`, `functions.rs`, `trouble.rs` | the table of C functions that both libraries share |
//! | `listener.rs` | the program's own function for messages |
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml has the list, with reasons
#![deny(unsafe_code)]

mod call;
mod captures;
mod choice;
mod context;
mod contexts;
mod copies;
pub mod demand;
mod failure;
mod functions;
pub mod help;
mod lease;
mod listener;
mod observe;
pub mod observed;
mod passed;
mod process;
pub mod record;
mod report;
pub mod room;
mod rules;
pub mod settings;
pub mod statistics;
mod streams;
pub mod table;
mod tally;
mod thread;
mod trace;
mod trouble;
mod uses;
pub mod verdict;
mod waits;
mod witness;

pub use ::copies::copy::Native;
pub use ::copies::registered::{goes_on, registered, unregistering};
pub use call::Call;
pub use copies::{
    Blocked, about_to_block, about_to_load, copy, freeing, inside, load_ahead_kernels_max, lost, natively, share,
    stream_going,
};
pub use failure::Failure;
pub use functions::{check_options, declared, layer, request, start_for_c, table};
pub use listener::listen;
pub use observe::{Mode, Waiting, watches};
pub use passed::{Passed, passed_on};
pub use process::{
    CallCount, Start, capture_began, capture_end_refused, capture_ended, deployment, exiting, forked, start,
};
pub use report::live;
pub use threads::stream_lock::Shared;
pub use uses::{
    context_attached, context_detaching, context_going, context_made, primary_releasing, primary_resetting,
    primary_retained,
};
pub use waits::{context_awaited, event_awaited, event_going, event_recorded, stream_awaited, stream_works};
