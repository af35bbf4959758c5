//! overtake gives GPU memory copies the priorities that CUDA does not: a small urgent copy overtakes the bulk copies
//! queued before it, on the same copy engine.
//!
//! # Map
//!
//! | item | content |
//! |---|---|
//! | [`hal`] | the seam: one trait for a CUDA driver, its newtypes and its error; its page is the contract |
//! | [`Overtake`], [`PriorityStream`] | the front door: open a device, make or adopt streams, copy |
//! | [`copy`] | requests, the ways that copies go, handles |
//! | `decide` | the way of a copy: one pure function, and its table |
//! | `submit` | the ways, one file each |
//! | `records`, `watch` | the copies that are pending, and the thread that watches them |
//! | `service` | many small copies and sets in one launch |
//! | `staging` | pageable copies through pinned slots, by several threads |
//! | `guard`, [`kernel`] | the copy kernel that yields to urgent copies, and its guard |
//! | [`options`] | every tunable, with one name everywhere |
//!
//! Arrows point downward only: no crate on which this one stands knows of it. Users depend on the crate `overtake`.
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml has the list, with reasons
#![deny(unsafe_code)]

mod awaited;
mod cargo;
mod decide;
mod emulated;
mod engine;
mod expected;
mod findings;
mod guard;
mod handle;
mod inner;
pub mod kernel;
mod left_alone;
#[doc(hidden)] // for crates/shim and the command
pub mod machine;
mod native;
mod overtake;
mod placement;
mod pool;
mod queue;
mod reach;
mod records;
#[doc(hidden)] // for crates/shim
pub mod registered;
mod request;
mod service;
#[cfg(test)]
mod soft;
mod staging;
mod state;
mod stream;
mod submit;
mod watch;

/// Copies: requests, the ways that they go, handles, and the queue whose copies share a launch.
pub mod copy {
    pub use crate::decide::{Plan, Reason};
    pub use crate::handle::CopyHandle;
    pub use crate::native::Native;
    pub use crate::queue::CopyQueue;
    #[doc(hidden)] // for the C library
    pub use crate::queue::check_literal;
    pub use crate::records::Lift;
    pub use crate::request::Request;
    #[doc(hidden)] // for the C library
    pub use crate::service::set_natively;
    #[doc(hidden)] // for crates/shim
    pub use crate::submit::{Look, Met};
}

#[doc(hidden)] // for crates/shim
pub use awaited::Awaited;
pub use expected::Expected;
pub use guard::Blocking;
pub use hal;
#[doc(hidden)] // for the buffers of the front door
pub use inner::Inner;
pub use options::{self, Options, variables};
pub use overtake::Overtake;
pub use priority::{Direction, Priorities, Priority};
#[doc(hidden)] // for crates/shim
pub use records::is_any_copy_lost;
pub use records::{BOUNDS_US, ClassSnapshot, Latency, Moved, Statistics, TracedCopy};
pub use semaphores::Words;
pub use stream::PriorityStream;
