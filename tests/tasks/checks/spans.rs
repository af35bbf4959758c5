//! Spans: templates of kernels alone, which are one task in several lanes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use hal::Nanos;
use overtake::dispatch::DispatchOptions;
use overtake::task::{Error, Handle, Kernel, Lane, More, Reason, Recording, Refused, Step, Template};

use crate::bed::{self, Bed};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::log::Log;
use crate::place::Buffer;
use crate::raw;
use crate::rig::Rig;

pub const COLUMNS: usize = 4;
pub const STEPS: usize = 6;
/// So long that a step that does not wait for it comes first.
const SPAN: Nanos = Nanos::from_us(40);

/// The words that a replay works on: one for each column.
pub type Words = (Buffer, bed::Kernels);

/// Columns of steps. Each works on the word that another column had in the step before it, and comes after both: the
/// first step stores a number there, the others store the number of their step, and add that.
pub fn columns() -> Result<Template<Words>, Error> {
    let mut recording = Recording::<Words>::new();
    let mut last: Vec<Step> = Vec::new();
    for step in 0..STEPS {
        let all = (0..COLUMNS).map(|column| {
            let word = ((column + step) % COLUMNS) as u64;
            let before = if step == 0 { vec![] } else { vec![last[column], last[(column + 1) % COLUMNS]] };
            recording.kernel("step", &before, move |lane, (words, kernels)| {
                if (column + step) % 3 == 0 {
                    raw::spin(lane, &kernels.spin, SPAN)?;
                }
                raw::word(lane, &kernels.store, words.at(4 * word), step as u32)?;
                raw::word(lane, &kernels.add, words.at(4 * word), 100 + step as u32)?;
                Ok(More::Done)
            })
        });
        last = all.collect();
    }
    recording.finish()
}

/// The words, when all that was submitted has ended.
pub fn read(rig: &Rig, bed: &Bed, words: Buffer, after: &Handle) -> Result<Vec<u32>, Failure> {
    let target = rig.pinned(4096)?;
    let to = Arc::clone(&target);
    let down = bed.tasks.download("down", move |lane: &mut Lane<'_>| {
        raw::download(lane, &to, words, 4096)?;
        Ok(More::Done)
    });
    down.after(after).submit()?.wait()?;
    Ok((0..COLUMNS as u64).map(|word| target.word32(4 * word).load(Ordering::Acquire)).collect())
}

/// The steps come after each other in all lanes, and tasks behind the replay after all of them.
pub fn keep_the_order(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (template, words) = (columns()?, rig.buffer(4096)?);
    let last = STEPS as u32 - 1;
    for _ in 0..4 {
        let replay = template.replay(&bed.tasks, (words, bed.kernels.clone())).submit()?;
        same("the words", &read(rig, &bed, words, &replay)?, &vec![100 + 2 * last; COLUMNS])?;
    }
    let launches = bed.dispatcher.statistics().launches;
    same("launches", &launches, &(4 * (STEPS * COLUMNS) as u64 + 4))?;
    bed.tasks.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// Each of its lanes waits for the tasks that the replay comes after, also for those in other lanes.
pub fn come_after_others(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let words = rig.buffer(4096)?;
    let mut recording = Recording::<Words>::new();
    // Those in the same lane as one before have another word than that.
    for word in (0..COLUMNS as u64).rev() {
        recording.kernel("add", &[], move |lane, (words, kernels)| {
            raw::word(lane, &kernels.add, words.at(4 * word), 1)?;
            Ok(More::Done)
        });
    }
    let template = recording.finish()?;
    let storing = |word: u64| {
        let kernels = bed.kernels.clone();
        let store = bed.tasks.kernel("store", move |lane: &mut Lane<'_>| {
            raw::spin(lane, &kernels.spin, SPAN)?;
            raw::word(lane, &kernels.store, words.at(4 * word), 7)?;
            Ok(More::Done)
        });
        store.submit()
    };
    let before: Vec<Handle> = (0..COLUMNS as u64).map(storing).collect::<Result<_, _>>()?;
    let mut last: Option<Handle> = None;
    for _ in 0..3 {
        let replay = template.replay(&bed.tasks, (words, bed.kernels.clone()));
        let replay = before.iter().chain(&last).fold(replay, |replay, before| replay.after(before));
        last = Some(replay.submit()?);
    }
    let last = last.expect("three replays");
    same("the words", &read(rig, &bed, words, &last)?, &vec![10; COLUMNS])?;
    bed.tasks.wait().map_err(Failure::from)
}

