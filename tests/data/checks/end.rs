//! The last `Arrays` goes: the work that can end does, the rest fails, and adopted memory has its results.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hal::Nanos;
use overtake::buffer::PinnedBuffer;
use overtake::data::{Array, ArrayOptions, Arrays, discard, read};
use overtake::task::Handle;

use crate::bed::{self, Bed};
use crate::doors;
use crate::failure::{Failure, Outcome, ensure, same};
use crate::rig::Rig;

const COUNT: usize = 1 << 16;

/// Drops the arrays of a bed, which gets others.
fn drop_arrays(bed: &mut Bed) -> Outcome {
    let others = Arrays::open(&bed.dispatcher, ArrayOptions::default())?;
    drop(std::mem::replace(&mut bed.arrays, others));
    Ok(())
}

fn two_arrays(bed: &Bed) -> Result<[Array<f32>; 2], Failure> {
    Ok([bed.arrays.array_of(&[1.0; COUNT])?, bed.arrays.array(&[COUNT])?])
}

fn has_failed(task: &Handle) -> Outcome {
    ensure!(task.is_done(), "{} has ended", task.name());
    let error = task.wait().expect_err("it was held");
    ensure!(error.to_string().contains("its arrays were dropped"), "{error}");
    Ok(())
}

/// Computations, their transfers and functions of the host have run, but not before the last clone goes.
pub fn all_has_ended(rig: &Rig) -> Outcome {
    let mut bed = bed::open(rig)?;
    let [source, sum] = two_arrays(&bed)?;
    let mut tasks = Vec::new();
    for _ in 0..20 {
        tasks.push(doors::add(&bed, "sum", &source, &source, &sum).submit()?);
        let look = bed.arrays.host("look", (read(&sum), discard(&source)), |(sum, source)| {
            source.copy_from_slice(sum);
            Ok(())
        });
        tasks.push(look.submit()?);
    }
    drop(bed.arrays.clone());
    ensure!(!tasks.iter().all(Handle::is_done), "a clone has waited");
    drop_arrays(&mut bed)?;
    for task in &tasks {
        ensure!(task.is_done(), "{} has not ended", task.name());
        task.wait()?;
    }
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)?;
    same("the last", &source.read()?[0], &((1 << 20) as f32))
}

/// Computations that are held, and those after them, fail: the program could start them no sooner. Others run.
pub fn held_ones_fail(rig: &Rig) -> Outcome {
    let mut bed = bed::open(rig)?;
    let ([source, sum], [other, free]) = (two_arrays(&bed)?, two_arrays(&bed)?);
    let held = doors::add(&bed, "held", &source, &source, &sum).held().submit()?;
    let behind = doors::add(&bed, "behind", &sum, &sum, &source).submit()?;
    let beside = doors::add(&bed, "beside", &other, &other, &free).submit()?;
    drop_arrays(&mut bed)?;
    has_failed(&held)?;
    has_failed(&behind)?;
    ensure!(beside.is_done(), "it had time to end");
    beside.wait()?;
    // It has ended, so nothing comes of it.
    let _ = held.release();
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)?;
    same("beside", &free.read()?[7], &2.0)?;
    let error = sum.read().expect_err("it was not written");
    ensure!(error.to_string().contains("its arrays were dropped"), "{error}");
    Ok(())
}

/// A guard keeps its bytes: computations that wait for it fail, and the thread that has it does not wait for itself.
pub fn a_guard_stays(rig: &Rig) -> Outcome {
    let mut bed = bed::open(rig)?;
    let ([source, sum], [other, _]) = (two_arrays(&bed)?, two_arrays(&bed)?);
    let mut guard = source.change()?;
    let reader = other.read()?;
    let waits = doors::add(&bed, "waits", &source, &source, &sum).submit()?;
    let reads = doors::add(&bed, "reads", &other, &other, &sum).submit()?;
    drop_arrays(&mut bed)?;
    has_failed(&waits)?;
    // It writes the same bytes as the other one, so it comes after it.
    has_failed(&reads)?;
    guard[3] = 4.0;
    same("both guards", &[guard[3], reader[3]], &[4.0, 1.0])?;
    drop((guard, reader));
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)?;
    same("afterwards", &source.read()?[3], &4.0)
}

/// The results are in memory that was adopted, also when there is no dispatcher any more to bring them.
pub fn adopted_memory_has_its_results(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let memory = PinnedBuffer::<f32>::new(&bed.overtake, COUNT)?;
    let [source, _] = two_arrays(&bed)?;
    let (adopted, lost) = (bed.arrays.adopt(memory)?, bed.arrays.array::<f32>(&[COUNT])?);
    doors::add(&bed, "sum", &source, &source, &adopted).submit()?;
    doors::add(&bed, "lost", &source, &source, &lost).submit()?;
    drop(bed);
    let memory = adopted.release()?;
    let memory = memory.ok_or_else(|| Failure::new("it was made of a buffer"))?;
    same("the results", &[memory[0], memory[COUNT - 1]], &[2.0; 2])?;
    ensure!(lost.release().is_err(), "its results are on a device, and no dispatcher brings them");
    Ok(())
}

/// A function that drops the last `Arrays` does not wait: it may be the one that others wait for.
pub fn in_a_function(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let arrays = Arrays::open(&bed.dispatcher, ArrayOptions::default())?;
    let source = arrays.array_of(&[1.0_f32; 8])?;
    let (host, began) = (rig.driver().host(), rig.driver().host().now());
    let has_run = Arc::new(AtomicBool::new(false));
    let ran = Arc::clone(&has_run);
    let inner = arrays.clone();
    let drops = arrays.host("drops", (discard(&source),), move |(source,)| {
        source.fill(2.0);
        drop(inner);
        Ok(())
    });
    let drops = drops.held().submit()?;
    let behind = arrays.host("behind", (read(&source),), move |(source,)| {
        ran.store(source[0] == 2.0, Ordering::Relaxed);
        Ok(())
    });
    let behind = behind.submit()?;
    drop(arrays);
    drops.release()?;
    behind.wait()?;
    ensure!(has_run.load(Ordering::Relaxed), "it saw other values");
    ensure!(host.now().since(began) < Nanos::from_ms(10_000), "the function has waited for itself");
    Ok(bed.arrays.wait()?)
}
