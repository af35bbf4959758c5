//! The priority of a task reaches its bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hal::Nanos;
use overtake::task::{Error, Handle, Lane, More, Recording, Tasks};

use crate::bed::{self, Bed};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::memory::Pinned;
use crate::model::on;
use crate::place::Buffer;
use crate::raw;
use crate::rig::Rig;

const BULK_BYTES: u64 = 64 << 20;
const SMALL_BYTES: u64 = 64 << 10;

/// A task of bulk to the host.
fn bulk(rig: &Rig, bed: &Bed) -> Result<Handle, Failure> {
    let (target, source) = (rig.pinned(BULK_BYTES)?, rig.buffer(BULK_BYTES)?);
    let task = bed.tasks.download("bulk", move |lane: &mut Lane<'_>| {
        raw::download(lane, &target, source, BULK_BYTES)?;
        Ok(More::Done)
    });
    Ok(task.submit()?)
}

/// An urgent task that copies to the host, behind a kernel if a span is given.
fn urgent(rig: &Rig, bed: &Bed, kernel: Option<Nanos>) -> Result<Handle, Failure> {
    let (target, source) = (rig.pinned(SMALL_BYTES)?, rig.buffer(SMALL_BYTES)?);
    let spin = bed.kernels.spin.clone();
    let task = bed.tasks.download("urgent", move |lane: &mut Lane<'_>| {
        if let Some(span) = kernel {
            raw::spin(lane, &spin, span)?;
        }
        raw::download(lane, &target, source, SMALL_BYTES)?;
        Ok(More::Done)
    });
    Ok(task.priority(bed::urgent()).submit()?)
}

/// The time until the task has ended.
fn span(rig: &Rig, task: &Handle) -> Result<Nanos, Failure> {
    let host = rig.driver().host();
    let start = host.now();
    task.wait()?;
    Ok(host.now().since(start))
}

/// An urgent copy beside two bulk copies. One before them tells the layer that urgent copies are to come.
pub fn overtakes_bulk() -> Outcome {
    on(|rig| {
        let bed = bed::open(rig)?;
        urgent(rig, &bed, None)?.wait()?;
        let slow = [bulk(rig, &bed)?, bulk(rig, &bed)?];
        let late = span(rig, &urgent(rig, &bed, None)?)?;
        ensure!(late < Nanos::from_us(100), "an urgent copy took {late:?} beside bulk");
        let rest = span(rig, &slow[1])?;
        ensure!(rest > Nanos::from_us(1000), "bulk was over before: {rest:?}");
        Ok(bed.tasks.wait()?)
    })
}

/// The time of bulk alone, and beside an urgent copy that waits for a kernel of 4 ms.
fn bulk_beside(urgent_behind: fn(&Rig, &Bed) -> Result<Handle, Failure>) -> Result<[Nanos; 2], Failure> {
    let alone = on(|rig| {
        let bed = bed::open(rig)?;
        urgent(rig, &bed, None)?.wait()?;
        span(rig, &bulk(rig, &bed)?)
    })?;
    on(|rig| {
        let bed = bed::open(rig)?;
        urgent(rig, &bed, None)?.wait()?;
        bulk(rig, &bed)?.wait()?;
        let behind = urgent_behind(rig, &bed)?;
        let beside = span(rig, &bulk(rig, &bed)?)?;
        ensure!(!behind.is_done(), "the kernel was over before");
        behind.wait()?;
        Ok([alone, beside])
    })
}

/// While its kernel runs, an urgent copy behind it does not keep bulk from the link.
pub fn a_copy_that_waits_holds_nothing_off() -> Outcome {
    let [alone, beside] = bulk_beside(|rig, bed| urgent(rig, bed, Some(Nanos::from_ms(4))))?;
    ensure!(beside < Nanos(alone.0 + alone.0 / 20), "bulk took {beside:?} beside it, and {alone:?} alone");
    Ok(())
}

/// Nor does one behind a kernel that the lane has not seen: it is not said to be able to begin.
pub fn a_copy_behind_unseen_work() -> Outcome {
    let [alone, beside] = bulk_beside(|rig, bed| {
        let (target, source) = (rig.pinned(SMALL_BYTES)?, rig.buffer(SMALL_BYTES)?);
        let spin = rig.kernels()?.spin;
        let task = bed.tasks.download("urgent", move |lane: &mut Lane<'_>| {
            raw::spin_unseen(lane, spin, Nanos::from_ms(4))?;
            raw::download(lane, &target, source, SMALL_BYTES)?;
            Ok(More::Done)
        });
        Ok(task.priority(bed::urgent()).submit()?)
    })?;
    ensure!(beside < Nanos(alone.0 + alone.0 / 8), "bulk took {beside:?} beside it, and {alone:?} alone");
    Ok(())
}

