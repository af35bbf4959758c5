//! The priority of a computation reaches its bytes.

use hal::Nanos;
use overtake::data::{Array, discard, read};
use overtake::task::Handle;

use super::on;
use crate::bed::{self, Bed};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::raw;
use crate::rig::Rig;

const BULK: usize = 16 << 20;
const SMALL: usize = 16 << 10;

/// The time until the task has ended.
fn span(rig: &Rig, task: &Handle) -> Result<Nanos, Failure> {
    let host = rig.driver().host();
    let start = host.now();
    task.wait()?;
    Ok(host.now().since(start))
}

/// Arrays of zeros on the host, and a result.
fn arrays(bed: &Bed, count: usize) -> Result<(Array<f32>, Array<f32>), Failure> {
    let source = bed.arrays.array(&[count])?;
    drop(source.overwrite()?);
    Ok((source, bed.arrays.array(&[count])?))
}

/// An urgent computation whose bytes are on the host, beside transfers of bulk that are under way.
pub fn its_bytes_overtake_bulk() -> Outcome {
    on(|_, rig| {
        let bed = bed::open(rig)?;
        let submit = |(source, sum): &(Array<f32>, Array<f32>), priority| {
            raw::add(&bed, "sum", source, source, sum).priority(priority).submit()
        };
        let (warm, small, bulk) = (arrays(&bed, SMALL)?, arrays(&bed, SMALL)?, [0; 3].map(|_| arrays(&bed, BULK)));
        let alone = span(rig, &submit(&warm, bed::urgent())?)?;
        let bulk = bulk.into_iter().collect::<Result<Vec<_>, _>>()?;
        // Their memory is there before the spans are taken.
        let slow = bulk.iter().map(|one| submit(one, overtake::Priority::LOWEST)).collect::<Result<Vec<_>, _>>()?;
        let late = span(rig, &submit(&small, bed::urgent())?)?;
        ensure!(late < Nanos(3 * alone.0), "an urgent computation took {late:?} beside bulk, and {alone:?} alone");
        let rest = span(rig, &slow[2])?;
        ensure!(rest > Nanos(20 * late.0), "bulk was over before: {rest:?}");
        Ok(())
    })
}

/// An urgent computation that reads an array whose transfer is bulk's, and under way: that transfer is lifted, and
/// the one before it in their copy strand, which it cannot pass. The one behind it is not.
pub fn a_shared_transfer_is_lifted() -> Outcome {
    on(|_, rig| {
        let bed = bed::open(rig)?;
        let submit = |(source, sum): &(Array<f32>, Array<f32>), priority| {
            raw::add(&bed, "sum", source, source, sum).priority(priority).submit()
        };
        // From then on bulk goes in a way that can be lifted.
        submit(&arrays(&bed, SMALL)?, bed::urgent())?.wait()?;
        let bulk = [0; 3].map(|_| arrays(&bed, BULK)).into_iter().collect::<Result<Vec<_>, _>>()?;
        for one in &bulk {
            submit(one, overtake::Priority::LOWEST)?;
        }
        let again = |priority| {
            let sum = bed.arrays.array(&[BULK])?;
            raw::add(&bed, "again", &bulk[1].0, &bulk[1].0, &sum).priority(priority).submit()
        };
        again(overtake::Priority::LOWEST)?;
        same("lifts for bulk", &bed.dispatcher.statistics().lifts, &0)?;
        again(bed::urgent())?.wait()?;
        same("lifts", &bed.dispatcher.statistics().lifts, &2)?;
        same("uploads", &bed.arrays.statistics().uploads, &4)
    })
}

/// A function that overwrites the source of a kernel begins when the device is done, and not when a thread has looked.
pub fn a_function_begins_at_once() -> Outcome {
    on(|_, rig| {
        let bed = bed::open(rig)?;
        let (source, sum) = arrays(&bed, SMALL)?;
        read(&source).to_device()?.wait()?;
        let kernel = raw::add(&bed, "sum", &source, &source, &sum).submit()?;
        let function = bed.arrays.host("overwrites", (discard(&source),), |_| Ok(())).submit()?;
        ensure!(!kernel.is_done(), "the kernel is over already");
        let span = span(rig, &function)?;
        ensure!(span < Nanos::from_us(100), "the function began after {span:?}");
        Ok(())
    })
}
