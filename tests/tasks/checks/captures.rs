//! Captures of streams: in the lane of a task, and in the program around.

use hal::CaptureMode;
use overtake::dispatch::DispatchOptions;
use overtake::task::{Handle, Lane, More, WorkResult};

use crate::bed::{self, Bed};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::place::Buffer;
use crate::raw;
use crate::rig::Rig;

fn one_lane() -> DispatchOptions {
    DispatchOptions { groups: 1, lanes: 1, workers: 1, tasks_max: 64, ..DispatchOptions::default() }
}

/// A kernel that stores a number.
fn stores(bed: &Bed, word: Buffer, number: u32) -> Result<Handle, Failure> {
    let store = bed.kernels.store.clone();
    let task = bed.tasks.kernel("stores", move |lane: &mut Lane<'_>| {
        raw::word(lane, &store, word.at(0), number)?;
        Ok(More::Done)
    });
    Ok(task.submit()?)
}

/// A function that begins to capture its lane's stream and does not end that fails by name, and the lane works on.
pub fn left_open(rig: &Rig) -> Outcome {
    let (bed, word) = (bed::open_with(rig, one_lane())?, rig.buffer_of(&[0; 64])?);
    for mode in [CaptureMode::Global, CaptureMode::ThreadLocal, CaptureMode::Relaxed] {
        let store = bed.kernels.store.clone();
        let captures = bed.tasks.kernel("captures", move |lane: &mut Lane<'_>| {
            lane.driver().stream_begin_capture(lane.stream(), mode)?;
            raw::word(lane, &store, word.at(0), 1)?;
            Ok(More::Done)
        });
        let captures = captures.held().submit()?;
        let after = bed.tasks.kernel("after", |_: &mut Lane<'_>| Ok(More::Done)).after(&captures).submit()?;
        captures.release()?;
        let error = captures.wait().expect_err("its work is in no lane").to_string();
        ensure!(error.contains("task \"captures\" failed") && error.contains("capture"), "{error}");
        ensure!(after.wait().is_err(), "it came after a task that failed");
        stores(&bed, word, 5)?.wait()?;
    }
    let statistics = bed.dispatcher.statistics();
    same("captures that were ended", &statistics.captures_ended, &3)?;
    ensure!(!statistics.is_device_lost, "the device is as before");
    same("the word", &rig.download(word, rig.stream()?)?[0], &5)
}

/// A function may capture, and end that.
pub fn ended(rig: &Rig) -> Outcome {
    let (bed, word) = (bed::open_with(rig, one_lane())?, rig.buffer_of(&[0; 64])?);
    let store = bed.kernels.store.clone();
    let captures = bed.tasks.kernel("captures", move |lane: &mut Lane<'_>| -> WorkResult<More> {
        let driver = lane.driver().clone();
        driver.stream_begin_capture(lane.stream(), CaptureMode::ThreadLocal)?;
        raw::word(lane, &store, word.at(0), 1)?;
        driver.graph_destroy(driver.stream_end_capture(lane.stream())?)?;
        Ok(More::Done)
    });
    captures.submit()?.wait()?;
    stores(&bed, word, 5)?.wait()?;
    same("captures that were ended", &bed.dispatcher.statistics().captures_ended, &0)
}

/// The program captures a stream of its own, in the mode that prohibits most, while other threads' tasks of all kinds
/// are dispatched, waited for, and fail: its capture is whole.
pub fn beside(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (stream, word, words) = (rig.stream()?, rig.buffer_of(&[0; 64])?, rig.buffer_of(&[0; 64])?);
    rig.driver().stream_begin_capture(stream, CaptureMode::Global)?;
    let submitter = rig.spawn("submitter", move |_| {
        for number in 1..=40 {
            let first = stores(&bed, word, number)?;
            let second = stores(&bed, words, number)?;
            let fails = bed.tasks.kernel("fails", |_: &mut Lane<'_>| Err("as planned".into()));
            let fails = fails.after(&first).after(&second).submit()?;
            bed.tasks.host("reads", || Ok(())).after(&first).after(&second).submit()?.wait()?;
            ensure!(fails.wait().is_err(), "it fails");
        }
        drop(bed);
        Ok(())
    });
    let submitted = rig.join(submitter);
    let graph = rig.driver().stream_end_capture(stream)?;
    rig.driver().graph_destroy(graph)?;
    submitted
}
