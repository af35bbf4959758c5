//! Driver calls that fail: the tasks that need their result fail with the cause, others do not, and nothing hangs.

use std::sync::Arc;

use hal::{Code, Driver};
use overtake::data::{ArrayOptions, discard, read};
use overtake::task::Error;

use super::{on, on_two};
use crate::bed::{self, Bed};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::faulty::{Faulty, INJECTED};
use crate::machine::Held;
use crate::raw;
use crate::rig::Rig;

const COUNT: usize = 256;
/// A program that makes more calls never ends: some call is repeated because it fails.
const CALLS_MAX: u64 = 5_000;
/// Calls that free something. If they fail, it stays.
const GIVING_BACK: [&str; 5] = ["stream_destroy", "event_destroy", "mem_free", "mem_free_async", "host_free"];

/// A bed on a driver whose calls can be made to fail.
fn faulty_bed(rig: &Rig) -> Result<(Arc<Faulty>, Bed), Failure> {
    faulty_bed_on(rig, 1)
}

fn faulty_bed_on(rig: &Rig, devices: u8) -> Result<(Arc<Faulty>, Bed), Failure> {
    let faulty = Faulty::new(rig.shared_driver(), Code::INVALID_VALUE);
    let driver: Arc<dyn Driver> = Arc::clone(&faulty) as Arc<dyn Driver>;
    let bed = bed::open_on(rig, &driver, devices, ArrayOptions::default())?;
    Ok((faulty, bed))
}

/// The error tells of the call that failed, and names the transfer.
fn tells(error: &Error, transfer: &str) -> Outcome {
    let text = error.to_string();
    ensure!(text.contains(INJECTED) && text.contains(transfer), "the error tells of no failed transfer: {text}");
    Ok(())
}

/// A failed upload fails its computations and those after them. Its source is as good as before.
pub fn of_an_upload() -> Outcome {
    on(|_, rig| {
        let (faulty, bed) = faulty_bed(rig)?;
        let (source, other) = (bed.arrays.array_of(&[1.0; COUNT])?, bed.arrays.array_of(&[3.0; COUNT])?);
        let [sum, more] = [bed.arrays.array::<f32>(&[COUNT])?, bed.arrays.array::<f32>(&[COUNT])?];
        read(&other).to_device()?.wait()?;
        faulty.refuse(&["copy_htod_async", "copy_async"]);
        let first = raw::add(&bed, "first", &source, &source, &sum).submit()?;
        let behind = raw::add(&bed, "behind", &sum, &sum, &more).submit()?;
        let beside = raw::add(&bed, "beside", &other, &other, &more).submit()?;
        for task in [&first, &behind] {
            tells(&task.wait().expect_err("its bytes did not come"), "\"first: to the device\"")?;
        }
        tells(&sum.read().expect_err("it was not written"), "\"first: to the device\"")?;
        // `beside` overwrites the array that `behind` was to write, so it fails with it if it came in time to wait.
        let _ = beside.wait();
        let apart = raw::add(&bed, "apart", &other, &other, &more).submit()?;
        apart.wait()?;
        same("a task that needs no transfer", &more.read()?[0], &6.0)?;
        same("the source", &source.read()?[0], &1.0)?;
        faulty.refuse(&[]);
        raw::add(&bed, "again", &source, &source, &sum).submit()?;
        same("the sum", &sum.read()?[COUNT - 1], &2.0)?;
        same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
    })
}

/// A failed download fails the host's access. The bytes are on the device still.
pub fn of_a_download() -> Outcome {
    on(|_, rig| {
        let (faulty, bed) = faulty_bed(rig)?;
        let (source, sum) = (bed.arrays.array_of(&[1.0; COUNT])?, bed.arrays.array::<f32>(&[COUNT])?);
        raw::add(&bed, "sum", &source, &source, &sum).submit()?;
        faulty.refuse(&["copy_dtoh_async", "copy_async"]);
        tells(&sum.read().expect_err("the copy failed"), "\"read on the host: to the host\"")?;
        let function = bed.arrays.host("function", (read(&sum),), |_| Ok(())).submit()?;
        tells(&function.wait().expect_err("the copy failed"), "\"function: to the host\"")?;
        discard(&source).open()?.fill(5.0);
        faulty.refuse(&[]);
        same("the sum", &sum.read()?[0], &2.0)?;
        raw::add(&bed, "sum", &source, &sum, &sum).submit()?;
        same("the next", &sum.read()?[0], &7.0)
    })
}

/// A failed transfer between devices fails its computation. The bytes are where they were.
pub fn of_a_crossing() -> Outcome {
    on_two(|_, rig| {
        let (faulty, bed) = faulty_bed_on(rig, 2)?;
        let (source, sum) = (bed.arrays.array_of(&[1.0; COUNT])?, bed.arrays.array::<f32>(&[COUNT])?);
        let more = bed.arrays.array::<f32>(&[COUNT])?;
        raw::add(&bed, "here", &source, &source, &sum).on(0).submit()?.wait()?;
        faulty.refuse(&["copy_dtod_async", "copy_async", "copy_peer_async"]);
        let there = raw::add(&bed, "there", &sum, &sum, &more).on(1).submit()?;
        tells(&there.wait().expect_err("its bytes did not come"), "\"there: to the device\"")?;
        faulty.refuse(&[]);
        raw::add(&bed, "again", &sum, &sum, &more).on(1).submit()?;
        same("the sum", &more.read()?[COUNT - 1], &4.0)?;
        same("transfers between devices", &bed.arrays.statistics().between_devices, &2)?;
        same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
    })
}

