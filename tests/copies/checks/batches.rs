//! Guarded batches: the copies of one call.

use std::sync::Arc;

use hal::{Code, Nanos};
use overtake::PriorityStream;
use overtake::copy::{Plan, Reason, Request};

use super::guard::{Filled, options};
use crate::bed;
use crate::failure::{Failure, Outcome, ensure, same, same_bytes};
use crate::lane::level;
use crate::memory::Pinned;
use crate::place::{Buffer, Side};
use crate::raw;
use crate::rig::Rig;

/// Shorter than the wait for a kernel that cannot begin (20 ms), and long for a few copies on a busy host.
const SOON: Nanos = Nanos::from_ms(10);

/// Batches of more pieces than one launch takes, of sizes that leave remainders of granules.
pub fn of_any_size(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, options())?;
    let (low, _high) = (overtake.adopt(rig.stream()?, level(1))?, overtake.adopt(rig.stream()?, level(3))?);
    let pieces = Pieces::new(rig, 150, 160)?;
    by_kernel(&low, &pieces.to_device())?;
    let back = rig.pinned_of(&vec![0; pieces.expected.len()])?;
    by_kernel(&low, &pieces.requests(|at| (Side::Host(&back), at), |at| (Side::Device(pieces.there), at)))?;
    low.synchronize()?;
    same_bytes("the bytes that came back", &back.read_all(), &pieces.expected)?;
    same("errors", &overtake.statistics().errors, &0)
}

/// Many small copies to the device of one call go by kernel where they meet no others: in one launch, or in several.
pub fn of_small_copies(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, options())?;
    let alone = overtake.adopt(rig.stream()?, level(1))?;
    for (count, step) in [(150, 3), (2_500, 1)] {
        let pieces = Pieces::new(rig, count, step)?;
        by_kernel(&alone, &pieces.to_device())?;
        same_bytes("the bytes", &rig.download(pieces.there, alone.raw())?, &pieces.expected)?;
    }
    same("errors", &overtake.statistics().errors, &0)
}

/// An urgent call goes to the driver, whose commands need no multiprocessor.
pub fn urgent_beside_a_full_device(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, options())?;
    let filled = Filled::with_copies_at(3, rig, &overtake)?;
    let pieces = Pieces::new(rig, 64, 16)?;
    filled.begin(0, 1)?;
    is_soon(rig, &filled, &pieces)
}

/// One call waits until the engine takes its launch over, because no multiprocessor is free. The next ones go to the
/// driver.
pub fn again_beside_a_full_device(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, options())?;
    let filled = Filled::new(rig, &overtake)?;
    let pieces = Pieces::new(rig, 64, 1)?;
    filled.begin(0, 1)?;
    by_kernel(&filled.stream, &pieces.to_device())?;
    filled.stream.synchronize()?;
    is_soon(rig, &filled, &pieces)
}

/// Copies the pieces while the device is full, and lets go of it.
fn is_soon(rig: &Rig, filled: &Filled<'_>, pieces: &Pieces) -> Outcome {
    let raw = filled.stream.raw();
    let copy = |(at, bytes): &(u64, u64)| rig.htod((pieces.there, *at), (&*pieces.source, *at), *bytes, raw);
    let native = || pieces.pieces.iter().try_for_each(copy).map_err(|_| Code::UNKNOWN.at("a copy"));
    let began = rig.driver().host().now();
    let copied = raw::unordered_through(&filled.stream, &pieces.to_device(), &native)?;
    filled.stream.synchronize()?;
    let lasted = rig.driver().host().now() - began;
    filled.let_go()?;
    ensure!(lasted < SOON, "{} copies took {lasted}: {:?}", pieces.pieces.len(), copied.plan());
    same_bytes("the bytes", &rig.download(pieces.there, raw)?, &pieces.expected)
}

/// A call behind earlier work goes to the driver: nothing could take its launch over before that has completed.
pub fn behind_work(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, options())?;
    let alone = overtake.adopt(rig.stream()?, level(1))?;
    let pieces = Pieces::new(rig, 64, 16)?;
    let requests = pieces.to_device();
    let gate = rig.gate(alone.raw())?;
    let copied = raw::unordered_through(&alone, &requests, &|| Ok(()))?;
    same("the plan behind work", &copied.plan(), &Plan::Native(Reason::Alone))?;
    gate.open();
    alone.synchronize()?;
    by_kernel(&alone, &requests)
}

/// The layer ends while a launch finds no multiprocessor. The engine makes its copies, and the layer comes to rest.
pub fn leave_beside_a_full_device(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, options())?;
    let filled = Filled::new(rig, &overtake)?;
    let pieces = Pieces::new(rig, 2_000, 1)?;
    let (there, raw) = (pieces.there, filled.stream.raw());
    filled.begin(0, 1)?;
    by_kernel(&filled.stream, &pieces.to_device())?;
    overtake.leave();
    filled.let_go()?;
    same_bytes("the bytes", &rig.download(there, raw)?, &pieces.expected)?;
    drop(filled);
    let (host, within) = (rig.driver().host(), Nanos::from_ms(100));
    let until = host.now() + within;
    while !overtake.is_at_rest() {
        ensure!(host.now() < until, "the layer does not come to rest within {within}");
        host.sleep(Nanos::from_ms(1));
    }
    Ok(())
}

fn by_kernel(stream: &PriorityStream, requests: &[Request]) -> Outcome {
    let copied = raw::unordered(stream, requests)?;
    ensure!(matches!(copied.plan(), Plan::Kernel { .. }), "{:?}", copied.plan());
    Ok(())
}

/// Pieces of many sizes, with gaps between them.
struct Pieces {
    /// Places and sizes.
    pieces: Vec<(u64, u64)>,
    there: Buffer,
    source: Arc<Pinned>,
    /// The source, with zeroes in the gaps.
    expected: Vec<u8>,
}

impl Pieces {
    /// The sizes are multiples of a step of so many bytes.
    fn new(rig: &Rig, count: u64, step: u64) -> Result<Pieces, Failure> {
        let sizes: Vec<u64> = (0..count).map(|index| step * (1 + index * 37 % 400)).collect();
        let places = sizes.iter().map(|size| size.next_multiple_of(16));
        let bytes = places.clone().sum::<u64>() as usize;
        let content: Vec<u8> = (0..bytes).map(|at| (at * 31 % 251) as u8).collect();
        let starts = places.scan(0, |next, size| Some(std::mem::replace(next, *next + size)));
        let pieces: Vec<(u64, u64)> = starts.zip(sizes.iter().copied()).collect();
        let mut expected = vec![0; bytes];
        for (at, size) in &pieces {
            let range = *at as usize..(at + size) as usize;
            expected[range.clone()].copy_from_slice(&content[range]);
        }
        Ok(Pieces { pieces, there: rig.buffer_of(&vec![0; bytes])?, source: rig.pinned_of(&content)?, expected })
    }

    fn to_device(&self) -> Vec<Request> {
        self.requests(|at| (Side::Device(self.there), at), |at| (Side::Host(&self.source), at))
    }

    fn requests<'a>(
        &self,
        target: impl Fn(u64) -> (Side<'a>, u64),
        source: impl Fn(u64) -> (Side<'a>, u64),
    ) -> Vec<Request> {
        self.pieces.iter().map(|(at, size)| raw::request(target(*at), source(*at), *size)).collect()
    }
}
