//! Computations that are cancelled: their transfers go on, and what they would have written is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use hal::Nanos;
use overtake::data::{Sum, discard, read, read_write, reduce, write};
use overtake::task::{Error, Handle, More, Reason};

use crate::bed;
use crate::failure::{Failure, Outcome, ensure, same};
use crate::raw;
use crate::rig::Rig;

const COUNT: usize = 1000;

/// Whether a task was not run because one was cancelled.
fn is_left_out(told: &Result<(), Error>) -> bool {
    matches!(told, Err(Error::NotRun { fault, .. }) if matches!(fault.reason, Reason::Cancelled))
}

/// The last of several writers is cancelled first: the next use still waits for the one that runs.
pub fn from_the_last_on(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let array = bed.arrays.array::<u32>(&[COUNT])?;
    let (is_inside, may_end) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
    let (inside, end, driver) = (Arc::clone(&is_inside), Arc::clone(&may_end), rig.shared_driver().clone());
    let writes = bed.arrays.host("writes", (discard(&array),), move |(array,)| {
        inside.store(true, Ordering::Release);
        driver.host().wait_until(None, &mut || end.load(Ordering::Acquire));
        array.fill(1);
        Ok(())
    });
    writes.submit()?;
    while !is_inside.load(Ordering::Acquire) {
        rig.driver().host().sleep(Nanos::from_us(10));
    }
    let waiting: Vec<Handle> = ["second", "third", "fourth"]
        .into_iter()
        .map(|name| bed.arrays.host(name, (write(&array),), |_| Ok(())).submit())
        .collect::<Result<_, _>>()?;
    for task in waiting.iter().rev() {
        ensure!(task.cancel()?, "{task:?} waits");
    }
    let seen = Arc::<AtomicU32>::default();
    let (found, ended) = (Arc::clone(&seen), Arc::clone(&may_end));
    let next = bed.arrays.host("next", (discard(&array),), move |(array,)| {
        found.store(1 + u32::from(ended.load(Ordering::Acquire)), Ordering::Release);
        array.fill(2);
        Ok(())
    });
    let next = next.submit()?;
    rig.driver().host().sleep(Nanos::from_ms(2));
    same("it has run", &seen.load(Ordering::Acquire), &0)?;
    may_end.store(true, Ordering::Release);
    next.wait()?;
    same("it has run behind the first", &seen.load(Ordering::Acquire), &2)?;
    same("its result", &array.read()?[COUNT - 1], &2)?;
    ensure!(waiting.iter().all(|task| is_left_out(&task.wait())), "they were cancelled");
    bed.arrays.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// A reader leaves its array as it is, with the transfer that was made for it. One that was to be repeated is not.
pub fn of_readers(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (source, sum) = (bed.arrays.array_of(&[1.0_f32; COUNT])?, bed.arrays.array(&[COUNT])?);
    let reads = bed.arrays.launch("reads", (read(&source),), |_, _| Ok(More::Done)).retries(3).held().submit()?;
    ensure!(reads.cancel()?, "it is held");
    raw::add(&bed, "sum", &source, &source, &sum).submit()?.wait()?;
    same("the sum", &sum.read()?[0], &2.0)?;
    bed.transfers("one goes up, for both", (1, 4 * COUNT as u64), (1, 4 * COUNT as u64))?;
    source.change()?.fill(3.0);
    same("written since", &source.read()?[0], &3.0)?;
    ensure!(is_left_out(&reads.wait()), "{:?}", reads.outcome());
    Ok(bed.arrays.wait()?)
}

/// Writers behind a reader that is cancelled, or fails, run: in their order, on what was written before.
pub fn of_a_reader_before_a_writer(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let array = bed.arrays.array_of(&[1_u32; COUNT])?;
    let writes = bed.arrays.host("writes", (discard(&array),), |(array,)| {
        array.fill(2);
        Ok(())
    });
    let writes = writes.held().submit()?;
    let reads = |name, fails: bool| {
        let reads = bed.arrays.launch(name, (read(&array),), move |_, _| match fails {
            true => Err("as planned".into()),
            false => Ok(More::Done),
        });
        reads.held().submit()
    };
    let (first, second, fails) = (reads("first", false)?, reads("second", false)?, reads("fails", true)?);
    let add = |name| {
        let adds = bed.arrays.host(name, (read_write(&array),), |(array,)| {
            array.iter_mut().for_each(|element| *element += 1);
            Ok(())
        });
        adds.submit()
    };
    let behind = add("behind")?;
    ensure!(first.cancel()? && is_left_out(&first.wait()), "{:?}", first.outcome());
    ensure!(second.cancel()? && is_left_out(&second.wait()), "{:?}", second.outcome());
    let later = add("later")?;
    rig.driver().host().sleep(Nanos::from_ms(2));
    ensure!(!behind.is_done() && !later.is_done(), "the writer before the readers has not run");
    writes.release()?;
    rig.driver().host().sleep(Nanos::from_ms(2));
    ensure!(!behind.is_done(), "a reader is there still");
    fails.release()?;
    ensure!(matches!(fails.wait(), Err(Error::Failed(_))), "{:?}", fails.outcome());
    behind.wait()?;
    later.wait()?;
    same("the elements", &array.read()?[COUNT - 1], &4)?;
    bed.arrays.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// What it would have written is lost until it is written again, and so are the results of reductions with it.
pub fn of_writers(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (source, sum) = (bed.arrays.array_of(&[1.0_f32; COUNT])?, bed.arrays.array(&[COUNT])?);
    let task = raw::add(&bed, "sum", &source, &source, &sum).held().submit()?;
    let behind = raw::add(&bed, "behind", &sum, &source, &source).submit()?;
    ensure!(task.cancel()? && is_left_out(&behind.wait()), "{:?}", behind.outcome());
    for array in [&sum, &source] {
        ensure!(is_left_out(&array.read().map(drop)), "its contents are lost");
        array.overwrite()?.fill(5.0);
        same("written again", &array.read()?[1], &5.0)?;
    }
    let total = bed.arrays.array_of(&[0_u32])?;
    let adds = |name| {
        let task = bed.arrays.host(name, (reduce(&total, Sum),), |(part,)| {
            part[0] += 1;
            Ok(())
        });
        task.held().submit()
    };
    let [first, second]: [Result<Handle, Error>; 2] = ["first", "second"].map(adds);
    let (first, second) = (first?, second?);
    ensure!(second.cancel()?, "it is held");
    first.release()?;
    ensure!(is_left_out(&total.read().map(drop)), "a part of the sum is not there");
    total.overwrite()?[0] = 7;
    same("written again", &total.read()?[0], &7)?;
    Ok(bed.arrays.wait()?)
}

/// A transfer for several uses fails with the writer of its own bytes alone: who asks for others has them.
pub fn of_the_writer_of_a_part(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (source, sum) = (bed.arrays.array_of(&[1.0_f32; COUNT])?, bed.arrays.array(&[COUNT])?);
    let half = |at: usize| at * COUNT / 2..(at + 1) * COUNT / 2;
    let adds = |at| raw::add_parts(&bed, "adds", (&source, half(at)), (&source, half(at)), (&sum, half(at)));
    let (first, second) = (adds(0).held().submit()?, adds(1).held().submit()?);
    let all = bed.arrays.host("all", (read(&sum),), |_| Ok(())).submit()?;
    let one = read(&sum).part(half(0)).to_host()?;
    ensure!(second.cancel()?, "it is held");
    first.release()?;
    one.wait()?;
    ensure!(is_left_out(&all.wait()), "{:?}", all.outcome());
    same("the first half", &read(&sum).part(half(0)).open()?[1], &2.0)?;
    ensure!(is_left_out(&read(&sum).part(half(1)).open().map(drop)), "the other one is lost");
    bed.arrays.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// Threads cancel computations while another one has them start: each runs once, or not at all, and says so.
pub fn beside_their_start(rig: &Rig) -> Outcome {
    const TASKS: u32 = 60;
    let bed = bed::open(rig)?;
    let runs = Arc::<AtomicU32>::default();
    let mut tasks = Vec::new();
    for number in 0..TASKS {
        let (array, runs) = (bed.arrays.array::<u32>(&[1])?, Arc::clone(&runs));
        let task = bed.arrays.host("task", (discard(&array),), move |(array,)| {
            runs.fetch_add(1, Ordering::Relaxed);
            array.fill(number);
            Ok(())
        });
        tasks.push((task.held().submit()?, array, number));
    }
    let handles: Vec<Handle> = tasks.iter().map(|(task, ..)| task.clone()).collect();
    let threads: Vec<_> = (0..3)
        .map(|thread| {
            let handles = handles.clone();
            rig.spawn("thread", move |driver| {
                for task in &handles {
                    driver.host().sleep(Nanos::from_us(1));
                    if thread == 0 {
                        // It may have been cancelled before.
                        let _ = task.release();
                    } else {
                        task.cancel().map_err(Failure::new)?;
                    }
                }
                Ok(())
            })
        })
        .collect();
    threads.into_iter().try_for_each(|thread| rig.join(thread))?;
    bed.arrays.wait()?;
    let mut done = 0;
    for (task, array, number) in &tasks {
        let told = task.wait();
        ensure!(told.is_ok() || is_left_out(&told), "{told:?}");
        done += u32::from(told.is_ok());
        match array.read() {
            Ok(found) => same("its result", &(found[0], told.is_ok()), &(*number, true))?,
            Err(_) => ensure!(told.is_err(), "the result of one that has run"),
        }
    }
    same("runs", &runs.load(Ordering::Relaxed), &done)?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}
