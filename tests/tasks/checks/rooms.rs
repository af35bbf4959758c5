//! Tasks that wait for room in a full dispatcher.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use hal::Nanos;
use overtake::dispatch::DispatchOptions;
use overtake::task::{Error, Handle, Lane, More, Recording, Refused, Tasks};

use crate::bed::{self, Bed};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::log::Log;
use crate::raw;
use crate::rig::Rig;

const TASKS_MAX: u32 = 4;

fn small(rig: &Rig) -> Result<Bed, Failure> {
    bed::open_with(rig, DispatchOptions { tasks_max: TASKS_MAX, ..DispatchOptions::default() })
}

/// As many tasks as there is room for, which wait for the first.
fn filled(bed: &Bed) -> Result<Handle, Error> {
    let first = bed.tasks.join("first").held().submit()?;
    for _ in 1..TASKS_MAX {
        bed.tasks.join("behind").after(&first).submit()?;
    }
    let full = bed.tasks.join("one more").submit();
    assert!(matches!(full, Err(Error::Refused(Refused::WouldBlock))), "{full:?}");
    Ok(first)
}

/// Many more tasks than there is room for, from several threads: each runs.
pub fn are_waited_for(rig: &Rig) -> Outcome {
    const THREADS: u32 = 3;
    const EACH: u32 = 40;
    let bed = small(rig)?;
    let runs = Arc::<AtomicU32>::default();
    let threads = (0..THREADS).map(|_| {
        let (tasks, runs, spin) = (bed.tasks.clone(), runs.clone(), bed.kernels.spin.clone());
        rig.spawn("submitter", move |_| {
            for _ in 0..EACH {
                let (runs, spin) = (runs.clone(), spin.clone());
                let kernel = tasks.kernel("kernel", move |lane: &mut Lane<'_>| {
                    runs.fetch_add(1, Ordering::Relaxed);
                    raw::spin(lane, &spin, Nanos::from_us(5))?;
                    Ok(More::Done)
                });
                kernel.submit_when_room().map_err(Failure::new)?;
            }
            Ok(())
        })
    });
    let threads: Vec<_> = threads.collect();
    threads.into_iter().try_for_each(|thread| rig.join(thread))?;
    bed.tasks.wait()?;
    same("runs", &runs.load(Ordering::Relaxed), &(THREADS * EACH))
}

/// A task that has waited in vain is dropped, and never runs; the same with room does.
pub fn in_vain(rig: &Rig) -> Outcome {
    let (bed, log, host) = (small(rig)?, Log::default(), rig.driver().host());
    let first = filled(&bed)?;
    let (start, span) = (host.now(), Duration::from_millis(3));
    let task = |name| bed.tasks.light(name, log.function(name)).priority(bed::urgent());
    ensure!(task("late").submit_within(span)?.is_none(), "there is no room");
    let waited = host.now().since(start);
    ensure!(waited >= Nanos::from_ms(3), "it waited {waited}");
    ensure!(task("late").submit_within(Duration::ZERO)?.is_none(), "there is no room");
    first.release()?;
    let Some(task) = task("task").submit_within(Duration::from_secs(50))? else {
        return Err(Failure::new("there is room"));
    };
    task.wait()?;
    bed.tasks.wait()?;
    log.is(&["task"])
}

/// The function of a task must not wait: others may wait for it.
pub fn not_inside(rig: &Rig) -> Outcome {
    let bed = small(rig)?;
    let (tasks, inner) = (bed.tasks.clone(), bed.tasks.clone());
    let fill = move || -> Result<(), Error> {
        loop {
            match tasks.host("more", || Ok(())).held().submit_within(Duration::from_secs(50)) {
                Ok(Some(_)) => {}
                Ok(None) => return inner.join("one more").submit_when_room().map(drop),
                Err(error) => return Err(error),
            }
        }
    };
    let mut fill = Some(fill);
    let launch = bed.tasks.kernel("launch", move |_: &mut Lane<'_>| match fill.take() {
        Some(fill) => Ok(fill().map(|()| More::Done)?),
        None => Ok(More::Done),
    });
    let launch = launch.submit()?;
    let error = launch.wait().expect_err("there is no room");
    ensure!(error.to_string().contains("task \"one more\" is refused: the graph is full"), "{error}");
    Ok(())
}

