//! Copy, kernel, copy, function: the results are there when the next task needs them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use hal::Nanos;
use overtake::task::{Lane, More};

use crate::bed;
use crate::failure::{Failure, Outcome, same};
use crate::raw;
use crate::rig::Rig;

const BYTES: u64 = 4096;

/// A word goes up, a kernel adds to it, it comes back, and a function of the host reads it.
fn chain(rig: &Rig, bed: &bed::Bed, number: u32, seen: &Arc<AtomicU32>) -> Result<overtake::task::Handle, Failure> {
    let (source, target, device) = (rig.pinned(BYTES)?, rig.pinned(BYTES)?, rig.buffer(BYTES)?);
    source.word32(0).store(number, Ordering::Release);
    let add = bed.kernels.add.clone();
    let upload = bed.tasks.upload("upload", move |lane: &mut Lane<'_>| {
        raw::upload(lane, device, &source, BYTES)?;
        Ok(More::Done)
    });
    let upload = upload.submit()?;
    let kernel = bed.tasks.kernel("add", move |lane: &mut Lane<'_>| {
        raw::word(lane, &add, device.at(0), 1000)?;
        Ok(More::Done)
    });
    let kernel = kernel.after(&upload).submit()?;
    let to = Arc::clone(&target);
    let download = bed.tasks.download("download", move |lane: &mut Lane<'_>| {
        raw::download(lane, &to, device, BYTES)?;
        Ok(More::Done)
    });
    let download = download.after(&kernel).submit()?;
    let seen = Arc::clone(seen);
    let read = bed.tasks.host("read", move || {
        seen.fetch_add(target.word32(0).load(Ordering::Acquire), Ordering::AcqRel);
        Ok(())
    });
    Ok(read.after(&download).submit()?)
}

pub fn bytes(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let seen = Arc::default();
    chain(rig, &bed, 7, &seen)?.wait()?;
    same("the word that came back", &seen.load(Ordering::Acquire), &1007)
}

pub fn many(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let seen = Arc::default();
    for number in 0..60 {
        drop(chain(rig, &bed, number, &seen)?);
    }
    bed.tasks.wait()?;
    same("the sum of all words", &seen.load(Ordering::Acquire), &(60 * 1000 + 59 * 30))?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// A task that launches three kernels, one a call.
pub fn turns(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (word, spin) = (rig.buffer_of(&[0; 64])?, bed.kernels.spin.clone());
    let add = bed.kernels.add.clone();
    let task = bed.tasks.kernel("three", move |lane: &mut Lane<'_>| {
        raw::spin(lane, &spin, Nanos::from_us(5))?;
        raw::word(lane, &add, word.at(0), 1)?;
        Ok(if lane.turn() < 2 { More::Again } else { More::Done })
    });
    task.submit()?.wait()?;
    same("launches", &bed.dispatcher.statistics().launches, &3)?;
    let stream = rig.stream()?;
    same("kernels", &rig.download(word, stream)?[0], &3)
}
