//! Computations that wait for room in a full dispatcher.

use std::time::Duration;

use hal::Nanos;
use overtake::data::{ArrayOptions, Arrays, Sum, discard, read, read_write, reduce, write};
use overtake::dispatch::{DispatchOptions, Dispatcher};
use overtake::task::{Error, Handle, More, Refused, Tasks};

use crate::bed;
use crate::failure::{Failure, Outcome, ensure, same};
use crate::rig::Rig;

const TASKS_MAX: u32 = 8;

/// Arrays of a dispatcher with little room.
fn small(bed: &bed::Bed) -> Result<(Dispatcher, Arrays), Failure> {
    let options = DispatchOptions { tasks_max: TASKS_MAX, lanes: 2, ..DispatchOptions::default() };
    let dispatcher = Dispatcher::open(&bed.overtake, options)?;
    let arrays = Arrays::open(&dispatcher, ArrayOptions::default())?;
    Ok((dispatcher, arrays))
}

fn fill(dispatcher: &Dispatcher) -> Result<Vec<Handle>, Error> {
    let tasks = Tasks::new(dispatcher);
    let mut held = Vec::new();
    loop {
        match tasks.join("held").held().submit() {
            Ok(task) => held.push(task),
            Err(Error::Refused(Refused::WouldBlock)) => return Ok(held),
            Err(error) => return Err(error),
        }
    }
}

/// A section that fails where there is no room for an edge ends at once, and those outside still wait for all inside.
pub fn ends_a_section_at_once(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let options = DispatchOptions { tasks_max: 16, lanes: 2, ..DispatchOptions::default() };
    let dispatcher = Dispatcher::open(&bed.overtake, options)?;
    let arrays = Arrays::open(&dispatcher, ArrayOptions::default())?;
    let (array, host) = (arrays.array::<u32>(&[4])?, rig.driver().host());
    let (section, (inside,)) = arrays.section("full", (write(&array),)).on_host().open()?;
    let set = |arrays: &Arrays, name, array, with: u32| {
        let fill = arrays.host(name, (discard(array),), move |(array,): (&mut [u32],)| {
            array.fill(with);
            Ok(())
        });
        fill.held().submit()
    };
    let long = set(&section, "long", &inside, 1)?;
    let behind = set(&arrays, "outside", &array, 2)?;
    behind.release()?;
    let held = fill_with_edges(&dispatcher)?;
    let begun = host.now();
    ensure!(section.end().is_err(), "there is no room for its end");
    ensure!(host.now().since(begun) < Nanos::from_ms(10_000), "it has waited for room");
    held.iter().try_for_each(Handle::release)?;
    host.sleep(Nanos::from_ms(2));
    ensure!(!behind.is_done(), "it waits for all inside");
    long.release()?;
    behind.wait()?;
    same("its result", &array.read()?[3], &2)?;
    arrays.wait()?;
    drop(held);
    same("nodes and edges that are left", &left(&dispatcher), &(0, 0))
}

fn left(dispatcher: &Dispatcher) -> (u32, u32) {
    let statistics = dispatcher.graph_statistics();
    (statistics.nodes, statistics.edges)
}

/// No room is left for a task, nor for an edge.
fn fill_with_edges(dispatcher: &Dispatcher) -> Result<Vec<Handle>, Error> {
    let held = fill(dispatcher)?;
    for at in (0..held.len()).cycle() {
        for first in &held[..at] {
            match first.precede(&held[at]) {
                Err(Error::Refused(Refused::WouldBlock)) => return Ok(held),
                made => made?,
            }
        }
    }
    Ok(held)
}

/// Many more computations than there is room for, on the host, on the device and as reductions: each runs once.
pub fn is_waited_for(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (_dispatcher, arrays) = small(&bed)?;
    let (numbers, sum) = (arrays.array_of(&[0_u32; 16])?, arrays.array_of(&[0_u64])?);
    for number in 0..50_u32 {
        let add = move |(all,): (&mut [u32],)| {
            all.iter_mut().for_each(|each| *each += number);
            Ok(())
        };
        arrays.host("add", (read_write(&numbers),), add).submit_when_room()?;
        arrays.launch("device", (write(&numbers),), |_, _| Ok(More::Done)).submit_when_room()?;
        let last = |(all, into): (&[u32], &mut [u64])| {
            into[0] += u64::from(all[15]);
            Ok(())
        };
        arrays.host("sum", (read(&numbers), reduce(&sum, Sum)), last).submit_when_room()?;
    }
    arrays.wait()?;
    same("the last word", &numbers.read()?[15], &1225)?;
    same("the sum", &sum.read()?[0], &(1..50_u64).map(|number| number * (number + 1) / 2).sum())
}

/// A computation that has waited in vain is dropped, and never runs.
pub fn is_waited_for_in_vain(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (dispatcher, arrays) = small(&bed)?;
    let word = arrays.array_of(&[1_u32])?;
    let add = || {
        let owned = String::from("a closure that owns this");
        let add = move |(word,): (&mut [u32],)| {
            word[0] += owned.len() as u32;
            Ok(())
        };
        arrays.host("add", (read_write(&word),), add).priority(bed::urgent())
    };
    let held = fill(&dispatcher)?;
    let start = rig.driver().host().now();
    ensure!(add().submit_within(Duration::from_millis(3))?.is_none(), "it is full");
    let waited = rig.driver().host().now().since(start);
    ensure!(waited >= Nanos::from_ms(3), "it waited {waited}");
    ensure!(add().submit_within(Duration::ZERO)?.is_none(), "it is full");
    held.iter().try_for_each(Handle::release)?;
    add().submit_when_room()?.wait()?;
    same("the word", &word.read()?[0], &25)
}

/// The function of a task must not wait.
pub fn not_inside(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (dispatcher, arrays) = small(&bed)?;
    let word = arrays.array_of(&[1_u32])?;
    let held = fill(&dispatcher)?;
    held[0].release()?;
    held[0].wait()?;
    let (inner, tasks) = (arrays.clone(), Tasks::new(&dispatcher));
    let inside = tasks.host("inside", move || {
        let refused = inner.host("one more", (read(&word),), |_| Ok(())).submit_when_room();
        match refused {
            Err(error @ Error::NoRoomInside { .. }) => Err(error.to_string().into()),
            other => Err(format!("{other:?}").into()),
        }
    });
    let error = inside.submit()?.wait().expect_err("it is full").to_string();
    ensure!(error.contains("task \"one more\" is refused: the graph is full"), "{error}");
    held[1..].iter().try_for_each(Handle::release)?;
    Ok(())
}
