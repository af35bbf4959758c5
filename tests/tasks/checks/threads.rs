//! Several threads submit: each task runs once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use hal::{Host, Nanos};
use overtake::task::{Error, Handle, Lane, More, Tasks};

use crate::bed;
use crate::failure::{Failure, Outcome, ensure, same};
use crate::raw;
use crate::rig::Rig;

const THREADS: u32 = 4;
const EACH: u32 = 200;

fn counting(tasks: &Tasks, runs: &Arc<AtomicU32>) -> Result<(), Error> {
    let (in_launch, in_function) = (Arc::clone(runs), Arc::clone(runs));
    let kernel = tasks.kernel("kernel", move |_: &mut Lane<'_>| {
        in_launch.fetch_add(1, Ordering::AcqRel);
        Ok(More::Done)
    });
    let kernel = kernel.submit()?;
    let function = tasks.host("function", move || {
        in_function.fetch_add(1, Ordering::AcqRel);
        Ok(())
    });
    function.after(&kernel).submit().map(drop)
}

pub fn submit_beside_each_other(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let runs: Arc<AtomicU32> = Arc::default();
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let (tasks, runs) = (bed.tasks.clone(), Arc::clone(&runs));
            rig.spawn("submitter", move |_| {
                (0..EACH).try_for_each(|_| counting(&tasks, &runs)).map_err(|error| Failure::new(&error))
            })
        })
        .collect();
    threads.into_iter().try_for_each(|thread| rig.join(thread))?;
    bed.tasks.wait()?;
    same("runs", &runs.load(Ordering::Acquire), &(THREADS * EACH * 2))
}

/// From a launch, from a function, and from a light function.
pub fn submit_from_everywhere(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let runs: Arc<AtomicU32> = Arc::default();
    let (tasks, count) = (bed.tasks.clone(), Arc::clone(&runs));
    let from_launch = bed.tasks.kernel("launch", move |lane: &mut Lane<'_>| {
        counting(&tasks, &count)?;
        Ok(if lane.turn() == 0 { More::Again } else { More::Done })
    });
    let first = from_launch.submit()?;
    let (tasks, count) = (bed.tasks.clone(), Arc::clone(&runs));
    let from_function = bed.tasks.host("function", move || Ok(counting(&tasks, &count)?));
    let second = from_function.after(&first).submit()?;
    let (tasks, count) = (bed.tasks.clone(), Arc::clone(&runs));
    let from_light = bed.tasks.light("light", move || Ok(counting(&tasks, &count)?));
    from_light.after(&second).submit()?.wait()?;
    bed.tasks.wait()?;
    same("runs", &runs.load(Ordering::Acquire), &8)
}

/// Functions wait for a task of the device, as many at once as there may be: a thread is left that sees its end.
pub fn functions_may_wait(rig: &Rig) -> Outcome {
    const FUNCTIONS: u64 = 6;
    let bed = bed::open(rig)?;
    let spin = |name: &str, span: Nanos| {
        let kernel = bed.kernels.spin.clone();
        let task = bed.tasks.kernel(name, move |lane: &mut Lane<'_>| {
            raw::spin(lane, &kernel, span)?;
            Ok(More::Done)
        });
        task.submit()
    };
    let awaited = Arc::new(spin("awaited", Nanos::from_ms(20))?);
    let waiting = (0..FUNCTIONS).map(|number| {
        let (awaited, first) = (Arc::clone(&awaited), spin("first", Nanos::from_ms(1 + number))?);
        bed.tasks.host("waits", move || Ok(awaited.wait()?)).after(&first).submit()
    });
    let waiting = waiting.collect::<Result<Vec<_>, Error>>()?;
    Ok(waiting.iter().try_for_each(Handle::wait)?)
}

/// A task that submits another one like it, until it is told to stop.
fn endless(tasks: &Tasks, stop: &Arc<AtomicU32>) -> Result<(), Error> {
    let (again, told) = (tasks.clone(), Arc::clone(stop));
    let kernel = tasks.kernel("endless", move |_: &mut Lane<'_>| {
        if told.load(Ordering::Acquire) == 0 {
            endless(&again, &told)?;
        }
        Ok(More::Done)
    });
    kernel.submit().map(drop)
}

/// A thread that submits a task does not have to dispatch the tasks of others for ever.
pub fn submitting_ends(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let stop: Arc<AtomicU32> = Arc::default();
    endless(&bed.tasks, &stop)?;
    let other = bed.tasks.kernel("other", |_: &mut Lane<'_>| Ok(More::Done)).submit()?;
    // No call that would dispatch.
    bed::eventually(rig, "the other task ends", || other.is_done())?;
    stop.store(1, Ordering::Release);
    Ok(bed.tasks.wait()?)
}

/// An end is seen while a function runs for long, though those before it were short. No thread stands by in virtual
/// time, which would see it behind a nap.
pub fn ends_beside_a_long_function(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    bed.tasks.host("short", || Ok(())).submit()?.wait()?;
    let began = rig.driver().host().now();
    let behind = |name: &str, spun: Nanos, function: fn(&dyn Host, &AtomicU64)| {
        let (kernel, driver, seen) = (bed.kernels.spin.clone(), Arc::clone(rig.shared_driver()), Arc::default());
        let spin = bed.tasks.kernel("spin", move |lane: &mut Lane<'_>| {
            raw::spin(lane, &kernel, spun)?;
            Ok(More::Done)
        });
        let at = Arc::clone(&seen);
        let task = bed.tasks.host(name, move || {
            function(driver.host(), &at);
            Ok(())
        });
        task.after(&spin.submit()?).submit()?;
        Ok::<Arc<AtomicU64>, Error>(seen)
    };
    behind("long", Nanos::from_us(100), |host, _| host.sleep(Nanos::from_ms(1)))?;
    let seen = behind("beside", Nanos::from_us(150), |host, seen| seen.store(host.now().0, Ordering::Release))?;
    // A thread that waits would look at the ends itself.
    rig.driver().host().sleep(Nanos::from_ms(2));
    bed.tasks.wait()?;
    let took = Nanos(seen.load(Ordering::Acquire)).since(began);
    ensure!(took < Nanos::from_us(210) || !rig.driver().host().is_virtual(), "it was seen after {took}");
    Ok(())
}
