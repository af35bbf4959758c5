//! Bridges: tasks of one dispatcher after tasks of another, by way of the host.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use overtake::dispatch::{DispatchOptions, Dispatcher};
use overtake::task::{Handle, Tasks};

use crate::bed;
use crate::failure::{Failure, Outcome, ensure, same};
use crate::rig::Rig;

/// Adds a digit to a number.
fn digit(tasks: &Tasks, number: &Arc<AtomicU32>, digit: u32, after: &[&Handle]) -> Result<Handle, Failure> {
    let number = Arc::clone(number);
    let task = tasks.host("digit", move || {
        number.store(10 * number.load(Ordering::Acquire) + digit, Ordering::Release);
        Ok(())
    });
    Ok(task.after(after.iter().copied()).submit()?)
}

/// There and back, with tasks that begin late.
pub fn keep_the_order(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let other = Dispatcher::open(&bed.overtake, DispatchOptions::default())?;
    let (near, far, number) = (&bed.tasks, Tasks::new(&other), Arc::new(AtomicU32::new(0)));
    let first = far.join("first").held().submit()?;
    let one = digit(&far, &number, 1, &[&first])?;
    let two = digit(near, &number, 2, &[&near.bridge(&one)?])?;
    let three = digit(&far, &number, 3, &[&far.bridge(&two)?])?;
    ensure!(!two.is_done() && !three.is_done(), "they wait for a task that is held");
    first.release()?;
    three.wait()?;
    same("the digits", &number.load(Ordering::Acquire), &123)?;
    digit(near, &number, 4, &[&near.bridge(&three)?])?.wait()?;
    same("behind one that has ended", &number.load(Ordering::Acquire), &1234)
}

/// A task behind a bridge fails with the task before it, also where that has failed before.
pub fn pass_failures_on(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let other = Dispatcher::open(&bed.overtake, DispatchOptions::default())?;
    let (near, far) = (&bed.tasks, Tasks::new(&other));
    let fails = far.host("fails", || Err("a number is wrong".into())).held().submit()?;
    let behind = near.join("behind").after(&near.bridge(&fails)?).submit()?;
    fails.release()?;
    for behind in [behind, near.join("later").after(&near.bridge(&fails)?).submit()?] {
        let error = behind.wait().err().map(|error| error.to_string()).unwrap_or_default();
        ensure!(error.contains("a number is wrong"), "it fails with the cause: {error:?}");
    }
    let never = far.join("never").held().submit()?;
    let behind = near.bridge(&never)?;
    drop((far, other));
    ensure!(behind.wait().is_err(), "the other dispatcher is closed before the task begins");
    Ok(())
}

/// In one dispatcher it is a join.
pub fn join_in_one_dispatcher(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let first = bed.tasks.join("first").held().submit()?;
    let bridge = bed.tasks.bridge(&first)?;
    ensure!(!bridge.is_done(), "it waits for a task that is held");
    first.release()?;
    Ok(bridge.wait()?)
}
