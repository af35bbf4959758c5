//! Bulk beside live streams: pipelines whose rate is known, and frames whose tasks are the replays of a template.

use std::sync::Arc;

use hal::Nanos;
use overtake::PriorityStream;
use overtake::copy::{Plan, Reason};
use overtake::pipeline::{Pipeline, PipelineOptions};
use overtake::task::{Kernel, Lane, More, Recording, Template};

use crate::bed::{self, Bed, urgent};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::memory::Pinned;
use crate::place::Buffer;
use crate::raw;
use crate::rig::Rig;

const BYTES: u64 = 1 << 20;
const ALONE: Plan = Plan::Native(Reason::Alone);
const BY_KERNEL: Plan = Plan::Kernel { raises: false };
const PERIOD: Nanos = Nanos::from_us(16_667);
/// Longer than the dispatcher expects the next copy after the last one.
const LULL: Nanos = Nanos::from_ms(60);

/// A dispatcher, and bulk beside it.
struct Beside {
    bed: Bed,
    bulk: PriorityStream,
    host: Arc<Pinned>,
    device: Buffer,
}

impl Beside {
    fn new(rig: &Rig) -> Result<Beside, Failure> {
        let bed = bed::open(rig)?;
        let bulk = bed.overtake.adopt(rig.stream()?, overtake::Priority::LOWEST)?;
        Ok(Beside { bed, bulk, host: rig.pinned(BYTES)?, device: rig.buffer(BYTES)? })
    }

    fn bulk_goes(&self, when: &str, plan: Plan) -> Outcome {
        let copy = raw::copy_up(&self.bulk, self.device, &self.host, BYTES)?;
        copy.wait()?;
        same(when, &copy.plan(), &plan)
    }
}

fn options(period: Option<Nanos>, deadline: Option<Nanos>) -> PipelineOptions {
    PipelineOptions { name: "live".to_owned(), priority: urgent(), period, deadline, ..PipelineOptions::default() }
}

/// From its opening on bulk gives way to a pipeline whose rate is known, and until it has gone; to another not before
/// its first copy.
pub fn of_a_known_rate(rig: &Rig) -> Outcome {
    let beside = Beside::new(rig)?;
    for (period, plan) in [(None, ALONE), (Some(PERIOD), BY_KERNEL), (None, ALONE)] {
        let (pipeline, mut producer, mut consumer) =
            Pipeline::open(&beside.bed.tasks, options(period, None), |_| Ok(()))?;
        beside.bulk_goes("bulk before the first frame", plan)?;
        let mut frame = producer.acquire()?.ok_or_else(|| Failure::new("it keeps every frame"))?;
        let (host, device) = (Arc::clone(&beside.host), beside.device);
        frame.task(beside.bed.tasks.upload("upload", move |lane: &mut Lane<'_>| {
            raw::word_up(lane, (device, 0), (&host, 0))?;
            Ok(More::Done)
        }))?;
        frame.commit()?;
        beside.bulk_goes("bulk beside a frame", BY_KERNEL)?;
        consumer.wait()?.release()?;
        rig.driver().host().sleep(LULL);
        bed::eventually(rig, "no task is expected any more", || beside.bulk_goes("bulk", plan).is_ok())?;
        drop((producer, consumer, pipeline));
        bed::eventually(rig, "nothing is expected any more", || beside.bulk_goes("bulk", ALONE).is_ok())?;
    }
    Ok(())
}

/// A frame of a pipeline with a period and without a deadline is late after the period.
pub fn late_after_a_period(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let long = Nanos(20 * PERIOD.0);
    for (period, deadline, late) in
        [(None, None, 0), (Some(PERIOD), None, 1), (Some(PERIOD), Some(long), 0), (Some(long), None, 0)]
    {
        let (pipeline, mut producer, mut consumer) = Pipeline::open(&bed.tasks, options(period, deadline), |_| Ok(()))?;
        producer.acquire()?.ok_or_else(|| Failure::new("it keeps every frame"))?.commit()?;
        let frame = consumer.wait()?;
        rig.driver().host().sleep(PERIOD + Nanos::from_ms(1));
        frame.release()?;
        same("late frames", &pipeline.statistics().late, &late)?;
    }
    Ok(())
}

/// A kernel that takes a while, and one behind it.
fn slow(spin: &Kernel) -> Result<Template<Nanos>, Failure> {
    let mut recording = Recording::new();
    let spins = [spin.clone(), spin.clone()];
    let [first, second] = spins.map(|spin| {
        move |lane: &mut Lane<'_>, span: &Nanos| {
            raw::spin(lane, &spin, *span)?;
            Ok(More::Done)
        }
    });
    let before = recording.kernel("first", &[], first);
    recording.kernel("second", &[before], second);
    Ok(recording.finish()?)
}

/// The consumer gets a frame when the producer's replay has ended, and the producer gets the stage back when the
/// consumer's has.
pub fn replays_of_frames(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let template = slow(&bed.kernels.spin)?;
    let replay = || template.replay(&bed.tasks, Nanos::from_us(300));
    let one = PipelineOptions { stages: 1, ..options(None, None) };
    let (_pipeline, mut producer, mut consumer) = Pipeline::open(&bed.tasks, one, |_| Ok(()))?;
    let mut frame = producer.acquire()?.ok_or_else(|| Failure::new("it keeps every frame"))?;
    let filling = frame.replay(replay())?;
    frame.commit()?;
    let mut frame = consumer.wait()?;
    ensure!(filling.is_done(), "the frame is there before the producer's replay has ended");
    let emptying = frame.replay(replay())?;
    frame.release()?;
    ensure!(producer.acquire()?.is_some(), "it keeps every frame");
    ensure!(emptying.is_done(), "the stage is free before the consumer's replay has ended");
    Ok(())
}