/// Where no task will ever end, a model of the device says so.
pub fn none_to_come(rig: &Rig) -> Outcome {
    if !rig.driver().host().is_virtual() {
        return Ok(());
    }
    let bed = small(rig)?;
    let (first, others) = (filled(&bed)?, Tasks::new(&bed.dispatcher));
    let full = others.join("one more").submit_when_room();
    ensure!(matches!(full, Err(Error::Refused(Refused::WouldBlock))), "{full:?}");
    first.release()?;
    // The tasks that end are of another set.
    Ok(others.join("one more").submit_when_room()?.wait()?)
}

/// A dispatcher that is closed makes room for nobody.
pub fn of_closed(rig: &Rig) -> Outcome {
    let bed = small(rig)?;
    filled(&bed)?;
    let tasks = bed.tasks.clone();
    let waits = rig.spawn("waits", move |_| match tasks.join("one more").submit_when_room() {
        Err(Error::Closed { .. }) => Ok(()),
        other => Err(Failure::new(format_args!("{other:?}"))),
    });
    rig.driver().host().sleep(Nanos::from_ms(2));
    drop(bed);
    rig.join(waits)
}

/// Tasks that have ended take no room, however many the new one comes after; more edges than there may be never do.
pub fn behind_many(rig: &Rig) -> Outcome {
    let bed = small(rig)?;
    let ended: Vec<Handle> = (0..50).map(|_| bed.tasks.join("ended").submit_when_room()).collect::<Result<_, _>>()?;
    bed.tasks.wait()?;
    bed.tasks.join("behind").after(&ended).submit_when_room()?.wait()?;
    let held = bed.tasks.join("held").held().submit()?;
    let many = bed.tasks.join("many").after(vec![&held; 50]).submit_when_room();
    let error = many.expect_err("there is no room for so many edges").to_string();
    ensure!(error.contains("task \"many\" needs 50 edges, and the graph has 16"), "{error}");
    Ok(held.release()?)
}

/// Replays that are one task, and others that are several, wait for room as tasks do. One that has waited in vain is
/// dropped, and one that never has room is refused.
pub fn of_replays(rig: &Rig) -> Outcome {
    let bed = small(rig)?;
    let template = |steps: usize, is_mixed: bool| {
        let mut recording = Recording::new();
        let add = |runs: &Arc<AtomicU32>| {
            runs.fetch_add(1, Ordering::Relaxed);
        };
        let mut last = None;
        for number in 0..steps {
            last = Some(if is_mixed && number == 0 {
                recording.host("function", last.as_slice(), move |runs| {
                    add(runs);
                    Ok(())
                })
            } else {
                let launch = move |_: &mut Lane<'_>, runs: &Arc<AtomicU32>| {
                    add(runs);
                    Ok(More::Done)
                };
                recording.kernel("kernel", last.as_slice(), launch)
            });
        }
        recording.finish()
    };
    for is_mixed in [false, true] {
        let (template, runs) = (template(3, is_mixed)?, Arc::<AtomicU32>::default());
        for _ in 0..20 {
            template.replay(&bed.tasks, Arc::clone(&runs)).submit_when_room()?;
        }
        bed.tasks.wait()?;
        same("runs", &runs.load(Ordering::Relaxed), &60)?;
        let first = filled(&bed)?;
        let replay = || template.replay(&bed.tasks, Arc::clone(&runs));
        ensure!(replay().submit_within(Duration::from_millis(3))?.is_none(), "there is no room");
        same("runs", &runs.load(Ordering::Relaxed), &60)?;
        first.release()?;
        replay().submit_when_room()?.wait()?;
        same("runs", &runs.load(Ordering::Relaxed), &63)?;
    }
    let never = template(1 + TASKS_MAX as usize, true)?.replay(&bed.tasks, Arc::default()).submit_when_room();
    ensure!(matches!(never, Err(Error::Refused(Refused::WouldBlock))), "{never:?}");
    Ok(bed.tasks.wait()?)
}
