//! Workspaces: memory that lives with the lanes, and not with a computation.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use hal::locks::lock;
use overtake::data::{Array, ArrayOptions, Workspace, discard};
use overtake::heap::HeapOptions;
use overtake::task::{Handle, Lane, More};

use crate::bed::{self, Bed};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::raw;
use crate::rig::Rig;

const BYTES: usize = 1 << 20;
const TASKS: u8 = 24;

/// The address of a workspace by lane.
type Places = Arc<Mutex<BTreeMap<u8, u64>>>;

/// Fills the workspace of its lane with a value, and copies it to an array.
fn through(bed: &Bed, space: &Workspace, value: u8, to: &Array<u8>, seen: &Places) -> Result<Handle, Failure> {
    let (space, seen) = (space.clone(), Arc::clone(seen));
    let task = bed.arrays.launch("through", (discard(to),), move |lane, at| {
        let start = space.of(lane)?;
        lane.driver().memset_d8_async(start, value, space.bytes(), lane.stream())?;
        raw::copy(lane, at[0], start, space.bytes())?;
        let before = lock(&seen).insert(lane.number(), start.0);
        if before.is_some_and(|before| before != start.0) {
            return Err("the lane has another one than before".into());
        }
        Ok(More::Done)
    });
    Ok(task.held().submit()?)
}

/// Each lane has one, which no two computations use at the same time although they have no order.
pub fn of_each_lane(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (space, seen) = (bed.arrays.workspace(BYTES as u64), Places::default());
    let arrays = (0..TASKS).map(|_| bed.arrays.array::<u8>(&[BYTES])).collect::<Result<Vec<_>, _>>()?;
    let tasks = (0..TASKS).zip(&arrays).map(|(value, to)| through(&bed, &space, value, to, &seen));
    let tasks = tasks.collect::<Result<Vec<_>, _>>()?;
    tasks.iter().try_for_each(Handle::release)?;
    for (value, array) in (0..TASKS).zip(&arrays) {
        let bytes = array.read()?;
        ensure!(bytes.iter().all(|byte| *byte == value), "task {value}: others have written in its workspace");
    }
    let seen = lock(&seen);
    let mut places: Vec<u64> = seen.values().copied().collect();
    places.sort_unstable();
    ensure!(places.len() > 1, "one lane does all: {places:?}");
    let is_apart = |pair: &[u64]| pair[1] - pair[0] >= BYTES as u64;
    ensure!(places.windows(2).all(is_apart), "two lanes share one: {places:x?}");
    Ok(())
}

/// Its memory goes with the last function that has a clone, and not before. The device has room for one.
pub fn goes_behind_the_last_work(rig: &Rig) -> Outcome {
    let device = HeapOptions { page_bytes: 2 * BYTES as u64, max_bytes: 3 * BYTES as u64, ..HeapOptions::default() };
    let bed = bed::open_with(rig, rig.shared_driver(), ArrayOptions { device, ..ArrayOptions::default() })?;
    let large = 2 * BYTES as u64;
    let fill = |space: &Workspace| {
        let space = space.clone();
        let task = bed.tasks.kernel("fill", move |lane: &mut Lane<'_>| {
            lane.driver().memset_d8_async(space.of(lane)?, 1, space.bytes(), lane.stream())?;
            Ok(More::Done)
        });
        task.held().submit()
    };
    let (first, second) = (bed.arrays.workspace(large), bed.arrays.workspace(large));
    let task = fill(&first)?;
    drop(first);
    task.release()?;
    task.wait()?;
    let next = fill(&second)?;
    next.release()?;
    next.wait()?;
    let third = fill(&bed.arrays.workspace(large))?;
    third.release()?;
    let error = third.wait().expect_err("the second is alive");
    ensure!(error.to_string().contains("fill"), "{error}");
    same("bytes", &second.bytes(), &large)
}

/// A lane of another dispatcher has none.
pub fn foreign(rig: &Rig) -> Outcome {
    let (bed, other) = (bed::open(rig)?, bed::open(rig)?);
    let space = bed.arrays.workspace(BYTES as u64);
    let task = other.tasks.kernel("there", move |lane: &mut Lane<'_>| {
        space.of(lane)?;
        Ok(More::Done)
    });
    let error = task.submit()?.wait().expect_err("its lane is of another dispatcher");
    ensure!(error.to_string().contains("its lane is of another dispatcher"), "{error}");
    Ok(())
}
