//! Frames: templates that are a chain of copies and kernels, whose replays are one task in one lane.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hal::Nanos;
use overtake::copy::{Plan, Reason};
use overtake::dispatch::DispatchOptions;
use overtake::pipeline::{Pipeline, PipelineOptions};
use overtake::task::{Error, Handle, Kernel, Lane, More, Recording, Refused, Template};

use crate::bed;
use crate::failure::{Failure, Outcome, ensure, same};
use crate::log::Log;
use crate::memory::Pinned;
use crate::place::Buffer;
use crate::raw;
use crate::rig::Rig;

const BYTES: u64 = 4096;
const BULK_BYTES: u64 = 1 << 20;
/// Longer than the dispatcher expects the next copy after the last one.
const LULL: Nanos = Nanos::from_ms(60);

/// The arguments of one replay of `adds`.
struct Frame {
    source: Arc<Pinned>,
    target: Arc<Pinned>,
    device: Buffer,
    by: u32,
}

/// A word goes up, two kernels add to it, and it comes back.
fn adds(add: &Kernel) -> Result<Template<Frame>, Error> {
    let mut recording = Recording::<Frame>::new();
    let mut last = recording.upload("upload", &[], |lane, frame| {
        raw::upload(lane, frame.device, &frame.source, BYTES)?;
        Ok(More::Done)
    });
    for _ in 0..2 {
        let add = add.clone();
        last = recording.kernel("add", &[last], move |lane, frame| {
            raw::word(lane, &add, frame.device.at(0), frame.by)?;
            Ok(More::Done)
        });
    }
    recording.download("download", &[last], |lane, frame| {
        raw::download(lane, &frame.target, frame.device, BYTES)?;
        Ok(More::Done)
    });
    recording.finish()
}

/// Each replay has its own bytes, in order, and one place in the dispatcher. Its steps count as launches.
pub fn keep_the_order(rig: &Rig) -> Outcome {
    let bed = bed::open_with(rig, DispatchOptions { tasks_max: 9, ..DispatchOptions::default() })?;
    let (template, device) = (adds(&bed.kernels.add)?, rig.buffer(BYTES)?);
    same("tasks of the template", &template.tasks(), &4)?;
    let held = bed.tasks.join("held").held().submit()?;
    let (mut last, mut targets) = (held.clone(), Vec::new());
    let frame = |number: u32| -> Result<Frame, Failure> {
        let (source, target) = (rig.pinned(BYTES)?, rig.pinned(BYTES)?);
        source.word32(0).store(1000 * number, Ordering::Release);
        Ok(Frame { source, target, device, by: number })
    };
    for number in 0..8 {
        let frame = frame(number)?;
        targets.push(Arc::clone(&frame.target));
        last = template.replay(&bed.tasks, frame).after(&last).submit()?;
    }
    let full = template.replay(&bed.tasks, frame(8)?).submit().expect_err("the dispatcher is full");
    ensure!(matches!(full, Error::Refused(Refused::WouldBlock)), "{full}");
    held.release()?;
    last.wait()?;
    let words: Vec<u32> = targets.iter().map(|target| target.word32(0).load(Ordering::Acquire)).collect();
    same("the words", &words, &(0..8).map(|number| 1002 * number).collect())?;
    same("launches", &bed.dispatcher.statistics().launches, &32)?;
    bed.tasks.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// A step fails: those behind it do not run, nor do tasks behind the replay, and the error tells of the step.
pub fn failures(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    for (bad, expected) in [("upload", 1), ("kernel", 2), ("download", 3)] {
        let (log, kept) = (Log::default(), Arc::new(()));
        let step = |name: &'static str| {
            move |_: &mut Lane<'_>, (log, _): &(Log, Arc<()>)| {
                log.function(name)()?;
                if name == bad { Err("it is bad".into()) } else { Ok(More::Done) }
            }
        };
        let mut recording = Recording::new();
        let first = recording.upload("upload", &[], step("upload"));
        let second = recording.kernel("kernel", &[first], step("kernel"));
        recording.download("download", &[second], step("download"));
        let template = recording.finish()?;
        let replay = template.replay(&bed.tasks, (log.clone(), Arc::clone(&kept))).submit()?;
        let after = bed.tasks.join("after").after(&replay).submit()?;
        let error = replay.wait().expect_err("a step fails");
        log.is(&["upload", "kernel", "download"][..expected])?;
        let (Error::NotRun { fault, .. } | Error::Failed(fault)) = &error else { return Err(Failure::new(error)) };
        same("the step that failed", &fault.task, &format!("{bad:?}"))?;
        same("it is the last one", &matches!(error, Error::Failed(_)), &(bad == "download"))?;
        ensure!(after.wait().is_err(), "it comes after one that has failed");
        bed::eventually(rig, "the arguments are dropped", || Arc::strong_count(&kept) == 1)?;
    }
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// A step in the middle asks for other turns, and gets them before the steps behind it.
pub fn turns(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let mut recording = Recording::<Frame>::new();
    let upload = recording.upload("upload", &[], |lane, frame: &Frame| {
        bed::ensure_first_turn(lane)?;
        raw::upload(lane, frame.device, &frame.source, BYTES)?;
        Ok(More::Done)
    });
    let add = bed.kernels.add.clone();
    let thrice = recording.kernel("add", &[upload], move |lane, frame: &Frame| {
        raw::word(lane, &add, frame.device.at(0), 10 * (1 + lane.turn()))?;
        Ok(if lane.turn() < 2 { More::Again } else { More::Done })
    });
    recording.download("download", &[thrice], |lane, frame: &Frame| {
        bed::ensure_first_turn(lane)?;
        raw::download(lane, &frame.target, frame.device, BYTES)?;
        Ok(More::Done)
    });
    let (source, target, device) = (rig.pinned(BYTES)?, rig.pinned(BYTES)?, rig.buffer(BYTES)?);
    source.word32(0).store(5, Ordering::Release);
    let frame = Frame { source, target: Arc::clone(&target), device, by: 0 };
    recording.finish()?.replay(&bed.tasks, frame).submit()?.wait()?;
    same("the word", &target.word32(0).load(Ordering::Acquire), &65)
}

