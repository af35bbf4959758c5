//! A child of a fork has no threads for tasks, and a process may exit in the middle. Each check runs in a process of
//! its own, which has no threads of other checks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hal::{Device, Nanos};
use overtake::copy::CopyQueue;
use overtake::dispatch::DispatchOptions;
use overtake::task::{Error, Handle, Lane, More};
use overtake::{Expected, Options, Overtake, Priority, PriorityStream, Statistics};
use testkit::alone::{again, is_alone, is_here};
use testkit::fixture::forks;

use crate::arm::Arm;
use crate::bed::{self, Bed};
use crate::failure::{Failure, Outcome, ensure};
use crate::raw;
use crate::rig::Rig;

/// The exit code of a process that exits in the middle.
const CODE: i32 = 7;
const FORKS: u32 = 24;

/// A check of this file, as the suite names it.
fn named(check: &str) -> Result<String, Failure> {
    Ok(format!("{}::children::{check}", Arm::from_environment().map_err(Failure::from_text)?.name()))
}

/// A task of the device that is at work, one that waits for it, one that is held, and a function that is being run.
fn unfinished(rig: &Rig, bed: &Bed, end: &Arc<AtomicBool>) -> Result<Vec<Handle>, Failure> {
    let (spin, end) = (bed.kernels.spin.clone(), Arc::clone(end));
    let device = bed.tasks.kernel("device", move |lane: &mut Lane<'_>| {
        raw::spin(lane, &spin, Nanos::from_ms(20))?;
        Ok(More::Done)
    });
    let device = device.submit()?;
    let waits = bed.tasks.host("waits", || Ok(())).after(&device).submit()?;
    let held = bed.tasks.kernel("held", |_: &mut Lane<'_>| Ok(More::Done)).held().submit()?;
    let driver = Arc::clone(rig.shared_driver());
    let runs = bed.tasks.host("runs", move || {
        while !end.load(Ordering::Acquire) {
            driver.host().sleep(Nanos::from_us(50));
        }
        Ok(())
    });
    Ok(vec![device, waits, held, runs.submit()?])
}

/// Every call in the child of a fork returns, with any thread of the parent inside the dispatcher.
pub fn of_a_fork(rig: &Rig) -> Outcome {
    if !is_alone(&named("of_a_fork")?) {
        return Ok(());
    }
    let bed = bed::open_with(rig, DispatchOptions { workers: 3, ..DispatchOptions::default() })?;
    let copies = Copies::open(rig)?;
    let end: Arc<AtomicBool> = Arc::default();
    let tasks = unfinished(rig, &bed, &end)?;
    let done = bed.tasks.join("done").submit()?;
    done.wait()?;
    let (set, is_over) = (bed.tasks.clone(), Arc::new(AtomicBool::new(false)));
    let beside = Arc::clone(&bed.overtake);
    let mut parents = Some((bed, tasks, done, copies));
    // Beside a thread that has the dispatcher's lock most of the time, and one that is often inside the copy layer.
    let (hammering, count) = (set.clone(), Arc::clone(&is_over));
    let hammer = std::thread::spawn(move || {
        while !count.load(Ordering::Acquire) {
            drop(hammering.named("hammered"));
        }
    });
    let count = Arc::clone(&is_over);
    let copying = std::thread::spawn(move || {
        while !count.load(Ordering::Acquire) {
            drop(beside.expect(bed::urgent(), None));
        }
    });
    let child = |_| forks::in_child(|| in_child(parents.take().ok_or_else(|| Failure::new("it was taken"))?));
    let children = (0..FORKS).try_for_each(child);
    is_over.store(true, Ordering::Release);
    end.store(true, Ordering::Release);
    hammer.join().map_err(|_| Failure::new("the hammering thread panicked"))?;
    copying.join().map_err(|_| Failure::new("the copying thread panicked"))?;
    children?;
    let (_bed, tasks, _, _copies) = parents.expect("only a child has taken it");
    set.named("hammered")?.release()?;
    tasks[2].release()?;
    // The parent has noticed nothing.
    Ok(tasks.iter().try_for_each(Handle::wait)?)
}

/// A copy layer that a child drops, with its objects.
struct Copies {
    queue: CopyQueue,
    stream: PriorityStream,
    expected: Expected,
    overtake: Overtake,
}

impl Copies {
    /// The queue has a copy that has not been flushed.
    fn open(rig: &Rig) -> Result<Copies, Failure> {
        let overtake = Overtake::open(rig.shared_driver(), Device(0), Options::default())?;
        let (stream, expected) = (overtake.stream(Priority::LOWEST)?, overtake.expect(Priority::LOWEST, None)?);
        let mut queue = CopyQueue::new(&stream, 1)?;
        let (target, source) = (rig.buffer(4096)?, rig.pinned(4096)?);
        raw::queue(&mut queue, target, &source, 4096)?;
        Ok(Copies { queue, stream, expected, overtake })
    }

    /// Drops all in a child. Returns whether no copy was made there.
    fn drop_in_child(self) -> bool {
        let Copies { queue, stream, expected, overtake } = self;
        drop((queue, stream, expected));
        let Statistics { urgent, kernel, engine, native, .. } = overtake.statistics();
        let natively: u64 = native.values().map(|class| class.copies).sum();
        drop(overtake);
        urgent.copies + kernel.copies + engine.copies + natively == 0
    }
}

fn in_child((bed, tasks, done, copies): (Bed, Vec<Handle>, Handle, Copies)) -> Outcome {
    let is_forked = |result: Result<(), Error>| matches!(result, Err(Error::Forked));
    // The device goes on while the parent forks, so some may have ended by then.
    let waits = tasks.iter().all(|task| task.is_done() || is_forked(task.wait()));
    let changes = [tasks[2].release(), tasks[2].hold(), tasks[2].precede(&tasks[1]), tasks[2].raise(bed::urgent())];
    let submits = [
        bed.tasks.join("join").submit().map(drop),
        bed.tasks.join("named").submit_named().map(drop),
        bed.tasks.join("after").after(&tasks[0]).submit().map(drop),
        bed.tasks.named("other").map(drop),
        bed.tasks.group().map(drop),
        bed.tasks.start(),
        bed.tasks.wait(),
    ];
    bed.tasks.stop();
    let is_known = done.wait().is_ok() && !tasks[2].is_launched() && !tasks[2].name().is_empty();
    let is_empty = bed.dispatcher.statistics().launches == 0;
    let Bed { dispatcher, tasks: set, overtake, kernels } = bed;
    drop((dispatcher, tasks, done, set, overtake));
    // They are the driver's, which knows no forks.
    std::mem::forget(kernels);
    ensure!(waits && is_known && is_empty, "waits {waits}, outcomes {is_known}, counts {is_empty}");
    ensure!(changes.into_iter().all(is_forked), "a change is not refused");
    ensure!(submits.into_iter().all(is_forked), "a submission is not refused");
    ensure!(copies.drop_in_child(), "a copy was made");
    Ok(())
}

/// The process ends with its own code, while tasks are held, wait, run, and are at work on the device.
pub fn exit_in_the_middle(rig: &Rig) -> Outcome {
    let name = named("exit_in_the_middle")?;
    if !is_here(&name) {
        let (end, said) = again(&name, &[]);
        ensure!(end.is_some_and(|end| end.code() == Some(CODE)), "it ends with {end:?}: {said}");
        return Ok(());
    }
    let bed = bed::open(rig)?;
    unfinished(rig, &bed, &Arc::default())?;
    rig.driver().host().sleep(Nanos::from_ms(1));
    std::process::exit(CODE)
}
