//! Memory of a device that the program owns: arrays use it where it lies, and leave their results there.

use std::sync::Arc;

use hal::Nanos;
use overtake::data::{Array, ArrayOptions, discard, read, read_write};
use overtake::heap::HeapOptions;

use crate::bed::{self, Bed};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::place::Buffer;
use crate::raw;
use crate::rig::Rig;

const COUNT: usize = 16 << 10;
const BYTES: u64 = 4 * COUNT as u64;

fn ones(rig: &Rig) -> Result<Buffer, Failure> {
    rig.buffer_of(&1_f32.to_ne_bytes().repeat(COUNT))
}

fn double(bed: &Bed, from: &Array<f32>, to: &Array<f32>) -> Outcome {
    raw::add(bed, "double", from, from, to).submit()?;
    Ok(())
}

/// Nothing is copied on the device, code outside sees the memory, and its owner goes with the last use.
pub fn is_used_where_it_lies(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (memory, owner) = (ones(rig)?, Arc::new(()));
    let adopted = raw::adopt(&bed, memory, Arc::clone(&owner))?;
    double(&bed, &adopted, &adopted)?;
    let frozen = read(&adopted).freeze(0)?;
    same("its address", &frozen.address(), &memory.base)?;
    drop(frozen);
    let lent = read_write(&adopted).lend(0)?;
    same("its address", &lent.address(), &memory.base)?;
    let waits = raw::add(&bed, "waits", &adopted, &adopted, &adopted).submit()?;
    ensure!(!waits.is_launched(), "code outside has it");
    drop(lent);
    waits.wait()?;
    bed.transfers("none", (0, 0), (0, 0))?;
    same("a result on the host", &adopted.read()?[9], &4.0)?;
    adopted.overwrite()?.fill(5.0);
    ensure!(Arc::strong_count(&owner) == 2, "the array uses its memory");
    ensure!(adopted.release()?.is_none(), "it was not made of a buffer");
    let seen = rig.download(memory, rig.stream()?)?;
    ensure!(seen == 5_f32.to_ne_bytes().repeat(COUNT), "its results are others: {:?}", &seen[..4]);
    drop(bed);
    same("owners", &Arc::strong_count(&owner), &1)
}

/// When the arrays go, bytes that only the host has are written back.
pub fn has_its_results_at_the_end(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let memory = ones(rig)?;
    let adopted = raw::adopt(&bed, memory, ())?;
    adopted.change()?[COUNT - 1] = 7.0;
    drop(bed);
    let seen = rig.download(memory, rig.stream()?)?;
    same("its results", &(&seen[..4], &seen[seen.len() - 4..]), &(&1_f32.to_ne_bytes()[..], &7_f32.to_ne_bytes()[..]))
}

/// A full device makes no room by moving memory out that is not its own.
pub fn is_never_moved_out(rig: &Rig) -> Outcome {
    let device = HeapOptions { page_bytes: BYTES, max_bytes: 2 * BYTES, ..HeapOptions::default() };
    let bed = bed::open_with(rig, rig.shared_driver(), ArrayOptions { device, ..ArrayOptions::default() })?;
    let memory = ones(rig)?;
    let adopted = raw::adopt(&bed, memory, ())?;
    let arrays = (0..4).map(|_| bed.arrays.array::<f32>(&[COUNT])).collect::<Result<Vec<_>, _>>()?;
    double(&bed, &adopted, &arrays[0])?;
    // The adopted array is the oldest from here on.
    for array in &arrays[1..] {
        double(&bed, &arrays[0], array)?;
    }
    same("the last result", &arrays[3].read()?[3], &4.0)?;
    same("arrays that left", &bed.arrays.statistics().evictions, &2)?;
    same("uploads", &bed.arrays.statistics().uploads, &0)
}

/// What one of several writers has written is written back, though another one fails.
pub fn has_the_results_beside_a_failure(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let memory = ones(rig)?;
    let (adopted, first) = (raw::adopt(&bed, memory, ())?, bed.arrays.array::<f32>(&[1])?);
    let driver = rig.shared_driver().clone();
    let late = bed.arrays.host("late", (discard(&first),), move |_| {
        driver.host().sleep(Nanos::from_ms(5));
        Ok(())
    });
    late.submit()?;
    let fails = (read(&first), discard(&adopted).part(0..COUNT / 2));
    let fails = bed.arrays.host("fails", fails, |_| Err("no luck".into())).submit()?;
    let writes = (read(&first), discard(&adopted).part(COUNT / 2..COUNT));
    let writes = bed.arrays.host("writes", writes, |(_, part)| {
        part.fill(7.0);
        Ok(())
    });
    let writes = writes.submit()?;
    ensure!(bed.arrays.clone().finish().is_err(), "a half is lost");
    ensure!(fails.wait().is_err() && writes.wait().is_ok(), "{fails:?} {writes:?}");
    let seen = rig.download(memory, rig.stream()?)?;
    same("the other half", &&seen[seen.len() - 4..], &&7_f32.to_ne_bytes()[..])
}
