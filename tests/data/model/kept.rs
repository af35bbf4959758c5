//! Arrays keep the things that they need, and no others: no object is left, and no thread waits for ever.

use hal::Nanos;
use overtake::data::{ArrayOptions, discard, read, read_write};
use overtake::task::{Error, More};

use super::{on, on_two};
use crate::bed::{self, Bed};
use crate::checks::end_beside;
use crate::failure::{Failure, Outcome, ensure, same};
use crate::machine::Held;
use crate::raw;

const COUNT: usize = 1 << 16;

/// Work on arrays that are dropped meanwhile.
fn round(bed: &Bed) -> Outcome {
    let opened = bed.arrays.statistics();
    same("a fresh store", &opened.uploads, &0)?;
    for _ in 0..20 {
        let (source, sum) = (bed.arrays.array_of(&[1.0; COUNT])?, bed.arrays.array::<f32>(&[COUNT])?);
        raw::add(bed, "sum", &source, &source, &sum).submit()?;
        drop(source);
        let look = bed.arrays.host("look", (read(&sum),), |(sum,)| match sum[COUNT - 1] {
            2.0 => Ok(()),
            other => Err(format!("it saw {other}").into()),
        });
        look.submit()?;
    }
    bed.arrays.wait()?;
    ensure!(bed.arrays.failure().is_none(), "{:?}", bed.arrays.failure());
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// All goes, and leaves as many objects as a bed that was not used.
pub fn nothing() -> Outcome {
    on(|gpu, rig| {
        let count = |work: fn(&Bed) -> Outcome| {
            let before = Held::by(gpu).sum();
            let bed = bed::open(rig)?;
            work(&bed)?;
            drop(bed);
            Ok::<usize, Failure>(Held::by(gpu).sum() - before)
        };
        // The rig keeps its own until the end.
        let of_the_rig = count(|_| Ok(()))?;
        same("objects that are left", &count(round)?, &of_the_rig)
    })
}

/// A dispatcher is closed before its computations have run: they fail, and the arrays go without it.
pub fn a_closed_dispatcher() -> Outcome {
    on(|_, rig| {
        let bed = bed::open(rig)?;
        let (source, sum) = (bed.arrays.array_of(&[1.0; COUNT])?, bed.arrays.array::<f32>(&[COUNT])?);
        let held = raw::add(&bed, "held", &source, &source, &sum).held().submit()?;
        let behind = bed.arrays.host("behind", (read(&sum), discard(&source)), |_| Ok(())).submit()?;
        let bed::Bed { dispatcher, arrays, tasks, .. } = bed;
        drop((dispatcher, tasks));
        ensure!(held.outcome().is_some_and(|end| end.is_err()), "it has failed");
        ensure!(behind.outcome().is_some_and(|end| end.is_err()), "it has failed");
        ensure!(sum.read().is_err() && source.read().is_err(), "there is no dispatcher");
        drop((source, sum, arrays));
        Ok(())
    })
}

/// A thread that waits for its own guard is told so by the model, and the guard works on.
pub fn a_wait_without_end_is_told() -> Outcome {
    on(|_, rig| {
        let bed = bed::open(rig)?;
        let (source, sum) = (bed.arrays.array_of(&[1.0; COUNT])?, bed.arrays.array::<f32>(&[COUNT])?);
        let guard = source.read()?;
        let writer = raw::add(&bed, "writer", &source, &source, &source).submit()?;
        let told = source.read().map(drop);
        ensure!(matches!(told, Err(Error::Stuck { .. })), "it waits for its own thread");
        ensure!(told.unwrap_err().to_string().contains("start it by hal::spawn"), "the cure");
        drop(guard);
        writer.wait()?;
        raw::add(&bed, "sum", &source, &source, &sum).submit()?;
        same("the sum", &sum.read()?[0], &4.0)?;
        bed.arrays.wait()?;
        same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
    })
}

/// A thread that waits for its elements while the arrays end is told why it does not get them.
pub fn a_thread_that_waits_at_the_end_is_told() -> Outcome {
    on(|_, rig| {
        let (bed, host) = (bed::open(rig)?, rig.driver().host());
        let array = bed.arrays.array_of(&[1.0_f32; COUNT])?;
        let slow = bed.arrays.launch("slow", (read_write(&array),), |_, _| Ok(More::Done)).held().submit()?;
        let ends = || {
            host.sleep(Nanos::from_ms(1)); // the other thread waits by then
            let reader = bed.arrays.launch("reads", (read(&array),), |_, _| Ok(More::Done)).submit()?;
            slow.release()?;
            bed.arrays.clone().finish()?;
            reader.wait()
        };
        let (told, ended) = end_beside::with_another(rig, |_| Ok(array.change().map(drop)), ends);
        ended?;
        let told = told?.map_or_else(|error| error.to_string(), |()| "nothing".to_owned());
        ensure!(told.contains("have them before, or end the access"), "{told}");
        Ok(())
    })
}

/// A computation behind a task of another set that is never released: dropping the arrays does not wait for ever.
pub fn a_task_of_another_set_is_left() -> Outcome {
    on(|_, rig| {
        let bed = bed::open(rig)?;
        let (source, sum) = (bed.arrays.array_of(&[1.0; COUNT])?, bed.arrays.array::<f32>(&[COUNT])?);
        let never = bed.tasks.join("never").held().submit()?;
        let behind = raw::add(&bed, "behind", &source, &source, &sum).after(&never).submit()?;
        let bed::Bed { dispatcher, arrays, tasks, .. } = bed;
        drop(arrays);
        ensure!(!behind.is_done(), "it waits still");
        never.release()?;
        behind.wait()?;
        same("the sum", &sum.read()?[0], &2.0)?;
        drop((tasks, dispatcher));
        Ok(())
    })
}

/// The stream and the memory of a run on another device go when the task has ended.
pub fn nothing_of_a_run_elsewhere() -> Outcome {
    on_two(|gpu, rig| {
        let bed = bed::open_on(rig, rig.shared_driver(), 2, ArrayOptions::default())?;
        let source = bed.arrays.array_of(&[1.0; COUNT])?;
        let only_on_one = |device, _| if device == 0 { Err("not here".into()) } else { Ok(()) };
        let run = || {
            let copy = bed.arrays.array::<f32>(&[COUNT])?;
            raw::copy_halves(&bed, "halves", &source, &copy, only_on_one).on(0).elsewhere().submit()?.wait()
        };
        let is_back = |streams: usize| {
            (0..1000).any(|_| {
                rig.driver().host().sleep(Nanos::from_us(10));
                Held::by(gpu).streams == streams
            })
        };
        let streams = Held::by(gpu).streams;
        for _ in 0..3 {
            run()?;
            ensure!(is_back(streams), "{} streams, and {streams} before", Held::by(gpu).streams);
        }
        Ok(())
    })
}
