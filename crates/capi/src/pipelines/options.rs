//! The structures of pipelines.

use std::ffi::{c_char, c_int, c_void};

use hal::Nanos;
use overtake::pipeline::{Behind, Dropped, End, FrameRecord, PipelineOptions, PipelineStatistics};

use crate::failure::{Failure, Outcome};
use crate::pipelines::admission::{self, overtake_admission};
use crate::sized::bytes_of;
use crate::tasks::patience;
use crate::tasks::task::priority;

/// The producer waits while the consumer is behind: every frame is kept.
pub const OVERTAKE_BEHIND_BLOCK: c_int = 0;
/// The new frame is dropped.
pub const OVERTAKE_BEHIND_DROP_NEWEST: c_int = 1;
/// The oldest frame that the consumer has not begun is dropped.
pub const OVERTAKE_BEHIND_DROP_OLDEST: c_int = 2;
/// All frames that the consumer has not begun are dropped, but for the newest.
pub const OVERTAKE_BEHIND_LATEST_ONLY: c_int = 3;

/// The consumer has released the frame, and its work is done.
pub const OVERTAKE_FRAME_DELIVERED: c_int = 1;
/// It was dropped: all stages were in use when it came.
pub const OVERTAKE_FRAME_FULL: c_int = 2;
/// It was dropped: a newer one has taken its place.
pub const OVERTAKE_FRAME_REPLACED: c_int = 3;
/// It was dropped: it could not be on time any more when the consumer came to it.
pub const OVERTAKE_FRAME_OVERDUE: c_int = 4;
/// The producer gave it up.
pub const OVERTAKE_FRAME_GIVEN_UP: c_int = 5;
/// Its producer, its consumer or one of its tasks has failed.
pub const OVERTAKE_FRAME_FAILED: c_int = 6;

/// The parameters of a pipeline. Set struct_size and bytes before the call; 0 in another field is its default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PipelineSpec {
    /// sizeof(struct overtake_pipeline_options).
    pub struct_size: u32,
    /// How many frames it holds: 1 to 254. 0: 3. There is one buffer more.
    pub stages: u32,
    /// Its name in errors, or null.
    pub name: *const c_char,
    /// The bytes of a frame: so many of pinned memory of the host, and so many of the device.
    pub bytes: u64,
    /// The priority of its copies and tasks, from OVERTAKE_PRIORITY_LOWEST to overtake_priorities(); 0 is the lowest.
    pub priority: c_int,
    /// The fate of frames when the consumer is behind: OVERTAKE_BEHIND_...
    pub behind: c_int,
    /// A frame comes in every period: its rate. Bulk then gives way to its copies from the opening on. 0: none.
    pub period_ns: u64,
    /// A frame is on time if it is delivered so long after its capture. 0: after the period, if there is one.
    pub deadline_ns: u64,
    /// With a period: a copy of a frame may wait so long for bulk, which keeps more of its speed.
    pub tolerance_ns: u64,
    /// The time that the consumer needs for a frame. One that has less left is dropped before its work begins, unless
    /// the pipeline blocks.
    pub work_span_ns: u64,
    /// A frame with no more time left than this has the next priority. 0: never.
    pub raise_within_ns: u64,
    /// The records of so many frames are kept until they are taken. 0: 1024.
    pub records_max: u64,
    /// The places that its frames share with those of other pipelines, from overtake_admission_open(). Null: each frame
    /// begins when its consumer comes to it.
    pub admission: *const overtake_admission,
}

/// The size of the first released structure, without the admission.
pub const PIPELINE_OPTIONS_BYTES_MIN: usize = 80;

const _: () = assert!(std::mem::offset_of!(PipelineSpec, admission) == PIPELINE_OPTIONS_BYTES_MIN);

/// A frame that an end has in hand. Set struct_size before the call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Frame {
    /// sizeof(struct overtake_frame).
    pub struct_size: u32,
    /// 1 if the pipeline has dropped it, which is counted: then there is none in hand, and the other fields are 0.
    pub is_dropped: u32,
    /// The frames of a pipeline count from 0.
    pub number: u64,
    /// Its pinned memory of the host.
    pub host: *mut c_void,
    /// Its memory of the device.
    pub device: *mut c_void,
    /// The bytes of each.
    pub bytes: u64,
    /// The priority of its copies and tasks now.
    pub priority: c_int,
    /// 0.
    pub reserved: u32,
}

/// The size of the first released structure.
pub const FRAME_BYTES_MIN: usize = 48;

/// The record of a frame that has ended. Times are the host's, and 0 if it did not come so far. Set struct_size before
/// the call.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct FrameTimes {
    /// sizeof(struct overtake_frame_record).
    pub struct_size: u32,
    /// One of OVERTAKE_FRAME_..., or 0 if there is no further record.
    pub end: c_int,
    /// Its number.
    pub number: u64,
    /// The producer began to fill its stage, or overtake_pipeline_captured said when.
    pub captured_ns: u64,
    /// The producer committed it.
    pub committed_ns: u64,
    /// The consumer came to it.
    pub taken_ns: u64,
    /// It ended.
    pub ended_ns: u64,
}

