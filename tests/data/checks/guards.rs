//! Guards hold later tasks back that conflict with them, and no others; the host waits for no more than it needs.

use overtake::data::{discard, read, read_write, write};
use overtake::task::Handle;

use crate::bed::{self, Bed};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::place::Buffer;
use crate::raw;
use crate::rig::Rig;

const COUNT: usize = 64;

/// None of these has been launched after a while, in which all others have ended.
fn are_held_back(rig: &Rig, tasks: &[&Handle]) -> Outcome {
    rig.driver().host().sleep(hal::Nanos::from_us(300));
    match tasks.iter().find(|task| task.is_launched()) {
        Some(task) => Err(Failure::new(format_args!("task {} was not held back", task.name()))),
        None => Ok(()),
    }
}

fn arrays(bed: &Bed) -> Result<[overtake::data::Array<f32>; 3], Failure> {
    Ok([bed.arrays.array_of(&[1.0; COUNT])?, bed.arrays.array_of(&[2.0; COUNT])?, bed.arrays.array(&[COUNT])?])
}

/// A guard that reads holds writers back, with all that comes after them, and no readers (SY-12, 13).
pub fn hold_writers_back(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let [one, two, sum] = arrays(&bed)?;
    let guard = one.read()?;
    let reader = raw::add(&bed, "reader", &one, &two, &sum).submit()?;
    reader.wait()?;
    let writer = raw::add(&bed, "writer", &two, &two, &one).submit()?;
    let behind = raw::add(&bed, "behind", &one, &one, &two).submit()?;
    let beside = raw::add(&bed, "beside", &sum, &sum, &sum).submit();
    ensure!(beside.is_ok(), "on the device an array may be used twice: {beside:?}");
    beside?.wait()?;
    are_held_back(rig, &[&writer, &behind])?;
    same("meanwhile", &guard[0], &1.0)?;
    drop(guard);
    same("afterwards", &two.read()?[0], &8.0)?;
    bed.arrays.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// A guard that writes holds readers back too, and functions of the host.
pub fn hold_readers_back(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let [one, two, sum] = arrays(&bed)?;
    let mut guard = one.change()?;
    let reader = raw::add(&bed, "reader", &one, &two, &sum).submit()?;
    let function = bed.arrays.host("function", (read(&one),), |(one,)| match one[0] {
        5.0 => Ok(()),
        other => Err(format!("it saw {other}").into()),
    });
    let function = function.submit()?;
    are_held_back(rig, &[&reader, &function])?;
    guard.fill(5.0);
    drop(guard);
    same("the sum", &sum.read()?[COUNT - 1], &7.0)?;
    Ok(function.wait()?)
}

/// An access of the host waits for the tasks that write the bytes, and not for others (GR-06).
pub fn wait_for_no_more(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let [one, two, sum] = arrays(&bed)?;
    let never = raw::add(&bed, "held", &one, &one, &two).held().submit()?;
    raw::add(&bed, "needed", &one, &one, &sum).submit()?;
    same("the sum", &sum.read()?[3], &2.0)?;
    same("its source", &one.read()?[3], &1.0)?;
    // Of an array that a task writes in part, the other part is there.
    let part = discard(&sum).part(0..8);
    let held = raw::add_uses(&bed, "held part", (read(&one), read(&one), part), 8).held().submit()?;
    same("the other part", &read(&sum).part(8..16).open()?[0], &2.0)?;
    ensure!(!never.is_done() && !held.is_done(), "they are held");
    never.release()?;
    held.release()?;
    same("in the end", &two.read()?[0], &2.0)
}

/// Guards that read are no order, of one thread or of several, and neither is a guard of another part.
pub fn readers_beside_each_other(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let [one, _, sum] = arrays(&bed)?;
    raw::add(&bed, "sum", &one, &one, &sum).submit()?;
    let (first, second) = (sum.read()?, sum.read()?);
    std::thread::scope(|scope| {
        let third = scope.spawn(|| sum.read().map(|third| third[0]));
        let third = third.join().map_err(|_| Failure::new("it panicked"))?;
        same("three readers", &[first[0], second[0], third?], &[2.0; 3])
    })?;
    let mut left = read_write(&one).part(0..10).open()?;
    let mut right = read_write(&one).part(10..20).open()?;
    (left[9], right[0]) = (8.0, 9.0);
    drop((left, right));
    same("both parts", &one.read()?[8..12].to_vec(), &vec![1.0, 8.0, 9.0, 1.0])
}

/// A guard of a part holds back those that use it, and not those of other parts.
pub fn of_parts(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let [one, two, sum] = arrays(&bed)?;
    let guard = read_write(&one).part(16..32).open()?;
    let part = |range: std::ops::Range<usize>| (&one, range);
    let beside = raw::add_parts(&bed, "beside", part(0..16), part(32..48), (&sum, 0..16)).submit()?;
    let touching = raw::add_parts(&bed, "touching", part(31..33), part(40..42), (&two, 0..2)).submit()?;
    beside.wait()?;
    are_held_back(rig, &[&touching])?;
    drop(guard);
    Ok(touching.wait()?)
}

/// The host's memory begins as zeros, also where another array has been.
pub fn fresh_memory_is_zero(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    drop(bed.arrays.array_of(&[7_u8; 4096])?);
    bed.arrays.wait()?;
    let fresh = bed.arrays.array::<u8>(&[4096])?;
    let guard = write(&fresh).open()?;
    ensure!(guard.iter().all(|byte| *byte == 0), "it begins with {:?}", &guard[..8]);
    Ok(())
}

/// Frozen bytes stay where they are, for code outside: computations read them, and may not write them (ST-05).
pub fn frozen(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let [one, two, sum] = arrays(&bed)?;
    raw::add(&bed, "before", &two, &two, &one).submit()?;
    let frozen = read(&one).part(0..32).freeze(0)?;
    same("its elements", &(frozen.len(), frozen.is_empty()), &(32, false))?;
    let token = bed.arrays.token()?;
    let none = read(&token).freeze(0)?;
    same("no elements", &(none.len(), none.is_empty()), &(0, true))?;
    drop(none);
    drop(token);
    raw::add(&bed, "reads", &one, &one, &sum).submit()?.wait()?;
    for refused in [raw::add(&bed, "writes", &two, &two, &one).submit().map(drop), one.change().map(drop)] {
        let error = refused.expect_err("it is frozen");
        ensure!(error.to_string().contains("frozen for code outside"), "{error}");
    }
    raw::add_parts(&bed, "another part", (&two, 32..64), (&two, 32..64), (&one, 32..64)).submit()?;
    let memory = Buffer { base: frozen.address(), bytes: 4 * 32 };
    same("outside", &rig.download(memory, rig.stream()?)?, &4_f32.to_ne_bytes().repeat(32))?;
    let again = read(&one).part(16..32).freeze(0)?;
    drop(frozen);
    ensure!(one.overwrite().is_err(), "a part is frozen still");
    drop(again);
    raw::add(&bed, "writes", &sum, &sum, &one).submit()?;
    same("thawed", &one.read()?[5], &16.0)?;
    ensure!(read(&one).freeze(9).is_err(), "there is no such device");
    bed.arrays.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}
