//! Scenarios of the schedulers that came before: of DPC++ by the names of its tests, and the misuses that CUDASTF
//! aborts on, which are errors here.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use overtake::data::{ArrayOptions, Arrays, discard, read, read_write};
use overtake::dispatch::{DispatchOptions, Dispatcher};
use overtake::task::Handle;

use crate::bed;
use crate::failure::{Outcome, ensure, same};
use crate::raw;
use crate::rig::Rig;

const COUNT: usize = 64;

/// LeafLimit: a writer waits for each of many readers, and no reader for another.
pub fn leaf_limit(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let array = bed.arrays.array_of(&[1.0_f32; COUNT])?;
    let reader = |_| bed.arrays.host("reader", (read(&array),), |_| Ok(())).held().submit();
    let readers: Vec<Handle> = (0..20).map(reader).collect::<Result<_, _>>()?;
    let writer = bed.arrays.host("writer", (discard(&array),), |(array,)| {
        array.fill(2.0);
        Ok(())
    });
    let writer = writer.submit()?;
    for reader in readers.iter().rev() {
        ensure!(!writer.is_done(), "it waits for all readers");
        reader.release()?;
        reader.wait()?;
    }
    Ok(writer.wait()?)
}

/// BlockedCommands: those before a blocked one run, those behind it return at once and run by themselves later.
pub fn blocked_commands(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let array = bed.arrays.array_of(&[1_u32])?;
    let step = |name: &'static str| {
        bed.arrays.host(name, (read_write(&array),), |(array,)| {
            array[0] *= 2;
            Ok(())
        })
    };
    let (one, two) = (step("one").submit()?, step("two").submit()?);
    let (blocked, behind) = (step("blocked").held().submit()?, step("behind").submit()?);
    two.wait()?;
    same("those that have ended", &[one.is_done(), blocked.is_done(), behind.is_done()], &[true, false, false])?;
    blocked.release()?;
    behind.wait()?;
    same("each has run once", &array.read()?[0], &16)
}

/// EnqueueWithDependsOnDeps: a kernel behind a function of the host goes by itself when that has ended.
pub fn enqueue_with_depends_on(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (given, sum) = (bed.arrays.array::<f32>(&[COUNT])?, bed.arrays.array(&[COUNT])?);
    let fill = bed.arrays.host("fill", (discard(&given),), |(given,)| {
        given.fill(3.0);
        Ok(())
    });
    let fill = fill.held().submit()?;
    let kernel = raw::add(&bed, "kernel", &given, &given, &sum).submit()?;
    let has_run = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&has_run);
    let after = bed.arrays.host("after", (read(&sum),), move |(sum,)| {
        seen.store(sum[0] == 6.0, Ordering::Release);
        Ok(())
    });
    let after = after.submit()?;
    ensure!(!kernel.is_done() && !has_run.load(Ordering::Acquire), "both are blocked");
    fill.release()?;
    after.wait()?;
    ensure!(has_run.load(Ordering::Acquire), "the function has seen the sum");
    Ok(())
}

/// WaitAfterCleanup, MemObjCommandCleanup: a handle outlives its arrays, and nothing of them is left.
pub fn wait_after_cleanup(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (given, sum) = (bed.arrays.array_of(&[1.0_f32; COUNT])?, bed.arrays.array(&[COUNT])?);
    let task = raw::add(&bed, "sum", &given, &given, &sum).held().submit()?;
    let (seen, its) = (Arc::new(AtomicBool::new(false)), Arc::new(()));
    let (notes, owned) = (Arc::clone(&seen), Arc::clone(&its));
    let reads = bed.arrays.host("reads", (read(&sum),), move |(sum,)| {
        let _owned = &owned;
        notes.store(sum[0] == 2.0 && sum[COUNT - 1] == 2.0, Ordering::Release);
        Ok(())
    });
    let reads = reads.submit()?;
    drop((given, sum));
    // Their memory is not given to others while the tasks have not ended.
    let (other, nines) = (bed.arrays.array_of(&[9.0_f32; COUNT])?, bed.arrays.array(&[COUNT])?);
    raw::add(&bed, "other", &other, &other, &nines).submit()?.wait()?;
    task.release()?;
    bed.arrays.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)?;
    ensure!(seen.load(Ordering::Acquire), "the sum is that of the arrays that were dropped");
    same("functions that are left", &Arc::strong_count(&its), &1)?;
    reads.wait()?;
    task.wait()?;
    Ok(task.wait()?)
}

/// A context that an array is not of: an error, and neither of the two is changed.
pub fn mismatched_contexts(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let other = Dispatcher::open(&bed.overtake, DispatchOptions::default())?;
    let strangers =
        [Arrays::open(&other, ArrayOptions::default())?, Arrays::open(&bed.dispatcher, ArrayOptions::default())?];
    let own = bed.arrays.array_of(&[5_u32])?;
    for stranger in &strangers {
        let foreign = stranger.array_of(&[7_u32])?;
        let copy = bed.arrays.host("copy", (read(&foreign), discard(&own)), |(from, to)| {
            to.copy_from_slice(from);
            Ok(())
        });
        let errors = [copy.submit().err(), bed.arrays.section("section", (read(&foreign),)).open().err()];
        for error in errors {
            let error = error.map(|error| error.to_string()).unwrap_or_default();
            ensure!(error.contains("an array of other `Arrays`"), "it is refused: {error:?}");
        }
        same("the foreign array", &foreign.read()?[0], &7)?;
    }
    let (section, (_inside,)) = bed.arrays.section("inside", (read(&own),)).open()?;
    let around = section.host("around", (read(&own),), |_| Ok(())).submit();
    ensure!(around.is_err(), "it was not lent that array, but another view of it");
    drop(section);
    same("the own array", &own.read()?[0], &5)
}
