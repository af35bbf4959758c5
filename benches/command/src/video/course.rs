//! The course of a pipeline's frame: when each of its stages ended, on the host and on the device.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hal::{Driver, Event, EventFlags, Nanos, Result, Stream, StreamFlags};
use overtake::pipeline::FrameRecord;
use report::{SlowFrame, SlowFrames};

/// The stages of a frame, in their order; each begins when the one before it ends, the first at the frame's capture.
/// The camera's thread hands the frame over, the viewer's takes it, the upload is submitted, it is done on the device,
/// the download is submitted, the kernels are done, the download is done, and the viewer sees that.
pub const STAGES: [&str; 8] =
    ["committed", "taken", "submitted", "uploaded", "launched", "worked", "downloaded", "seen"];
/// Those whose end the device tells, in the order of their events.
const ON_DEVICE: usize = 3;

/// The end of each stage of a frame, from its capture on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    pub captured: Nanos,
    pub after_ns: [u64; STAGES.len()],
}

impl Ends {
    /// From its capture to its result being seen.
    fn latency_ns(&self) -> u64 {
        self.after_ns[STAGES.len() - 1]
    }

    /// How long each stage took.
    pub fn spans_ns(&self) -> [u64; STAGES.len()] {
        let mut before = 0;
        self.after_ns.map(|after| after - std::mem::replace(&mut before, after))
    }
}

/// The end of the stages that a viewer knows of, the last of [`STAGES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    pub number: u64,
    at: [Nanos; STAGES.len() - 2],
}

impl Seen {
    /// With the times of the frame's record. A stage whose end was before that of the one before it took no time.
    pub fn ends(&self, record: &FrameRecord) -> Ends {
        let mut last = 0;
        let mut after_ns = [0; STAGES.len()];
        let known = [record.committed, record.taken].map(|at| at.unwrap_or(record.captured));
        for (after_ns, at) in after_ns.iter_mut().zip(known.into_iter().chain(self.at)) {
            last = at.since(record.captured).0.max(last);
            *after_ns = last;
        }
        Ends { captured: record.captured, after_ns }
    }
}

/// The times of the frame that a viewer is at: it has one at a time.
pub struct Course {
    driver: Arc<dyn Driver>,
    /// It was recorded when the host's clock was at `base_at`.
    base: Event,
    base_at: Nanos,
    /// Behind the upload, the kernels and the download.
    events: [Event; ON_DEVICE],
    /// When the functions of these had submitted them.
    submitted: [AtomicU64; ON_DEVICE],
}

impl Course {
    pub fn new(driver: &Arc<dyn Driver>) -> Result<Course> {
        let stream = driver.stream_create(StreamFlags::NON_BLOCKING, 0)?;
        let event = || driver.event_create(EventFlags::DEFAULT);
        let (base, events) = (event()?, [event()?, event()?, event()?]);
        driver.event_record(base, stream)?;
        driver.stream_synchronize(stream)?;
        let base_at = driver.host().now();
        driver.stream_destroy(stream)?;
        Ok(Course { driver: Arc::clone(driver), base, base_at, events, submitted: Default::default() })
    }

    /// The function of the upload (0), of the kernels (1) or of the download (2) has submitted its work to this stream.
    pub fn submitted(&self, part: usize, stream: Stream) -> Result<()> {
        self.submitted[part].store(self.driver.host().now().0, Ordering::Relaxed);
        self.driver.event_record(self.events[part], stream)
    }

    /// The times of the frame of this number, whose result the viewer has just seen.
    pub fn seen(&self, number: u64, at: Nanos) -> Result<Seen> {
        let [mut uploaded, mut worked, mut downloaded] = [Nanos::ZERO; ON_DEVICE];
        for (at, event) in [&mut uploaded, &mut worked, &mut downloaded].into_iter().zip(self.events) {
            let after_ms = f64::from(self.driver.event_elapsed_ms(self.base, event)?);
            *at = self.base_at + Nanos((after_ms * 1e6) as u64);
        }
        let [begun, launched] = [0, 2].map(|part: usize| Nanos(self.submitted[part].load(Ordering::Relaxed)));
        Ok(Seen { number, at: [begun, uploaded, launched, worked, downloaded, at] })
    }
}

impl Drop for Course {
    fn drop(&mut self) {
        for event in self.events.into_iter().chain([self.base]) {
            let _ = self.driver.event_destroy(event);
        }
    }
}

