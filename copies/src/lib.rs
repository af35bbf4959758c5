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
mod cargo;
mod decide;
mod engine;
mod guard;
mod handle;
mod inner;
pub mod kernel;
mod left_alone;
mod native;
pub mod options;
mod overtake;
mod placement;
mod pool;
mod primary;
mod records;
mod request;
#[cfg(test)]
mod soft;
mod state;
mod stream;
mod submit;
mod watch;
mod worker;

/// Copies: what is asked for, which way it goes, and what comes back.
pub mod copy {
    pub use crate::decide::{Plan, Reason};
    pub use crate::handle::{CopyHandle, Status};
    pub use crate::native::Native;
    pub use crate::request::Request;
}

pub use channels::Direction;
pub use guard::Blocking;
pub use hal;
pub use options::{Options, variables};
pub use overtake::Overtake;
pub use records::{ClassSnapshot, Latency, Statistics, TracedCopy, is_any_copy_lost};
pub use semaphores::{Priorities, Priority, Words};
pub use stream::PriorityStream;
