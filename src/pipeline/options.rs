//! The options of a pipeline.

use copies::Priority;
use hal::Nanos;

/// The fate of frames when the consumer is behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Behind {
    /// The producer waits: every frame is kept.
    #[default]
    Block,
    /// The new frame is dropped.
    DropNewest,
    /// The oldest frame that the consumer has not begun is dropped.
    DropOldest,
    /// Only the newest frame is kept: all others that the consumer has not begun are dropped.
    LatestOnly,
}

impl Behind {
    /// Whether a frame may be dropped that has been committed.
    pub(crate) fn replaces(self) -> bool {
        matches!(self, Behind::DropOldest | Behind::LatestOnly)
    }
}

/// The options of a pipeline.
#[derive(Clone, Debug)]
pub struct PipelineOptions {
    /// Its name, for errors.
    pub name: String,
    /// How many frames it holds: 1 to 254.
    pub stages: u8,
    /// The priority of its tasks.
    pub priority: Priority,
    /// The fate of frames when the consumer is behind.
    pub behind: Behind,
    /// A frame is on time if it is delivered so long after its capture at the latest.
    pub deadline: Option<Nanos>,
    /// The time that the consumer needs for a frame. One that has less left is dropped before its work begins, unless
    /// the pipeline keeps every frame.
    pub work_span: Nanos,
    /// A frame with no more time left than this has the next priority. Never more than the next.
    pub raise_within: Option<Nanos>,
    /// The records of so many frames are kept until they are asked for.
    pub records_max: usize,
}

impl Default for PipelineOptions {
    fn default() -> PipelineOptions {
        PipelineOptions {
            name: String::new(),
            stages: 3,
            priority: Priority::LOWEST,
            behind: Behind::Block,
            deadline: None,
            work_span: Nanos::ZERO,
            raise_within: None,
            records_max: 1024,
        }
    }
}
