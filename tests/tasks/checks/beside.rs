//! Tasks that are submitted while another thread, or a task, takes steps: they are left to it.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use overtake::Priority;
use overtake::task::{Error, Handle, Lane, More, Tasks, WorkResult};

use crate::bed;
use crate::failure::{Failure, Outcome, same};
use crate::rig::Rig;

const TASKS: u32 = 300;
const THREADS: u32 = 4;

type Handles = Arc<Mutex<Vec<Handle>>>;

/// Submits tasks that come after each other, and note their numbers.
fn chain(tasks: &Tasks, count: u32, seen: &Arc<Mutex<Vec<u32>>>) -> Result<Vec<Handle>, Error> {
    let mut handles: Vec<Handle> = Vec::new();
    for number in 0..count {
        let seen = Arc::clone(seen);
        let name = format!("number {number}");
        let task = tasks.kernel(&name, move |_: &mut Lane<'_>| {
            seen.lock().unwrap_or_else(PoisonError::into_inner).push(number);
            Ok(More::Done)
        });
        let task = match handles.last() {
            Some(last) => task.after(last),
            None => task,
        };
        handles.push(task.submit()?);
    }
    Ok(handles)
}

/// Runs `body` in the launch of a task, which has the turn meanwhile.
fn from_a_launch(
    tasks: &Tasks,
    mut body: impl FnMut(&Tasks) -> WorkResult<Vec<Handle>> + Send + 'static,
) -> Result<Vec<Handle>, Error> {
    let (own, handles) = (tasks.clone(), Handles::default());
    let kept = Arc::clone(&handles);
    let launch = tasks.kernel("outer", move |_: &mut Lane<'_>| {
        *kept.lock().unwrap_or_else(PoisonError::into_inner) = body(&own)?;
        Ok(More::Done)
    });
    launch.submit()?.wait()?;
    let handles = std::mem::take(&mut *handles.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(handles)
}

/// More of them than a mailbox has numbers in store.
pub fn tasks_are_left_in_order(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let seen: Arc<Mutex<Vec<u32>>> = Arc::default();
    let its = Arc::clone(&seen);
    let handles = from_a_launch(&bed.tasks, move |tasks| {
        let handles = chain(tasks, TASKS, &its)?;
        let names_are_known = handles.iter().zip(0..).all(|(task, n)| task.name().contains(&format!("number {n}")));
        let none_has_run = handles.iter().all(|task| !task.is_launched());
        if names_are_known && none_has_run { Ok(handles) } else { Err("a task is not known".into()) }
    })?;
    bed.tasks.wait()?;
    same("tasks that have ended", &handles.iter().filter(|task| task.is_done()).count(), &(TASKS as usize))?;
    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    same("order", &*seen, &(0..TASKS).collect())
}

/// The turn is another task's while they are submitted, and the more urgent ones go first then.
pub fn the_urgent_of_them_go_first(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let seen: Arc<Mutex<Vec<u8>>> = Arc::default();
    let its = Arc::clone(&seen);
    from_a_launch(&bed.tasks, move |tasks| {
        let submit = |priority: u8| {
            let its = Arc::clone(&its);
            let task = tasks.kernel("task", move |_: &mut Lane<'_>| {
                its.lock().unwrap_or_else(PoisonError::into_inner).push(priority);
                Ok(More::Done)
            });
            task.priority(Priority::new(priority).unwrap_or(Priority::LOWEST)).submit()
        };
        Ok([1, 2, 1, 2].into_iter().map(submit).collect::<Result<_, _>>()?)
    })?;
    bed.tasks.wait()?;
    same("order", &*seen.lock().unwrap_or_else(PoisonError::into_inner), &vec![2, 2, 1, 1])
}