/// A step fails: the steps after it do not run, the others do, and the error tells of the step.
pub fn failures(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let log = Log::default();
    let mut recording = Recording::<(Log, Arc<()>)>::new();
    let step = |recording: &mut Recording<(Log, Arc<()>)>, name: &'static str, before: &[Step]| {
        recording.kernel(name, before, move |_, (log, _)| {
            log.function(name)()?;
            match name {
                "bad" => Err("a division by 0".into()),
                "worse" => panic!("it is worse"),
                _ => Ok(More::Done),
            }
        })
    };
    let bad = step(&mut recording, "bad", &[]);
    let good = step(&mut recording, "good", &[]);
    let behind = step(&mut recording, "behind both", &[good, bad]);
    step(&mut recording, "behind it", &[behind]);
    step(&mut recording, "worse", &[good]);
    step(&mut recording, "better", &[good]);
    let (template, kept) = (recording.finish()?, Arc::new(()));
    let replay = template.replay(&bed.tasks, (log.clone(), Arc::clone(&kept))).submit()?;
    let after = bed.tasks.join("after").after(&replay).submit()?;
    let error = replay.wait().expect_err("a step fails");
    log.is(&["bad", "good", "worse", "better"])?;
    let Error::NotRun { fault, .. } = &error else { return Err(Failure::new(format_args!("{error}"))) };
    same("the step that failed", &fault.task, &"\"bad\"".to_owned())?;
    ensure!(matches!(&fault.reason, Reason::Returned(told) if told == "a division by 0"), "{error}");
    ensure!(after.wait().is_err(), "it comes after one that has failed");
    bed::eventually(rig, "the arguments are dropped", || Arc::strong_count(&kept) == 1)?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// A replay has the name of its last step, whatever that is. If that step fails the replay has failed; if another one
