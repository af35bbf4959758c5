//! Loops: replays until a value on the host ends them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use overtake::dispatch::DispatchOptions;
use overtake::task::{Error, Handle, More, Recording, Template};

use crate::bed;
use crate::failure::{Failure, Outcome, ensure, same};
use crate::memory::Pinned;
use crate::place::Buffer;
use crate::raw;
use crate::rig::Rig;

const BYTES: u64 = 4096;

/// The arguments of a replay.
struct Frame {
    by: u32,
    device: Buffer,
    seen: Arc<Pinned>,
    /// The replay whose function of the host fails, counted from 1.
    fails: Option<u32>,
}

/// Adds to a word on the device, and brings it to the host.
fn adds(bed: &bed::Bed) -> Result<Template<Frame>, Error> {
    let mut recording = Recording::<Frame>::new();
    let add = bed.kernels.add.clone();
    let add = recording.kernel("add", &[], move |lane, frame| {
        raw::word(lane, &add, frame.device.at(0), frame.by)?;
        Ok(More::Done)
    });
    let down = recording.download("down", &[add], |lane, frame| {
        raw::download(lane, &frame.seen, frame.device, BYTES)?;
        Ok(More::Done)
    });
    recording.host("look", &[down], |frame| if frame.fails == Some(frame.by) { Err("no look".into()) } else { Ok(()) });
    recording.finish()
}

/// A loop that adds 1, 2, 3 and so on until the word on the host is as large as this, or a round fails. It counts the
/// calls of the function that asks.
fn run(rig: &Rig, until: u32, fails: Option<u32>) -> Result<(Result<(), Error>, u32, u32), Failure> {
    let bed = bed::open(rig)?;
    let (template, calls) = (adds(&bed)?, Arc::<AtomicU32>::default());
    let (device, seen) = (rig.buffer_of(&[0; BYTES as usize])?, rig.pinned(BYTES)?);
    let (counted, word) = (Arc::clone(&calls), Arc::clone(&seen));
    let held = bed.tasks.join("before").held().submit()?;
    let repeat = template.repeat(&bed.tasks, move || {
        let by = counted.fetch_add(1, Ordering::AcqRel) + 1;
        let is_over = word.word32(0).load(Ordering::Acquire) >= until;
        Ok((!is_over).then(|| Frame { by, device, seen: Arc::clone(&word), fails }))
    });
    let end = repeat.priority(bed::urgent()).after(&held).submit()?;
    let behind = bed.tasks.light("behind", || Ok(())).after(&end).submit()?;
    same("calls before it may begin", &calls.load(Ordering::Acquire), &0)?;
    held.release()?;
    let told = end.wait();
    same("behind it", &behind.wait().is_ok(), &told.is_ok())?;
    bed.tasks.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)?;
    Ok((told, calls.load(Ordering::Acquire), seen.word32(0).load(Ordering::Acquire)))
}

/// It ends by the word that the device has brought to the host: 1 + 2 + 3 + 4 is enough.
pub fn by_a_value(rig: &Rig) -> Outcome {
    let (told, calls, word) = run(rig, 10, None)?;
    told?;
    same("calls and the word", &(calls, word), &(5, 10))
}

/// It may end before the first replay.
pub fn of_no_round(rig: &Rig) -> Outcome {
    let (told, calls, word) = run(rig, 0, None)?;
    told?;
    same("calls and the word", &(calls, word), &(1, 0))
}

/// A replay that fails ends it, and the function is not asked again.
pub fn of_a_replay_that_fails(rig: &Rig) -> Outcome {
    let (told, calls, _) = run(rig, 100, Some(3))?;
    let error = told.expect_err("the third replay fails");
    ensure!(error.to_string().contains("task \"look\" failed: no look"), "{error}");
    same("calls", &calls, &3)
}

/// So does the function, by an error or a panic; the replays before it have run.
pub fn that_asks_in_vain(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let mut recording = Recording::<Arc<AtomicU32>>::new();
    recording.light("count", &[], |count| {
        count.fetch_add(1, Ordering::AcqRel);
        Ok(())
    });
    let template = recording.finish()?;
    for (panics, text) in [(false, "no more"), (true, "it panicked: it is too much")] {
        let count = Arc::<AtomicU32>::default();
        let own = Arc::clone(&count);
        let next = move || match own.load(Ordering::Acquire) {
            3 if panics => std::panic::resume_unwind(Box::new("it is too much")),
            3 => Err("no more".into()),
            _ => Ok(Some(Arc::clone(&own))),
        };
        let end: Handle = template.repeat(&bed.tasks, next).submit()?;
        let error = end.wait().expect_err("the function fails");
        ensure!(error.to_string().contains("the next of a loop") && error.to_string().contains(text), "{error}");
        same("rounds", &count.load(Ordering::Acquire), &3)?;
    }
    bed.tasks.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// A loop behind a task that fails has that failure, whether it is there when the loop is submitted or comes later.
pub fn behind_a_failure(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let template = adds(&bed)?;
    let fails = |name| bed.tasks.light(name, || Err("no picture".into())).held().submit();
    for is_early in [true, false] {
        let bad = fails("bad")?;
        if is_early {
            bad.release()?;
            ensure!(bad.wait().is_err(), "it fails");
        }
        let told = template.repeat(&bed.tasks, || Ok(None)).after(&bad).submit();
        if !is_early {
            bad.release()?;
        }
        let error = told.and_then(|end| end.wait()).expect_err("the task before it fails").to_string();
        ensure!(error.contains("task \"bad\" failed: no picture"), "{error}");
    }
    Ok(bed.tasks.wait()?)
}

/// Without room for the order of its rounds, a loop ends with that error, at once or in a later round, and none of its
/// tasks stays. So many orders have room when the first round is submitted, or when it asks for the next one.
pub fn without_room_for_an_order(rig: &Rig) -> Outcome {
    for (is_first, spare) in [(true, 0), (true, 1)].into_iter().chain((0..9).map(|spare| (false, spare))) {
        let bed = bed::open_with(rig, DispatchOptions { tasks_max: 16, ..DispatchOptions::default() })?;
        let template = adds(&bed)?;
        let (device, seen) = (rig.buffer_of(&[0; BYTES as usize])?, rig.pinned(BYTES)?);
        let (first, then) = (bed.tasks.join("a").held().submit()?, bed.tasks.join("b").held().submit()?);
        let (before, behind) = (first.clone(), then.clone());
        // A task has room for four, and the order of the first round is there when it asks.
        let fill = move |used: u32| (used..64 - spare).try_for_each(|_| before.precede(&behind));
        if is_first {
            fill(0)?;
        }
        let calls = Arc::<AtomicU32>::default();
        let counted = Arc::clone(&calls);
        let next = move || {
            let call = counted.fetch_add(1, Ordering::AcqRel);
            if call == 0 && !is_first {
                fill(1)?;
            }
            Ok((call < 2).then(|| Frame { by: 1, device, seen: Arc::clone(&seen), fails: None }))
        };
        let told = template.repeat(&bed.tasks, next).submit().and_then(|end| end.wait_for(Duration::from_secs(20)));
        match &told {
            Ok(Some(())) => ensure!(spare > 0, "there is no room for the order"),
            Ok(None) => return Err(Failure::new(format_args!("{spare} spare: it has not ended"))),
            Err(error) => ensure!(error.to_string().contains("the graph is full"), "{error}"),
        }
        same("calls without room for the first", &(calls.load(Ordering::Acquire) == 0), &(is_first && spare == 0))?;
        first.release()?;
        then.release()?;
        bed.tasks.wait()?;
        same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)?;
    }
    Ok(())
}
