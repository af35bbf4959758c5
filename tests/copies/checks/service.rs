//! The copy service: many copies and sets in one launch, with the bytes, the order and the priorities of single ones.

use std::sync::Arc;

use hal::{Code, Nanos};
use overtake::copy::{CopyHandle, CopyQueue, Plan, Reason};
use overtake::options::Transport;
use overtake::{Options, Overtake, PriorityStream};

use crate::bed;
use crate::checks::guard;
use crate::failure::{Failure, Outcome, ensure, refused, same, same_bytes};
use crate::lane::level;
use crate::memory::Pinned;
use crate::place::{Buffer, Side};
use crate::prng::Prng;
use crate::raw;
use crate::rig::Rig;
use crate::traffic::is_done;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
static PAGEABLE: [u8; 1000] = [7; 1000];

/// A layer, a stream, and memory with random contents.
struct Bed<'a> {
    rig: &'a Rig,
    overtake: Overtake,
    stream: PriorityStream,
    host: Arc<Pinned>,
    device: Buffer,
    in_host: Vec<u8>,
    on_device: Vec<u8>,
}

impl<'a> Bed<'a> {
    fn new(rig: &'a Rig, options: Options, bytes: u64) -> Result<Bed<'a>, Failure> {
        let overtake = bed::open(rig, options)?;
        let stream = overtake.adopt(rig.stream()?, level(1))?;
        let mut prng = Prng::new(bytes);
        let (in_host, on_device) = (prng.bytes(bytes), prng.bytes(bytes));
        let (host, device) = (rig.pinned_of(&in_host)?, rig.buffer_of(&on_device)?);
        Ok(Bed { rig, overtake, stream, host, device, in_host, on_device })
    }

    /// Queues a copy to the device or to the host, and notes its effect.
    fn copy(&mut self, queue: &mut CopyQueue, to_device: bool, target: u64, source: u64, bytes: u64) -> Outcome {
        let (device, host) = (Side::Device(self.device), Side::Host(&self.host));
        let (to, from) = (target as usize, source as usize..(source + bytes) as usize);
        let end = to + bytes as usize;
        if to_device {
            raw::queue(queue, (device, target), (host, source), bytes)?;
            self.on_device[to..end].copy_from_slice(&self.in_host[from]);
        } else {
            raw::queue(queue, (host, target), (device, source), bytes)?;
            self.in_host[to..end].copy_from_slice(&self.on_device[from]);
        }
        Ok(())
    }

    fn set(&mut self, queue: &mut CopyQueue, target: u64, value: u32, bytes: u64) -> Outcome {
        raw::queue_set(queue, (Side::Device(self.device), target), value, bytes)?;
        let range = &mut self.on_device[target as usize..(target + bytes) as usize];
        range.iter_mut().zip(value.to_le_bytes().iter().cycle()).for_each(|(at, byte)| *at = *byte);
        Ok(())
    }

    /// All bytes are those that single copies would have left.
    fn verify(&self, what: &str) -> Outcome {
        self.stream.synchronize()?;
        same_bytes(&format!("{what}, in the host"), &self.host.read_all(), &self.in_host)?;
        same_bytes(
            &format!("{what}, on the device"),
            &self.rig.download(self.device, self.stream.raw())?,
            &self.on_device,
        )?;
        bed::at_rest(self.rig, &self.overtake)
    }

    fn launches(&self) -> u64 {
        self.overtake.statistics().service_launches
    }
}

/// One, two and 64 copies of the sizes at which PhysX changes its grid, aligned in every way, in both directions: the
/// bytes are those of single copies (px-l).
pub fn descriptors(rig: &Rig) -> Outcome {
    let small = [1, 2, 64].into_iter().flat_map(|count| [4, 6143, 6144].map(|bytes| (count, bytes)));
    // Longer ones share no launch.
    every_alignment(rig, &small.collect::<Vec<_>>(), 6)?;
    every_alignment(rig, &[(1, 6 * MIB), (2, 6 * MIB)], 0)
}

/// `count` copies of so many bytes, of each pair. With two and with 64 there are so many launches to the device.
fn every_alignment(rig: &Rig, cases: &[(u64, u64)], launches: u64) -> Outcome {
    let room = cases.iter().map(|(count, bytes)| count * (bytes + 32)).max().unwrap_or(0);
    let mut bed = Bed::new(rig, Options::default(), 2 * room)?;
    let mut queue = CopyQueue::new(&bed.stream, 64)?;
    for &(count, bytes) in cases {
        let before = bed.launches();
        for (to, from) in [(0, 0), (4, 0), (8, 24), (1, 3), (2, 1), (5, 5)] {
            for to_device in [true, false] {
                for at in (0..count).map(|index| index * (bytes + 32)) {
                    bed.copy(&mut queue, to_device, at + to, room + at + from, bytes)?;
                }
                let handle = queue.flush()?.ok_or_else(|| Failure::new("nothing was flushed"))?;
                handle.wait()?;
                ensure!(handle.is_done()?, "a copy that was waited for is not done");
            }
        }
        bed.verify(&format!("{count} of {bytes} bytes"))?;
        same("launches", &(bed.launches() - before), &if count == 1 { 0 } else { 2 * launches })?;
    }
    Ok(())
}

/// Sets of every alignment and of lengths that are no multiples of 4, alone and many in one launch.
pub fn sets(rig: &Rig) -> Outcome {
    let mut bed = Bed::new(rig, Options::default(), MIB)?;
    let mut queue = CopyQueue::new(&bed.stream, 64)?;
    let sizes = [4, 1, 2, 3, 5, 15, 16, 17, 6143, 6144, 20_001, 64 * KIB];
    let mut at = 0;
    for (index, bytes) in sizes.into_iter().enumerate() {
        bed.set(&mut queue, at, 0x0102_0304 << index, bytes)?;
        at += bytes + index as u64;
    }
    let handle = queue.flush()?.ok_or_else(|| Failure::new("nothing was flushed"))?;
    same("the plan", &handle.plan(), &Plan::Kernel { raises: false })?;
    bed.verify("sets in one launch")?;
    same("launches", &bed.launches(), &1)?;
    // Too long for a launch: the driver makes them, each in its own way.
    for (target, value, bytes) in [(0, 0x0506_0708, 80 * KIB), (1, 0x0a0b_0c0d, 80 * KIB + 3), (2, 0x0707_0707, 99_999)]
    {
        bed.set(&mut queue, target, value, bytes)?;
        queue.flush()?;
        bed.verify("a long set")?;
    }
    same("launches", &bed.launches(), &1)
}

/// A thousand copies of 4 KiB are one launch, in both directions.
pub fn thousand(rig: &Rig) -> Outcome {
    const BYTES: u64 = 4 * KIB;
    let mut bed = Bed::new(rig, Options::default(), 1_000 * BYTES)?;
    let mut queue = CopyQueue::new(&bed.stream, 1_000)?;
    for (launches, to_device) in [(1, true), (2, false)] {
        // In another order on either side.
        for index in 0..1_000 {
            bed.copy(&mut queue, to_device, index * BYTES, (999 - index) * BYTES, BYTES)?;
        }
        same("queued", &queue.len(), &1_000)?;
        let handle = queue.flush()?.ok_or_else(|| Failure::new("nothing was flushed"))?;
        same("the plan", &handle.plan(), &Plan::Kernel { raises: false })?;
        same("launches", &bed.launches(), &launches)?;
        bed.verify("a thousand")?;
    }
    same("copies that shared a launch", &bed.overtake.statistics().served.copies, &2_000)
}

/// Copies of every kind in one flush: both directions, on the device, too long, from memory that the driver does not
/// know, and sets. There is one launch for each engine, and the handle is that of all.
pub fn mixed(rig: &Rig) -> Outcome {
    let mut bed = Bed::new(rig, Options::default(), 4 * MIB)?;
    let mut queue = CopyQueue::new(&bed.stream, 64)?;
    for round in 0..3 {
        let at = round * 100 * KIB;
        bed.copy(&mut queue, true, at, 2 * MIB + at, 5_000)?;
        bed.copy(&mut queue, true, at + 8_000, 2 * MIB, 3)?;
        bed.copy(&mut queue, false, at, 2 * MIB + at, 5_000)?;
        bed.copy(&mut queue, false, at + 6_000, 2 * MIB, 99)?;
        bed.copy(&mut queue, false, at + 8_000, 2 * MIB, 0)?;
        bed.copy(&mut queue, false, at + 8_001, 2 * MIB, 70 * KIB)?;
        bed.set(&mut queue, at + 20_000, 0x1234_5678, 4_001)?;
        let (to, from) = (at + 30_000, 3 * MIB + at);
        let device = Side::Device(bed.device);
        raw::queue(&mut queue, (device, to), (device, from), 999)?;
        bed.on_device.copy_within(from as usize..from as usize + 999, to as usize);
        raw::queue_pageable(&mut queue, (bed.device, at + 40_000), &PAGEABLE)?;
        bed.on_device[at as usize + 40_000..][..1000].copy_from_slice(&PAGEABLE);
        same("queued", &queue.len(), &8)?;
        // Copies of one flush have no order among them, and these overlap nowhere.
        let handle = queue.flush()?.ok_or_else(|| Failure::new("nothing was flushed"))?;
        handle.wait()?;
        bed.verify("copies of every kind")?;
        same("launches", &bed.launches(), &(2 * (round + 1)))?;
    }
    Ok(())
}

/// A flush launches only the copies since the last one; a full launch goes at once; a queue goes on with another stream
/// and more room; a queue that is dropped is flushed (PX-25).
pub fn flushes(rig: &Rig) -> Outcome {
    let mut bed = Bed::new(rig, Options::default(), MIB)?;
    let mut queue = CopyQueue::new(&bed.stream, 8)?;
    ensure!(queue.flush()?.is_none() && queue.is_empty(), "there was nothing to flush");
    bed.copy(&mut queue, true, 0, 0, 0)?;
    ensure!(queue.is_empty() && queue.flush()?.is_none(), "an empty copy is queued");
    for index in 0..17 {
        bed.copy(&mut queue, true, index * KIB, index * KIB, KIB)?;
        same("launches and queued", &(bed.launches(), queue.len() as u64), &(index / 8, index % 8 + 1))?;
    }
    // One that is alone in its flush is a copy like any other.
    queue.flush()?;
    same("launches", &bed.launches(), &2)?;
    (100..102).try_for_each(|index| bed.copy(&mut queue, true, index * KIB, 0, KIB))?;
    queue.flush()?;
    same("launches", &bed.launches(), &3)?;
    ensure!(queue.flush()?.is_none(), "copies are flushed twice");
    let other = bed.overtake.adopt(rig.stream()?, level(2))?;
    bed.copy(&mut queue, true, 200 * KIB, 0, KIB)?;
    bed.copy(&mut queue, true, 201 * KIB, 0, KIB)?;
    queue.reset(&other, 100)?;
    same("launches", &bed.launches(), &4)?;
    (0..100).try_for_each(|index| bed.copy(&mut queue, true, (300 + index) * KIB, 0, KIB))?;
    same("with more room", &(bed.launches(), queue.len()), &(4, 100))?;
    drop(queue);
    same("dropped", &bed.launches(), &5)?;
    other.synchronize()?;
    bed.verify("several flushes")
}

/// `physx-order` refuses addresses and sizes that are no multiples of 4, and nothing else. Unknown priorities are
/// refused always. The queue goes on.
pub fn refusals(rig: &Rig) -> Outcome {
    let mut bed = Bed::new(rig, Options::default(), MIB)?;
    let mut queue = CopyQueue::new(&bed.stream, 8)?.literal();
    let host = Arc::clone(&bed.host);
    let (device, host) = (Side::Device(bed.device), Side::Host(&host));
    for (target, source, bytes) in [(2, 0, 4), (0, 1, 4), (0, 0, 6143)] {
        let copied = raw::queue(&mut queue, (device, target), (host, source), bytes);
        refused("a copy", copied, &[Code::INVALID_VALUE])?;
    }
    refused("a set", raw::queue_set(&mut queue, (device, 6), 1, 4), &[Code::INVALID_VALUE])?;
    refused("a set", raw::queue_set(&mut queue, (device, 4), 1, 6), &[Code::INVALID_VALUE])?;
    let request = raw::request((device, 0), (host, 0), 64).at(level(99));
    refused("a priority", raw::queue_request(&mut queue, &request), &[Code::INVALID_VALUE])?;
    ensure!(queue.is_empty(), "a copy that was refused is queued");
    bed.copy(&mut queue, true, 4, 8, 6144)?;
    bed.set(&mut queue, 8 * KIB, 5, 64)?;
    queue.flush()?;
    same("launches", &bed.launches(), &1)?;
    bed.verify("multiples of 4")
}

/// In a stream that captures, the copies become part of the graph, one by one: a launch would read memory that later
/// batches overwrite.
pub fn capture(rig: &Rig) -> Outcome {
    let bed = Bed::new(rig, Options::default(), MIB)?;
    let mut queue = CopyQueue::new(&bed.stream, 8)?;
    let driver = rig.driver();
    driver.stream_begin_capture(bed.stream.raw(), hal::CaptureMode::ThreadLocal)?;
    let (device, host) = (Side::Device(bed.device), Side::Host(&bed.host));
    (0..4).try_for_each(|index| raw::queue(&mut queue, (device, index * KIB), (host, 0), KIB))?;
    let flushed = queue.flush();
    driver.graph_destroy(driver.stream_end_capture(bed.stream.raw())?)?;
    let handle = flushed?.ok_or_else(|| Failure::new("nothing was flushed"))?;
    same("the plan", &handle.plan(), &Plan::Native(Reason::Capturing))?;
    same("copies counted", &bed.overtake.statistics().native[&Reason::Capturing].copies, &4)?;
    bed.verify("copies that were captured do not run")
}

/// Batches that wait in a stream keep their memory: later ones get other memory, and when none is left, the driver
/// makes their copies.
pub fn in_flight(rig: &Rig) -> Outcome {
    const BATCHES: u64 = 70;
    let mut bed = Bed::new(rig, Options::default(), 4 * MIB)?;
    let mut queue = CopyQueue::new(&bed.stream, 8)?;
    for _ in 0..2 {
        let gate = rig.gate(bed.stream.raw())?;
        for batch in 0..BATCHES {
            for index in 0..3 {
                let (to, from) = ((batch * 3 + index) * 4 * KIB, (BATCHES * 3 + batch * 2 + index) * 4 * KIB);
                bed.copy(&mut queue, true, to, from, 4 * KIB - index)?;
            }
            queue.flush()?;
        }
        gate.open();
        bed.verify("batches that waited")?;
    }
    let (launches, native) = (bed.launches(), bed.overtake.statistics().native.get(&Reason::NoKernel).copied());
    ensure!(launches > BATCHES && launches < 2 * BATCHES, "{launches} launches");
    same("copies that found no memory", &native.map(|class| class.copies), &Some(3 * (2 * BATCHES - launches)))
}

/// Under the guard the launches go beside the stream, in its order.
pub fn guarded(rig: &Rig) -> Outcome {
    let mut bed = Bed::new(rig, guard::options(), MIB)?;
    let mut queue = CopyQueue::new(&bed.stream, 64)?;
    for round in 0..20 {
        for index in 0..40 {
            let at = index * 5 * KIB + round;
            bed.copy(&mut queue, round % 2 == 0, at, 512 * KIB + at, 5 * KIB - index)?;
        }
        bed.set(&mut queue, 300 * KIB, round as u32, 77)?;
        queue.flush()?;
    }
    bed.verify("guarded batches")?;
    let statistics = bed.overtake.statistics();
    // The sets of the rounds to the host are launches of their own.
    same("launches", &(statistics.service_launches, statistics.guarded.copies), &(30, 30))
}

/// A kernel fills the device and waits for a word that comes behind a batch, as it may natively: the copy engine makes
/// the batch, and all ends.
pub fn rescued(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, guard::options())?;
    let filled = guard::Filled::new(rig, &overtake)?;
    let mut queue = CopyQueue::new(&filled.stream, 64)?;
    let (target, expected) = (rig.buffer_of(&[0; 8192])?, (0..8192).map(|at| (at * 7 % 251) as u8).collect::<Vec<_>>());
    let host = rig.pinned_of(&expected)?;
    let word = rig.word();
    filled.begin_until(word.address, 0, 0)?;
    let (to, from) = (Side::Device(target), Side::Host(&host));
    (0..8).try_for_each(|index| raw::queue(&mut queue, (to, index * 1000), (from, index * 1000), 1000))?;
    raw::queue(&mut queue, (to, 8000), (from, 8000), 192)?;
    raw::queue_set(&mut queue, (Side::Device(target), 4001), 0x0403_0201, 999)?;
    queue.flush()?;
    // The set is a kernel too, and begins when the device has room again: a copy behind it could not make that room.
    rig.driver().host().sleep(guard::LONG);
    word.store(1);
    filled.end(0)?;
    same("rescued launches", &overtake.statistics().guard_rescues, &1)?;
    same("errors", &overtake.statistics().errors, &0)?;
    let there = rig.download(target, rig.stream()?)?;
    // The set and the copy of the same bytes have no order, so those are left out.
    same_bytes("before the set", &there[..4001], &expected[..4001])?;
    same_bytes("behind the set", &there[5000..], &expected[5000..])?;
    bed::at_rest(rig, &overtake)
}