/// An urgent task that comes while the steps are launched goes before the rest of them, and one of their priority goes
/// behind.
pub fn leave_urgent_tasks_between(rig: &Rig) -> Outcome {
    for (priority, expected) in [
        (bed::urgent(), ["upload", "urgent", "kernel", "download"]),
        (overtake::Priority::LOWEST, ["upload", "kernel", "download", "urgent"]),
    ] {
        let bed = bed::open(rig)?;
        let (log, tasks) = (Log::default(), bed.tasks.clone());
        let mut recording = Recording::<Log>::new();
        let upload = recording.upload("upload", &[], move |_, log: &Log| {
            log.function("upload")()?;
            tasks.kernel("urgent", log.launch("urgent")).priority(priority).submit()?;
            Ok(More::Done)
        });
        let kernel = recording.kernel("kernel", &[upload], |lane, log: &Log| log.launch("kernel")(lane));
        recording.download("download", &[kernel], |lane, log: &Log| log.launch("download")(lane));
        let template = recording.finish()?;
        template.replay(&bed.tasks, log.clone()).submit()?.wait()?;
        bed.tasks.wait()?;
        log.is(&expected)?;
    }
    Ok(())
}

/// The copies of a replay are expected from its submission on, both ways, and for a while after its end.
pub fn are_expected(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let bulk = bed.overtake.adopt(rig.stream()?, overtake::Priority::LOWEST)?;
    let (host, bytes) = (rig.pinned(BULK_BYTES)?, rig.buffer(BULK_BYTES)?);
    let bulk_goes = |plan: Plan| -> Outcome {
        for up in [true, false] {
            let copy = if up {
                raw::copy_up(&bulk, bytes, &host, BULK_BYTES)?
            } else {
                raw::copy_down(&bulk, &host, bytes, BULK_BYTES)?
            };
            copy.wait()?;
            same(if up { "bulk to the device" } else { "bulk to the host" }, &copy.plan(), &plan)?;
        }
        Ok(())
    };
    let (alone, by_kernel) = (Plan::Native(Reason::Alone), Plan::Kernel { raises: false });
    let template = adds(&bed.kernels.add)?;
    let replay = |after: &Handle| {
        let (source, target) = (rig.pinned(BYTES)?, rig.pinned(BYTES)?);
        let frame = Frame { source, target, device: rig.buffer(BYTES)?, by: 1 };
        Ok::<_, Failure>(template.replay(&bed.tasks, frame).priority(bed::urgent()).after(after).submit()?)
    };
    bulk_goes(alone)?;
    let held = bed.tasks.join("held").held().submit()?;
    let frames = [replay(&held)?, replay(&held)?];
    bulk_goes(by_kernel)?;
    rig.driver().host().sleep(LULL);
    bulk_goes(by_kernel)?;
    held.release()?;
    frames.iter().try_for_each(Handle::wait)?;
    bulk_goes(by_kernel)?;
    rig.driver().host().sleep(LULL);
    bed::eventually(rig, "nothing is expected any more", || bulk_goes(alone).is_ok())
}

