//! The times of kernels, block by block, as the blocks note them themselves (PX-28).
//!
//! A kernel includes `overtake_profile.cuh`, which lies beside this file, takes the buffer of its batch as a parameter,
//! and calls `overtake_begin` and `overtake_end`. While no events are collected that buffer is null, and each of the
//! two is a comparison.
//!
//! | file | content |
//! |---|---|
//! | `profiler.rs` | [`Profiler`]: names, and batches |
//! | `recording.rs` | [`Recording`]: a batch whose events are collected |
//! | `store.rs` | buffers, and the events that have come |
//! | `events.rs`, `spans.rs`, `trace.rs` | a buffer's bytes as events, those as launches, and both for Perfetto; pure |
//!
//! # Example
//! ```
//! # use overtake::hal::Device;
//! # use overtake::{Options, Overtake, Priority};
//! use overtake::profile::{Detail, Profiler, ProfilerOptions};
//! # let gpu = workloads::register(softgpu::SoftGpu::builder()).build();
//! # let driver: std::sync::Arc<dyn overtake::hal::Driver> = std::sync::Arc::new(gpu);
//! # let overtake = Overtake::open(&driver, Device(0), Options::default())?;
//! # let stream = overtake.stream(Priority::LOWEST)?;
//! # let kernel = workloads::Profiled::load(&*driver)?;
//!
//! let profiler = Profiler::new(&overtake, ProfilerOptions::default())?;
//! let first = profiler.register(&["blur", "scale"]);
//! profiler.collect(true);
//! let recording = profiler.begin(&stream);
//! // The kernel gets `recording.buffer()` and its own number.
//! // SAFETY: the buffer is that of a recording.
//! unsafe { kernel.launch(&*driver, recording.buffer(), first, 5_000, 64, stream.raw())? };
//! drop(recording);
//! stream.synchronize()?;
//!
//! let profile = profiler.take();
//! assert_eq!(profile.batches[0].events.len(), 64);
//! assert!(profile.trace(Detail::Blocks).contains("blur")); // Perfetto opens this text
//! # Ok::<(), overtake::hal::Error>(())
//! ```
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml has the list, with reasons
#![forbid(unsafe_code)]

mod events;
mod profiler;
mod recording;
mod spans;
mod store;
mod trace;

pub use events::{BlockEvent, Events};
pub use profiler::{Profile, Profiler, ProfilerOptions};
pub use recording::Recording;
pub use spans::{Span, spans};
pub use trace::Detail;