/// A queue takes no stream of another layer.
pub fn foreign(rig: &Rig) -> Outcome {
    let (one, other) = (Bed::new(rig, Options::default(), KIB)?, bed::open(rig, Options::default())?);
    let mut queue = CopyQueue::new(&one.stream, 8)?;
    let stream = other.adopt(rig.stream()?, level(1))?;
    refused("a reset", queue.reset(&stream, 8), &[Code::INVALID_VALUE])
}

/// The time of a copy until it is done.
fn time(rig: &Rig, handle: &CopyHandle) -> Result<Nanos, Failure> {
    let host = rig.driver().host();
    let began = host.now();
    while !is_done(handle)? {
        host.sleep(Nanos(500));
    }
    Ok(Nanos(host.now().0 - began.0))
}

/// An urgent copy beside a batch of bulk waits for the bytes in flight, and for no more.
pub fn bulk_yields(rig: &Rig) -> Outcome {
    const URGENT_BYTES: u64 = 4 * MIB;
    for to_device in [true, false] {
        let mut bed = Bed::new(rig, bed::transport(Transport::Auto), 16 * MIB)?;
        let high = bed.overtake.adopt(rig.stream()?, level(3))?;
        let memory = (rig.pinned(URGENT_BYTES)?, rig.buffer(URGENT_BYTES)?);
        let urgent = || match to_device {
            true => raw::htod(&high, memory.1, &memory.0, URGENT_BYTES),
            false => raw::dtoh(&high, &memory.0, memory.1, URGENT_BYTES),
        };
        let alone = time(rig, &urgent()?)?;
        let mut queue = CopyQueue::new(&bed.stream, 1_000)?;
        for index in 0..1_000 {
            bed.copy(&mut queue, to_device, index * 16 * KIB, 8 * MIB, 16 * KIB)?;
        }
        let batch = queue.flush()?.ok_or_else(|| Failure::new("nothing was flushed"))?;
        rig.driver().host().sleep(Nanos::from_us(50));
        let beside = time(rig, &urgent()?)?;
        ensure!(!is_done(&batch)?, "the batch is over, so this shows nothing");
        ensure!(beside.0 < alone.0 + 20_000, "an urgent copy takes {alone} alone, and {beside} beside a batch");
        batch.wait()?;
        bed.verify("the batch")?;
    }
    Ok(())
}