/// The slowest of these frames, at most so many, and the stages that took longer than in the median.
pub fn slowest(all: &[Ends], most: usize) -> Option<SlowFrames> {
    if all.is_empty() || most == 0 {
        return None;
    }
    let us = |ns: u64| ns as f64 / 1e3;
    let median_ns: Vec<u64> = (0..STAGES.len()).map(|stage| median(all, stage)).collect();
    let mut slow: Vec<&Ends> = all.iter().collect();
    slow.sort_by_key(|ends| std::cmp::Reverse(ends.latency_ns()));
    slow.truncate(most);
    let frame = |ends: &&Ends| {
        let spans_ns = ends.spans_ns();
        let above = |stage: &usize| spans_ns[*stage].saturating_sub(median_ns[*stage]);
        let stage = (0..STAGES.len()).max_by_key(above).map_or("", |stage| STAGES[stage]).to_owned();
        let stages_us = spans_ns.into_iter().map(us).collect();
        SlowFrame { captured_us: us(ends.captured.0), latency_us: us(ends.latency_ns()), stage, stages_us }
    };
    let frames: Vec<SlowFrame> = slow.iter().map(frame).collect();
    let mut by_stage = BTreeMap::new();
    frames.iter().for_each(|frame| *by_stage.entry(frame.stage.clone()).or_default() += 1);
    let stages = STAGES.map(str::to_owned).to_vec();
    Some(SlowFrames { stages, median_us: median_ns.into_iter().map(us).collect(), by_stage, frames })
}

fn median(all: &[Ends], stage: usize) -> u64 {
    let mut spans_ns: Vec<u64> = all.iter().map(|ends| ends.spans_ns()[stage]).collect();
    let middle = spans_ns.len() / 2;
    *spans_ns.select_nth_unstable(middle).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_frames_are_told_with_the_stage_that_took_most_above_its_median() {
        // The fourth stage takes longest in all of them; one frame is taken late, and one is launched late.
        let frame = |at: u64, more: [u64; 8]| {
            let mut after = 0;
            let spans = [1_000, 2_000, 1_000, 50_000, 0, 20_000, 30_000, 4_000];
            let add = |index: usize| {
                after += spans[index] + more[index];
                after
            };
            Ends { captured: Nanos(at), after_ns: [0, 1, 2, 3, 4, 5, 6, 7].map(add) }
        };
        let mut all: Vec<Ends> = (0..9).map(|number| frame(number, [number, 0, 0, 0, 0, 0, 0, 0])).collect();
        all.push(frame(20_000, [0, 9_000, 0, 1_000, 0, 0, 0, 0]));
        all.push(frame(21_000, [0, 0, 0, 0, 12_000, 0, 0, 1_000]));
        let slow = slowest(&all, 2).unwrap();
        let told: Vec<(f64, f64, &str)> =
            slow.frames.iter().map(|frame| (frame.captured_us, frame.latency_us, frame.stage.as_str())).collect();
        assert_eq!(told, [(21.0, 121.0, "launched"), (20.0, 118.0, "taken")]);
        assert_eq!(slow.median_us, [1.003, 2.0, 1.0, 50.0, 0.0, 20.0, 30.0, 4.0]);
        assert_eq!(slow.by_stage, BTreeMap::from([("launched".to_owned(), 1), ("taken".to_owned(), 1)]));
        assert_eq!(slow.frames[0].stages_us, [1.0, 2.0, 1.0, 50.0, 12.0, 20.0, 30.0, 5.0]);
        assert!(slowest(&all, 0).is_none() && slowest(&[], 3).is_none());
    }

    fn record(captured: Nanos) -> FrameRecord {
        FrameRecord { number: 0, captured, committed: None, taken: None, notes: Vec::new(), ended: None }
    }

    #[test]
    fn a_stage_that_ended_before_the_one_before_it_took_no_time() {
        let (mut record, us) = (record(Nanos::from_us(100)), Nanos::from_us);
        (record.committed, record.taken) = (Some(us(101)), Some(us(103)));
        // The download was submitted before the upload was done.
        let seen = Seen { number: 0, at: [us(104), us(150), us(110), us(170), us(200), us(204)] };
        let ends = seen.ends(&record);
        assert_eq!(ends.captured, us(100));
        assert_eq!(ends.spans_ns().map(|ns| ns / 1_000), [1, 2, 1, 46, 0, 20, 30, 4]);
        assert_eq!(ends.latency_ns(), 104_000);
    }
}
