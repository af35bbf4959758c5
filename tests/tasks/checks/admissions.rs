//! Pipelines that share an admission: how many frames are at work at once, and which is the next.

use std::future::Future;
use std::num::NonZeroU32;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use hal::Nanos;
use overtake::Priority;
use overtake::pipeline::{Admission, Behind, Consumer, Filled, Pipeline, PipelineOptions, Producer, Role};
use overtake::task::{Handle, Lane, More};

use crate::bed::{self, Bed};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::raw;
use crate::rig::Rig;

/// The pipelines of a check, with their first frames.
struct Lines {
    bed: Bed,
    admission: Arc<Admission>,
    pipelines: Vec<Pipeline<u64>>,
    producers: Vec<Producer<u64>>,
    consumers: Vec<Consumer<u64>>,
}

impl Lines {
    /// A pipeline of each of these priorities, in an admission to so many places.
    fn open(rig: &Rig, places: u32, priorities: &[u8]) -> Result<Lines, Failure> {
        let (bed, admission) = (bed::open(rig)?, Admission::new(NonZeroU32::new(places).expect("some")));
        let mut lines = Lines { bed, admission, pipelines: Vec::new(), producers: Vec::new(), consumers: Vec::new() };
        for priority in priorities {
            let options = PipelineOptions {
                name: "line".to_owned(),
                stages: 2,
                behind: Behind::LatestOnly,
                priority: Priority::new(*priority).expect("a priority"),
                admission: Some(Arc::clone(&lines.admission)),
                ..PipelineOptions::default()
            };
            let (pipeline, producer, consumer) = Pipeline::open(&lines.bed.tasks, options, |_| Ok(0_u64))?;
            lines.pipelines.push(pipeline);
            lines.producers.push(producer);
            lines.consumers.push(consumer);
        }
        lines.producers.iter_mut().try_for_each(fill)?;
        Ok(lines)
    }

    /// A task of the frame that takes some time, and fails at its end if it is to.
    fn spin(&self, frame: &mut Filled<'_, u64>, fails: bool) -> Result<Handle, Failure> {
        let spin = self.bed.kernels.spin.clone();
        Ok(frame.task(self.bed.tasks.kernel("spin", move |lane: &mut Lane<'_>| {
            raw::spin(lane, &spin, Nanos::from_ms(5))?;
            if fails { Err("it has failed".into()) } else { Ok(More::Done) }
        }))?)
    }

    fn is_free(&self) -> bool {
        self.admission.try_admit().is_some()
    }
}

fn fill(producer: &mut Producer<u64>) -> Outcome {
    let mut frame = producer.acquire()?.ok_or_else(|| Failure::new("the newest has a buffer"))?;
    *frame.buffer_mut() = frame.number();
    Ok(frame.commit()?)
}

/// With two places, the third pipeline waits for the work of a frame to end, and has the newest frame then.
pub fn a_frame_waits_and_may_be_replaced(rig: &Rig) -> Outcome {
    let mut lines = Lines::open(rig, 2, &[1, 1, 1])?;
    let [mut one, mut other, mut third] = <[_; 3]>::try_from(std::mem::take(&mut lines.consumers)).expect("three");
    let (first, second) = (one.wait()?, other.wait()?);
    ensure!(third.try_wait()?.is_none(), "two frames are at work");
    for _ in 0..3 {
        fill(&mut lines.producers[2])?;
        ensure!(third.wait_for(Nanos::from_us(200).into())?.is_none(), "two frames are at work");
    }
    first.release()?;
    let frame = third.try_wait()?.ok_or_else(|| Failure::new("a place is free"))?;
    same("the newest frame", &(frame.number(), *frame.buffer()), &(3, 3))?;
    drop((frame, second));
    let counts = lines.pipelines[2].statistics();
    same("replaced, delivered", &(counts.replaced, counts.delivered), &(3, 1))?;
    same("the place of a dropped frame", &(lines.is_free(), lines.admission.waiting()), &(true, 0))
}

