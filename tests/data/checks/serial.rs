//! With `is_serial` a submission returns when its computation has ended (GR-11), if it can.

use std::sync::Arc;
use std::sync::mpsc::channel;

use overtake::data::{ArrayOptions, Arrays, Sum, discard, read, read_write, reduce};
use overtake::task::Tasks;

use crate::bed::{self, Bed};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::raw;
use crate::rig::Rig;

const COUNT: usize = 64;
/// The elements of a transfer that takes a while.
const MANY: usize = 1 << 20;

fn open(rig: &Rig) -> Result<Bed, Failure> {
    bed::open_with(rig, rig.shared_driver(), ArrayOptions { is_serial: true, ..ArrayOptions::default() })
}

/// Kernels and functions of the host have ended when their submission returns, transfers and failures included.
pub fn each_has_ended(rig: &Rig) -> Outcome {
    let bed = open(rig)?;
    let (one, sum) = (bed.arrays.array_of(&[1.0_f32; COUNT])?, bed.arrays.array(&[COUNT])?);
    let kernel = raw::add(&bed, "kernel", &one, &one, &sum).submit()?;
    ensure!(kernel.is_done(), "the kernel has ended");
    let host = bed.arrays.host("host", (read(&sum),), |(sum,)| match sum[0] {
        2.0 => Err("as it should".into()),
        other => Err(format!("it saw {other}").into()),
    });
    let host = host.submit()?;
    ensure!(host.is_done(), "the function has ended");
    let text = host.wait().err().map(|error| error.to_string()).unwrap_or_default();
    ensure!(text.contains("as it should"), "the failure is in its handle: {text:?}");
    let after = raw::add(&bed, "after", &one, &one, &sum).submit()?;
    ensure!(after.is_done(), "a failure stops nothing");
    Ok(())
}

/// What cannot end without a later call is not waited for: nothing stands still.
pub fn waits_for_no_later_call(rig: &Rig) -> Outcome {
    let bed = open(rig)?;
    let array = bed.arrays.array_of(&[1.0_f32; COUNT])?;
    let step = |name: &'static str| {
        bed.arrays.host(name, (read_write(&array),), |(array,)| {
            array[0] *= 2.0;
            Ok(())
        })
    };
    let held = step("held").held().submit()?;
    let behind = step("behind").submit()?;
    let join = bed.tasks.join("join").held().submit()?;
    let other = bed.arrays.array::<f32>(&[COUNT])?;
    let after = raw::add(&bed, "after", &array, &array, &other).after(&join).submit()?;
    same("those that have ended", &[held.is_done(), behind.is_done(), after.is_done()], &[false; 3])?;
    held.release()?;
    join.release()?;
    after.wait()?;
    let guard = array.read()?;
    let writer = step("writer").submit()?;
    ensure!(!writer.is_done(), "an access of the host is open");
    drop(guard);
    writer.wait()?;
    same("each has run once", &array.read()?[0], &8.0)
}

/// The same for partial results of a held computation, for sets that are stopped, and while a group is open.
pub fn waits_for_nothing_held(rig: &Rig) -> Outcome {
    let bed = open(rig)?;
    let (one, sum) = (bed.arrays.array_of(&[1.0_f32; COUNT])?, bed.arrays.array_of(&[0.0_f32; COUNT])?);
    let held = raw::add_up(&bed, "held", (read(&one), reduce(&sum, Sum)), COUNT).held().submit()?;
    let seen = bed.arrays.host("seen", (read(&sum),), |_| Ok(())).submit()?;
    ensure!(!seen.is_done(), "it needs the results of a held computation");
    held.release()?;
    seen.wait()?;

    let group = bed.tasks.group()?;
    let grouped = raw::add(&bed, "grouped", &one, &one, &sum).submit()?;
    ensure!(!grouped.is_done(), "a group is open");
    drop(group);
    grouped.wait()?;

    let set = Tasks::new(&bed.dispatcher);
    let arrays = Arrays::of(set.clone(), ArrayOptions { is_serial: true, ..ArrayOptions::default() })?;
    let array = arrays.array::<u32>(&[1])?;
    set.stop();
    let stopped = arrays.host("stopped", (discard(&array),), |_| Ok(())).submit()?;
    ensure!(!stopped.is_done(), "its set is stopped");
    set.start()?;
    Ok(stopped.wait()?)
}

/// Behind a transfer that is under way it waits.
pub fn waits_behind_transfers(rig: &Rig) -> Outcome {
    let bed = open(rig)?;
    let (big, sum) = (bed.arrays.array_of(&vec![1.0_f32; MANY])?, bed.arrays.array::<f32>(&[MANY])?);
    read(&big).to_device()?;
    let after = raw::add(&bed, "after", &big, &big, &sum).submit()?;
    ensure!(after.is_done(), "the transfer before it ends by itself");
    Ok(())
}

/// The function of a task submits without waiting: it is of the dispatcher that would have to go on.
pub fn waits_in_no_function(rig: &Rig) -> Outcome {
    let bed = open(rig)?;
    let array = Arc::new(bed.arrays.array::<u32>(&[1])?);
    let (arrays, target) = (bed.arrays.clone(), Arc::clone(&array));
    let (returned, has_returned) = channel();
    let outer = bed.tasks.host("outer", move || {
        let inner = arrays.host("inner", (discard(&*target),), move |(target,)| {
            has_returned.recv()?;
            target[0] = 7;
            Ok(())
        });
        inner.submit()?;
        Ok(returned.send(())?)
    });
    outer.submit()?.wait()?;
    bed.arrays.wait()?;
    same("the inner one has run", &array.read()?[0], &7)
}
