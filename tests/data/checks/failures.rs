//! Computations that fail: their results are lost, by name, until they are written again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use hal::{DevicePtr, Nanos, Wait};
use overtake::buffer::PinnedBuffer;
use overtake::data::{ArrayOptions, discard, read, read_write, write};
use overtake::task::{Error, Handle, Lane, More};

use crate::bed;
use crate::failure::{Failure, Outcome, ensure, same};
use crate::raw;
use crate::rig::Rig;

const COUNT: usize = 64;

/// Reading the results of a computation that failed tells of it, before it has failed and afterwards.
pub fn of_a_computation(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (source, sum) = (bed.arrays.array_of(&[1.0_f32; COUNT])?, bed.arrays.array_of(&[3.0_f32; COUNT])?);
    let broken = bed.arrays.launch("broken", (read(&source), write(&sum).part(0..8)), |_, _| -> Result<More, _> {
        Err("no such picture".into())
    });
    let broken = broken.held().submit()?;
    let early = raw::add(&bed, "early", &sum, &source, &sum).submit()?;
    broken.release()?;
    ensure!(matches!(broken.wait(), Err(Error::Failed(_))), "it fails");
    bed.arrays.wait()?;
    let late = raw::add(&bed, "late", &sum, &source, &sum).submit()?;
    for task in [&early, &late] {
        let error = task.wait().expect_err("its bytes are lost");
        ensure!(error.to_string().contains("task \"broken\" failed: no such picture"), "{error}");
    }
    let error = sum.read().expect_err("they are lost");
    ensure!(error.to_string().contains("no such picture"), "{error}");
    // All that it reads is unharmed, and new contents are as good as any.
    same("its source", &source.read()?[0], &1.0)?;
    discard(&sum).open()?.fill(5.0);
    raw::add(&bed, "again", &sum, &source, &sum).submit()?;
    same("the sum", &sum.read()?[0], &6.0)?;
    bed.arrays.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// Bytes that no task has written are refused, and nothing has happened.
pub fn unwritten(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (source, sum) = (bed.arrays.array_of(&[1.0_f32; COUNT])?, bed.arrays.array::<f32>(&[COUNT])?);
    let told = |result: Result<(), Error>| match result {
        Err(error @ Error::Refused(_)) => {
            ensure!(error.to_string().contains("no task has written"), "{error}");
            Ok(())
        }
        other => Err(Failure::new(format_args!("{other:?}"))),
    };
    told(sum.read().map(drop))?;
    told(raw::add(&bed, "reads", &source, &sum, &source).submit().map(drop))?;
    told(bed.arrays.host("adds", (read_write(&sum),), |_| Ok(())).submit().map(drop))?;
    discard(&sum).part(0..8).open()?.fill(2.0);
    told(sum.read().map(drop))?;
    same("the part that is written", &read(&sum).part(0..8).open()?[7], &2.0)?;
    bed.transfers("nothing has happened", (0, 0), (0, 0))
}

/// A function of the host that would get two slices of the same bytes is refused.
pub fn aliased(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let one = bed.arrays.array_of(&[1.0_f32; COUNT])?;
    let both = bed.arrays.host("both", (read(&one), write(&one)), |_| Ok(()));
    let error = both.submit().expect_err("it is refused");
    ensure!(error.to_string().contains("uses the same bytes of an array twice"), "{error}");
    let halves = (read(&one).part(0..32), write(&one).part(32..64));
    let halves = bed.arrays.host("halves", halves, |(left, right)| {
        right.copy_from_slice(left);
        Ok(())
    });
    halves.submit()?;
    let twice = bed.arrays.host("twice", (read(&one), read(&one)), |(left, right)| {
        if left == right { Ok(()) } else { Err("it is one array".into()) }
    });
    Ok(twice.submit()?.wait()?)
}

/// A computation runs again on bytes that it reads, and never on bytes that it has written.
pub fn repeated(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (source, sum) = (bed.arrays.array_of(&[1.0_f32; COUNT])?, bed.arrays.array_of(&[3.0_f32; COUNT])?);
    let failed = Arc::new(AtomicU32::new(0));
    let fails = Arc::clone(&failed);
    let flaky = bed.arrays.launch("flaky", (read(&source), discard(&sum)), move |lane, addresses| {
        lane.driver().memset_d8_async(addresses[1], 0, 4 * COUNT as u64, lane.stream())?;
        match fails.fetch_add(1, Ordering::AcqRel) {
            0 => Err("the first time".into()),
            _ => Ok(More::Done),
        }
    });
    flaky.retries(1).submit()?;
    same("the sum", &sum.read()?[COUNT - 1], &0.0)?;
    same("calls", &failed.load(Ordering::Acquire), &2)?;
    let never = |mode: &str, told: Result<Handle, Error>| {
        let Err(error) = told else { return Err(Failure::new(format_args!("{mode}: it may run again"))) };
        ensure!(error.to_string().contains("bytes that it has changed"), "{mode}: {error}");
        Ok(())
    };
    let launch = |uses| bed.arrays.launch("never", uses, |_, _| Ok(More::Done)).retries(1).submit();
    never("write", launch((read(&source), write(&sum))))?;
    let changed = bed.arrays.launch("never", (read(&source), read_write(&sum)), |_, _| Ok(More::Done));
    never("read and write", changed.retries(1).submit())?;
    let halves = (read(&sum).part(0..COUNT / 2 + 1), discard(&sum).part(COUNT / 2..COUNT));
    let error = bed.arrays.launch("halves", halves, |_, _| Ok(More::Done)).retries(1).submit();
    ensure!(matches!(&error, Err(error) if error.to_string().contains("the same bytes of an array twice")), "aliases");
    bed.arrays.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// A reader fails while the host waits for it: the host has the array as it was. A writer that fails takes the contents
/// with it, and not from a host that overwrites them.
pub fn beside_the_host(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let kept = PinnedBuffer::<f32>::new(&bed.overtake, COUNT)?;
    let (array, other) = (bed.arrays.adopt(kept)?, bed.arrays.array_of(&[0.0_f32; COUNT])?);
    array.overwrite()?.fill(1.0);
    let fails = |_: &mut Lane<'_>, _: &[DevicePtr]| -> Result<More, _> { Err("no such picture".into()) };
    // It begins, and fails, while this thread waits.
    let later = |task: Handle| {
        rig.spawn("later", move |driver| {
            driver.host().sleep(Nanos::from_ms(1));
            Ok(task.release()?)
        })
    };
    let reads = || bed.arrays.launch("reads", (read(&array), discard(&other)), fails).held().submit();
    let writes = || bed.arrays.launch("writes", (write(&array),), fails).held().submit();
    for value in 1..4 {
        let thread = later(reads()?);
        let mut guard = array.change()?;
        same("what the host finds", &guard[COUNT - 1], &(value as f32))?;
        guard.fill((value + 1) as f32);
        drop(guard);
        rig.join(thread)?;
        same("what it has written", &array.read()?[0], &((value + 1) as f32))?;
    }
    let thread = later(writes()?);
    let error = array.change().map(drop).expect_err("its contents are lost");
    ensure!(error.to_string().contains("no such picture"), "{error}");
    rig.join(thread)?;
    let thread = later(writes()?);
    array.overwrite()?.fill(7.0);
    rig.join(thread)?;
    let thread = later(reads()?);
    let kept = array.release()?.ok_or_else(|| Failure::new("it was made of a buffer"))?;
    rig.join(thread)?;
    same("the program's own memory", &kept[COUNT - 1], &7.0)?;
    bed.arrays.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// Of two threads that wait to change an array each finds what the other has left, also if a reader before them fails.
pub fn beside_two_of_the_host(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let array = Arc::new(bed.arrays.array_of(&[1_u32; COUNT])?);
    for value in [1, 3, 5] {
        // Now the device alone has it.
        bed.arrays.launch("stays", (read_write(&array),), |_, _| Ok(More::Done)).submit()?.wait()?;
        let fails = |_: &mut Lane<'_>, _: &[DevicePtr]| -> Result<More, _> { Err("no such picture".into()) };
        let reads = bed.arrays.launch("reads", (read(&array),), fails).held().submit()?;
        let threads = [(); 2].map(|()| {
            let array = Arc::clone(&array);
            rig.spawn("changes", move |_| {
                array.change()?.iter_mut().for_each(|each| *each += 1);
                Ok(())
            })
        });
        rig.driver().host().sleep(Nanos::from_ms(1));
        reads.release()?;
        threads.into_iter().try_for_each(|thread| rig.join(thread))?;
        same("what both have written", &array.read()?[COUNT - 1], &(value + 2))?;
    }
    bed.arrays.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// A reader that has failed is on its lane until that comes there. The host waits, and does not ask all the time.
pub fn behind_work_of_its_lane(rig: &Rig) -> Outcome {
    const ACCESS: &str = "write on the host";
    let asked = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&asked);
    let bed = bed::open_ranked(rig, ArrayOptions::default(), move |task| {
        count.fetch_add(u32::from(task.name == ACCESS), Ordering::AcqRel);
        0
    })?;
    let (array, other) = (bed.arrays.array_of(&[1.0_f32; COUNT])?, bed.arrays.array::<f32>(&[COUNT])?);
    read(&array).to_device()?.wait()?;
    let gate = rig.new_gate();
    let opens = gate.clone();
    let long = bed.arrays.launch("long", (discard(&other),), move |lane, _| {
        lane.driver().mem_op(lane.stream(), gate.wait())?;
        Ok(More::Done)
    });
    long.submit()?;
    let fails = |_: &mut Lane<'_>, _: &[DevicePtr]| -> Result<More, _> { Err("no such picture".into()) };
    let reads = bed.arrays.launch("reads", (read(&array),), fails).submit()?;
    let host = rig.driver().host();
    let is_launched = host.wait_until(Some(host.now() + Nanos::from_ms(1_000)), &mut || reads.is_launched());
    ensure!(is_launched == Wait::Met && !reads.is_done(), "it waits for its lane");
    let opener = rig.spawn("opens", move |driver| {
        driver.host().sleep(Nanos::from_ms(10));
        opens.open();
        Ok(())
    });
    array.change()?.fill(2.0);
    rig.join(opener)?;
    ensure!(reads.wait().is_err(), "it fails");
    let asked = asked.load(Ordering::Acquire);
    ensure!((1..=24).contains(&asked), "it has asked {asked} times");
    bed.arrays.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}