/// A place is free when the frame's tasks have ended, and not when it is released.
pub fn a_place_is_free_when_the_work_has_ended(rig: &Rig) -> Outcome {
    for fails in [false, true] {
        let mut lines = Lines::open(rig, 1, &[1, 1])?;
        let [mut one, mut other] = <[_; 2]>::try_from(std::mem::take(&mut lines.consumers)).expect("two");
        let mut frame = one.wait()?;
        let work = lines.spin(&mut frame, fails)?;
        frame.release()?;
        let is_early = other.try_wait()?.is_some();
        ensure!(!is_early || work.is_done(), "its work is under way");
        let frame = other.wait()?;
        ensure!(work.is_done(), "it was admitted before the work of the frame before it had ended");
        same("the outcome of the work", &work.wait().is_err(), &fails)?;
        drop(frame);
        ensure!(lines.is_free(), "fails: {fails}");
    }
    Ok(())
}

/// A frame whose consumer panics, and one whose consumer is dropped while it waits, keep no place.
pub fn none_is_lost(rig: &Rig) -> Outcome {
    let mut lines = Lines::open(rig, 1, &[1, 1])?;
    let [mut one, mut other] = <[_; 2]>::try_from(std::mem::take(&mut lines.consumers)).expect("two");
    let has_panicked = catch_unwind(AssertUnwindSafe(|| {
        let _frame = one.wait();
        resume_unwind(Box::new("a viewer fails"));
    }));
    ensure!(has_panicked.is_err() && lines.is_free(), "the place of a frame that has failed");
    fill(&mut lines.producers[0]).err().map_or(Ok(()), |_| fill(&mut lines.producers[0]))?;
    let frame = one.wait()?;
    let mut context = Context::from_waker(Waker::noop());
    {
        let mut waiting = pin!(other.wait_async());
        ensure!(waiting.as_mut().poll(&mut context).is_pending(), "a frame is at work");
        same("those that wait", &lines.admission.waiting(), &1)?;
    }
    same("those that wait for a future that was dropped", &lines.admission.waiting(), &0)?;
    frame.release()?;
    let mut waiting = pin!(other.wait_async());
    let Poll::Ready(frame) = waiting.as_mut().poll(&mut context) else {
        return Err(Failure::new("a place is free"));
    };
    same("its frame", &frame?.number(), &0)?;
    ensure!(lines.is_free(), "the frame was dropped");
    Ok(())
}

/// Of two that wait, the one of the greater priority is admitted first, although it came later.
pub fn the_urgent_goes_first(rig: &Rig) -> Outcome {
    let mut lines = Lines::open(rig, 1, &[1, 1, 2])?;
    let [mut one, mut other, mut urgent] = <[_; 3]>::try_from(std::mem::take(&mut lines.consumers)).expect("three");
    let frame = one.wait()?;
    let mut context = Context::from_waker(Waker::noop());
    let (mut other, mut urgent) = (pin!(other.wait_async()), pin!(urgent.wait_async()));
    ensure!(other.as_mut().poll(&mut context).is_pending(), "a frame is at work");
    ensure!(urgent.as_mut().poll(&mut context).is_pending(), "a frame is at work");
    frame.release()?;
    ensure!(other.as_mut().poll(&mut context).is_pending(), "the urgent frame is the next");
    let Poll::Ready(frame) = urgent.as_mut().poll(&mut context) else {
        return Err(Failure::new("it is the next"));
    };
    frame?.release()?;
    ensure!(other.as_mut().poll(&mut context).is_ready(), "it is the last");
    Ok(())
}

/// Members that share frames could keep each other out.
pub fn not_among_members(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let admission = Some(Admission::new(NonZeroU32::MIN));
    let options = PipelineOptions { admission, ..PipelineOptions::default() };
    let roles = [Role::Producer, Role::Consumer, Role::Consumer];
    let error = Pipeline::with_members(&bed.tasks, options, &roles, |_| Ok(())).unwrap_err().to_string();
    ensure!(error.contains("admission"), "{error}");
    Ok(())
}
