//! overtake gives GPU memory copies the priorities that CUDA does not: a small urgent copy overtakes the bulk copies
//! queued before it, on the same copy engine.
//!
//! # Map
//!
//! | item | content |
//! |---|---|
//! | [`hal`] | the seam: one trait for a CUDA driver, its newtypes and its error; its page is the contract |
//! | [`driver`] | the real driver, found at run time |
//! | [`Context`] | one call that opens all that tasks and arrays need |
//! | [`Overtake`], [`PriorityStream`] | copies: open a device, make or adopt streams, copy |
//! | [`context`] | contexts: own, primary or lent, and the guard that makes one current |
//! | [`buffer`] | memory whose copies are safe |
//! | [`heap`] | device, pinned, write-combined and ordinary memory in blocks that cost no driver call |
//! | [`task`], [`dispatch`] | tasks with an order between them, and the dispatcher that runs them |
//! | [`data`] | arrays that are where they are used, and computations with them |
//! | [`pipeline`] | frames on their way from one thread or task to another, in buffers that are used again |
//! | [`profile`] | the times of kernels, block by block, and traces of them |
//! | [`queues`] | the hardware's queues for kernels: a program asks for more of them |
//! | [`copy`] | requests, plans, handles |
//! | [`kernel`] | the copy kernel that yields to urgent copies |
//! | [`options`] | every tunable, with one name everywhere |
//!
//! This crate only exports others, each with one subject; users depend on this one. The copy layer is the crate
//! `overtake-copies`. The software GPU is the crate `overtake-softgpu`, and `overtake-backend` chooses between it and
//! the real driver.
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml has the list, with reasons
#![forbid(unsafe_code)]

pub use copies::{
    Blocking, ClassSnapshot, Direction, Expected, Latency, Options, Overtake, Priorities, Priority, PriorityStream,
    Statistics, TracedCopy, Words, copy, kernel, options, variables,
};
#[doc(inline)]
pub use overtake_arrays as data;
#[doc(inline)]
pub use overtake_arrays::open::{Context, ContextOptions};
#[doc(inline)]
pub use overtake_memory::{buffer, heap};
#[doc(inline)]
pub use overtake_profile as profile;
#[doc(inline)]
pub use overtake_tasks::{dispatch, queues, task};
pub use {contexts as context, driver, hal};

/// Pipelines: frames on their way from one thread or task to another, in buffers that are used again.
///
/// `docs/pipelines.md` teaches them in ten minutes, with programs.
pub mod pipeline {
    #[doc(inline)]
    pub use overtake_feed::{Feed, FeedKernel, FeedOptions, FeedResult, FeedResults, FeedStage, Feeder};
    #[doc(inline)]
    pub use overtake_pipelines::*;
    #[doc(inline)]
    pub use overtake_plan::latency as plan;
}

/// The version of this library.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The commit that it was built from, or `unknown`.
pub const COMMIT: &str = env!("OVERTAKE_COMMIT");

/// Both, for a person: `0.1.0 (commit 0123456789ab)`.
pub const VERSION_AND_COMMIT: &str = concat!(env!("CARGO_PKG_VERSION"), " (commit ", env!("OVERTAKE_COMMIT"), ")");

/// The programs in Rust of the pages, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The same of the page about arrays.
#[cfg(doctest)]
#[doc = include_str!("../docs/data.md")]
struct DataPage;

/// The same of the page about pipelines.
#[cfg(doctest)]
#[doc = include_str!("../docs/pipelines.md")]
struct PipelinesPage;

/// The same of the page about tasks.
#[cfg(doctest)]
#[doc = include_str!("../docs/tasks.md")]
struct TasksPage;

/// The same of the page about Vulkan.
#[cfg(doctest)]
#[doc = include_str!("../docs/sharing.md")]
struct SharingPage;
