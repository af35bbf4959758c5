//! Ranks of computations, by a policy of the user's.

use std::sync::{Arc, Mutex};

use hal::locks::lock;
use overtake::data::{ArrayOptions, discard, read};
use overtake::dispatch::Candidate;
use overtake::task::More;

use crate::bed;
use crate::failure::{Outcome, ensure, same};
use crate::raw;
use crate::rig::Rig;

const COUNT: usize = 1 << 10;

/// A policy is told the bytes of a computation's arrays, its depth, and how long such took as far as that is known.
pub fn are_told_bytes_and_times(rig: &Rig) -> Outcome {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let note = Arc::clone(&asked);
    let policy = move |task: &Candidate<'_>| {
        lock(&note).push((task.name.to_owned(), task.bytes, task.depth, task.expected_ns > 0));
        0
    };
    let bed = bed::open_ranked(rig, ArrayOptions { measures: true, ..ArrayOptions::default() }, policy)?;
    let (one, sum) = (bed.arrays.array_of(&vec![1.0_f32; COUNT])?, bed.arrays.array(&[COUNT])?);
    raw::add(&bed, "first", &one, &one, &sum).submit()?.wait()?;
    lock(&asked).clear();
    let second = raw::add(&bed, "second", &one, &one, &sum).held().submit()?;
    let look = bed.arrays.host("look", (read(&sum).part(0..2),), |_| Ok(())).submit()?;
    second.release()?;
    look.wait()?;
    let rows = [("second", 12 * COUNT as u64, 0, true), ("look", 8, 1, false)];
    let rows = rows.map(|(name, bytes, depth, known)| (name.to_owned(), bytes, depth, known)).to_vec();
    same("name, bytes, depth, whether its time is known", &*lock(&asked), &rows)
}

/// A transfer has the rank of the computation that it is made for, or that of a later one which needs it too, if that
/// is higher.
pub fn of_transfers(rig: &Rig) -> Outcome {
    let rank = |task: &Candidate<'_>| task.name.len() as u32;
    let bed = bed::open_ranked(rig, ArrayOptions::default(), rank)?;
    let order = Arc::new(Mutex::new(Vec::new()));
    let arrays = (0..3).map(|_| bed.arrays.array_of(&vec![1_u8; COUNT])).collect::<Result<Vec<_>, _>>()?;
    let group = bed.tasks.group()?;
    let computation = |name: &'static str, array: usize| {
        let order = Arc::clone(&order);
        let result = bed.arrays.array::<u8>(&[COUNT])?;
        bed.arrays
            .launch(name, (read(&arrays[array]), discard(&result)), move |_, _| {
                lock(&order).push(name);
                Ok(More::Done)
            })
            .submit()
    };
    computation("a", 0)?;
    computation("bbb", 1)?;
    computation("cc", 2)?;
    computation("dddd", 0)?;
    drop(group);
    bed.arrays.wait()?;
    ensure!(bed.arrays.failure().is_none(), "{:?}", bed.arrays.failure());
    same("computations in order", &*lock(&order), &vec!["dddd", "bbb", "cc", "a"])?;
    same("transfers", &bed.arrays.statistics().uploads, &3)
}
