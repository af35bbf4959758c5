//! The order of tasks: edges, references, priorities.

use std::sync::Arc;
use std::time::Duration;

use hal::Nanos;
use overtake::Priority;
use overtake::dispatch::DispatchOptions;
use overtake::task::{Error, Handle, Lane, More, Order, Refused};

use crate::bed::{self, Bed};
use crate::failure::{Outcome, ensure, same};
use crate::log::Log;
use crate::raw;
use crate::rig::Rig;

/// A kernel, a function and a kernel: the second kernel sees the word of the first, also if the function does not
/// touch the device.
pub fn through_the_host(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let word = rig.buffer_of(&[0; 64])?;
    let (add, spin, store) = (bed.kernels.add.clone(), bed.kernels.spin.clone(), bed.kernels.store.clone());
    let first = bed.tasks.kernel("store", move |lane: &mut Lane<'_>| {
        raw::spin(lane, &spin, Nanos::from_us(400))?;
        raw::word(lane, &store, word.at(0), 5)?;
        Ok(More::Done)
    });
    let first = first.submit()?;
    let between = bed.tasks.host("between", || Ok(())).after(&first).submit()?;
    let join = bed.tasks.join("join").after(&between).submit()?;
    let last = bed.tasks.kernel("add", move |lane: &mut Lane<'_>| {
        raw::word(lane, &add, word.at(0), 2)?;
        Ok(More::Done)
    });
    last.after(&join).submit()?.wait()?;
    let stream = rig.stream()?;
    same("the word", &rig.download(word, stream)?[0], &7)
}

/// A wait for a time ends with it, and leaves the task and its set as they are. One that ends before waits no longer.
pub fn waits_end_with_their_time(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (spin, host) = (bed.kernels.spin.clone(), rig.driver().host());
    let held = bed.tasks.kernel("spin", move |lane: &mut Lane<'_>| {
        raw::spin(lane, &spin, Nanos::from_us(300))?;
        Ok(More::Done)
    });
    let held = held.held().submit()?;
    let start = host.now();
    same("the wait for a task", &held.wait_for(Duration::from_micros(200))?, &None)?;
    same("the wait for a set", &bed.tasks.wait_for(Duration::from_micros(200))?, &None)?;
    let waited = host.now().since(start);
    ensure!(waited >= Nanos::from_us(400), "two waits of 200 us took {waited}");
    held.release()?;
    same("the wait for a task that runs", &held.wait_for(Duration::from_secs(50))?, &Some(()))?;
    same("the wait for a set without tasks", &bed.tasks.wait_for(Duration::MAX)?, &Some(()))?;
    same("the wait for a task that has ended", &held.wait_for(Duration::ZERO)?, &Some(()))?;
    let fails = bed.tasks.host("fails", || Err("the file is empty".into())).submit()?;
    let failed = fails.wait_for(Duration::from_secs(50));
    ensure!(matches!(failed, Err(Error::Failed(_))), "a failed task gives {failed:?}");
    Ok(())
}

/// A task that is started by another one, from inside its launch, runs when that one has completed (PX-19).
pub fn completes(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (word, back) = (rig.buffer_of(&[0; 64])?, rig.pinned_of(&[0; 64])?);
    let seen = Arc::clone(&back);
    let reader = bed.tasks.host("read", move || match seen.read(0, 1)[0] {
        9 => Ok(()),
        other => Err(format!("it ran before the copy: {other}").into()),
    });
    let reader = reader.held().submit()?;
    let (store, spin, other) = (bed.kernels.store.clone(), bed.kernels.spin.clone(), reader.clone());
    let task = bed.tasks.kernel("launch", move |lane: &mut Lane<'_>| {
        raw::spin(lane, &spin, Nanos::from_us(300))?;
        raw::word(lane, &store, word.at(0), 9)?;
        raw::download(lane, &back, word, 64)?;
        lane.completes(&other)?;
        Ok(More::Done)
    });
    let task = task.submit()?;
    reader.release()?;
    reader.wait()?;
    Ok(task.wait()?)
}

/// A completion task starts when the task before it has been launched, which may be long before it is complete (PX-07).
pub fn after_launch(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (gate, log) = (rig.new_gate(), Log::default());
    let wait = gate.wait();
    let task = bed.tasks.kernel("held up", move |lane: &mut Lane<'_>| {
        lane.driver().mem_op(lane.stream(), wait)?;
        Ok(More::Done)
    });
    let task = task.submit()?;
    ensure!(task.is_launched() && !task.is_done(), "the device stands at the gate");
    let soon = bed.tasks.host("soon", log.function("soon")).after_launch(&task).submit()?;
    let late = bed.tasks.host("late", log.function("late")).after(&task).submit()?;
    bed::eventually(rig, "the completion task runs", || soon.is_launched())?;
    log.is(&["soon"])?;
    gate.open();
    late.wait()?;
    soon.wait()?;
    log.is(&["soon", "late"])?;
    // A task that has ended is no obstacle.
    bed.tasks.host("after", || Ok(())).after_launch(&task).submit()?.wait()?;
    Ok(())
}

