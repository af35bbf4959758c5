//! Tokens: arrays without elements, which stand for an order.

use std::sync::{Arc, Mutex};

use hal::locks::lock;
use overtake::data::{ArrayOptions, Arrays, Sum, discard, read, reduce, relaxed, write};
use overtake::task::{Error, Handle, More, Refused};

use crate::bed::{self, Bed};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::raw;
use crate::rig::Rig;

/// A function of the host that notes its name.
fn notes<'a>(
    arrays: &'a Arrays,
    name: &'static str,
    token: impl overtake::data::HostUse,
    seen: &Arc<Mutex<Vec<&'static str>>>,
) -> overtake::data::Computation<'a> {
    let seen = Arc::clone(seen);
    arrays.host(name, (token,), move |_| {
        lock(&seen).push(name);
        Ok(())
    })
}

/// A writer comes between readers, which have no order, on the host and on the device; kernels get no argument for it.
pub fn order_computations(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (token, seen) = (bed.arrays.token()?, Arc::default());
    let word = bed.arrays.array_of(&[1_u32])?;
    ensure!(token.is_token() && token.is_empty() && !word.is_token(), "it has no elements");
    let held = notes(&bed.arrays, "held", read(&token), &seen).held().submit()?;
    notes(&bed.arrays, "free", read(&token), &seen).submit()?.wait()?;
    let writer = notes(&bed.arrays, "writer", write(&token), &seen).submit()?;
    // The word alone would let it run.
    let kernel = raw::count_behind(&bed, "kernel", &word, read(&token), 10).submit()?;
    let device = bed.arrays.launch("device", (discard(&token),), |_, at| match at.len() {
        1 => Ok(More::Done),
        other => Err(format!("it got {other} addresses").into()),
    });
    let device = device.submit()?;
    ensure!(![&writer, &kernel, &device].into_iter().any(Handle::is_done), "they wait for the held one");
    held.release()?;
    device.wait()?;
    same("their order", &*lock(&seen), &vec!["free", "held", "writer"])?;
    same("the word", &word.read()?[0], &11)?;
    bed.arrays.wait()?;
    bed.transfers("of the word alone", (1, 4), (1, 4))?;
    drop(token);
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// A task that has failed to write one fails those that read it, whenever they are submitted, until one discards it.
pub fn pass_failures_on(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (token, seen) = (bed.arrays.token()?, Arc::default());
    let bad = bed.arrays.host("bad", (write(&token),), |_| Err("the file is locked".into())).held().submit()?;
    let early = notes(&bed.arrays, "early", read(&token), &seen).submit()?;
    bad.release()?;
    ensure!(bad.wait().is_err() && early.wait().is_err(), "both fail");
    bed.tasks.wait()?;
    let late = notes(&bed.arrays, "late", read(&token), &seen).submit().and_then(|task| task.wait());
    let error = late.expect_err("it fails too").to_string();
    ensure!(error.contains("task \"bad\" failed: the file is locked"), "{error}");
    notes(&bed.arrays, "again", discard(&token), &seen).submit()?.wait()?;
    notes(&bed.arrays, "then", read(&token), &seen).submit()?.wait()?;
    same("those that have run", &*lock(&seen), &vec!["again", "then"])
}

/// One that writes a token needs nothing of what those before it have left: the next may run.
pub fn are_written_behind_failures(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (token, seen) = (bed.arrays.token()?, Arc::default());
    let bad = bed.arrays.host("bad", (write(&token),), |_| Err("the file is locked".into())).submit()?;
    ensure!(bad.wait().is_err(), "it fails");
    notes(&bed.arrays, "next", write(&token), &seen).submit()?.wait()?;
    let cancelled = notes(&bed.arrays, "cancelled", write(&token), &seen).held().submit()?;
    ensure!(cancelled.cancel()?, "it is held");
    notes(&bed.arrays, "last", write(&token), &seen).submit()?.wait()?;
    notes(&bed.arrays, "then", read(&token), &seen).submit()?.wait()?;
    same("those that have run", &*lock(&seen), &vec!["next", "last", "then"])
}

/// The program itself may take part in the order: a guard holds writers back.
pub fn have_guards(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (token, seen) = (bed.arrays.token()?, Arc::default());
    let guard = token.change()?;
    ensure!(guard.is_empty(), "it has no elements");
    let waits = notes(&bed.arrays, "waits", read(&token), &seen).submit()?;
    ensure!(!waits.is_done(), "the guard is open");
    drop(guard);
    Ok(waits.wait()?)
}

pub fn on_two_devices(rig: &Rig) -> Outcome {
    if rig.driver().device_count()? < 2 {
        return Ok(());
    }
    let bed = bed::open_on(rig, rig.shared_driver(), 2, ArrayOptions::default())?;
    let (token, order) = (bed.arrays.token()?, Arc::<Mutex<Vec<u8>>>::default());
    for number in 0..20_u8 {
        let order = Arc::clone(&order);
        let launch = bed.arrays.launch("launch", (write(&token),), move |lane, _| {
            lock(&order).push(10 * lane.device() + number);
            Ok(More::Done)
        });
        launch.on(number % 2).submit()?;
    }
    bed.arrays.wait()?;
    let expected: Vec<u8> = (0..20).map(|number| 10 * (number % 2) + number).collect();
    same("devices and numbers", &*lock(&order), &expected)?;
    bed.transfers("none", (0, 0), (0, 0))
}

/// Uses that need elements.
pub fn refused(rig: &Rig) -> Outcome {
    let bed: Bed = bed::open(rig)?;
    let token = bed.arrays.token()?;
    let is_refused = |told: Result<Handle, Error>, words: &str| match told {
        Err(error @ Error::Refused(Refused::Data { .. })) if error.to_string().contains(words) => Ok(()),
        other => Err(Failure::new(format_args!("{other:?}"))),
    };
    is_refused(bed.arrays.host("adds", (reduce(&token, Sum),), |_| Ok(())).submit(), "reduces to a token")?;
    let error = bed.arrays.section("section", (write(&token),)).open().map(drop).expect_err("it is refused");
    ensure!(error.to_string().contains("a section is lent a token"), "{error}");
    bed.arrays.launch("relaxed", (relaxed(&token),), |_, _| Ok(More::Done)).submit()?.wait()?;
    Ok(())
}