/// of that name fails it has not been run to its end.
pub fn failures_of_their_name(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    for (name, fails) in [("last", 1), ("the \"last\"", 1), ("last", 0)] {
        let mut recording = Recording::<()>::new();
        let mut before = Vec::new();
        for number in 0..2 {
            let launch =
                move |_: &mut Lane<'_>, &(): &()| if number == fails { Err("no luck".into()) } else { Ok(More::Done) };
            before.push(recording.kernel(name, &before.clone(), launch));
        }
        let error = recording.finish()?.replay(&bed.tasks, ()).submit()?.wait().expect_err("a step fails");
        let fault = error.fault().ok_or_else(|| Failure::new(&error))?;
        same("the step", &fault.task, &format!("\"{name}\""))?;
        same("whether it is the replay", &matches!(error, Error::Failed(_)), &(fails == 1))?;
    }
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// A step in the middle asks for another turn, and gets it in its lane, with the same arguments.
pub fn turns(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let words = rig.buffer(4096)?;
    let mut recording = Recording::<Words>::new();
    let first = [0_u64, 1].map(|word| {
        recording.kernel("store", &[], move |lane, (words, kernels)| {
            raw::spin(lane, &kernels.spin, SPAN)?;
            raw::word(lane, &kernels.store, words.at(4 * word), 5)?;
            Ok(More::Done)
        })
    });
    let thrice = recording.kernel("add", &[first[1], first[0]], |lane, (words, kernels): &Words| {
        raw::word(lane, &kernels.add, words.at(0), 10 * (1 + lane.turn()))?;
        Ok(if lane.turn() < 2 { More::Again } else { More::Done })
    });
    recording.kernel("last", &[thrice], |lane, (words, kernels): &Words| {
        bed::ensure_first_turn(lane)?;
        raw::word(lane, &kernels.add, words.at(4), 1)?;
        Ok(More::Done)
    });
    let template = recording.finish()?;
    let replay = template.replay(&bed.tasks, (words, bed.kernels.clone())).submit()?;
    same("the words", &read(rig, &bed, words, &replay)?[..2].to_vec(), &vec![65, 6])?;
    bed.tasks.wait().map_err(Failure::from)
}

/// An urgent task that comes while the steps are launched goes before the rest of them, and one of their priority goes
/// behind.
pub fn leave_urgent_tasks_between(rig: &Rig) -> Outcome {
    for (priority, expected) in [
        (bed::urgent(), ["first", "urgent", "second", "third"]),
        (overtake::Priority::LOWEST, ["first", "second", "third", "urgent"]),
    ] {
        let bed = bed::open(rig)?;
        let (log, tasks) = (Log::default(), bed.tasks.clone());
        let mut recording = Recording::<Log>::new();
        let first = recording.kernel("first", &[], move |_, log: &Log| {
            log.function("first")()?;
            tasks.kernel("urgent", log.launch("urgent")).priority(priority).submit()?;
            Ok(More::Done)
        });
        let second = recording.kernel("second", &[first], |_, log: &Log| {
            log.function("second")()?;
            Ok(More::Done)
        });
        recording.kernel("third", &[second], |_, log: &Log| {
            log.function("third")()?;
            Ok(More::Done)
        });
        let template = recording.finish()?;
        template.replay(&bed.tasks, log.clone()).submit()?.wait()?;
        bed.tasks.wait()?;
        log.is(&expected)?;
        drop(template);
    }
    Ok(())
}

/// All that comes later waits for a point in the middle: other tasks, and steps in other lanes. The point waits for
/// steps in other lanes.
pub fn have_sync_points(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let words = rig.buffer(4096)?;
    let mut recording = Recording::<Words>::new();
    for word in 0..3_u64 {
        recording.kernel("store", &[], move |lane, (words, kernels): &Words| {
            raw::spin(lane, &kernels.spin, SPAN)?;
            raw::word(lane, &kernels.store, words.at(4 * word), 5)?;
            if word == 2 {
                lane.sync_point()?;
            }
            Ok(More::Done)
        });
    }
    for word in [0_u64, 1] {
        recording.kernel("add", &[], move |lane, (words, kernels): &Words| {
            raw::word(lane, &kernels.add, words.at(4 * (2 - word)), 1)?;
            Ok(More::Done)
        });
    }
    let template = recording.finish()?;
    let replay = template.replay(&bed.tasks, (words, bed.kernels.clone())).submit()?;
    let kernels = bed.kernels.clone();
    let later = bed.tasks.kernel("later", move |lane: &mut Lane<'_>| {
        (0..3).try_for_each(|word| raw::word(lane, &kernels.add, words.at(4 * word), 10))?;
        Ok(More::Done)
    });
    let later = later.submit()?;
    replay.wait()?;
    same("the words", &read(rig, &bed, words, &later)?[..3].to_vec(), &vec![15, 16, 16])?;
    bed.tasks.wait().map_err(Failure::from)
}

/// A replay has one place in the dispatcher, and its end is that of all its steps.
pub fn count_as_one(rig: &Rig) -> Outcome {
    let bed = bed::open_with(rig, DispatchOptions { tasks_max: 2, ..DispatchOptions::default() })?;
    let (held, runs) = (bed.tasks.join("held").held().submit()?, Arc::<AtomicU32>::default());
    let mut recording = Recording::<Arc<AtomicU32>>::new();
    let spin: Kernel = bed.kernels.spin.clone();
    for _ in 0..10 {
        let spin = spin.clone();
        recording.kernel("step", &[], move |lane, runs| {
            runs.fetch_add(1, Ordering::AcqRel);
            raw::spin(lane, &spin, SPAN)?;
            Ok(More::Done)
        });
    }
    let template = recording.finish()?;
    same("tasks of the template, with its end", &template.tasks(), &11)?;
    let replay = || template.replay(&bed.tasks, Arc::clone(&runs)).after(&held);
    let first = replay().submit()?;
    let full = replay().submit().expect_err("the dispatcher is full");
    ensure!(matches!(full, Error::Refused(Refused::WouldBlock)), "{full}");
    ensure!(first.name().contains("the end of a template"), "{}", first.name());
    held.release()?;
    first.wait()?;
    same("steps that have run", &runs.load(Ordering::Acquire), &10)?;
    same("references to the arguments", &Arc::strong_count(&runs), &1)
        .or_else(|_| bed::eventually(rig, "the arguments are dropped", || Arc::strong_count(&runs) == 1))
}
