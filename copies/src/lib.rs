//! overtake gives GPU memory copies the priorities that CUDA does not: a small urgent copy overtakes the bulk copies
//! queued before it, on the same copy engine.
//!
//! # Map
//!
//! | where | what |
//! |---|---|
//! | [`hal`] | the seam: one trait for a CUDA driver, its newtypes and its error; its page is the contract |
//! | [`driver`] | the real driver, found at run time, and the choice between it and the software GPU |
//! | [`Overtake`], [`PriorityStream`] | the front door: open a device, make or adopt streams, copy |
//! | [`copy`] | requests, plans (the rules in one place), submission, handles |
//! | [`kernel`] | the copy kernel that yields to urgent copies |
//! | [`options`] | every tunable, with one name everywhere |
//! | `channels`, `semaphores` | shapes, chunks, brackets, the queue probe; the ledger of pending copies |
//! | `overtake-softgpu` | the software GPU: the same seam, virtual time, the hardware's hazards |
//! | `overtake-abi` | the CUDA driver ABI: types and the one list of functions |
//!
//! Arrows point downward only: nothing that this crate stands on knows of it.
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml says what, and why
#![deny(unsafe_code)]

mod bell;
pub mod copy;
mod engine;
mod guard;
pub mod kernel;
pub mod options;
mod overtake;
mod pool;
mod primary;
mod records;
#[cfg(test)]
mod soft;
mod stream;
pub mod variables;
mod watch;
mod worker;

pub use channels::Direction;
pub use guard::Blocking;
pub use hal;
pub use options::Options;
pub use overtake::Overtake;
pub use records::{ClassSnapshot, Latency, Statistics, TracedCopy, is_any_copy_lost};
pub use semaphores::{Priorities, Priority, Words};
pub use stream::PriorityStream;