/// A few computations, transfers, functions and guards. Ends with the result or with the first error.
fn program(bed: &Bed) -> Result<f32, Error> {
    let (source, sum, total) =
        (bed.arrays.array_of(&[1.0; COUNT])?, bed.arrays.array::<f32>(&[COUNT])?, bed.arrays.array::<f32>(&[1])?);
    let last = bed.devices - 1;
    raw::add(bed, "sum", &source, &source, &sum).on(0).submit()?;
    source.change()?[0] = 4.0;
    raw::add(bed, "sum again", &source, &sum, &sum).on(last).submit()?;
    let add_up = bed.arrays.host("add up", (read(&sum), discard(&total)), |(sum, total)| {
        total[0] = sum.iter().sum();
        Ok(())
    });
    add_up.submit()?;
    let total = total.read()?;
    Ok(total[0])
}

/// The result of the program.
const RESULT: f32 = 3.0 * COUNT as f32 + 3.0;

/// A computation fails on its device, and runs on the other one.
fn elsewhere(bed: &Bed) -> Result<f32, Error> {
    let source = bed.arrays.array_of(&[1.0; COUNT])?;
    let [sum, copy] = [bed.arrays.array::<f32>(&[COUNT])?, bed.arrays.array::<f32>(&[COUNT])?];
    raw::add(bed, "sum", &source, &source, &sum).on(0).submit()?;
    let only_on_one = |device, _| if device == 0 { Err(INJECTED.into()) } else { Ok(()) };
    raw::copy_halves(bed, "halves", &sum, &copy, only_on_one).on(0).elsewhere().submit()?;
    Ok(copy.read()?.iter().sum())
}

/// A program and its result.
type Program = (fn(&Bed) -> Result<f32, Error>, f32);

const ALL: Program = (program, RESULT);

/// Runs the program while the `nth` call fails. Returns the number of calls.
fn once(
    gpu: &softgpu::SoftGpu,
    rig: &Rig,
    devices: u8,
    (program, expected): Program,
    nth: u64,
) -> Result<u64, Failure> {
    // The first rig's modules stay until it goes, and the findings of its probe serve the second one.
    let (faulty, warm) = faulty_bed_on(rig, devices)?;
    drop(warm);
    faulty.forget();
    let driver: Arc<dyn Driver> = Arc::clone(&faulty) as Arc<dyn Driver>;
    let bed = bed::open_on(rig, &driver, devices, ArrayOptions::default())?;
    let held = Held::by(gpu);
    faulty.fail(nth);
    let result = program(&bed);
    bed.arrays.wait()?;
    let calls = faulty.calls();
    faulty.fail(0);
    ensure!(nth == 0 || faulty.failed().is_some(), "call {nth} was never made");
    match (&result, faulty.failed()) {
        (Ok(sum), _) => same("the result", sum, &expected)?,
        (Err(error), Some(_)) => ensure!(error.to_string().contains(INJECTED), "{error}"),
        (Err(error), None) => return Err(Failure::new(error)),
    }
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)?;
    // The same again, unless the device is lost.
    let again = program(&bed);
    let is_lost = bed.dispatcher.statistics().is_device_lost;
    ensure!(
        is_lost || matches!(again, Ok(sum) if sum == expected),
        "after {:?} had failed: {again:?}",
        faulty.failed()
    );
    ensure!(!is_lost || again.is_err(), "the device is lost, and a program ran");
    drop(bed);
    let spared = faulty.failed().is_some_and(|call| GIVING_BACK.contains(&call));
    let (now, most) = (Held::by(gpu).sum(), held.sum() + usize::from(spared));
    ensure!(now <= most, "{now} objects after {:?} failed, and {} before", faulty.failed(), held.sum());
    Ok(calls)
}

/// Every driver call of a program fails once.
pub fn every_call() -> Outcome {
    each_call(1, ALL)
}

/// The same of a program on two devices.
pub fn every_call_on_two() -> Outcome {
    each_call(2, ALL)
}

/// The same of one in which a computation runs on another device than its own.
pub fn every_call_elsewhere() -> Outcome {
    each_call(2, (elsewhere, 2.0 * COUNT as f32))
}

fn each_call(devices: u8, program: Program) -> Outcome {
    let (mut calls, mut nth) = (1, 0);
    while nth <= calls {
        on_two(|gpu, rig| {
            let run = once(gpu, rig, devices, program, nth)
                .map_err(|error| Failure::from_text(format!("call {nth}: {error}")))?;
            calls = if nth == 0 { run } else { calls };
            ensure!(run < CALLS_MAX, "call {nth}: the program makes {run} calls");
            Ok(())
        })?;
        nth += 1;
    }
    ensure!(calls > 20, "the program makes {calls} calls only");
    Ok(())
}
