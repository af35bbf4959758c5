//! Several pipelines on one dispatcher, and rings of the fewest and the most stages.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use hal::{HostThread, Nanos};
use overtake::pipeline::{Consumer, Error, Pipeline, PipelineOptions, Producer};
use overtake::task::{Kernel, Lane, More, Tasks};

use crate::bed::{self, Bed};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::raw;
use crate::rig::Rig;

const FRAMES: u64 = 12;
/// The frame at which a camera fails.
const FAILING: u64 = 3;

/// The way of a camera to its end.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    GoesOn,
    ItsThreadPanics,
    ItsUploadFails,
}

fn options(name: &str, stages: u8) -> PipelineOptions {
    PipelineOptions { name: name.to_owned(), stages, ..PipelineOptions::default() }
}

/// Fills all frames, each with a task, or fails at one of them.
fn shoot(producer: &mut Producer<u64>, tasks: &Tasks, spin: &Kernel, fate: Fate) -> Outcome {
    for number in 0..FRAMES {
        let mut frame = producer.acquire()?.ok_or_else(|| Failure::new("it keeps every frame"))?;
        *frame.buffer_mut() = number;
        let (spin, fails) = (spin.clone(), number == FAILING && fate == Fate::ItsUploadFails);
        frame.task(tasks.upload("upload", move |lane: &mut Lane<'_>| {
            raw::spin(lane, &spin, Nanos::from_us(20))?;
            if fails { Err("the cable is out".into()) } else { Ok(More::Done) }
        }))?;
        if number == FAILING && fate == Fate::ItsThreadPanics {
            resume_unwind(Box::new("a camera fails"));
        }
        frame.commit()?;
    }
    Ok(())
}

/// A camera at work. A panic drops its end of the pipeline.
fn camera(rig: &Rig, bed: &Bed, producer: Producer<u64>, fate: Fate) -> HostThread<Outcome> {
    let (tasks, spin) = (bed.tasks.clone(), bed.kernels.spin.clone());
    rig.spawn("camera", move |_| {
        let shot = catch_unwind(AssertUnwindSafe(|| {
            let mut producer = producer;
            shoot(&mut producer, &tasks, &spin, fate)
        }));
        same("whether it has panicked", &shot.is_err(), &(fate == Fate::ItsThreadPanics))?;
        shot.unwrap_or(Ok(()))
    })
}

/// The frames that come, and the errors that come in their place.
fn view(consumer: &mut Consumer<u64>) -> Result<(Vec<u64>, Vec<String>), Failure> {
    let (mut numbers, mut errors) = (Vec::new(), Vec::new());
    loop {
        match consumer.wait() {
            Ok(frame) => {
                same("its contents", &*frame.buffer(), &frame.number())?;
                numbers.push(frame.number());
                frame.release()?;
            }
            Err(Error::Ended) => return Ok((numbers, errors)),
            Err(error @ Error::Failed(_)) => errors.push(error.to_string()),
            Err(other) => return Err(Failure::new(other)),
        }
    }
}

/// The thread of one camera panics, and an upload of another one fails: a third one does not see it.
pub fn fail_alone(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let fates = [Fate::ItsThreadPanics, Fate::ItsUploadFails, Fate::GoesOn];
    let mut working = Vec::new();
    for fate in fates {
        let (pipeline, producer, consumer) = Pipeline::open(&bed.tasks, options("camera", 2), |_| Ok(0_u64))?;
        let viewer = rig.spawn("viewer", move |_| {
            let mut consumer = consumer;
            view(&mut consumer)
        });
        working.push((fate, pipeline, camera(rig, &bed, producer, fate), viewer));
    }
    for (fate, pipeline, camera, viewer) in working {
        rig.join(camera)?;
        let (numbers, errors) = rig.join(viewer)?;
        let expected: Vec<u64> = match fate {
            Fate::GoesOn => (0..FRAMES).collect(),
            Fate::ItsThreadPanics => (0..FAILING).collect(),
            Fate::ItsUploadFails => (0..FRAMES).filter(|number| *number != FAILING).collect(),
        };
        same("the frames", &(fate, &numbers), &(fate, &expected))?;
        let cause = if fate == Fate::ItsThreadPanics { "its thread panicked" } else { "the cable is out" };
        let is_told = |error: &String| error.starts_with("frame 3 of pipeline") && error.contains(cause);
        ensure!(errors.iter().all(is_told), "{fate:?}: {errors:?}");
        same("errors", &(fate, errors.len()), &(fate, usize::from(fate != Fate::GoesOn)))?;
        let counts = pipeline.statistics();
        let failed = u64::from(fate != Fate::GoesOn);
        same("failed, under way", &(fate, counts.failed, counts.under_way()), &(fate, failed, 0))?;
    }
    Ok(())
}

/// The producer gets ahead by exactly as many frames as there are stages, and each stage is used again and again.
pub fn of_few_and_many_stages(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    for stages in [1_u8, 2, 254] {
        let (pipeline, mut producer, mut consumer) =
            Pipeline::open(&bed.tasks, options("ring", stages), |_| Ok(0_u64))?;
        let ahead = u64::from(stages);
        let mut fill = || -> Result<bool, Error> {
            let Some(mut frame) = producer.try_acquire()? else { return Ok(false) };
            *frame.buffer_mut() = frame.number() * 3;
            frame.commit().map(|()| true)
        };
        for number in 0..ahead {
            ensure!(fill()?, "stage {number} of {stages} is in use");
        }
        // Each stage goes through both parities twice.
        for number in 0..4 * ahead + 3 {
            ensure!(!fill()?, "ahead by more than {stages}");
            let frame = consumer.try_wait()?.ok_or_else(|| Failure::new("it is there"))?;
            same("the frame", &(frame.number(), *frame.buffer()), &(number, 3 * number))?;
            frame.release()?;
            ensure!(fill()?, "a stage has been released");
        }
        same("under way", &pipeline.statistics().under_way(), &ahead)?;
    }
    Ok(())
}
