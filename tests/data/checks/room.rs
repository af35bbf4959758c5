//! A device that is too small for all arrays: they leave it and come back, and the values are right.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hal::{Code, Device, Nanos};
use overtake::data::{Array, ArrayOptions, read, read_write};
use overtake::heap::HeapOptions;
use overtake::task::{Error, More};

use crate::bed::{self, Bed};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::raw;
use crate::rig::Rig;

/// Elements of an array, which fills a page.
const COUNT: usize = 16 << 10;
const BYTES: u64 = 4 * COUNT as u64;

/// Arrays on a device that has room for so many of them.
fn small(rig: &Rig, pages: u64) -> Result<Bed, Failure> {
    let device = HeapOptions { page_bytes: BYTES, max_bytes: pages * BYTES, ..HeapOptions::default() };
    bed::open_with(rig, rig.shared_driver(), ArrayOptions { device, ..ArrayOptions::default() })
}

/// The array is doubled where it is.
fn double(bed: &Bed, array: &Array<f32>) -> Outcome {
    raw::add(bed, "double", array, array, array).submit()?;
    Ok(())
}

/// Waits until no task keeps memory any more.
fn settle(rig: &Rig, bed: &Bed) -> Outcome {
    bed.arrays.wait()?;
    rig.driver().host().sleep(Nanos::from_ms(1));
    Ok(())
}

