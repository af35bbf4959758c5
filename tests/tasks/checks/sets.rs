//! Sets of tasks: starting them, names, groups, failures.

use overtake::task::{Error, Refused, Tasks};

use crate::bed;
use crate::failure::{Outcome, ensure, same};
use crate::log::Log;
use crate::rig::Rig;

/// Tasks of a stopped set wait; those of the other one do not.
pub fn start_and_stop(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (log, other) = (Log::default(), Tasks::new(&bed.dispatcher));
    other.stop();
    let first = other.kernel("first", log.launch("first")).submit()?;
    let second = other.kernel("second", log.launch("second")).after(&first).submit()?;
    bed.tasks.kernel("beside", log.launch("beside")).submit()?.wait()?;
    log.is(&["beside"])?;
    other.start()?;
    second.wait()?;
    log.is(&["beside", "first", "second"])?;
    other.stop();
    let third = other.kernel("third", log.launch("third")).submit()?;
    log.is(&["beside", "first", "second"])?;
    other.start()?;
    third.wait()?;
    log.is(&["beside", "first", "second", "third"])
}

/// A task that others come after before it is submitted (PX-05).
pub fn named(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (log, other) = (Log::default(), Tasks::with_name(&bed.dispatcher, "other"));
    let cloth = bed.tasks.named("cloth")?;
    let after = bed.tasks.host("after", log.function("after")).after(&cloth).submit()?;
    other.kernel("cloth", log.launch("the other cloth")).submit_named()?.wait()?;
    ensure!(!after.is_done(), "it comes after the cloth of its own set");
    bed.tasks.kernel("cloth", log.launch("cloth")).submit_named()?;
    after.wait()?;
    let error = bed.tasks.kernel("cloth", log.launch("again")).submit_named();
    same("a second cloth, now that the first has ended", &error.is_ok(), &true)?;
    bed.tasks.wait()?;
    log.is(&["the other cloth", "cloth", "after", "again"])
}

/// A named task that is never submitted: those after it run (PX-05).
pub fn never_submitted(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let log = Log::default();
    let absent = bed.tasks.named("absent")?;
    let after = bed.tasks.kernel("after", log.launch("after")).after(&absent).submit()?;
    log.is(&[])?;
    absent.release()?;
    after.wait()?;
    absent.wait()?;
    log.is(&["after"])?;
    let twice = bed.tasks.named("twice")?;
    bed.tasks.kernel("twice", log.launch("twice")).held().submit_named()?;
    let error = bed.tasks.kernel("twice", log.launch("no")).submit_named().expect_err("it is there");
    ensure!(matches!(error, Error::Refused(Refused::NameTaken { .. })), "{error}");
    twice.release()?;
    Ok(twice.wait()?)
}

/// A named task behind one that has failed is not run, and neither are those after it.
pub fn named_behind_a_failure(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let log = Log::default();
    let bad = bed.tasks.host("bad", || Err("no file".into())).submit()?;
    ensure!(bad.wait().is_err(), "it fails");
    bed.tasks.wait()?;
    let after = bed.tasks.kernel("after", log.launch("after")).after(&bed.tasks.named("named")?).submit()?;
    let named = bed.tasks.kernel("named", log.launch("named")).after(&bad).submit_named()?;
    for task in [&named, &after] {
        let error = task.wait().err();
        ensure!(matches!(&error, Some(Error::NotRun { fault, .. }) if fault.task == "\"bad\""), "{error:?}");
    }
    log.is(&[])?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// A named task waits for the start of its set if it is submitted while that is stopped, whenever it was named.
pub fn named_and_stopped(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (log, set) = (Log::default(), Tasks::with_name(&bed.dispatcher, "set"));
    let before = set.named("before")?;
    set.stop();
    let stopped = set.named("stopped")?;
    let behind = set.kernel("behind", log.launch("behind")).after(&stopped).submit()?;
    set.kernel("before", log.launch("before")).submit_named()?;
    ensure!(!before.is_launched(), "its set is stopped");
    set.start()?;
    before.wait()?;
    ensure!(!behind.is_launched() && !stopped.is_done(), "one before it has not been submitted");
    set.kernel("stopped", log.launch("stopped")).submit_named()?;
    behind.wait()?;
    log.is(&["before", "stopped", "behind"])
}

/// A task that the program has released while its set was stopped keeps no other one from being started.
pub fn started_beside_one_that_has_ended(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (log, set) = (Log::default(), Tasks::new(&bed.dispatcher));
    set.stop();
    let first = set.kernel("first", log.launch("first")).submit()?;
    let second = set.kernel("second", log.launch("second")).submit()?;
    first.release()?;
    first.wait()?;
    log.is(&["first"])?;
    set.start()?;
    second.wait()?;
    log.is(&["first", "second"])
}

/// The join behind a group ends with the group where it has no task: no later call has to come for that (PX-23).
pub fn an_empty_group_ends_its_joins(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let group = bed.tasks.group()?;
    let (before, behind) = (group.before().clone(), group.behind().clone());
    drop(group);
    ensure!(before.is_done() && behind.is_done(), "nothing is left to be done");
    bed.tasks.wait()?;
    Ok(())
}

/// Tasks of a group are dispatched at its end, between its two joins (PX-12, PX-23).
pub fn groups(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let log = Log::default();
    let group = bed.tasks.group()?;
    let inner = bed.tasks.group()?;
    bed.tasks.kernel("low", log.launch("low")).submit()?;
    bed.tasks.light("before", log.function("before")).after(group.before()).submit()?;
    let behind = bed.tasks.light("behind", log.function("behind")).after(group.behind()).submit()?;
    bed.tasks.kernel("high", log.launch("high")).priority(bed::urgent()).submit()?;
    drop(inner);
    log.is(&[])?;
    drop(group);
    behind.wait()?;
    log.is(&["before", "high", "low", "behind"])
}

/// The first failure of a set is kept, and no other set has it.
pub fn first_failure(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let other = Tasks::new(&bed.dispatcher);
    let first = bed.tasks.host("first", || Err("no file".into())).submit()?;
    let second = bed.tasks.host("second", || Err("no file".into())).after(&first).submit()?;
    other.host("other", || Ok(())).submit()?.wait()?;
    second.wait().expect_err("it is not run");
    bed.tasks.wait()?;
    let failure = bed.tasks.failure().map(|fault| fault.task.clone());
    same("the task that failed first", &failure.as_deref(), &Some("\"first\""))?;
    ensure!(other.failure().is_none(), "{:?}", other.failure());
    Ok(())
}
