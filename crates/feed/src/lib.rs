//! Pipelines whose consumer is a kernel that runs on: the host feeds it stages, and gets a result for each.
//!
//! A kernel's source includes `overtake_pipeline.cuh`, which lies beside this file; README.md tells how its end and the
//! host's meet, and the rules for programs. A launch for each frame costs a driver call and the start of a kernel; a
//! kernel that is there already begins with a stage when it sees a word change.
//!
//! | file | content |
//! |---|---|
//! | `options.rs` | [`FeedOptions`] |
//! | `start.rs` | [`Feed`]: all that the way of a stage needs, made before the kernel starts |
//! | `memory.rs` | the words that kernel and host share, and the stages |
//! | `shared.rs` | the stages that are under way, and the end of the kernel |
//! | `feeder.rs`, `results.rs`, `kernel.rs` | [`Feeder`], [`FeedResults`], [`FeedKernel`]: the three ends |
//!
//! # Example
//! ```
//! # use overtake::hal::Device;
//! # use overtake::{Options, Overtake};
//! use overtake::pipeline::{Error, Feed, FeedOptions};
//! use overtake::task::{Kernel, Shape};
//! # let gpu = workloads::register(softgpu::SoftGpu::builder()).build();
//! # let driver: std::sync::Arc<dyn overtake::hal::Driver> = std::sync::Arc::new(gpu);
//! # let overtake = Overtake::open(&driver, Device(0), Options::default())?;
//! # let module = driver.module_load(workloads::STREAMED_PTX.as_bytes())?;
//! # let sums = Kernel::find(&*driver, module, "work_streamed")?;
//!
//! // The kernel adds up the words of each stage, and each of its four blocks writes its sum as a result.
//! let feed = Feed::open(&overtake, FeedOptions { bytes: 4096, result_bytes: 32, ..FeedOptions::default() })?;
//! // SAFETY: the kernel takes the feed, a null pointer and a time, and keeps to the rules of README.md.
//! let (mut feeder, mut results, kernel) =
//!     unsafe { feed.start(&sums, &Shape::line(4, 256), |feed| feed.value(&0_u64).value(&0_u64))? };
//! for number in 1..4_u8 {
//!     let mut stage = feeder.acquire()?;
//!     stage.bytes_mut().fill(number);
//!     stage.commit()?;
//! }
//! feeder.close()?;
//! let mut sums: Vec<u64> = Vec::new();
//! loop {
//!     match results.wait() {
//!         Ok(result) => sums.push(result.chunks(8).map(|sum| u64::from_le_bytes(sum.try_into().unwrap())).sum()),
//!         Err(Error::Ended) => break,
//!         Err(error) => return Err(error.into()),
//!     }
//! }
//! assert_eq!(sums, [1_u64, 2, 3].map(|number| 1024 * 0x0101_0101 * number));
//! kernel.wait()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml has the list, with reasons
#![deny(unsafe_code)]

mod feeder;
mod kernel;
mod memory;
mod options;
mod results;
mod shared;
mod start;

pub use feeder::{FeedStage, Feeder};
pub use kernel::FeedKernel;
pub use options::FeedOptions;
pub use results::{FeedResult, FeedResults};
pub use start::Feed;
