//! overtake gives GPU memory copies the priorities that CUDA does not: a small urgent copy overtakes the bulk copies
//! queued before it, on the same copy engine.
//!
//! ```
//! use overtake::buffer::{DeviceBuffer, PinnedBuffer};
//! use overtake::hal::{Device, Driver};
//! use overtake::{Options, Overtake, Priority};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let driver: std::sync::Arc<dyn Driver> = std::sync::Arc::new(softgpu::SoftGpu::builder().build());
//!
//! // `driver` is the real one, or the software GPU: `overtake_backend::open` chooses.
//! let overtake = Overtake::open(&driver, Device(0), Options::from_environment()?)?;
//! let bulk = overtake.stream(Priority::LOWEST)?;
//! let urgent = overtake.stream(overtake.priorities().highest())?;
//!
//! let weights = PinnedBuffer::<f32>::new(&overtake, 16 << 20)?;
//! let token = PinnedBuffer::<f32>::new(&overtake, 16 << 10)?;
//! let layer = DeviceBuffer::new(&overtake, weights.len())?;
//! let prompt = DeviceBuffer::new(&overtake, token.len())?;
//!
//! let loading = weights.copy_to(&layer, &bulk)?;
//! let token = token.copy_to(&prompt, &urgent)?.wait()?; // does not wait for the weights
//! let weights = loading.wait()?;
//! # assert_eq!((token.len(), weights.len()), (16 << 10, 16 << 20));
//! # Ok(())
//! # }
//! ```
//!
//! Copies are the ground floor. [`Context::open`] opens all of the library by one call: copies, tasks and arrays.
//!
//! | to | see |
//! |---|---|
//! | copy with a priority | [`Overtake`], [`PriorityStream`], [`buffer`], [`copy`] |
//! | run functions in an order, on the device and the host | [`task`], [`dispatch`] |
//! | have copies and order follow from the use of arrays | [`data`] |
//! | pass frames from one thread or task to another | [`pipeline`] |
//! | allocate memory in blocks that cost no driver call | [`heap`] |
//! | measure kernels block by block | [`profile`] |
//! | set an option, or list all of them | [`options`] |
//! | have more hardware queues for kernels | [`queues`] |
//! | call the driver | [`hal`] (the trait and its contract), [`driver`] (the real one), [`context`] |
//! | launch the copy kernel by hand | [`kernel`] |
//!
//! This crate only exports others, each with one subject; users depend on this one. The copy layer is the crate
//! `overtake-copies`. The software GPU is the crate `overtake-softgpu`, and `overtake-backend` chooses between it and
//! the real driver.
//!
//! Guides with programs in Rust, Python and C are in `docs/` of the repository: `tasks.md`, `data.md`, `pipelines.md`.
//! Nothing is printed: messages go through the crate `log`. An error's `Debug` is its `Display`, so a program whose
//! `main` returns it prints the cause and the cure.
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml has the list, with reasons
#![forbid(unsafe_code)]

#[doc(hidden)] // for the command
pub use copies::machine;
#[doc(inline)]
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
}

/// The version of this library.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The commit that it was built from, or `unknown`.
pub const COMMIT: &str = env!("OVERTAKE_COMMIT");

/// Both, for a person: `0.1.0 (commit 0123456789ab)`.
pub const VERSION_AND_COMMIT: &str = concat!(env!("CARGO_PKG_VERSION"), " (commit ", env!("OVERTAKE_COMMIT"), ")");
