//! Ranks: the order of ready tasks by a policy of the user's.

use std::sync::{Arc, Mutex, OnceLock};

use hal::locks::lock;
use overtake::dispatch::{Candidate, DispatchOptions, Dispatcher};
use overtake::task::{Handle, Lane, Order, Recording, Tasks};

use crate::bed;
use crate::failure::{Outcome, ensure, same};
use crate::log::Log;
use crate::rig::Rig;

/// The tasks that a policy was asked about: name, depth, priority.
type Asked = Arc<Mutex<Vec<(String, u32, u8)>>>;

const ONE_LANE: fn() -> DispatchOptions = || DispatchOptions { lanes: 1, groups: 1, ..DispatchOptions::default() };

/// Of tasks that are ready the most urgent is first, then that of the highest rank, of any kind.
pub fn decide(rig: &Rig) -> Outcome {
    let rank = |name: &str| name.bytes().filter(u8::is_ascii_digit).fold(0, |sum, digit| 10 * sum + u32::from(digit));
    let (log, bed) = (Log::default(), bed::open_ranked(rig, ONE_LANE(), move |task| rank(task.name))?);
    let group = bed.tasks.group()?;
    for name in ["a1", "b3", "c"] {
        bed.tasks.kernel(name, log.launch(name)).submit()?;
    }
    bed.tasks.download("d2", log.launch("d2")).submit()?;
    bed.tasks.upload("e3", log.turns("e3", 2)).submit()?;
    bed.tasks.kernel("urgent", log.launch("urgent")).priority(bed::urgent()).submit()?;
    let behind = bed.tasks.light("behind", log.function("behind")).after(group.behind()).submit()?;
    drop(group);
    behind.wait()?;
    log.is(&["urgent", "b3", "e30", "e31", "d2", "a1", "c", "behind"])
}

/// The policy is told how many tasks are in the chain before each, named ones and functions of the host included, and
/// is not asked about tasks without work.
pub fn are_told_depth(rig: &Rig) -> Outcome {
    let (asked, seen) = (Asked::default(), Asked::default());
    let note = Arc::clone(&asked);
    let policy = move |task: &Candidate<'_>| {
        lock(&note).push((task.name.to_owned(), task.depth, task.priority.get()));
        0
    };
    let (bed, log) = (bed::open_ranked(rig, ONE_LANE(), policy)?, Log::default());
    let first = bed.tasks.kernel("first", log.launch("first")).held().submit()?;
    let beside = bed.tasks.host("beside", log.function("beside")).held().submit()?;
    let second = bed.tasks.upload("second", log.launch("second")).after(&first).submit()?;
    let join = bed.tasks.join("join").after(&second).after(&beside).submit()?;
    let third = bed.tasks.kernel("third", log.launch("third")).after(&join).priority(bed::urgent());
    let third = third.after(&beside).submit_named()?;
    [&first, &beside].into_iter().try_for_each(Handle::release)?;
    third.wait()?;
    let row = |name: &str, depth, priority| (name.to_owned(), depth, priority);
    lock(&seen).extend([row("first", 0, 1), row("beside", 0, 1), row("second", 1, 1), row("third", 3, 8)]);
    same("tasks, their depths and priorities", &*lock(&asked), &*lock(&seen))
}

/// The tasks of a replay are ranked one by one, with the depths that they have in it and behind others.
pub fn of_templates(rig: &Rig) -> Outcome {
    let asked = Asked::default();
    let note = Arc::clone(&asked);
    let policy = move |task: &Candidate<'_>| {
        lock(&note).push((task.name.to_owned(), task.depth, task.priority.get()));
        u32::from(task.name == "right") + task.depth
    };
    let (bed, log) = (bed::open_ranked(rig, ONE_LANE(), policy)?, Log::default());
    let mut recording = Recording::<Log>::new();
    let launch = |name: &'static str| move |lane: &mut Lane<'_>, log: &Log| log.launch(name)(lane);
    let top = recording.kernel("top", &[], launch("top"));
    let sides = [recording.kernel("left", &[top], launch("left")), recording.kernel("right", &[top], launch("right"))];
    recording.kernel("last", &sides, launch("last"));
    let template = recording.finish()?;
    let before = bed.tasks.kernel("before", Log::default().launch("before")).held().submit()?;
    let replay = template.replay(&bed.tasks, log.clone()).after(&before).submit()?;
    before.release()?;
    replay.wait()?;
    log.is(&["top", "right", "left", "last"])?;
    let rows: Vec<(String, u32)> = lock(&asked).iter().map(|(name, depth, _)| (name.clone(), *depth)).collect();
    let expected = [("before", 0), ("top", 1), ("left", 2), ("right", 2), ("last", 3)];
    same("depths", &rows, &expected.map(|(name, depth)| (name.to_owned(), depth)).to_vec())
}

/// No lock is held while the policy is asked: it may submit tasks itself, and panic.
pub fn policies_may_use_the_dispatcher(rig: &Rig) -> Outcome {
    let (tasks, log) = (Arc::new(OnceLock::<Tasks>::new()), Log::default());
    let (own, other) = (Arc::clone(&tasks), log.clone());
    let policy = move |task: &Candidate<'_>| {
        assert_ne!(task.name, "bad", "the policy panics");
        if let (Some(tasks), "outer") = (own.get(), task.name) {
            let inner = tasks.light("inner", other.function("inner")).submit().expect("it is submitted");
            inner.wait().expect("it runs");
        }
        0
    };
    let bed = bed::open_ranked(rig, ONE_LANE(), policy)?;
    let _ = tasks.set(bed.tasks.clone());
    bed.tasks.light("outer", log.function("outer")).submit()?.wait()?;
    let bad = || bed.tasks.light("bad", || Ok(())).submit().map(drop);
    ensure!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(bad)).is_err(), "the panic comes out of `submit`");
    bed.tasks.light("next", log.function("next")).submit()?.wait()?;
    log.is(&["inner", "outer", "next"])
}

/// The order of ranks is refused without a policy.
pub fn need_a_policy(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let options = DispatchOptions { order: Order::Ranked, ..DispatchOptions::default() };
    let refused = Dispatcher::open(&bed.overtake, options).map(drop).expect_err("there is no policy");
    ensure!(refused.to_string().contains("open it by `open_ranked`"), "{refused}");
    Ok(())
}