/// A pipeline with a known rate expects the copies of its replays itself: behind its end none is expected.
pub fn are_expected_by_a_pipeline(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let bulk = bed.overtake.adopt(rig.stream()?, overtake::Priority::LOWEST)?;
    let (host, bytes, template) = (rig.pinned(BULK_BYTES)?, rig.buffer(BULK_BYTES)?, adds(&bed.kernels.add)?);
    let (period, priority) = (Some(Nanos::from_ms(16)), bed::urgent());
    for (period, plan) in [(period, Plan::Native(Reason::Alone)), (None, Plan::Kernel { raises: false })] {
        let options = PipelineOptions { name: "live".to_owned(), priority, period, ..PipelineOptions::default() };
        let (pipeline, mut producer, mut consumer) = Pipeline::open(&bed.tasks, options, |_| Ok(()))?;
        let mut frame = producer.acquire()?.ok_or_else(|| Failure::new("it keeps every frame"))?;
        let (source, target) = (rig.pinned(BYTES)?, rig.pinned(BYTES)?);
        let arguments = Frame { source, target, device: rig.buffer(BYTES)?, by: 1 };
        frame.replay(template.replay(&bed.tasks, arguments))?;
        frame.commit()?;
        consumer.wait()?.release()?;
        bed.tasks.wait()?;
        drop((producer, consumer, pipeline));
        let copy = raw::copy_up(&bulk, bytes, &host, BULK_BYTES)?;
        copy.wait()?;
        same("bulk behind the pipeline", &copy.plan(), &plan)?;
    }
    Ok(())
}

/// A template with copies that is no chain is a task for each step.
pub fn of_others_have_a_task_for_each_step(rig: &Rig) -> Outcome {
    let bed = bed::open_with(rig, DispatchOptions { tasks_max: 3, ..DispatchOptions::default() })?;
    let mut fork = Recording::<Log>::new();
    let upload = fork.upload("upload", &[], |lane, log: &Log| log.launch("upload")(lane));
    let kernel = fork.kernel("kernel", &[upload], |lane, log: &Log| log.launch("kernel")(lane));
    fork.download("download", &[upload, kernel], |lane, log: &Log| log.launch("download")(lane));
    let chain = fork.finish()?;
    let mut fork = Recording::<Log>::new();
    let upload = fork.upload("upload", &[], |lane, log: &Log| log.launch("upload")(lane));
    fork.kernel("kernel", &[upload], |lane, log: &Log| log.launch("kernel")(lane));
    fork.download("download", &[upload], |lane, log: &Log| log.launch("download")(lane));
    let fork = fork.finish()?;
    let held = bed.tasks.join("held").held().submit()?;
    let full = fork.replay(&bed.tasks, Log::default()).after(&held).submit().expect_err("four tasks");
    ensure!(matches!(full, Error::Refused(Refused::WouldBlock)), "{full}");
    let one = chain.replay(&bed.tasks, Log::default()).after(&held).submit()?;
    held.release()?;
    one.wait().map_err(Failure::from)
}