/// An urgent batch holds bulk off.
pub fn urgent_overtakes(rig: &Rig) -> Outcome {
    let mut bed = Bed::new(rig, bed::transport(Transport::Kernel), 16 * MIB)?;
    let (low, high) = (bed.overtake.adopt(rig.stream()?, level(1))?, bed.overtake.adopt(rig.stream()?, level(3))?);
    let memory = (rig.pinned(16 * MIB)?, rig.buffer(16 * MIB)?);
    let mut queue = CopyQueue::new(&high, 256)?;
    let mut times = Vec::new();
    for bulk in [false, true] {
        let bulk = bulk.then(|| raw::htod(&low, memory.1, &memory.0, 16 * MIB)).transpose()?;
        rig.driver().host().sleep(Nanos::from_us(50));
        for index in 0..256 {
            bed.copy(&mut queue, true, index * 16 * KIB, 8 * MIB, 16 * KIB)?;
        }
        let batch = queue.flush()?.ok_or_else(|| Failure::new("nothing was flushed"))?;
        same("the plan", &batch.plan(), &Plan::Kernel { raises: true })?;
        times.push(time(rig, &batch)?.0);
        if let Some(bulk) = bulk {
            ensure!(!is_done(&bulk)?, "the bulk copy is over, so this shows nothing");
            bulk.wait()?;
        }
    }
    ensure!(times[1] < times[0] + 20_000, "a batch takes {} ns alone, and {} ns beside bulk", times[0], times[1]);
    bed.verify("the batches")
}