/// A task that is left behind one that fails is not run, and names the failure.
pub fn a_task_behind_a_failure_is_not_run(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let runs: Arc<AtomicU32> = Arc::default();
    let its = Arc::clone(&runs);
    let handles = from_a_launch(&bed.tasks, move |tasks| {
        // The first finds no number in store.
        let mut handles = vec![tasks.kernel("good", |_: &mut Lane<'_>| Ok(More::Done)).submit()?];
        let bad = tasks.kernel("bad", |_: &mut Lane<'_>| Err("no such kernel".into()));
        handles.push(bad.after(&handles[0]).submit()?);
        for _ in 0..2 {
            let its = Arc::clone(&its);
            let behind = tasks.kernel("behind", move |_: &mut Lane<'_>| {
                its.fetch_add(1, Ordering::AcqRel);
                Ok(More::Done)
            });
            handles.push(behind.after(&handles[handles.len() - 1]).submit()?);
        }
        Ok(handles)
    })?;
    let ends: Vec<_> = handles.iter().map(Handle::wait).collect();
    same("runs", &runs.load(Ordering::Acquire), &0)?;
    same("the first runs", &ends[0].is_ok(), &true)?;
    let fails = |end: &Result<(), Error>| match end {
        Err(Error::Failed(fault)) if fault.task.contains("bad") => "fails",
        Err(Error::NotRun { fault, .. }) if fault.task.contains("bad") => "is not run",
        _ => "ends otherwise",
    };
    same("ends of those behind", &ends[1..].iter().map(fails).collect(), &vec!["fails", "is not run", "is not run"])
}

/// As above, where the failure has left the graph before the task is taken: a function leaves a task behind itself
/// while a launch has the turn, and fails then.
pub fn a_task_behind_an_ended_failure_is_not_run(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (runs, has_begun): (Arc<AtomicU32>, Arc<AtomicBool>) = Default::default();
    let [bad, left] = [(); 2].map(|()| Handles::default());
    let (tasks, driver, count) = (bed.tasks.clone(), Arc::clone(rig.shared_driver()), Arc::clone(&runs));
    let (own, its, is_launching) = (Arc::clone(&bad), Arc::clone(&left), Arc::clone(&has_begun));
    let function = bed.tasks.host("bad", move || {
        driver.host().wait_until(None, &mut || is_launching.load(Ordering::Acquire));
        let own = own.lock().unwrap_or_else(PoisonError::into_inner).remove(0);
        // The first finds no number in store.
        for _ in 0..2 {
            let count = Arc::clone(&count);
            let behind = tasks.kernel("behind", move |_: &mut Lane<'_>| {
                count.fetch_add(1, Ordering::AcqRel);
                Ok(More::Done)
            });
            its.lock().unwrap_or_else(PoisonError::into_inner).push(behind.after(&own).submit()?);
        }
        Err("no such file".into())
    });
    let function = function.submit()?;
    bad.lock().unwrap_or_else(PoisonError::into_inner).push(function.clone());
    let (driver, failing) = (Arc::clone(rig.shared_driver()), function.clone());
    let launch = bed.tasks.kernel("outer", move |_: &mut Lane<'_>| {
        has_begun.store(true, Ordering::Release);
        driver.host().wait_until(None, &mut || failing.is_done());
        Ok(More::Done)
    });
    launch.submit()?.wait()?;
    let ends: Vec<_> = left.lock().unwrap_or_else(PoisonError::into_inner).iter().map(Handle::wait).collect();
    let is_not_run = |end: &Result<(), Error>| match end {
        Err(Error::NotRun { fault, .. }) => fault.task.contains("bad"),
        _ => false,
    };
    same("ends of those behind", &ends.iter().map(is_not_run).collect(), &vec![true, true])?;
    same("runs", &runs.load(Ordering::Acquire), &0)
}

/// Each thread has a chain, and its tasks run in order.
pub fn threads_have_chains(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let tasks = bed.tasks.clone();
            rig.spawn("submitter", move |_| {
                let seen: Arc<Mutex<Vec<u32>>> = Arc::default();
                let handles = chain(&tasks, TASKS, &seen).map_err(|error| Failure::new(&error))?;
                handles.iter().try_for_each(Handle::wait).map_err(|error| Failure::new(&error))?;
                let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                same("order", &*seen, &(0..TASKS).collect())
            })
        })
        .collect();
    threads.into_iter().try_for_each(|thread| rig.join(thread))?;
    bed.tasks.wait()?;
    Ok(())
}
