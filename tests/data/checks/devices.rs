//! Several devices: bytes cross once, a device is chosen by the selection, or named.

use std::sync::Arc;

use hal::{Code, Device, Driver};
use overtake::data::{Array, ArrayOptions, Computation, Selection, discard, read};
use overtake::task::{Handle, More, Recording};

use crate::bed::{self, Bed};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::faulty::Faulty;
use crate::raw;
use crate::rig::Rig;

const COUNT: usize = 1000;
const BYTES: u64 = 4 * COUNT as u64;
/// Their transfer takes longer than a kernel.
const MANY: usize = 1 << 20;

/// Runs a check on the first two devices, if there are.
fn on_two(rig: &Rig, options: ArrayOptions, check: impl FnOnce(&Bed) -> Outcome) -> Outcome {
    if rig.driver().device_count()? < 2 {
        return Ok(());
    }
    let bed = bed::open_on(rig, rig.shared_driver(), 2, options)?;
    check(&bed)?;
    bed.arrays.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

fn has_links(rig: &Rig) -> Result<bool, Failure> {
    Ok(rig.driver().device_count()? > 1 && rig.driver().device_can_access_peer(Device(0), Device(1))?)
}

/// The transfers so far: up, between devices, down.
fn moved(bed: &Bed) -> [u64; 3] {
    let it = bed.arrays.statistics();
    [it.uploads, it.between_devices, it.downloads]
}

/// One of ones, and one that is not written.
fn arrays_of(bed: &Bed, count: usize) -> Result<[Array<f32>; 2], Failure> {
    Ok([bed.arrays.array_of(&vec![1.0; count])?, bed.arrays.array(&[count])?])
}

fn two_arrays(bed: &Bed) -> Result<[Array<f32>; 2], Failure> {
    arrays_of(bed, COUNT)
}

/// Results go from one device to the other once, by the link, and are up to date on both then.
pub fn bytes_cross_once(rig: &Rig) -> Outcome {
    if !has_links(rig)? {
        return Ok(());
    }
    on_two(rig, ArrayOptions::default(), |bed| {
        let ([source, sum], [more, again]) = (two_arrays(bed)?, two_arrays(bed)?);
        raw::add(bed, "here", &source, &source, &sum).on(0).submit()?;
        raw::add(bed, "there", &sum, &sum, &more).on(1).submit()?;
        raw::add(bed, "there again", &sum, &more, &again).on(1).submit()?;
        same("one up, one across", &moved(bed), &[1, 1, 0])?;
        same("bytes across", &bed.arrays.statistics().between_device_bytes, &BYTES)?;
        raw::add(bed, "here again", &sum, &source, &source).on(0).submit()?;
        same("still there", &moved(bed), &[1, 1, 0])?;
        same("there", &again.read()?[COUNT - 1], &6.0)?;
        same("here", &source.read()?[0], &3.0)?;
        // Written there: the copy here is out of date, and comes back.
        raw::add(bed, "changes", &more, &more, &sum).on(1).submit()?;
        raw::add(bed, "sees it", &sum, &sum, &more).on(0).submit()?;
        same("the last", &more.read()?[7], &16.0)?;
        same("at the end", &moved(bed), &[1, 2, 3])
    })
}

/// Two readers on one device wait for one transfer, from the host or from another device, and not for each other.
pub fn two_readers_share_a_transfer(rig: &Rig) -> Outcome {
    let check = |bed: &Bed, from: Option<u8>, to: u8| -> Outcome {
        let ([source, first], [other, second]) = (arrays_of(bed, MANY)?, arrays_of(bed, MANY)?);
        let before = moved(bed);
        if let Some(from) = from {
            raw::add(bed, "elsewhere", &other, &other, &source).on(from).submit()?;
        }
        let writes = moved(bed);
        let held = raw::add(bed, "first", &source, &source, &first).on(to).held().submit()?;
        let free = raw::add(bed, "second", &source, &source, &second).on(to).submit()?;
        free.wait()?;
        ensure!(!held.is_launched(), "the first reader is held");
        let crossings: u64 = moved(bed).iter().sum::<u64>() - writes.iter().sum::<u64>();
        let beyond = from.is_some() && !has_links(rig)?;
        same("transfers of two readers", &crossings, &if beyond { 2 } else { 1 })?;
        held.release()?;
        held.wait()?;
        let expected = if from.is_some() { 4.0 } else { 2.0 };
        same("both", &[first.read()?[3], second.read()?[5]], &[expected; 2])?;
        ensure!(moved(bed)[2] >= before[2] + 2, "both were read");
        Ok(())
    };
    let bed = bed::open(rig)?;
    check(&bed, None, 0)?;
    drop(bed);
    on_two(rig, ArrayOptions::default(), |bed| {
        check(bed, None, 1)?;
        check(bed, Some(0), 1)?;
        check(bed, Some(1), 0)
    })
}

/// Without a link the bytes go through the host, which has them then.
pub fn through_the_host(rig: &Rig) -> Outcome {
    if rig.driver().device_count()? < 2 {
        return Ok(());
    }
    let faulty = Faulty::new(rig.shared_driver(), Code::NOT_SUPPORTED);
    faulty.refuse(&["device_can_access_peer"]);
    let driver: Arc<dyn Driver> = faulty;
    let bed = bed::open_on(rig, &driver, 2, ArrayOptions::default())?;
    let ([source, sum], [more, _]) = (two_arrays(&bed)?, two_arrays(&bed)?);
    raw::add(&bed, "here", &source, &source, &sum).on(0).submit()?;
    let there = raw::add(&bed, "there", &sum, &sum, &more).on(1).priority(bed::urgent());
    there.submit()?.wait()?;
    same("up twice, down once", &moved(&bed), &[2, 0, 1])?;
    same("the host has it", &sum.read()?[9], &2.0)?;
    same("no further transfer", &moved(&bed), &[2, 0, 1])?;
    same("there", &more.read()?[COUNT - 1], &4.0)?;
    bed.arrays.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// The numbers of the devices that such computations run on, one after another.
fn chosen(bed: &Bed, source: &Array<f32>, count: usize) -> Result<Vec<u8>, Failure> {
    let mut devices = Vec::new();
    for _ in 0..count {
        let seen: Arc<std::sync::Mutex<Option<u8>>> = Arc::default();
        let told = Arc::clone(&seen);
        let task = bed.arrays.launch("tells", (read(source),), move |lane, _| {
            *told.lock().unwrap() = Some(lane.device());
            Ok(More::Done)
        });
        task.submit()?.wait()?;
        devices.extend(*seen.lock().unwrap());
    }
    Ok(devices)
}

/// By default computations run where most of their bytes are.
pub fn by_the_bytes(rig: &Rig) -> Outcome {
    on_two(rig, ArrayOptions::default(), |bed| {
        let [source, sum] = two_arrays(bed)?;
        raw::add(bed, "there", &source, &source, &sum).on(1).submit()?.wait()?;
        same("where the result is", &chosen(bed, &sum, 3)?, &vec![1; 3])?;
        raw::add(bed, "here", &source, &source, &sum).on(0).submit()?.wait()?;
        same("where it is now", &chosen(bed, &sum, 3)?, &vec![0; 3])
    })
}

/// With a threshold of one no device has enough of the bytes, and each is taken in turn.
pub fn by_a_threshold(rig: &Rig) -> Outcome {
    on_two(rig, ArrayOptions { threshold: 1.0, ..ArrayOptions::default() }, |bed| {
        let [source, sum] = two_arrays(bed)?;
        raw::add(bed, "there", &source, &source, &sum).on(1).submit()?.wait()?;
        let seen = chosen(bed, &sum, 4)?;
        same(
            "how often each was taken",
            &[0, 1].map(|device| seen.iter().filter(|one| **one == device).count()),
            &[2; 2],
        )
    })
}

/// One selection takes each device in turn, another always the first.
pub fn by_turns(rig: &Rig) -> Outcome {
    let with = |selection| ArrayOptions { selection, ..ArrayOptions::default() };
    on_two(rig, with(Selection::RoundRobin), |bed| {
        let [source, _] = two_arrays(bed)?;
        same("in turn", &chosen(bed, &source, 4)?, &vec![0, 1, 0, 1])
    })?;
    on_two(rig, with(Selection::SingleGpu), |bed| {
        let [source, _] = two_arrays(bed)?;
        same("the first", &chosen(bed, &source, 3)?, &vec![0; 3])
    })?;
    // The busy device is seen while its computation has not ended.
    on_two(rig, with(Selection::StreamAware), |bed| {
        let [source, sum] = two_arrays(bed)?;
        let busy = raw::add(bed, "busy", &source, &source, &sum).on(0).held().submit()?;
        same("the other one", &chosen(bed, &source, 2)?, &vec![1; 2])?;
        busy.release()?;
        busy.wait()?;
        bed.arrays.wait()?;
        same("the first again", &chosen(bed, &source, 2)?, &vec![0; 2])
    })
}

/// The replay of a template is given the device of the bytes that it is for.
pub fn of_templates(rig: &Rig) -> Outcome {
    on_two(rig, ArrayOptions::default(), |bed| {
        let [source, sum] = two_arrays(bed)?;
        let seen: Arc<std::sync::Mutex<Vec<u8>>> = Arc::default();
        let mut recording = Recording::<Arc<std::sync::Mutex<Vec<u8>>>>::new();
        recording.kernel("tells", &[], |lane, seen| {
            seen.lock().unwrap().push(lane.device());
            Ok(More::Done)
        });
        let template = recording.finish()?;
        for device in [1, 0, 1] {
            raw::add(bed, "writes", &source, &source, &sum).on(device).submit()?.wait()?;
            let chosen = bed.arrays.choose((read(&sum),))?;
            template.replay(&bed.tasks, Arc::clone(&seen)).on(chosen).submit()?.wait()?;
        }
        same("the devices", &seen.lock().unwrap().clone(), &vec![1, 0, 1])
    })
}

/// Bytes that stand twice in a call are counted once.
pub fn counts_once(rig: &Rig) -> Outcome {
    let selection = Selection::MinTransferSize;
    on_two(rig, ArrayOptions { selection, ..ArrayOptions::default() }, |bed| {
        let arrays = [bed.arrays.array::<u8>(&[10 << 10])?, bed.arrays.array::<u8>(&[15 << 10])?];
        for (device, array) in (0..).zip(&arrays) {
            let fill = bed.arrays.launch("fill", (discard(array),), |lane, at| {
                lane.driver().memset_d8_async(at[0], 1, 1 << 10, lane.stream())?;
                Ok(More::Done)
            });
            Computation::on(fill, device).submit()?.wait()?;
        }
        let [small, large] = &arrays;
        same("the device of both", &bed.arrays.choose((read(small), read(small), read(large)))?, &1)?;
        let part = || read(large).part(0..6 << 10);
        same("and of a part", &bed.arrays.choose((read(small), part(), part()))?, &0)
    })
}

/// A named device is taken if it is there, by kernels that are loaded on it.
pub fn pinned(rig: &Rig) -> Outcome {
    on_two(rig, ArrayOptions::default(), |bed| {
        let [source, sum] = two_arrays(bed)?;
        let third = raw::add(bed, "third", &source, &source, &sum).on(2).submit();
        let error = third.map(drop).expect_err("there are two");
        ensure!(error.to_string().contains("a device that is not there"), "{error}");
        same("nothing has happened", &moved(bed), &[0, 0, 0])?;
        let fill = |device: u8| -> Result<Handle, Failure> {
            let fill = bed.arrays.launch("fill", (discard(&sum),), |lane, at| {
                lane.driver().memset_d8_async(at[0], 3 + lane.device(), BYTES, lane.stream())?;
                Ok(More::Done)
            });
            Ok(Computation::on(fill, device).submit()?)
        };
        fill(1)?;
        same("filled there", &sum.read()?[0].to_bits(), &0x0404_0404)?;
        fill(0)?;
        same("filled here", &sum.read()?[0].to_bits(), &0x0303_0303)
    })?;
    // Selections by transfer times ask for bandwidths.
    let selection = Selection::MinMinTransferTime;
    let opened = bed::open_on(rig, rig.shared_driver(), 1, ArrayOptions { selection, ..ArrayOptions::default() });
    let error = opened.map(drop).expect_err("there are none");
    ensure!(error.to_string().contains("bench bandwidth --pairs"), "{error}");
    Ok(())
}
