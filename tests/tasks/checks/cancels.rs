//! Tasks that are cancelled: those that have not started do not run, nor do those after them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use overtake::task::{Error, Handle, Lane, More, Reason, Recording};

use crate::bed;
use crate::failure::{Outcome, ensure, same};
use crate::log::Log;
use crate::rig::Rig;

/// Whether a task was not run because this one was cancelled.
fn is_left_out(task: &Handle, cancelled: &str) -> bool {
    let is_it = |fault: &overtake::task::Fault| {
        fault.task == format!("\"{cancelled}\"") && matches!(fault.reason, Reason::Cancelled)
    };
    matches!(task.wait(), Err(Error::NotRun { fault, .. }) if is_it(&fault))
}

/// Those that wait for another task or for their start, and those that are ready.
pub fn before_the_start(rig: &Rig) -> Outcome {
    let (bed, log) = (bed::open(rig)?, Log::default());
    let first = bed.tasks.host("first", log.function("first")).held().submit()?;
    let waits = bed.tasks.kernel("waits", log.launch("waits")).after(&first).submit()?;
    let behind = bed.tasks.host("behind", log.function("behind")).after([&waits, &first]).submit()?;
    let held = bed.tasks.light("held", log.function("held")).held().submit()?;
    let group = bed.tasks.group()?;
    let ready = bed.tasks.kernel("ready", log.launch("ready")).submit()?;
    for task in [&waits, &held, &ready] {
        ensure!(task.cancel()?, "{task:?} has not started");
        ensure!(!task.cancel()?, "{task:?} has ended");
    }
    drop(group);
    first.release()?;
    first.wait()?;
    ensure!(is_left_out(&waits, "waits") && is_left_out(&behind, "waits"), "{:?} {:?}", waits.wait(), behind.wait());
    ensure!(is_left_out(&held, "held") && is_left_out(&ready, "ready"), "{:?} {:?}", held.wait(), ready.wait());
    let said = waits.wait().err().map(|error| error.to_string());
    same("the error", &said.as_deref(), &Some("task \"waits\" was not run: it was cancelled"))?;
    let said = behind.wait().err().map(|error| error.to_string());
    same("the error behind it", &said.as_deref(), &Some("task \"behind\" was not run: task \"waits\" was cancelled"))?;
    bed.tasks.wait()?;
    ensure!(bed.tasks.failure().is_none(), "no task of the set has failed: {:?}", bed.tasks.failure());
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)?;
    log.is(&["first"])
}

/// They go on; so do joins, which have no work, and the parts of other work.
pub fn behind_the_start(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (is_inside, may_end) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
    let (inside, end) = (Arc::clone(&is_inside), Arc::clone(&may_end));
    let host = rig.shared_driver().clone();
    let runs = bed.tasks.host("runs", move || {
        inside.store(true, Ordering::Release);
        host.host().wait_until(None, &mut || end.load(Ordering::Acquire));
        Ok(())
    });
    let runs = runs.submit()?;
    bed::eventually(rig, "the function runs", || is_inside.load(Ordering::Acquire))?;
    let join = bed.tasks.join("join").after(&runs).submit()?;
    let named = bed.tasks.named("named")?;
    // Its first step waits for that function, and its last one for the first.
    let mut recording = Recording::<()>::new();
    let [one, other] = ["one", "other"].map(|name| recording.light(name, &[], |()| Ok(())));
    recording.kernel("last", &[one, other], |_: &mut Lane<'_>, ()| Ok(More::Done));
    recording.host("end", &[one, other], |()| Ok(()));
    let replay = recording.finish()?.replay(&bed.tasks, ()).after(&runs).submit()?;
    for task in [&runs, &join, &named, &replay] {
        ensure!(!task.cancel()?, "{task:?} has started, or has no work of its own");
    }
    may_end.store(true, Ordering::Release);
    named.release()?;
    [&runs, &join, &named, &replay].into_iter().try_for_each(Handle::wait)?;
    ensure!(!runs.cancel()?, "it has ended");
    Ok(())
}

/// The name of one that was cancelled is free, though a task before it runs still.
pub fn of_named_tasks(rig: &Rig) -> Outcome {
    let (bed, log) = (bed::open(rig)?, Log::default());
    let first = bed.tasks.kernel("first", log.launch("first")).held().submit()?;
    let cancelled = bed.tasks.host("named", log.function("cancelled")).after(&first).submit_named()?;
    ensure!(cancelled.cancel()? && is_left_out(&cancelled, "named"), "{:?}", cancelled.wait());
    let behind = bed.tasks.host("behind", log.function("behind")).after(&bed.tasks.named("named")?).submit()?;
    let again = bed.tasks.host("named", log.function("again")).submit_named()?;
    again.wait()?;
    behind.wait()?;
    first.release()?;
    bed.tasks.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)?;
    log.is(&["again", "behind", "first"])
}
