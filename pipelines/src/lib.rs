//! Pipelines: frames that pass from one thread or task to another, in buffers that are reused.
//!
//! `docs/pipelines.md` teaches them in ten minutes, with programs.
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml has the list, with reasons
#![deny(unsafe_code)]

mod book;
mod buffer;
mod consumer;
mod end;
mod fault;
mod filled;
mod filling;
mod here;
mod member;
mod monitor;
mod options;
mod owed;
mod patience;
mod producer;
mod record;
mod seat;
mod shared;
mod sharing;

pub use buffer::StageBuffer;
pub use consumer::Consumer;
pub use fault::{Error, Failure};
pub use filled::Filled;
pub use filling::Filling;
pub use member::{FilledPart, FillingPart, Member};
pub use monitor::{Opened, Pipeline};
pub use options::{Behind, PipelineOptions};
pub use producer::Producer;
pub use record::{Dropped, End, FrameRecord, PipelineStatistics};
pub use sharing::{Alone, Together};
pub use stages::{Admission, Refused, Role};
