//! Templates: recorded once, replayed with other arguments and priorities.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use overtake::dispatch::DispatchOptions;
use overtake::task::{Error, Handle, Kernel, More, Reason, Recording, Refused, Tasks, Template};

use crate::bed::{self, Bed};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::log::Log;
use crate::memory::Pinned;
use crate::place::Buffer;
use crate::raw;
use crate::rig::Rig;

const BYTES: u64 = 4096;

/// The arguments of one replay of `words`.
struct Frame {
    source: Arc<Pinned>,
    target: Arc<Pinned>,
    device: Buffer,
    by: u32,
    seen: Arc<AtomicU32>,
}

/// A word goes up, two kernels add to it, it comes back, and a function of the host reads it.
fn words(add: &Kernel) -> Result<Template<Frame>, Error> {
    let mut recording = Recording::<Frame>::new();
    let upload = recording.upload("upload", &[], |lane, frame| {
        raw::upload(lane, frame.device, &frame.source, BYTES)?;
        Ok(More::Done)
    });
    let adds = [upload, upload].map(|upload| {
        let add = add.clone();
        recording.kernel("add", &[upload], move |lane, frame| {
            raw::word(lane, &add, frame.device.at(0), frame.by)?;
            Ok(More::Done)
        })
    });
    let download = recording.download("download", &adds, |lane, frame| {
        raw::download(lane, &frame.target, frame.device, BYTES)?;
        Ok(More::Done)
    });
    recording.host("read", &[download], |frame| {
        frame.seen.fetch_add(frame.target.word32(0).load(Ordering::Acquire), Ordering::AcqRel);
        Ok(())
    });
    recording.finish()
}

