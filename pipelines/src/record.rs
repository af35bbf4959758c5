//! The record of a frame, and the counts over all frames.

use hal::Nanos;

/// Why a frame was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dropped {
    /// All stages were in use when it came.
    Full,
    /// A newer frame has taken its place.
    Replaced,
    /// It could not be on time any more when the consumer came to it.
    Overdue,
    /// The producer gave it up.
    GivenUp,
}

/// The end of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The consumer has released it, and its work is done.
    Delivered,
    /// It was dropped.
    Dropped(Dropped),
    /// Its producer, its consumer or one of its tasks has failed.
    Failed,
}

/// The record of a frame. Times are the host's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameRecord {
    /// The frames of a pipeline count from 0.
    pub number: u64,
    /// The producer began to fill its stage.
    pub captured: Nanos,
    /// The producer committed it.
    pub committed: Option<Nanos>,
    /// The consumer came to it.
    pub taken: Option<Nanos>,
    /// Times that the program noted, such as the end of its upload.
    pub notes: Vec<(&'static str, Nanos)>,
    /// When it ended, and how.
    pub ended: Option<(Nanos, End)>,
}

impl FrameRecord {
    pub(crate) fn new(number: u64, captured: Nanos) -> FrameRecord {
        FrameRecord { number, captured, committed: None, taken: None, notes: Vec::new(), ended: None }
    }
}

/// The counts of a pipeline. Frames that have not ended are those that no other count has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PipelineStatistics {
    /// Frames that the producer has begun.
    pub frames: u64,
    /// Those that were delivered.
    pub delivered: u64,
    /// Delivered ones that came after their deadline.
    pub late: u64,
    /// Dropped because all stages were in use.
    pub full: u64,
    /// Dropped for a newer one.
    pub replaced: u64,
    /// Dropped because they could not be on time any more.
    pub overdue: u64,
    /// Given up by the producer.
    pub given_up: u64,
    /// Failed.
    pub failed: u64,
    /// Records that were not kept: more frames have ended than `records_max` since they were asked for.
    pub records_lost: u64,
}

impl PipelineStatistics {
    /// Frames that have not ended.
    #[must_use]
    pub fn under_way(&self) -> u64 {
        let dropped = self.full + self.replaced + self.overdue + self.given_up;
        self.frames - self.delivered - dropped - self.failed
    }
}
