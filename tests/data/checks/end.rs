//! The last `Arrays` goes: the work that can end does, the rest fails, and adopted memory has its results.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hal::{Code, Nanos};
use overtake::buffer::PinnedBuffer;
use overtake::data::{
    Array, ArrayOptions, Arrays, Location, Sum, Use, Writes, discard, read, read_write, reduce, write,
};
use overtake::dispatch::{DispatchOptions, Dispatcher};
use overtake::heap::HeapOptions;
use overtake::task::{Error, Handle, More, Tasks};

use crate::bed::{self, Bed};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::raw;
use crate::rig::Rig;

const COUNT: usize = 1 << 16;

/// Drops the arrays of a bed, which gets others.
fn drop_arrays(bed: &mut Bed) -> Outcome {
    let others = Arrays::open(&bed.dispatcher, ArrayOptions::default())?;
    drop(std::mem::replace(&mut bed.arrays, others));
    Ok(())
}

fn two_arrays(bed: &Bed) -> Result<[Array<f32>; 2], Failure> {
    Ok([bed.arrays.array_of(&[1.0; COUNT])?, bed.arrays.array(&[COUNT])?])
}

fn has_failed(task: &Handle) -> Outcome {
    ensure!(task.is_done(), "{} has ended", task.name());
    let error = task.wait().expect_err("it was held");
    ensure!(error.to_string().contains("its arrays were dropped"), "{error}");
    Ok(())
}

/// Computations, their transfers and functions of the host have run, but not before the last clone goes.
pub fn all_has_ended(rig: &Rig) -> Outcome {
    let mut bed = bed::open(rig)?;
    let [source, sum] = two_arrays(&bed)?;
    let mut tasks = Vec::new();
    for _ in 0..20 {
        tasks.push(raw::add(&bed, "sum", &source, &source, &sum).submit()?);
        let look = bed.arrays.host("look", (read(&sum), discard(&source)), |(sum, source)| {
            source.copy_from_slice(sum);
            Ok(())
        });
        tasks.push(look.submit()?);
    }
    drop(bed.arrays.clone());
    ensure!(!tasks.iter().all(Handle::is_done), "a clone has waited");
    drop_arrays(&mut bed)?;
    for task in &tasks {
        ensure!(task.is_done(), "{} has not ended", task.name());
        task.wait()?;
    }
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)?;
    same("the last", &source.read()?[0], &((1 << 20) as f32))
}

/// Computations that are held, and those after them, fail: the program could start them no sooner. Others run.
pub fn held_ones_fail(rig: &Rig) -> Outcome {
    let mut bed = bed::open(rig)?;
    let ([source, sum], [other, free]) = (two_arrays(&bed)?, two_arrays(&bed)?);
    let held = raw::add(&bed, "held", &source, &source, &sum).held().submit()?;
    let behind = raw::add(&bed, "behind", &sum, &sum, &source).submit()?;
    let beside = raw::add(&bed, "beside", &other, &other, &free).submit()?;
    drop_arrays(&mut bed)?;
    has_failed(&held)?;
    has_failed(&behind)?;
    ensure!(beside.is_done(), "it had time to end");
    beside.wait()?;
    // It has ended, so nothing comes of it.
    let _ = held.release();
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)?;
    same("beside", &free.read()?[7], &2.0)?;
    let error = sum.read().expect_err("it was not written");
    ensure!(error.to_string().contains("its arrays were dropped"), "{error}");
    Ok(())
}

/// A guard keeps its bytes: computations that wait for it fail, and the thread that has it does not wait for itself.
pub fn a_guard_stays(rig: &Rig) -> Outcome {
    let mut bed = bed::open(rig)?;
    let ([source, sum], [other, _]) = (two_arrays(&bed)?, two_arrays(&bed)?);
    let mut guard = source.change()?;
    let reader = other.read()?;
    let waits = raw::add(&bed, "waits", &source, &source, &sum).submit()?;
    let reads = raw::add(&bed, "reads", &other, &other, &sum).submit()?;
    drop_arrays(&mut bed)?;
    has_failed(&waits)?;
    // It writes the same bytes as the other one, so it comes after it.
    has_failed(&reads)?;
    guard[3] = 4.0;
    same("both guards", &[guard[3], reader[3]], &[4.0, 1.0])?;
    drop((guard, reader));
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)?;
    same("afterwards", &source.read()?[3], &4.0)
}

