//! Accesses of the program that end with their time: they fail, and the array is as it was.

use std::sync::Arc;
use std::time::Duration;

use hal::Nanos;
use overtake::buffer::PinnedBuffer;
use overtake::data::{Array, discard, read, read_write, write};
use overtake::task::{Error, Handle, More};

use crate::bed::{self, Bed};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::prng::Prng;
use crate::raw;
use crate::rig::Rig;

const COUNT: usize = 1024;
const SPAN: Duration = Duration::from_millis(2);

fn two_arrays(bed: &Bed) -> Result<[Array<f32>; 2], Failure> {
    Ok([bed.arrays.array_of(&[1.0; COUNT])?, bed.arrays.array_of(&[2.0; COUNT])?])
}

fn is_late<T>(told: Result<T, Error>) -> Outcome {
    match told.map(drop) {
        Err(Error::TimedOut { why }) if why.contains("computations or accesses that use them") => Ok(()),
        told => Err(Failure::new(format_args!("it is {told:?}"))),
    }
}

/// Accesses of each kind to an array, none of which comes.
fn come_too_late(array: &Array<f32>) -> Outcome {
    is_late(read(array).within(SPAN).open())?;
    is_late(read(array).part(7..9).within(Duration::ZERO).open())?;
    is_late(write(array).within(SPAN).open())?;
    is_late(read_write(array).part(0..3).within(SPAN).open())?;
    is_late(discard(array).within(SPAN).open())?;
    is_late(read(array).within(SPAN).freeze(0))?;
    is_late(discard(array).within(SPAN).lend(0))
}

/// Behind a computation that writes, whose results are on the device, and one that has not begun: each access ends with
/// its time. Later computations find the contents that the array would have had without them.
pub fn leave_the_array_as_it_was(rig: &Rig) -> Outcome {
    let (bed, host) = (bed::open(rig)?, rig.driver().host());
    let memory = PinnedBuffer::<f32>::new(&bed.overtake, COUNT)?;
    let ([one, sum], adopted) = (two_arrays(&bed)?, bed.arrays.adopt(memory)?);
    adopted.overwrite()?.fill(4.0);
    for array in [&sum, &adopted] {
        raw::add(&bed, "here", &one, &one, array).submit()?;
        let held = raw::add(&bed, "held", array, array, array).held().submit()?;
        let begun = host.now();
        come_too_late(array)?;
        let waited = host.now().since(begun);
        ensure!(waited >= Nanos::from_ms(12) && waited < Nanos::from_ms(10_000), "they have waited {waited}");
        let behind = raw::add(&bed, "behind", array, array, array).submit()?;
        come_too_late(array)?;
        held.release()?;
        behind.wait()?;
        same("the values", &read(array).within(Duration::from_secs(20)).open()?.to_vec(), &vec![8.0; COUNT])?;
    }
    bed.arrays.wait()?;
    ensure!(bed.arrays.failure().is_none(), "no computation has failed: {:?}", bed.arrays.failure());
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)?;
    let memory = adopted.release()?.ok_or_else(|| Failure::new("it was made of a buffer"))?;
    same("the program's own memory", &memory[COUNT - 1], &8.0)
}

/// Behind a reader that has not begun: the host would have overwritten the only copy, which is on the device.
pub fn take_nothing_from_readers(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let [one, sum] = two_arrays(&bed)?;
    raw::add(&bed, "here", &one, &one, &sum).submit()?.wait()?;
    let reads = raw::add(&bed, "reads", &sum, &sum, &one).held().submit()?;
    is_late(discard(&sum).within(SPAN).open())?;
    is_late(write(&sum).within(SPAN).open())?;
    // It comes after all that those came after.
    is_late(read(&sum).within(SPAN).open())?;
    reads.release()?;
    same("what it has read", &one.read()?[COUNT - 1], &4.0)?;
    same("the values", &sum.read()?[COUNT - 1], &2.0)?;
    bed.arrays.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// Computations that come behind an access before its time is over run, on the contents from before; but for those that
/// need what it was going to write without a look at them.
pub fn fail_those_alone_that_need_them(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    for kind in ["read", "write", "discard"] {
        let [one, sum] = two_arrays(&bed)?;
        let (sum, host) = (Arc::new(sum), rig.driver().host());
        let held = raw::add(&bed, "held", &one, &one, &sum).held().submit()?;
        let theirs = Arc::clone(&sum);
        let span = Duration::from_millis(20);
        let access = rig.spawn("access", move |_| match kind {
            "read" => is_late(read(&theirs).within(span).open()),
            "write" => is_late(write(&theirs).within(span).open()),
            _ => is_late(discard(&theirs).within(span).open()),
        });
        host.sleep(Nanos::from_ms(5));
        let look = |name: &str| bed.arrays.launch(name, (read(&sum),), |_, _| Ok(More::Done)).submit();
        let changes: Handle =
            bed.arrays.launch("changes", (read_write(&one), read(&sum)), |_, _| Ok(More::Done)).submit()?;
        let behind = look("behind")?;
        rig.join(access)?;
        let later = look("later")?;
        held.release()?;
        for told in [behind.wait(), changes.wait()].map(|told| told.map_err(|error| error.to_string())) {
            match kind {
                "discard" => ensure!(told.as_ref().is_err_and(|error| error.contains("was cancelled")), "{told:?}"),
                _ => same(&format!("behind one that was to {kind}"), &told, &Ok(()))?,
            }
        }
        later.wait()?;
        same("the values", &[sum.read()?[0], sum.read()?[COUNT - 1]], &[2.0; 2])?;
    }
    bed.arrays.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// Accesses whose time is over about when their elements come: they have them, or the array is as it was.
pub fn or_in_time(rig: &Rig) -> Outcome {
    const ROUNDS: u32 = 300;
    let (bed, mut prng) = (bed::open(rig)?, Prng::new(1));
    let [ones, sum] = [bed.arrays.array_of(&[1.0_f32; COUNT])?, bed.arrays.array_of(&[0.0; COUNT])?];
    let (mut value, mut late) = (0.0, 0);
    for round in 0..ROUNDS {
        for _ in 0..prng.below(4) {
            raw::add(&bed, "one more", &ones, &sum, &sum).submit()?;
            value += 1.0;
        }
        let span = Duration::from_nanos(prng.below(60_000));
        let access = if prng.below(2) == 0 { discard(&sum) } else { read_write(&sum) };
        match access.within(span).open() {
            Ok(mut all) => {
                value = round as f32;
                all.fill(value);
            }
            Err(Error::TimedOut { .. }) => late += 1,
            Err(error) => return Err(error.into()),
        }
        if prng.below(8) == 0 {
            ensure!(sum.read()?.iter().all(|each| *each == value), "round {round}: {} is not {value}", sum.read()?[0]);
        }
    }
    ensure!(late < ROUNDS && (late > 0 || !rig.driver().host().is_virtual()), "{late} have come too late");
    same("the values", &sum.read()?[0], &value)?;
    bed.arrays.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}
