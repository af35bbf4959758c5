//! The options of a pipeline.

use std::sync::Arc;

use copies::Priority;
use hal::Nanos;
use stages::Admission;

/// What happens to frames when the consumer falls behind.
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
    /// The number of frames that it holds, 1 to 254.
    pub stages: u8,
    /// The priority of its tasks.
    pub priority: Priority,
    /// What happens to frames when the consumer falls behind.
    pub behind: Behind,
    /// The time between frames, if the pipeline has a rate. With a period, copies of the priority are expected in both
    /// directions for as long as the pipeline exists, so bulk yields to the first frame too.
    pub period: Option<Nanos>,
    /// The time after its capture within which a frame has to be delivered. The default is the period.
    pub deadline: Option<Nanos>,
    /// How long a copy of a frame may wait for bulk, if the pipeline has a period. While all expected urgent copies
    /// accept a wait, the copy engines make bulk copies, in chunks, or whole if that takes no longer: bulk keeps more
    /// bandwidth, especially in both directions at once. Each copy of a frame takes at most this much longer
    /// ([`copies::Expected::tolerating`]).
    pub tolerance: Option<Nanos>,
    /// The time that the consumer needs for a frame. A frame with less time left is dropped before its work begins,
    /// unless the pipeline keeps every frame.
    pub work_span: Nanos,
    /// Limits how many frames all pipelines that share this admission process at once. A frame is admitted when the
    /// work of an earlier one has ended: frames of the highest priority first, then that of the consumer whose last
    /// frame was admitted longest ago. Until then a newer frame may replace it. So under overload a frame that has
    /// begun has the link nearly to itself instead of sharing it with all others. A few places keep the link busy.
    ///
    /// Tasks of a frame's producer are not held back, so the consumer should upload the frame. A thread that holds a
    /// frame and waits for another one needs a place for each. Plans do not consider admissions.
    pub admission: Option<Arc<Admission>>,
    /// A frame with no more time left than this gets the next higher priority, but never more than one level.
    pub raise_within: Option<Nanos>,
    /// How many frame records are kept until they are taken.
    pub records_max: usize,
}

impl Default for PipelineOptions {
    fn default() -> PipelineOptions {
        PipelineOptions {
            name: String::new(),
            stages: 3,
            priority: Priority::LOWEST,
            behind: Behind::Block,
            period: None,
            deadline: None,
            tolerance: None,
            work_span: Nanos::ZERO,
            admission: None,
            raise_within: None,
            records_max: 1024,
        }
    }
}

impl PipelineOptions {
    /// A frame is on time so long after its capture.
    pub(crate) fn on_time(&self) -> Option<Nanos> {
        self.deadline.or(self.period)
    }
}