/// The size of the first released structure.
pub const FRAME_RECORD_BYTES_MIN: usize = 48;

/// The counts of a pipeline. Set struct_size before the call.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct PipelineCounts {
    /// sizeof(struct overtake_pipeline_statistics).
    pub struct_size: u32,
    /// 0.
    pub reserved: u32,
    /// Frames that have begun.
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
    /// Those that have not ended.
    pub under_way: u64,
    /// Records that were not kept, because more than records_max were not taken.
    pub records_lost: u64,
}

/// The size of the first released structure.
pub const PIPELINE_STATISTICS_BYTES_MIN: usize = 88;

const _: () = assert!(
    size_of::<Frame>() == FRAME_BYTES_MIN
        && size_of::<FrameTimes>() == FRAME_RECORD_BYTES_MIN
        && size_of::<PipelineCounts>() == PIPELINE_STATISTICS_BYTES_MIN
);

/// A policy by its number.
fn behind(call: &str, number: c_int) -> Outcome<Behind> {
    Ok(match number {
        OVERTAKE_BEHIND_BLOCK => Behind::Block,
        OVERTAKE_BEHIND_DROP_NEWEST => Behind::DropNewest,
        OVERTAKE_BEHIND_DROP_OLDEST => Behind::DropOldest,
        OVERTAKE_BEHIND_LATEST_ONLY => Behind::LatestOnly,
        other => {
            return Err(Failure::argument(&format!("{call}: behind {other} is not one of OVERTAKE_BEHIND_...")));
        }
    })
}

/// The options of a pipeline as the library takes them.
pub fn read(call: &str, spec: &PipelineSpec, name: &str) -> Outcome<PipelineOptions> {
    let default = PipelineOptions::default();
    let stages = match spec.stages {
        0 => default.stages,
        count => u8::try_from(count).ok().filter(|count| *count < u8::MAX).ok_or_else(|| {
            Failure::argument(&format!("{call}: pipeline \"{name}\": stages is {count}, between 1 and 254"))
        })?,
    };
    if spec.bytes == 0 {
        let text = format!("{call}: pipeline \"{name}\": bytes is 0: set it to the size of a frame");
        return Err(Failure::argument(&text));
    }
    let span = |name, span_ns| -> Outcome<Option<Nanos>> {
        Ok(Some(patience::span(call, name, span_ns)?).filter(|span| *span > Nanos::ZERO))
    };
    Ok(PipelineOptions {
        name: name.to_owned(),
        stages,
        priority: if spec.priority == 0 { default.priority } else { priority(call, spec.priority)? },
        behind: behind(call, spec.behind)?,
        period: span("period_ns", spec.period_ns)?,
        deadline: span("deadline_ns", spec.deadline_ns)?,
        tolerance: span("tolerance_ns", spec.tolerance_ns)?,
        work_span: patience::span(call, "work_span_ns", spec.work_span_ns)?,
        admission: admission::find(call, spec.admission)?,
        raise_within: span("raise_within_ns", spec.raise_within_ns)?,
        records_max: if spec.records_max == 0 { default.records_max } else { spec.records_max as usize },
    })
}

impl From<FrameRecord> for FrameTimes {
    fn from(record: FrameRecord) -> FrameTimes {
        let time = |at: Option<Nanos>| at.map_or(0, |at| at.0);
        let end = match record.ended {
            None => 0,
            Some((_, End::Delivered)) => OVERTAKE_FRAME_DELIVERED,
            Some((_, End::Dropped(Dropped::Full))) => OVERTAKE_FRAME_FULL,
            Some((_, End::Dropped(Dropped::Replaced))) => OVERTAKE_FRAME_REPLACED,
            Some((_, End::Dropped(Dropped::Overdue))) => OVERTAKE_FRAME_OVERDUE,
            Some((_, End::Dropped(Dropped::GivenUp))) => OVERTAKE_FRAME_GIVEN_UP,
            Some((_, End::Failed)) => OVERTAKE_FRAME_FAILED,
        };
        FrameTimes {
            struct_size: bytes_of::<FrameTimes>(),
            end,
            number: record.number,
            captured_ns: record.captured.0,
            committed_ns: time(record.committed),
            taken_ns: time(record.taken),
            ended_ns: time(record.ended.map(|(at, _)| at)),
        }
    }
}

impl From<PipelineStatistics> for PipelineCounts {
    fn from(counts: PipelineStatistics) -> PipelineCounts {
        PipelineCounts {
            struct_size: bytes_of::<PipelineCounts>(),
            reserved: 0,
            frames: counts.frames,
            delivered: counts.delivered,
            late: counts.late,
            full: counts.full,
            replaced: counts.replaced,
            overdue: counts.overdue,
            given_up: counts.given_up,
            failed: counts.failed,
            under_way: counts.under_way(),
            records_lost: counts.records_lost,
        }
    }
}