/// A working set of four times the device, used three times over.
pub fn a_quarter(rig: &Rig) -> Outcome {
    let bed = small(rig, 4)?;
    let arrays = (0..16).map(|value| bed.arrays.array_of(&[value as f32; COUNT])).collect::<Result<Vec<_>, _>>()?;
    for _ in 0..3 {
        for array in &arrays {
            double(&bed, array)?;
        }
    }
    for (value, array) in arrays.iter().enumerate() {
        let seen = array.read()?;
        same("the ends of an array", &[seen[0], seen[COUNT - 1]], &[8.0 * value as f32; 2])?;
    }
    let statistics = bed.arrays.statistics();
    same("arrays that left", &statistics.evictions, &44)?;
    bed.transfers("all come and go each time", (48, 48 * BYTES), (48, 48 * BYTES))?;
    bed.arrays.wait()?;
    ensure!(bed.arrays.failure().is_none(), "{:?}", bed.arrays.failure());
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// The array goes that was not used for the longest time, and copies that are on the host too are not made again.
pub fn the_oldest(rig: &Rig) -> Outcome {
    let bed = small(rig, 3)?;
    let arrays = (0..4).map(|_| bed.arrays.array_of(&[1.0; COUNT])).collect::<Result<Vec<_>, _>>()?;
    for at in [0, 1, 2, 0] {
        double(&bed, &arrays[at])?;
    }
    drop(arrays[1].read()?);
    bed.transfers("three are there, and one was read", (3, 3 * BYTES), (1, BYTES))?;
    settle(rig, &bed)?;
    double(&bed, &arrays[3])?;
    bed.transfers("one more: the one that was read stays, with its copy", (4, 4 * BYTES), (2, 2 * BYTES))?;
    for at in [0, 1, 3] {
        double(&bed, &arrays[at])?;
    }
    bed.transfers("all of these are there", (4, 4 * BYTES), (2, 2 * BYTES))?;
    drop(arrays[1].read()?);
    for at in [0, 3, 2] {
        settle(rig, &bed)?;
        double(&bed, &arrays[at])?;
    }
    bed.transfers("a clean array goes without a copy", (5, 5 * BYTES), (3, 3 * BYTES))?;
    same("arrays that left", &bed.arrays.statistics().evictions, &2)?;
    let seen = arrays.iter().map(|array| array.read().map(|seen| seen[0])).collect::<Result<Vec<_>, _>>()?;
    same("the values", &seen, &vec![16.0, 4.0, 4.0, 8.0])
}

/// A computation that needs more than the device has is refused, and says so.
pub fn none(rig: &Rig) -> Outcome {
    let bed = small(rig, 2)?;
    let [one, two] = [bed.arrays.array_of(&[1.0; COUNT])?, bed.arrays.array_of(&[2.0; COUNT])?];
    let sum = bed.arrays.array::<f32>(&[COUNT])?;
    let begun = rig.driver().host().now();
    let refused = raw::add(&bed, "three", &one, &two, &sum).submit();
    ensure!(rig.driver().host().now().since(begun) < Nanos::from_ms(10_000), "it has waited for no array");
    let is_full = |error: &Error| matches!(error, Error::Driver(error) if error.code() == Code::OUT_OF_MEMORY);
    ensure!(refused.as_ref().is_err_and(is_full), "{refused:?}");
    raw::add(&bed, "two", &one, &two, &two).submit()?;
    same("the sum", &two.read()?[0], &3.0)?;
    double(&bed, &one)?;
    drop((one, two));
    raw::add(&bed, "fresh", &sum, &sum, &sum).submit().expect_err("it was not written");
    sum.overwrite()?.fill(4.0);
    double(&bed, &sum)?;
    same("arrays that were dropped have left", &sum.read()?[COUNT - 1], &8.0)
}

/// A computation that still waits keeps its arrays. They leave when it has ended.
pub fn in_use(rig: &Rig) -> Outcome {
    let bed = Arc::new(small(rig, 2)?);
    let [first, second] = [bed.arrays.array_of(&[1.0; COUNT])?, bed.arrays.array_of(&[1.0; COUNT])?];
    let third = bed.arrays.array_of(&[1.0; COUNT])?;
    let held = raw::add(&bed, "held", &first, &second, &second).held().submit()?;
    let late = {
        let bed = Arc::clone(&bed);
        rig.spawn("late", move |_| {
            double(&bed, &third)?;
            Ok(third.read()?[0])
        })
    };
    rig.driver().host().sleep(Nanos::from_ms(3));
    ensure!(!held.is_launched() && bed.arrays.statistics().uploads == 2, "there is no room for the third");
    held.release()?;
    let late = late.join(rig.driver().host())?;
    same("the third, and the sum", &[late, second.read()?[0]], &[2.0, 2.0])
}

/// What could leave the device waits for an access that the thread itself has open: that is told at once.
pub fn behind_its_own_access(rig: &Rig) -> Outcome {
    let (bed, host) = (small(rig, 1)?, rig.driver().host());
    let [one, five] = [bed.arrays.array_of(&[1.0; COUNT])?, bed.arrays.array_of(&[5.0; COUNT])?];
    double(&bed, &one)?;
    let seen = one.read()?;
    double(&bed, &one)?;
    let begun = host.now();
    let refused = raw::add(&bed, "five", &five, &five, &five).submit().map(drop);
    ensure!(host.now().since(begun) < Nanos::from_ms(10_000), "it has waited for itself: {refused:?}");
    let told = refused.as_ref().err().map(ToString::to_string).unwrap_or_default();
    ensure!(told.contains("\"read on the host\" of 65536 bytes") && told.contains("drop that access"), "{refused:?}");
    same("what it reads", &seen[0], &2.0)?;
    drop(seen);
    double(&bed, &five)?;
    same("the values", &[one.read()?[COUNT - 1], five.read()?[0]], &[4.0, 10.0])?;
    // Bytes that are lent on the device keep it themselves.
    let lent = read_write(&one).lend(0)?;
    let refused = read(&five).to_device().map(drop);
    ensure!(refused.is_err_and(|error| error.to_string().contains("drop that access")), "it has waited for itself");
    drop(lent);
    read(&five).to_device()?.wait()?;
    Ok(bed.arrays.wait()?)
}

/// An access of another thread ends without this one.
pub fn behind_the_access_of_another(rig: &Rig) -> Outcome {
    let bed = Arc::new(small(rig, 1)?);
    let [one, five] = [bed.arrays.array_of(&[1.0; COUNT])?, bed.arrays.array_of(&[5.0; COUNT])?];
    double(&bed, &one)?;
    let is_open = Arc::<AtomicBool>::default();
    let other = {
        let (bed, is_open) = (Arc::clone(&bed), Arc::clone(&is_open));
        rig.spawn("other", move |driver| {
            let seen = one.read()?;
            double(&bed, &one)?;
            is_open.store(true, Ordering::Release);
            driver.host().sleep(Nanos::from_ms(1000));
            drop(seen);
            Ok(one)
        })
    };
    while !is_open.load(Ordering::Acquire) {
        rig.driver().host().sleep(Nanos::from_us(100));
    }
    double(&bed, &five)?;
    let one = rig.join(other)?;
    same("the values", &[one.read()?[COUNT - 1], five.read()?[0]], &[4.0, 10.0])
}

/// No array can leave the device. Calls that need room there end when their time is over, and have submitted nothing.
pub fn as_long_as_the_caller_says(rig: &Rig) -> Outcome {
    let (bed, host) = (small(rig, 1)?, rig.driver().host());
    let [one, five] = [bed.arrays.array_of(&[1.0; COUNT])?, bed.arrays.array_of(&[5.0; COUNT])?];
    let held = raw::add(&bed, "held", &one, &one, &one).held().submit()?;
    let nodes = bed.dispatcher.graph_statistics().nodes;
    let (begun, span) = (host.now(), Duration::from_millis(20));
    let told = [
        raw::add(&bed, "five", &five, &five, &five).submit_within(span).map(|_| ()),
        read(&five).within(span).to_device().map(drop),
        read(&five).within(span).freeze(0).map(drop),
        read_write(&five).within(span).lend(0).map(drop),
    ];
    let waited = host.now().since(begun);
    for told in &told {
        let is_late = |error: &Error| matches!(error, Error::TimedOut { why } if why.contains("the device is full"));
        ensure!(told.as_ref().is_err_and(is_late), "{told:?}");
    }
    ensure!(waited >= Nanos::from_ms(80) && waited < Nanos::from_ms(10_000), "it has waited {waited}");
    same("nodes that were submitted", &bed.dispatcher.graph_statistics().nodes, &nodes)?;
    held.release()?;
    raw::add(&bed, "five", &five, &five, &five).submit_when_room()?;
    same("the values", &[one.read()?[0], five.read()?[COUNT - 1]], &[2.0, 10.0])
}

/// An array that no task uses leaves at once, so a computation without any time to wait finds room.
pub fn of_idle_arrays_without_a_wait(rig: &Rig) -> Outcome {
    let bed = small(rig, 1)?;
    let [one, five] = [bed.arrays.array_of(&[1.0; COUNT])?, bed.arrays.array_of(&[5.0; COUNT])?];
    read(&one).to_device()?;
    settle(rig, &bed)?;
    let told = raw::add(&bed, "five", &five, &five, &five).submit_within(Duration::ZERO);
    ensure!(matches!(told, Ok(Some(_))), "{:?}", told.map(|_| ()));
    same("the values", &[one.read()?[0], five.read()?[COUNT - 1]], &[1.0, 10.0])
}

/// An array that has left the second device is not there any more: it comes back from the host.
pub fn on_the_second(rig: &Rig) -> Outcome {
    if rig.driver().device_count()? < 2 {
        return Ok(());
    }
    let device = HeapOptions { page_bytes: BYTES, max_bytes: BYTES, ..HeapOptions::default() };
    let bed = bed::open_on(rig, rig.shared_driver(), 2, ArrayOptions { device, ..ArrayOptions::default() })?;
    let [one, five] = [bed.arrays.array_of(&[1.0; COUNT])?, bed.arrays.array_of(&[5.0; COUNT])?];
    for array in [&one, &five, &one] {
        raw::add(&bed, "double", array, array, array).on(1).submit()?;
        settle(rig, &bed)?;
    }
    same("arrays that left", &bed.arrays.statistics().evictions, &2)?;
    bed.transfers("one came back", (3, 3 * BYTES), (2, 2 * BYTES))?;
    same("the values", &[one.read()?[0], five.read()?[COUNT - 1]], &[4.0, 10.0])
}

/// An array leaves a device without a copy while another one still has its contents, and with one from the last.
pub fn valid_elsewhere(rig: &Rig) -> Outcome {
    if rig.driver().device_count()? < 2 {
        return Ok(());
    }
    let device = HeapOptions { page_bytes: BYTES, max_bytes: 2 * BYTES, ..HeapOptions::default() };
    let bed = bed::open_on(rig, rig.shared_driver(), 2, ArrayOptions { device, ..ArrayOptions::default() })?;
    let arrays = (0..4).map(|_| bed.arrays.array_of(&[1.0; COUNT])).collect::<Result<Vec<_>, _>>()?;
    let double =
        |at: usize, device| raw::add(&bed, "double", &arrays[at], &arrays[at], &arrays[at]).on(device).submit();
    double(0, 0)?;
    raw::add(&bed, "there", &arrays[0], &arrays[0], &arrays[1]).on(1).submit()?;
    settle(rig, &bed)?;
    let before = bed.arrays.statistics();
    for at in [2, 3] {
        double(at, 0)?;
        settle(rig, &bed)?;
    }
    let left = bed.arrays.statistics();
    same("arrays that left", &(left.evictions - before.evictions), &1)?;
    same("copies to the host", &(left.downloads - before.downloads), &0)?;
    for at in [2, 3] {
        double(at, 1)?;
        settle(rig, &bed)?;
    }
    let gone = bed.arrays.statistics();
    same("arrays that left the other one", &(gone.evictions - left.evictions), &2)?;
    // Without a link the first has come by the host, and the last two come by it too.
    let links = rig.driver().device_can_access_peer(Device(0), Device(1))?;
    same("copies to the host", &(gone.downloads - left.downloads), &if links { 2 } else { 3 })?;
    let seen = arrays.iter().map(|array| array.read().map(|seen| seen[COUNT - 1])).collect::<Result<Vec<_>, _>>()?;
    same("the values", &seen, &vec![2.0, 4.0, 4.0, 4.0])
}

/// The host waits to overwrite an array that is on the device alone. It stays there until the host has it: the access
/// may fail, and then the array is as it was. It does not fail with a reader that never starts.
pub fn while_the_host_waits(rig: &Rig) -> Outcome {
    let bed = small(rig, 1)?;
    let [one, five] = [bed.arrays.array_of(&[1.0; COUNT])?, bed.arrays.array_of(&[5.0; COUNT])?];
    let (one, host) = (Arc::new(one), rig.driver().host());
    double(&bed, &one)?;
    settle(rig, &bed)?;
    let reads = bed.arrays.launch("reads", (read(&one),), |_, _| Ok(More::Done)).held().submit()?;
    let overwrites = {
        let one = Arc::clone(&one);
        rig.spawn("overwrites", move |_| {
            one.overwrite()?.fill(3.0);
            Ok(())
        })
    };
    host.sleep(Nanos::from_ms(1));
    let needs_room = rig.spawn("needs room", move |_| {
        read(&five).to_device()?.wait()?;
        Ok(five)
    });
    host.sleep(Nanos::from_ms(3));
    same("arrays that left", &bed.arrays.statistics().evictions, &0)?;
    bed.arrays.clone().finish()?;
    ensure!(reads.wait().is_err(), "nothing has started it");
    rig.join(overwrites)?;
    let five = rig.join(needs_room)?;
    same("the values", &[one.read()?[COUNT - 1], five.read()?[0]], &[3.0, 5.0])?;
    bed.arrays.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// The same where the access is refused, because it comes behind one that is open: the array is as it was.
pub fn an_access_is_refused(rig: &Rig) -> Outcome {
    let bed = small(rig, 1)?;
    let [one, five] = [bed.arrays.array_of(&[1.0; COUNT])?, bed.arrays.array_of(&[5.0; COUNT])?];
    let one = Arc::new(one);
    double(&bed, &one)?;
    settle(rig, &bed)?;
    let lent = read_write(&*one).lend(0)?;
    let overwrites = {
        let one = Arc::clone(&one);
        rig.spawn("overwrites", move |_| Ok(one.overwrite().err().map(|error| error.to_string())))
    };
    rig.driver().host().sleep(Nanos::from_ms(1));
    bed.arrays.clone().finish()?;
    let told = rig.join(overwrites)?.unwrap_or_default();
    ensure!(told.contains("its arrays were dropped"), "{told:?}");
    drop(lent);
    read(&five).to_device()?.wait()?;
    same("arrays that left", &bed.arrays.statistics().evictions, &1)?;
    same("the values", &[one.read()?[COUNT - 1], five.read()?[0]], &[2.0, 5.0])?;
    bed.arrays.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}
