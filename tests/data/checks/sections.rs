//! Sections: computations inside that are one computation to the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use hal::Nanos;
use overtake::data::{Array, Section, discard, read, read_write, write};
use overtake::task::{Handle, More};

use crate::bed::{self, Bed};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::raw;
use crate::rig::Rig;

const COUNT: usize = 1000;

/// `sum = left + right` by the kernel, in a section.
fn add(
    bed: &Bed,
    section: &Section,
    left: &Array<f32>,
    right: &Array<f32>,
    sum: &Array<f32>,
) -> Result<Handle, Failure> {
    Ok(raw::add_of(&bed.kernels, section, (read(left), read(right), discard(sum)), COUNT).submit()?)
}

fn ones(bed: &Bed) -> Result<Array<f32>, Failure> {
    Ok(bed.arrays.array_of(&[1.0; COUNT])?)
}

/// Its results are there for those after it, and an array of its own goes with it.
pub fn are_one_computation(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (one, two, six) = (ones(&bed)?, bed.arrays.array(&[COUNT])?, bed.arrays.array(&[2, COUNT / 2])?);
    raw::add(&bed, "two", &one, &one, &two).submit()?;
    let (section, (inside, sum)) = bed.arrays.section("times three", (read(&two), write(&six))).open()?;
    same("the shape of an array that it is lent", &sum.shape().to_vec(), &vec![2, COUNT / 2])?;
    let four = section.array(&[COUNT])?;
    add(&bed, &section, &inside, &inside, &four)?;
    add(&bed, &section, &four, &inside, &sum)?;
    let end = section.end()?;
    let seven = bed.arrays.array(&[COUNT])?;
    raw::add(&bed, "seven", &six, &one, &seven).submit()?;
    same("six and one", &[seven.read()?[0], seven.read()?[COUNT - 1]], &[7.0; 2])?;
    end.wait()?;
    bed.transfers("one array goes up, one comes back", (1, 4 * COUNT as u64), (1, 4 * COUNT as u64))?;
    drop((inside, sum, four));
    bed.arrays.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// Those outside that only read go on beside it, and those that write wait for its end. It does not write its arguments
/// that it only reads.
pub fn see_arrays_frozen(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (given, results, copy) = (ones(&bed)?, bed.arrays.array(&[COUNT])?, bed.arrays.array(&[COUNT])?);
    let (section, (inside, sum)) = bed.arrays.section("reads", (read(&given), discard(&results))).open()?;
    let refused = raw::add_of(&bed.kernels, &section, (read(&inside), read(&inside), discard(&inside)), COUNT);
    let error = refused.submit().err().map(|error| error.to_string()).unwrap_or_default();
    ensure!(error.contains("frozen"), "it writes an array that it is lent to read: {error:?}");
    ensure!(read(&sum).open().is_err(), "an array that it is to write has no contents before");
    raw::add(&bed, "beside", &given, &given, &copy).submit()?.wait()?;
    let changed = raw::add(&bed, "changes", &copy, &copy, &given).submit()?;
    let later = raw::add(&bed, "later", &results, &results, &copy).submit()?;
    let own = add(&bed, &section, &inside, &inside, &sum)?;
    own.wait()?;
    ensure!(!changed.is_done() && !later.is_done(), "they wait for the end of the section");
    drop(section);
    same("the results, doubled", &copy.read()?[5], &4.0)?;
    same("the array that was read, changed behind it", &given.read()?[5], &4.0)
}

/// Sections in sections, on parts of arrays and on the host.
pub fn stack(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let numbers = bed.arrays.array_of(&(0..20).collect::<Vec<u32>>())?;
    let (outer, (half,)) = bed.arrays.section("half", (read_write(&numbers).part(0..10),)).open()?;
    let add_one = |section: &Section, array: &Array<u32>| {
        let more = section.host("one more", (read_write(array),), |(array,)| {
            array.iter_mut().for_each(|number| *number += 1);
            Ok(())
        });
        more.submit().map(drop)
    };
    add_one(&outer, &half)?;
    let (inner, (quarter,)) = outer.section("quarter", (read_write(&half).part(5..10),)).on_host().open()?;
    add_one(&inner, &quarter)?;
    inner.end()?;
    add_one(&outer, &half)?;
    same("what the section sees itself", &half.read()?[4..6].to_vec(), &vec![6, 8])?;
    outer.end()?.wait()?;
    let expected: Vec<u32> = (0..20)
        .map(|at| {
            at + if at < 5 {
                2
            } else if at < 10 {
                3
            } else {
                0
            }
        })
        .collect();
    same("all numbers", &numbers.read()?.to_vec(), &expected)
}

/// One inside that is cancelled fails no set, as one outside would not.
pub fn are_cancelled_as_one(rig: &Rig) -> Outcome {
    for is_lent in [true, false] {
        let bed = bed::open(rig)?;
        let results = bed.arrays.array::<f32>(&[COUNT])?;
        let (section, (inside,)) = bed.arrays.section("section", (discard(&results),)).open()?;
        let own = section.array::<f32>(&[1])?;
        let used = if is_lent { &inside } else { &own };
        let task = section.host("inside", (discard(used),), |_| Ok(())).held().submit()?;
        ensure!(task.cancel()?, "it is held");
        let told = section.end().and_then(|end| end.wait()).expect_err("it was not run");
        ensure!(told.to_string().ends_with("was not run: task \"inside\" was cancelled"), "{told}");
        let told = results.read().map(drop).expect_err("they are lost");
        ensure!(told.to_string().contains("task \"inside\" was cancelled"), "{told}");
        bed.arrays.wait()?;
    }
    Ok(())
}

/// Also where all have one name.
pub fn are_cancelled_as_one_by_any_name(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let given = ones(&bed)?;
    let (outer, (lent,)) = bed.arrays.section("same", (read(&given),)).open()?;
    let (inner, _) = outer.section("same", (read(&lent),)).open()?;
    let own = inner.array::<f32>(&[1])?;
    let task = inner.host("same", (discard(&own),), |_| Ok(())).held().submit()?;
    ensure!(task.cancel()?, "it is held");
    for section in [inner, outer] {
        let told = section.end().and_then(|end| end.wait());
        ensure!(told.is_err(), "one inside was not run");
    }
    Ok(bed.arrays.wait()?)
}

/// A failure inside is that of the whole; and where its arrays are lost before it, all inside fails.
pub fn fail_as_one(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (given, results) = (ones(&bed)?, bed.arrays.array::<f32>(&[COUNT])?);
    let (section, (inside, sum)) = bed.arrays.section("fails", (read(&given), discard(&results))).open()?;
    let own = section.array::<f32>(&[1])?;
    section.host("one inside", (discard(&own),), |_| Err("it has no end".into())).submit()?;
    add(&bed, &section, &inside, &inside, &sum)?;
    let end = section.end()?;
    let errors = [end.wait().err(), results.read().err()].map(|error| error.map(|error| error.to_string()));
    for error in errors {
        ensure!(error.as_ref().is_some_and(|error| error.contains("it has no end")), "the cause: {error:?}");
    }
    same("an array that it only read", &given.read()?[3], &1.0)?;
    let (section, (lost,)) = bed.arrays.section("behind", (read(&results),)).open()?;
    ensure!(lost.read().is_err(), "its array was lost before");
    ensure!(section.end()?.wait().is_err(), "and so it fails");
    Ok(())
}

/// One that has failed ends with all that runs inside: until then those outside wait that use the same memory.
pub fn fail_in_their_order(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let [one, other] = [bed.arrays.array::<u32>(&[COUNT])?, bed.arrays.array::<u32>(&[COUNT])?];
    let (section, inside) = bed.arrays.section("fails", (write(&one), write(&other))).on_host().open()?;
    let fails = section.host("one inside", (write(&inside.0),), |_| Err("it has no end".into())).submit()?;
    ensure!(fails.wait().is_err(), "it fails");
    let fill = |arrays: &overtake::data::Arrays, name, array: &Array<u32>, with| {
        let fill = arrays.host(name, (discard(array),), move |(array,)| {
            array.fill(with);
            Ok(())
        });
        fill.held().submit()
    };
    let long = fill(&section, "long", &inside.1, 1)?;
    let behind = fill(&bed.arrays, "outside", &other, 2)?;
    behind.release()?;
    ensure!(section.end().is_err(), "one inside has failed");
    ensure!(inside.1.overwrite().is_err(), "it has ended");
    rig.driver().host().sleep(Nanos::from_ms(2));
    ensure!(!behind.is_done(), "it waits for all inside");
    long.release()?;
    behind.wait()?;
    same("its result", &other.read()?[COUNT - 1], &2)?;
    bed.arrays.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// Where what it is lent does not come, nothing inside runs: also what only writes, and what uses none of it.
pub fn fail_with_their_entry(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let [given, results] = [bed.arrays.array::<u32>(&[COUNT])?, bed.arrays.array::<u32>(&[COUNT])?];
    let writer = bed.arrays.host("writer", (discard(&given),), |_| Err("no luck".into())).held().submit()?;
    for is_pending in [true, false] {
        let uses = (read(&given), discard(&results));
        let (section, (_, inside)) = bed.arrays.section("section", uses).on_host().open()?;
        let own = section.array::<u32>(&[1])?;
        let runs = Arc::<AtomicU32>::default();
        let count = |array: &Array<u32>| {
            let runs = Arc::clone(&runs);
            let counts = section.host("inside", (discard(array),), move |_| {
                runs.fetch_add(1, Ordering::Relaxed);
                Ok(())
            });
            counts.submit()
        };
        let tasks = [count(&inside)?, count(&own)?];
        if is_pending {
            writer.release()?;
        }
        for task in &tasks {
            let told = task.wait().err().map(|error| error.to_string()).unwrap_or_default();
            ensure!(told.contains("no luck"), "{told:?}");
        }
        ensure!(inside.overwrite().is_err(), "it has no array to write");
        ensure!(section.end().and_then(|end| end.wait()).is_err(), "and so it fails");
        same("functions that ran", &runs.load(Ordering::Relaxed), &0)?;
    }
    bed.arrays.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// When it has ended its arrays are those of the others again.
pub fn take_nothing_later(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let given = ones(&bed)?;
    let (section, (inside,)) = bed.arrays.section("short", (read_write(&given),)).open()?;
    section.end()?.wait()?;
    let error = inside.read().err().map(|error| error.to_string()).unwrap_or_default();
    ensure!(error.contains("its section has ended"), "{error:?}");
    let twice = bed.arrays.section("twice", (read(&given), read_write(&given))).open();
    ensure!(twice.is_err(), "it would have the same elements twice");
    same("the array", &given.read()?[0], &1.0)
}

/// Work inside on another device: its results come back to where they were lent.
pub fn span_devices(rig: &Rig) -> Outcome {
    if rig.driver().device_count()? < 2 {
        return Ok(());
    }
    let bed = bed::open_on(rig, rig.shared_driver(), 2, Default::default())?;
    let (given, results) = (ones(&bed)?, bed.arrays.array(&[COUNT])?);
    let (section, (inside, sum)) = bed.arrays.section("there", (read(&given), discard(&results))).on(0).open()?;
    raw::add_of(&bed.kernels, &section, (read(&inside), read(&inside), discard(&sum)), COUNT).on(1).submit()?;
    let end = section.end()?;
    raw::add(&bed, "here", &results, &given, &results).on(0).submit()?;
    same("three", &results.read()?[COUNT - 1], &3.0)?;
    Ok(end.wait()?)
}

/// Computations inside have at least the priority of their section, before that ends.
pub fn give_their_priority(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let array = bed.arrays.array_of(&[1_u32; 8])?;
    let (section, (inside,)) = bed.arrays.section("urgent", (read(&array),)).priority(bed::urgent()).open()?;
    let (tells, told) = std::sync::mpsc::channel();
    let tell = section.launch("inside", (read(&inside),), move |lane, _| {
        tells.send(lane.priority())?;
        Ok(More::Done)
    });
    tell.submit()?.wait()?;
    same("its priority", &told.recv().ok(), &Some(bed::urgent()))?;
    section.end()?.wait()?;
    Ok(())
}
