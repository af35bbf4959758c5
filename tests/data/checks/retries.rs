//! Computations that run again on another device, their bytes with them.

use std::sync::{Arc, Mutex};

use hal::locks::lock;
use hal::{Code, Driver};
use overtake::data::{Array, ArrayOptions, Computation, discard, read, write};
use overtake::task::{Error, More};

use crate::bed::{self, Bed};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::faulty::Faulty;
use crate::raw;
use crate::rig::Rig;

const COUNT: usize = 1 << 10;
/// The calls of a release and a launch are fewer.
const CALLS_MAX: u64 = 40;

/// The devices that a computation has been called on, with its turns.
type Calls = Arc<Mutex<Vec<(u8, u32)>>>;

/// Copies one array to another in two turns, each a half, but fails in the second on the first so many devices.
fn halves<'c>(bed: &'c Bed, from: &Array<f32>, to: &Array<f32>, fails: u8, calls: &Calls) -> Computation<'c> {
    let calls = Arc::clone(calls);
    raw::copy_halves(bed, "halves", from, to, move |device, turn| {
        lock(&calls).push((device, turn));
        if turn == 1 && device < fails { Err(format!("device {device} cannot").into()) } else { Ok(()) }
    })
}

fn on_two(rig: &Rig, has_links: bool, check: impl FnOnce(&Bed) -> Outcome) -> Outcome {
    if rig.driver().device_count()? < 2 {
        return Ok(());
    }
    let faulty = Faulty::new(rig.shared_driver(), Code::NOT_SUPPORTED);
    if !has_links {
        faulty.refuse(&["device_can_access_peer"]);
    }
    let driver: Arc<dyn Driver> = faulty;
    let bed = bed::open_on(rig, &driver, 2, ArrayOptions::default())?;
    check(&bed)?;
    bed.arrays.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

fn elsewhere(rig: &Rig, has_links: bool) -> Outcome {
    on_two(rig, has_links, |bed| {
        let (source, calls) = (bed.arrays.array_of(&vec![1.0_f32; COUNT])?, Calls::default());
        let [sum, copy, last] = [bed.arrays.array(&[COUNT])?, bed.arrays.array(&[COUNT])?, bed.arrays.array(&[COUNT])?];
        raw::add(bed, "before", &source, &source, &sum).on(0).submit()?;
        let task = halves(bed, &sum, &copy, 1, &calls).on(0).retries(1).elsewhere().held().submit()?;
        // Those after it have transfers from the first device already.
        let after = raw::add(bed, "after", &copy, &sum, &last).on(0).submit()?;
        let there = raw::add(bed, "there", &copy, &copy, &source).on(1).submit()?;
        ensure!(!after.is_done() && !there.is_done(), "they wait");
        task.release()?;
        task.wait()?;
        same("calls", &*lock(&calls), &vec![(0, 0), (0, 1), (0, 1), (1, 0), (1, 1)])?;
        same("the copy", &copy.read()?.to_vec(), &vec![2.0; COUNT])?;
        same("behind it", &last.read()?.to_vec(), &vec![4.0; COUNT])?;
        same("behind it on the other device", &source.read()?[COUNT - 1], &4.0)?;
        same("repeated", &bed.dispatcher.statistics().retries, &2)
    })
}

/// Its retries spent, it runs on the other device, from its first turn on, on bytes that came there; the tasks after it
/// find the results where they were to be.
pub fn elsewhere_by_a_link(rig: &Rig) -> Outcome {
    elsewhere(rig, true)
}

/// The same between devices that do not reach each other.
pub fn elsewhere_by_the_host(rig: &Rig) -> Outcome {
    elsewhere(rig, false)
}

/// Tokens have no bytes to go along.
pub fn elsewhere_with_tokens(rig: &Rig) -> Outcome {
    for has_links in [true, false] {
        on_two(rig, has_links, |bed| {
            let source = bed.arrays.array_of(&vec![1.0_f32; COUNT])?;
            let (first, last) = (bed.arrays.token()?, bed.arrays.token()?);
            let seen = Arc::<Mutex<Vec<Vec<u64>>>>::default();
            let addresses = Arc::clone(&seen);
            let uses = (read(&first), read(&source), discard(&last));
            let task = bed.arrays.launch("elsewhere", uses, move |lane, at| {
                lock(&addresses).push(at.iter().map(|address| address.0).collect());
                if lane.device() == 0 { Err("not here".into()) } else { Ok(More::Done) }
            });
            task.on(0).elsewhere().submit()?.wait()?;
            let seen = lock(&seen);
            same("calls", &seen.len(), &2)?;
            let tokens = |call: &[u64]| (call[0], call[2]);
            same("addresses of tokens", &tokens(&seen[1]), &tokens(&seen[0]))?;
            ensure!(seen[1][1] != seen[0][1], "the array has moved");
            bed.arrays.host("behind", (read(&last),), |_| Ok(())).submit()?.wait()?;
            Ok(())
        })?;
    }
    Ok(())
}

/// With all devices tried it fails with the last error, and so do those after it.
pub fn nowhere(rig: &Rig) -> Outcome {
    on_two(rig, true, |bed| {
        let (source, calls) = (bed.arrays.array_of(&vec![1.0_f32; COUNT])?, Calls::default());
        let copy = bed.arrays.array(&[COUNT])?;
        let task = halves(bed, &source, &copy, 2, &calls).on(0).elsewhere().submit()?;
        let after = bed.arrays.host("after", (read(&copy),), |_| Ok(())).submit()?;
        let error = after.wait().expect_err("its bytes are lost");
        ensure!(error.to_string().contains("\"halves\" failed: device 1 cannot"), "{error}");
        ensure!(task.wait().is_err(), "it fails");
        same("calls", &*lock(&calls), &vec![(0, 0), (0, 1), (1, 0), (1, 1)])?;
        same("the source", &source.read()?[0], &1.0)?;
        discard(&copy).open()?.fill(3.0);
        same("written again", &copy.read()?[COUNT - 1], &3.0)
    })
}

/// Kernels get the addresses of the other device there. Of all calls of a run one fails, until that is the launch.
pub fn of_kernels(rig: &Rig) -> Outcome {
    if rig.driver().device_count()? < 2 {
        return Ok(());
    }
    for nth in 1..CALLS_MAX {
        let faulty = Faulty::new(rig.shared_driver(), Code::INVALID_VALUE);
        let driver: Arc<dyn Driver> = Arc::clone(&faulty) as Arc<dyn Driver>;
        let bed = bed::open_on(rig, &driver, 2, ArrayOptions::default())?;
        let (source, sum) = (bed.arrays.array_of(&vec![1.0_f32; COUNT])?, bed.arrays.array(&[COUNT])?);
        read(&source).to_device()?.wait()?;
        let task = raw::add(&bed, "sum", &source, &source, &sum).on(0).elsewhere().held().submit()?;
        faulty.fail(nth);
        task.release()?;
        let told = task.wait();
        faulty.fail(0);
        if faulty.failed().is_some_and(|call| call.contains("launch")) {
            told?;
            same("the sum", &sum.read()?.to_vec(), &vec![2.0; COUNT])?;
            return same("repeated", &bed.dispatcher.statistics().retries, &1);
        }
    }
    Err(Failure::from_text("no launch failed".to_owned()))
}

/// One that reads bytes that it writes is refused, and so is one of the host.
pub fn never_elsewhere(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let source = bed.arrays.array_of(&[1.0_f32; COUNT])?;
    let changes = bed.arrays.launch("changes", (write(&source),), |_, _| Ok(More::Done)).elsewhere();
    let refused = changes.submit().expect_err("it would find its own results");
    ensure!(refused.to_string().contains("let it `read` and `discard` only"), "{refused}");
    let host = bed.arrays.host("host", (read(&source),), |_| Ok(())).elsewhere().submit();
    ensure!(matches!(host, Err(Error::Refused(_))), "a function of the host is called once");
    let alone = bed.arrays.launch("alone", (read(&source),), |_, _| Err("no".into())).elsewhere().submit()?;
    ensure!(alone.wait().is_err(), "there is no other device: {}", alone.name());
    Ok(())
}