/// An access that waits for one that is given up fails with it: it would wait for the guard.
pub fn an_access_fails_beside_a_guard(rig: &Rig) -> Outcome {
    let mut bed = bed::open(rig)?;
    let ([source, _], [other, _], host) = (two_arrays(&bed)?, two_arrays(&bed)?, rig.driver().host());
    let source = Arc::new(source);
    let mut guard = source.change()?;
    let waits = raw::add(&bed, "waits", &other, &other, &source).submit()?;
    let theirs = Arc::clone(&source);
    let overwrites = rig.spawn("overwrites", move |_| Ok(theirs.overwrite().map(drop)));
    host.sleep(Nanos::from_ms(1));
    let begun = host.now();
    drop_arrays(&mut bed)?;
    ensure!(host.now().since(begun) < Nanos::from_ms(1_000), "the end of the arrays has waited for the guard");
    has_failed(&waits)?;
    let error = rig.join(overwrites)?.expect_err("it waits for the guard");
    ensure!(error.to_string().contains("its arrays were dropped"), "{error}");
    guard[3] = 4.0;
    drop(guard);
    // The one that was given up was to write it.
    source.overwrite()?.fill(5.0);
    same("afterwards", &source.read()?[3], &5.0)?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// The results are in memory that was adopted, also when there is no dispatcher any more to bring them.
pub fn adopted_memory_has_its_results(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let memory = PinnedBuffer::<f32>::new(&bed.overtake, COUNT)?;
    let [source, _] = two_arrays(&bed)?;
    let (adopted, lost) = (bed.arrays.adopt(memory)?, bed.arrays.array::<f32>(&[COUNT])?);
    raw::add(&bed, "sum", &source, &source, &adopted).submit()?;
    raw::add(&bed, "lost", &source, &source, &lost).submit()?;
    drop(bed);
    let memory = adopted.release()?;
    let memory = memory.ok_or_else(|| Failure::new("it was made of a buffer"))?;
    same("the results", &[memory[0], memory[COUNT - 1]], &[2.0; 2])?;
    ensure!(lost.release().is_err(), "its results are on a device, and no dispatcher brings them");
    Ok(())
}

/// A way to access adopted memory.
type Way = fn(&Array<f32>) -> Use<'_, Writes<f32>>;

/// An access beside a computation, which never has its elements, or has them.
fn ends_beside(
    bed: &Bed,
    access: Way,
    at: Location,
    (waits, enters): (bool, bool),
) -> Result<[Option<Error>; 2], Failure> {
    let arrays = Arrays::open(&bed.dispatcher, ArrayOptions::default())?;
    let adopted = arrays.adopt(PinnedBuffer::<f32>::new(&bed.overtake, COUNT)?)?;
    let source = arrays.array_of(&[1.0; COUNT])?;
    let uses = (read(&source), read(&source), discard(&adopted));
    raw::add_of(&bed.kernels, &arrays, uses, COUNT).submit()?;
    let access = access(&adopted).open_at(at)?;
    if waits || enters {
        access.there().wait()?;
    }
    if enters {
        ensure!(access.address()?.is_some(), "the elements are there");
    }
    let ended = arrays.clone().finish();
    ensure!(arrays.failure().is_none(), "no computation has failed: {:?}", arrays.failure());
    let told = access.address();
    drop(access);
    let memory = adopted.release()?.ok_or_else(|| Failure::new("it was made of a buffer"))?;
    same("the results", &[memory[0], memory[COUNT - 1]], &[2.0; 2])?;
    Ok([ended.err(), told.err()])
}

/// An access that was to write adopted memory, and never had it, keeps no results back: where they do not come to that
/// memory beside it, it is given up.
pub fn adopted_memory_has_its_results_beside_an_access(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let ways: [(Way, bool); 3] = [(discard, true), (write, false), (read_write, false)];
    for (way, is_discard) in ways {
        for (at, waits) in [Location::Host, Location::Device(0)].into_iter().flat_map(|at| [(at, false), (at, true)]) {
            let [ended, told] = ends_beside(&bed, way, at, (waits, false))?;
            ensure!(ended.is_none(), "all results are there: {ended:?}");
            let (told, is_given_up) = (told.map(|error| error.to_string()), is_discard || at != Location::Host);
            let is_told = |told: &String| told.contains("was not run: its arrays were dropped before the program had");
            ensure!(told.as_ref().map(is_told) == is_given_up.then_some(true), "{is_discard} {at:?}: {told:?}");
        }
    }
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// Where the program has the elements on a device, the end tells that the access is open, and does not wait for it.
pub fn is_told_of_an_open_access(rig: &Rig) -> Outcome {
    let (bed, host) = (bed::open(rig)?, rig.driver().host());
    let begun = host.now();
    let [ended, told] = ends_beside(&bed, read_write, Location::Device(0), (true, true))?;
    let ended = ended.map(|error| error.to_string());
    ensure!(ended.as_ref().is_some_and(|error| error.contains("is open")), "{ended:?}");
    ensure!(told.is_none(), "the program has the elements: {told:?}");
    ensure!(host.now().since(begun) < Nanos::from_ms(10_000), "the end has waited for it");
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// An error is told also of an array that is on no device: the function of the host that should have written it fails.
pub fn is_told_of_a_lost_array_of_the_host(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let arrays = Arrays::open(&bed.dispatcher, ArrayOptions::default())?;
    let adopted = arrays.adopt(PinnedBuffer::<f32>::new(&bed.overtake, COUNT)?)?;
    arrays.host("fails", (discard(&adopted),), |_| Err("no such results".into())).submit()?;
    let error = arrays.finish().err().map(|error| error.to_string()).unwrap_or_default();
    ensure!(error.contains("no such results"), "{error}");
    Ok(())
}

/// A function that drops the last `Arrays` does not wait: it may be the one that others wait for.
pub fn in_a_function(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let arrays = Arrays::open(&bed.dispatcher, ArrayOptions::default())?;
    let source = arrays.array_of(&[1.0_f32; 8])?;
    let (host, began) = (rig.driver().host(), rig.driver().host().now());
    let has_run = Arc::new(AtomicBool::new(false));
    let ran = Arc::clone(&has_run);
    let inner = arrays.clone();
    let drops = arrays.host("drops", (discard(&source),), move |(source,)| {
        source.fill(2.0);
        drop(inner);
        Ok(())
    });
    let drops = drops.held().submit()?;
    let behind = arrays.host("behind", (read(&source),), move |(source,)| {
        ran.store(source[0] == 2.0, Ordering::Relaxed);
        Ok(())
    });
    let behind = behind.submit()?;
    drop(arrays);
    drops.release()?;
    behind.wait()?;
    ensure!(has_run.load(Ordering::Relaxed), "it saw other values");
    ensure!(host.now().since(began) < Nanos::from_ms(10_000), "the function has waited for itself");
    Ok(bed.arrays.wait()?)
}

/// A task without work that the program holds is none of a guard: it fails, and is not waited for.
pub fn a_held_join_of_the_program_fails(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let set = Tasks::new(&bed.dispatcher);
    let arrays = Arrays::of(set.clone(), ArrayOptions::default())?;
    let (host, began) = (rig.driver().host(), rig.driver().host().now());
    let held = set.join("held").held().submit()?;
    drop(arrays);
    ensure!(host.now().since(began) < Nanos::from_ms(10_000), "it was waited for");
    has_failed(&held)
}

/// The first error is told, and the results of all other arrays are there.
pub fn is_told_behind_a_lost_array(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let [source, _] = two_arrays(&bed)?;
    let adopt = || Ok::<_, Failure>(bed.arrays.adopt(PinnedBuffer::<f32>::new(&bed.overtake, COUNT)?)?);
    let (before, lost, behind) = (adopt()?, adopt()?, adopt()?);
    raw::add(&bed, "before", &source, &source, &before).submit()?;
    raw::add(&bed, "lost", &source, &source, &lost).submit()?;
    raw::add(&bed, "behind", &source, &source, &behind).submit()?;
    let broken = bed.arrays.launch("broken", (discard(&lost),), |_, _| -> Result<More, _> { Err("no luck".into()) });
    ensure!(broken.submit()?.wait().is_err(), "it fails");
    let Bed { arrays, tasks, dispatcher, .. } = bed;
    let error = arrays.finish().expect_err("an array is lost").to_string();
    ensure!(error.contains("task \"broken\" failed: no luck"), "{error}");
    drop((tasks, dispatcher));
    for array in [before, behind] {
        let memory = array.release()?.ok_or_else(|| Failure::new("it was made of a buffer"))?;
        same("the results", &[memory[0], memory[COUNT - 1]], &[2.0; 2])?;
    }
    Ok(())
}

/// An array that cannot be brought to its memory keeps no other one from that.
pub fn is_told_behind_one_without_memory(rig: &Rig) -> Outcome {
    const BYTES: u64 = 4 << 20;
    let pinned = HeapOptions { page_bytes: 64 << 10, max_bytes: 1 << 20, ..HeapOptions::default() };
    let bed = bed::open_with(rig, rig.shared_driver(), ArrayOptions { pinned, ..ArrayOptions::default() })?;
    let (memory, [source, _]) = (rig.buffer(BYTES)?, two_arrays(&bed)?);
    let large = raw::adopt(&bed, memory, ())?;
    let good = bed.arrays.adopt(PinnedBuffer::<f32>::new(&bed.overtake, COUNT)?)?;
    raw::add(&bed, "sum", &source, &source, &good).submit()?;
    // It is combined with the array on the host, where that finds no memory.
    let adds = bed.arrays.launch("adds", (reduce(&large, Sum).part(0..1),), |_, _| Ok(More::Done));
    adds.submit()?;
    let Bed { arrays, tasks, dispatcher, .. } = bed;
    let error = arrays.finish().expect_err("there is no memory");
    ensure!(matches!(&error, Error::Driver(error) if error.code() == Code::OUT_OF_MEMORY), "{error}");
    drop((tasks, dispatcher));
    let memory = good.release()?.ok_or_else(|| Failure::new("it was made of a buffer"))?;
    same("the results", &[memory[0], memory[COUNT - 1]], &[2.0; 2])
}

/// More arrays than there is room for tasks have their results.
pub fn waits_for_room(rig: &Rig) -> Outcome {
    const MANY: usize = 12;
    let bed = bed::open(rig)?;
    let options = DispatchOptions { tasks_max: 4, ..DispatchOptions::default() };
    let dispatcher = Dispatcher::open(&bed.overtake, options)?;
    let arrays = Arrays::open(&dispatcher, ArrayOptions::default())?;
    let mut adopted = Vec::new();
    for _ in 0..MANY {
        let array = arrays.adopt(PinnedBuffer::<f32>::new(&bed.overtake, COUNT)?)?;
        array.overwrite()?.fill(1.0);
        raw::add_of_arrays(&bed, &arrays, &array).submit()?.wait()?;
        adopted.push(array);
    }
    arrays.finish()?;
    drop(dispatcher);
    for array in adopted {
        let memory = array.release()?.ok_or_else(|| Failure::new("it was made of a buffer"))?;
        same("the results", &[memory[0], memory[COUNT - 1]], &[2.0; 2])?;
    }
    Ok(())
}

/// A function cannot wait for the others, and is told so.
pub fn not_in_a_function(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let arrays = Arrays::open(&bed.dispatcher, ArrayOptions::default())?;
    let finish = bed.tasks.host("finishes", move || Ok(arrays.finish()?)).submit()?;
    let error = finish.wait().expect_err("it may not wait").to_string();
    ensure!(error.contains("end the arrays outside"), "{error}");
    Ok(())
}

/// Results that no dispatcher can bring any more are told of.
pub fn of_closed(rig: &Rig) -> Outcome {
    let Bed { arrays, tasks, dispatcher, overtake, .. } = bed::open(rig)?;
    let adopted = arrays.adopt(PinnedBuffer::<f32>::new(&overtake, COUNT)?)?;
    adopted.overwrite()?.fill(1.0);
    arrays.launch("stays", (read_write(&adopted),), |_, _| Ok(More::Done)).submit()?.wait()?;
    drop((tasks, dispatcher));
    let error = arrays.finish().expect_err("its results are on the device");
    ensure!(matches!(error, Error::Closed { .. }), "{error}");
    Ok(())
}

/// Many that are held are each told why they fail: more than the failures that are kept.
pub fn each_of_many_is_told(rig: &Rig) -> Outcome {
    const MANY: usize = 300;
    let mut bed = bed::open(rig)?;
    let [source, _] = two_arrays(&bed)?;
    let held = || bed.arrays.launch("held", (read(&source),), |_, _| Ok(More::Done)).held().submit();
    let held = (0..MANY).map(|_| held()).collect::<Result<Vec<_>, _>>()?;
    drop_arrays(&mut bed)?;
    held.iter().try_for_each(has_failed)
}

/// A guard whose nodes never ran takes no other task's place: the results are there, also beside it.
pub fn beside_a_section_that_is_lost(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let ([source, lost], results) = (two_arrays(&bed)?, PinnedBuffer::<f32>::new(&bed.overtake, COUNT)?);
    let results = bed.arrays.adopt(results)?;
    let fails = bed.arrays.host("fails", (discard(&lost),), |_| Err("no such results".into())).submit()?;
    ensure!(fails.wait().is_err(), "it fails");
    let (section, _inside) = bed.arrays.section("lost", (read(&lost),)).open()?;
    raw::add(&bed, "sum", &source, &source, &results).submit()?.wait()?;
    bed.arrays.clone().finish()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)?;
    ensure!(section.end()?.wait().is_err(), "its array is lost");
    let memory = results.release()?.ok_or_else(|| Failure::new("it was made of a buffer"))?;
    same("the results", &[memory[0], memory[COUNT - 1]], &[2.0; 2])
}