/// A task behind the launch of one that fails before it is not run, whenever it is submitted.
pub fn after_the_launch_of_a_failure(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let log = Log::default();
    let bad = bed.tasks.kernel("bad", |_: &mut Lane<'_>| Err("no luck".into())).held().submit()?;
    let not_run = bed.tasks.light("not run", log.function("not run")).after(&bad).submit()?;
    let behind = |name: &str, task: &Handle| -> Result<[Handle; 2], Error> {
        let light = bed.tasks.light(name, log.function("light")).after_launch(task).submit()?;
        Ok([light, bed.tasks.kernel(name, log.launch("kernel")).after_launch(task).submit()?])
    };
    let mut tasks = Vec::new();
    tasks.extend([behind("early", &bad)?, behind("early", &not_run)?]);
    bad.release()?;
    ensure!(bad.wait().is_err() && not_run.wait().is_err(), "they fail");
    // The graph has forgotten both.
    bed.tasks.wait()?;
    tasks.extend([behind("late", &bad)?, behind("late", &not_run)?]);
    let named = bed.tasks.light("named", log.function("named")).after_launch(&bad).submit_named()?;
    for task in tasks.iter().flatten().chain([&named]) {
        let error = task.wait().err();
        ensure!(matches!(&error, Some(Error::NotRun { fault, .. }) if fault.task == "\"bad\""), "{error:?}");
    }
    log.is(&[])?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// A task that finds no room for all that it comes after is refused, and leaves nothing.
pub fn more_launches_than_room(rig: &Rig) -> Outcome {
    let options = DispatchOptions { tasks_max: 4, ..DispatchOptions::default() };
    let bed = bed::open_with(rig, options)?;
    let log = Log::default();
    let first = bed.tasks.light("first", log.function("first")).held().submit()?;
    let many = bed.tasks.kernel("many", log.launch("many"));
    let refused = (0..17).fold(many, |task, _| task.after_launch(&first)).submit();
    ensure!(matches!(refused, Err(Error::Refused(Refused::Edges { edges: 17, .. }))), "{refused:?}");
    let named = bed.tasks.kernel("named", log.launch("named"));
    let refused = (0..17).fold(named, |task, _| task.after_launch(&first)).submit_named();
    ensure!(matches!(refused, Err(Error::Refused(Refused::Edges { edges: 17, .. }))), "{refused:?}");
    bed.tasks.kernel("other", log.launch("other")).after_launch(&first).submit()?;
    first.release()?;
    bed.tasks.wait()?;
    log.is(&["first", "other"])?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// Tasks of two dispatchers have no order, and say so.
pub fn foreign(rig: &Rig) -> Outcome {
    let (bed, other) = (bed::open(rig)?, bed::open(rig)?);
    let first = bed.tasks.join("first").held().submit()?;
    let error = other.tasks.join("second").after(&first).submit().expect_err("it is of another dispatcher");
    ensure!(error.to_string().contains("task \"second\" cannot be ordered"), "{error}");
    let second = other.tasks.join("second").held().submit()?;
    let error = first.precede(&second).expect_err("it is of another dispatcher");
    ensure!(matches!(error, Error::Foreign { .. }), "{error}");
    let theirs = second.clone();
    let inside = bed.tasks.kernel("inside", move |lane: &mut Lane<'_>| {
        lane.completes(&theirs)?;
        Ok(More::Done)
    });
    let error = inside.submit()?.wait().expect_err("it is of another dispatcher");
    ensure!(error.to_string().contains("task \"second\" cannot be ordered"), "{error}");
    first.release()?;
    Ok(second.release()?)
}

pub fn held_and_released(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let log = Log::default();
    let task = bed.tasks.kernel("held", log.launch("held")).held().submit()?;
    task.hold()?;
    task.release()?;
    log.is(&[])?;
    ensure!(!task.is_done(), "it has a reference");
    task.release()?;
    task.wait()?;
    ensure!(matches!(task.release(), Err(Error::Refused(Refused::NotHeld { .. }))), "it has none left");
    log.is(&["held"])
}

/// Urgent tasks go first, and so do the tasks that they wait for.
pub fn inherited(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let log = Log::default();
    let group = bed.tasks.group()?;
    let bulk = bed.tasks.kernel("bulk", log.launch("bulk")).submit()?;
    let needed = bed.tasks.kernel("needed", log.launch("needed")).submit()?;
    let middle = bed.tasks.kernel("middle", log.launch("middle"));
    middle.priority(Priority::new(4).expect("a priority")).submit()?;
    let urgent = bed.tasks.kernel("urgent", log.launch("urgent"));
    let urgent = urgent.priority(bed::urgent()).after(&needed).submit()?;
    let late = bed.tasks.kernel("late", log.launch("late")).submit()?;
    late.raise(bed::urgent())?;
    drop(group);
    for task in [bulk, urgent, late] {
        task.wait()?;
    }
    log.is(&["needed", "late", "urgent", "middle", "bulk"])
}

/// A circle, a task that has ended and a full dispatcher are errors that name the tasks.
pub fn cycles(rig: &Rig) -> Outcome {
    let bed = bed::open_with(rig, DispatchOptions { tasks_max: 8, ..DispatchOptions::default() })?;
    let first = bed.tasks.join("first").held().submit()?;
    let second = bed.tasks.join("second").after(&first).submit()?;
    let error = second.precede(&first).expect_err("a circle");
    ensure!(error.to_string().contains("\"first\" -> \"second\" -> \"first\""), "{error}");
    first.release()?;
    second.wait()?;
    let error = first.precede(&second).expect_err("both have ended");
    ensure!(matches!(error, Error::Refused(Refused::Finished { .. })), "{error}");
    full(&bed)
}

/// Errors about tasks that have ended name them, also when all that the dispatcher knew of them is other tasks' now.
pub fn ended(rig: &Rig) -> Outcome {
    const LONG: &str = "a name that is longer than those that most tasks have, and stands elsewhere";
    let bed = bed::open(rig)?;
    let [first, second] = ["first", LONG].map(|name| bed.tasks.join(name).held().submit());
    let [first, second] = [first?, second?];
    let later = bed.tasks.join("later").held().submit()?;
    let failed = bed.tasks.host("failed", || Err("it fails".into())).submit()?;
    for task in [&first, &second] {
        task.release()?;
        task.wait()?;
    }
    failed.wait().expect_err("its function fails");
    let behind = bed.tasks.join("behind").after(&failed).submit()?;
    let error = behind.precede([&later]).expect_err("it was not run").to_string();
    ensure!(error.contains("\"behind\""), "not the name of the one that failed: {error}");
    later.release()?;
    let others: Vec<_> = (0..300).map(|_| bed.tasks.join("another").held().submit()).collect::<Result<_, _>>()?;
    others.iter().try_for_each(Handle::release)?;
    bed.tasks.wait()?;
    let held = bed.tasks.join("held").held().submit()?;
    names("both have ended", first.precede([&second]), &["first", LONG])?;
    names("the second has ended", held.precede([&second]), &[LONG, "held"])?;
    names("the first has ended", second.precede([&held]), &[LONG, "held"])?;
    names("the first has failed", failed.precede([&held]), &["failed", "held"])?;
    names("it has ended", second.hold(), &[LONG])?;
    names("it has ended", second.raise(Priority::new(200).expect("a priority")), &[LONG])?;
    names("it has ended", first.release(), &["first"])?;
    let ended = second.clone();
    let asks = bed.tasks.kernel("asks", move |lane: &mut Lane<'_>| {
        let error = lane.completes(&ended).expect_err("it has ended").to_string();
        Err(error.into())
    });
    names("it has ended", asks.submit()?.wait(), &["asks", LONG])?;
    same("their names", &[first.name(), second.name()], &[format!("{:?}", "first"), format!("{LONG:?}")])?;
    Ok(held.release()?)
}

/// In the order of PhysX a task behind one that has ended is refused, and the error names both.
pub fn ended_in_physx(rig: &Rig) -> Outcome {
    let bed = bed::open_with(rig, DispatchOptions { order: Order::PhysX, ..DispatchOptions::default() })?;
    let before = bed.tasks.join("before").submit()?;
    before.wait()?;
    for _ in 0..300 {
        bed.tasks.join("another").submit()?.wait()?;
    }
    let behind = || bed.tasks.join("behind").after(&before);
    names("submit", behind().submit().map(drop), &["before", "behind"])?;
    names("submit_when_room", behind().submit_when_room().map(drop), &["before", "behind"])
}

fn names(what: &str, told: Result<(), Error>, names: &[&str]) -> Outcome {
    let error = told.expect_err(what).to_string();
    ensure!(names.iter().all(|name| error.contains(&format!("{name:?}"))), "{what}: {error}");
    Ok(())
}

fn full(bed: &Bed) -> Outcome {
    let held: Vec<_> = (0..8).map(|_| bed.tasks.join("held").held().submit()).collect::<Result<_, _>>()?;
    let error = bed.tasks.join("one more").submit().expect_err("it is full");
    ensure!(matches!(error, Error::Refused(Refused::WouldBlock)), "{error}");
    held.iter().try_for_each(|task| task.release())?;
    bed.tasks.wait()?;
    Ok(bed.tasks.join("one more").submit()?.wait()?)
}
