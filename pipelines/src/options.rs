//! The options of a pipeline.

use std::sync::Arc;

use copies::Priority;
use hal::Nanos;
use overtake_plan::latency::PlannedStream;
use stages::Admission;

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
    /// A frame comes in every period, if the pipeline has a rate. It states the rate for plans. With it, copies of the
    /// priority are expected both ways as long as the pipeline lives, so bulk gives way to the first frame too.
    pub period: Option<Nanos>,
    /// A frame is on time if it is delivered so long after its capture at the latest; without this, after the period.
    pub deadline: Option<Nanos>,
    /// A copy of a frame may wait so long for bulk, if the pipeline has a period. While all urgent copies to come
    /// tolerate a wait, bulk is made by the copy engines, in chunks, or whole where that takes no longer: it keeps more
    /// of its speed, most of all where it goes both ways at once. A frame takes so much longer for each of its copies
    /// at most ([`copies::Expected::tolerating`]).
    pub tolerance: Option<Nanos>,
    /// The time that the consumer needs for a frame. One that has less left is dropped before its work begins, unless
    /// the pipeline keeps every frame.
    pub work_span: Nanos,
    /// Pipelines that share an admission have only so many frames at work at once, all together. A frame is admitted
    /// when the work of one before it has ended: those of the highest priority first, then in the order in which their
    /// consumers came. Until then a newer frame may take its place. So in an overload a frame that has begun has the
    /// link nearly to itself, in place of sharing it with all others. A few places keep the link busy.
    ///
    /// Tasks of a frame's producer are not held back: its consumer uploads the frame. A thread that holds a frame and
    /// waits for another one needs a place for each. Plans do not know of admissions.
    pub admission: Option<Arc<Admission>>,
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

    /// The stream of a plan that this pipeline is, with frames of so many bytes and with these kernels. `None` if it
    /// states no period. A pipeline without a deadline delivers each frame before the next one comes.
    #[must_use]
    pub fn planned(&self, upload_bytes: u64, kernels: Vec<Nanos>, download_bytes: u64) -> Option<PlannedStream> {
        let period = self.period.filter(|period| *period > Nanos::ZERO)?;
        let (name, deadline) = (self.name.clone(), self.deadline.unwrap_or(period));
        let (jitter, tolerance) = (Nanos::ZERO, self.tolerance.unwrap_or(Nanos::ZERO));
        Some(PlannedStream {
            name,
            count: 1,
            period,
            deadline,
            jitter,
            tolerance,
            upload_bytes,
            kernels,
            download_bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipeline_with_a_period_is_a_stream_of_a_plan() {
        let options = PipelineOptions { name: "camera".to_owned(), ..PipelineOptions::default() };
        assert_eq!(options.planned(1, Vec::new(), 2), None);
        let period = Nanos::from_us(16_667);
        let options = PipelineOptions { period: Some(period), ..options };
        let planned = options.planned(3 << 20, vec![Nanos(7)], 64).unwrap();
        assert_eq!((planned.period, planned.deadline), (period, period));
        assert_eq!((planned.name.as_str(), planned.upload_bytes, planned.download_bytes), ("camera", 3 << 20, 64));
        let options = PipelineOptions { deadline: Some(Nanos(9)), ..options };
        assert_eq!(options.planned(0, Vec::new(), 0).unwrap().deadline, Nanos(9));
    }
}