/// Without urgent tasks bulk goes as the driver makes it, and again some time after the last of them.
pub fn bulk_alone_goes_natively() -> Outcome {
    on(|rig| {
        let bed = bed::open(rig)?;
        let by_kernel = || bed.overtake.statistics().kernel.copies;
        bulk(rig, &bed)?.wait()?;
        same("copies by kernel before the first urgent task", &by_kernel(), &0)?;
        urgent(rig, &bed, None)?.wait()?;
        bulk(rig, &bed)?.wait()?;
        same("copies by kernel after it", &by_kernel(), &1)?;
        rig.driver().host().sleep(Nanos::from_ms(150));
        bulk(rig, &bed)?.wait()?;
        same("copies by kernel a while after the last", &by_kernel(), &1)
    })
}

/// Urgent copies without end, each submitted when the last one has completed.
fn urgent_for_ever(bed: &Bed, rig: &Rig, stop: &Arc<AtomicBool>) -> Result<(), Failure> {
    const BYTES: u64 = 1 << 20;
    let (target, source) = (rig.pinned(BYTES)?, rig.buffer(BYTES)?);
    for _ in 0..4 {
        again(&bed.tasks, &target, source, stop)?;
    }
    fn again(tasks: &Tasks, target: &Arc<Pinned>, source: Buffer, stop: &Arc<AtomicBool>) -> Result<(), Error> {
        let to = Arc::clone(target);
        let copy = tasks.download("urgent", move |lane: &mut Lane<'_>| {
            raw::download(lane, &to, source, BYTES)?;
            Ok(More::Done)
        });
        let copy = copy.priority(bed::urgent()).submit()?;
        let (tasks_of_next, target, stop) = (tasks.clone(), Arc::clone(target), Arc::clone(stop));
        let next = tasks.light("next", move || match stop.load(Ordering::Acquire) {
            true => Ok(()),
            false => Ok(again(&tasks_of_next, &target, source, &stop)?),
        });
        next.after(&copy).submit().map(drop)
    }
    Ok(())
}

/// A replay whose first copy is bulk to the host.
fn bulk_of_a_replay(rig: &Rig, bed: &Bed) -> Result<Handle, Failure> {
    let (target, source) = (rig.pinned(BULK_BYTES)?, rig.buffer(BULK_BYTES)?);
    let mut recording = Recording::new();
    let down = recording.download("bulk", &[], move |lane, ()| {
        raw::download(lane, &target, source, BULK_BYTES)?;
        Ok(More::Done)
    });
    recording.kernel("behind", &[down], |_, ()| Ok(More::Done));
    Ok(recording.finish()?.replay(&bed.tasks, ()).submit()?)
}

/// Of two bulk copies under endless urgent traffic, that passes for which an urgent kernel comes to wait.
pub fn a_submitted_copy_is_lifted() -> Outcome {
    lifted(bulk)
}

/// The same of a copy of a replay, which is one task.
pub fn a_submitted_copy_of_a_replay_is_lifted() -> Outcome {
    lifted(bulk_of_a_replay)
}

fn lifted(bulk: fn(&Rig, &Bed) -> Result<Handle, Failure>) -> Outcome {
    on(|rig| {
        let bed = bed::open(rig)?;
        let stop: Arc<AtomicBool> = Arc::default();
        urgent_for_ever(&bed, rig, &stop)?;
        let (waited_for, other) = (bulk(rig, &bed)?, bulk(rig, &bed)?);
        rig.driver().host().sleep(Nanos::from_us(500));
        ensure!(!waited_for.is_done() && !other.is_done(), "urgent copies hold them off");
        let kernel = bed.tasks.kernel("waits", |_: &mut Lane<'_>| Ok(More::Done));
        let kernel = kernel.priority(bed::urgent()).after(&waited_for).submit()?;
        let passes = span(rig, &kernel)?;
        ensure!(bed.dispatcher.statistics().lifts > 0, "{:?}", bed.dispatcher.statistics());
        // Alone it takes 1.4 ms; without a lift 23.
        ensure!(passes < Nanos::from_ms(6), "it took {passes:?}");
        stop.store(true, Ordering::Release);
        Ok(bed.tasks.wait()?)
    })
}
