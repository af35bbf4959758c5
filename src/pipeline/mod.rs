//! Pipelines: frames that pass from one thread or task to another, in buffers that are reused.
//!
//! `docs/pipelines.md` teaches them in ten minutes, with programs.

mod book;
mod buffer;
mod consumer;
mod end;
mod fault;
mod feed;
mod filled;
mod filling;
mod member;
mod monitor;
mod options;
mod owed;
mod patience;
pub mod plan;
mod producer;
mod record;
mod seat;
mod shared;
mod sharing;

pub use buffer::StageBuffer;
pub use consumer::Consumer;
pub use fault::{Error, Failure};
pub use feed::{Feed, FeedKernel, FeedOptions, FeedResult, FeedResults, FeedStage, Feeder};
pub use filled::Filled;
pub use filling::Filling;
pub use member::{FilledPart, FillingPart, Member};
pub use monitor::{Opened, Pipeline};
pub use options::{Behind, PipelineOptions};
pub use producer::Producer;
pub use record::{Dropped, End, FrameRecord, PipelineStatistics};
pub use sharing::{Alone, Together};
pub use stages::{Admission, Refused, Role};