/// Each replay has its own bytes and its own numbers; those in a row use the same memory.
pub fn arguments(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (template, seen) = (words(&bed.kernels.add)?, Arc::<AtomicU32>::default());
    same("tasks of the template", &template.tasks(), &5)?;
    let mut expected = 0;
    for chain in 0..4 {
        let (target, device) = (rig.pinned(BYTES)?, rig.buffer(BYTES)?);
        let mut last: Option<Handle> = None;
        for number in 0..8 {
            let source = rig.pinned(BYTES)?;
            source.word32(0).store(1000 * chain + number, Ordering::Release);
            expected += 1000 * chain + number + 2 * (number + 1);
            let (target, seen) = (Arc::clone(&target), Arc::clone(&seen));
            let frame = Frame { source, target, device, by: number + 1, seen };
            let replay = template.replay(&bed.tasks, frame);
            let replay = if let Some(last) = &last { replay.after(last) } else { replay };
            last = Some(replay.submit()?);
        }
    }
    bed.tasks.wait()?;
    same("the sum of all words", &seen.load(Ordering::Acquire), &expected)?;
    // The thread that ends a replay drops its arguments when it has told of the end.
    bed::eventually(rig, "the arguments are dropped", || Arc::strong_count(&seen) == 1)?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// The names that the two kernels of a replay note.
type Notes = (Log, [&'static str; 2]);

/// A kernel, and behind it another one and a light function, which have no task behind them.
fn noting() -> Result<Template<Notes>, Error> {
    let mut recording = Recording::<Notes>::new();
    let kernel = recording.kernel("kernel", &[], |_, (log, names)| log.function(names[0])().map(|()| More::Done));
    recording.kernel("behind", &[kernel], |_, (log, names)| log.function(names[1])().map(|()| More::Done));
    recording.light("light", &[kernel], |_| Ok(()));
    recording.finish()
}

/// A replay has its priority, and waits in a set that is stopped.
pub fn priorities(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (log, template) = (Log::default(), noting()?);
    same("with the end that joins its tasks", &template.tasks(), &4)?;
    let notes = |names| (log.clone(), names);
    let group = bed.tasks.group()?;
    let bulk = template.replay(&bed.tasks, notes(["bulk", "bulk too"])).submit()?;
    let urgent = template.replay(&bed.tasks, notes(["urgent", "urgent too"])).priority(bed::urgent()).submit()?;
    log.is(&[])?;
    drop(group);
    urgent.wait()?;
    bulk.wait()?;
    log.is(&["urgent", "urgent too", "bulk", "bulk too"])?;
    let set = Tasks::new(&bed.dispatcher);
    set.stop();
    let waits = template.replay(&set, notes(["later", "last"])).submit()?;
    log.is(&["urgent", "urgent too", "bulk", "bulk too"])?;
    ensure!(!waits.is_done(), "its set is stopped");
    set.start()?;
    set.wait()?;
    ensure!(waits.is_done(), "its set has no other task");
    log.is(&["urgent", "urgent too", "bulk", "bulk too", "later", "last"])?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// A step fails with the arguments of one replay: that one ends with it, and others run.
pub fn failures(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let runs = Arc::<AtomicU32>::default();
    let mut recording = Recording::<u32>::new();
    let divide = recording.kernel("divide", &[], |_, by| match by {
        0 => Err("a division by 0".into()),
        _ => Ok(More::Done),
    });
    let counted = Arc::clone(&runs);
    recording.host("count", &[divide], move |by| {
        counted.fetch_add(*by, Ordering::AcqRel);
        Ok(())
    });
    let template = recording.finish()?;
    let bad = template.replay(&bed.tasks, 0).submit()?;
    let good = template.replay(&bed.tasks, 7).submit()?;
    let behind = template.replay(&bed.tasks, 100).after(&bad).submit()?;
    good.wait()?;
    let error = bad.wait().expect_err("its first step fails");
    let Error::NotRun { task, fault, .. } = &error else { return Err(Failure::new(format_args!("{error}"))) };
    same("the end of the replay", task, &"\"count\"".to_owned())?;
    ensure!(matches!(&fault.reason, Reason::Returned(told) if told == "a division by 0"), "{error}");
    ensure!(behind.wait().is_err(), "it comes after one that has failed");
    let late = template.replay(&bed.tasks, 1000).after(&bad).submit()?;
    let error = late.wait().expect_err("it comes after one that failed long ago");
    ensure!(error.to_string().contains("a division by 0"), "{error}");
    same("what has run", &runs.load(Ordering::Acquire), &7)?;
    bed.tasks.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// Replays that are refused leave nothing behind, their arguments included.
pub fn refused(rig: &Rig) -> Outcome {
    let bed = bed::open_with(rig, DispatchOptions { tasks_max: 4, ..DispatchOptions::default() })?;
    let mut recording = Recording::<Arc<()>>::new();
    let first = recording.kernel("first", &[], |_, _| Ok(More::Done));
    recording.light("second", &[first], |_| Ok(()));
    let template = recording.finish()?;
    let (held, arguments) = (bed.tasks.join("held").held().submit()?, Arc::new(()));
    let replay = || template.replay(&bed.tasks, Arc::clone(&arguments)).after(&held);
    let waits = replay().submit()?;
    let full = replay().submit().expect_err("the dispatcher is full");
    ensure!(matches!(full, Error::Refused(Refused::WouldBlock)), "{full}");
    let wrong = overtake::Priority::new(9).expect("not 0");
    let told = template.replay(&bed.tasks, Arc::clone(&arguments)).priority(wrong).submit();
    ensure!(matches!(told, Err(Error::Refused(Refused::Priority { .. }))), "{told:?}");
    same("arguments that are kept", &Arc::strong_count(&arguments), &2)?;
    held.release()?;
    waits.wait()?;
    bed.tasks.wait()?;
    same("arguments that are kept", &Arc::strong_count(&arguments), &1)?;
    others(&bed, &template, &waits)
}

/// Tasks of another dispatcher, and steps of another recording.
fn others(bed: &Bed, template: &Template<Arc<()>>, waits: &Handle) -> Outcome {
    let other = overtake::dispatch::Dispatcher::open(&bed.overtake, DispatchOptions::default())?;
    let told = template.replay(&Tasks::new(&other), Arc::default()).after(waits).submit();
    ensure!(matches!(told, Err(Error::Foreign { .. })), "{told:?}");
    let mut long = Recording::<Arc<()>>::new();
    let steps = [(); 3].map(|()| long.light("step", &[], |_| Ok(())));
    let mut short = Recording::<Arc<()>>::new();
    short.light("alone", &steps[2..], |_| Ok(()));
    let told = short.finish().err().map(|error| error.to_string()).unwrap_or_default();
    ensure!(told.contains("task \"alone\" of a template comes after step 2, which is none"), "{told}");
    let none = Recording::<()>::new().finish()?;
    none.replay(&bed.tasks, ()).submit()?.wait()?;
    same("a template of no tasks has an end", &none.tasks(), &1)
}

/// A step that asks for another turn gets it, with the same arguments.
pub fn turns(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let mut recording = Recording::<Arc<AtomicU32>>::new();
    let step = recording.kernel("three", &[], |lane, turns| {
        turns.fetch_add(1, Ordering::AcqRel);
        Ok(if lane.turn() < 2 { More::Again } else { More::Done })
    });
    recording.priority(step, bed::urgent());
    let (template, turns) = (recording.finish()?, Arc::default());
    template.replay(&bed.tasks, Arc::clone(&turns)).submit()?.wait()?;
    template.replay(&bed.tasks, Arc::clone(&turns)).submit()?.wait()?;
    same("turns", &turns.load(Ordering::Acquire), &6)
}
