//! Requests: priorities of their own, batches, adopted streams, handles and statistics.

use hal::{Code, Stream};
use overtake::copy::{Plan, Reason};
use overtake::options::Transport;
use overtake::{Direction, Options, Priorities};

use crate::bed;
use crate::failure::{Outcome, ensure, refused, same, same_bytes};
use crate::lane::level;
use crate::place::{Buffer, Side};
use crate::raw;
use crate::rig::Rig;

const BYTES: u64 = 256 << 10;

/// A request may be more urgent than its stream. From the first such request on, bulk of other streams yields to it.
/// Bulk of the same stream need not, because no copy overtakes in its own stream.
pub fn priority_of_its_own(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, bed::small_options())?;
    let (stream, other) = (overtake.adopt(rig.stream()?, level(1))?, overtake.adopt(rig.stream()?, level(1))?);
    let memory = (rig.pinned(BYTES)?, rig.buffer(BYTES)?);
    let (device, host) = ((Side::Device(memory.1), 0), (Side::Host(&memory.0), 0));
    let before = raw::linear(&other, device, host, BYTES, None)?;
    same("alone", &before.plan(), &Plan::Native(Reason::Alone))?;
    let urgent = raw::linear(&stream, device, host, BYTES, Some(level(3)))?;
    same("with a priority of its own", &urgent.plan(), &Plan::Urgent)?;
    let after = raw::linear(&other, device, host, BYTES, None)?;
    same("bulk, now that urgent requests come", &after.plan(), &Plan::Kernel { raises: false })?;
    let behind = raw::linear(&stream, device, host, BYTES, None)?;
    same("bulk of their own stream", &behind.plan(), &Plan::Native(Reason::Alone))?;
    after.wait()?;
    behind.wait()?;
    bed::at_rest(rig, &overtake)
}

/// A priority that does not exist is refused, and nothing happens.
pub fn unknown_priorities(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, bed::small_options())?;
    let stream = overtake.adopt(rig.stream()?, level(1))?;
    let _other = overtake.adopt(rig.stream()?, level(3))?;
    let memory = (rig.pinned(BYTES)?, rig.buffer(BYTES)?);
    let (device, host) = ((Side::Device(memory.1), 0), (Side::Host(&memory.0), 0));
    for priority in [4, 200] {
        let request = raw::linear(&stream, device, host, BYTES, Some(level(priority)));
        refused("a request", request, &[Code::INVALID_VALUE])?;
    }
    refused("a stream", overtake.stream(level(4)), &[Code::INVALID_VALUE])?;
    refused("an adoption", overtake.adopt(rig.stream()?, level(9)), &[Code::INVALID_VALUE])?;
    bed::at_rest(rig, &overtake)
}

/// A batch is carried out in order, up to the first request that fails.
pub fn batches(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, bed::small_options())?;
    let (low, _high) = (overtake.adopt(rig.stream()?, level(1))?, overtake.adopt(rig.stream()?, level(3))?);
    let (ones, twos) = (rig.pinned_of(&[1; BYTES as usize])?, rig.pinned_of(&[2; BYTES as usize])?);
    let buffer = rig.buffer_of(&[0; BYTES as usize])?;
    let place = |offset| (Side::Device(buffer), offset);
    let first = raw::request(place(0), (Side::Host(&ones), 0), BYTES);
    let second = raw::request(place(BYTES / 2), (Side::Host(&twos), 0), BYTES / 2);
    let handles = raw::batch(&low, &[first, second])?;
    same("handles", &handles.len(), &2)?;
    handles.iter().try_for_each(overtake::copy::CopyHandle::wait)?;
    let mut expected = [1; BYTES as usize];
    expected[BYTES as usize / 2..].fill(2);
    same_bytes("the batch", &rig.download(buffer, low.raw())?, &expected)?;
    // The last request's range is fine, but the driver refuses a device pointer that it never gave out.
    let nowhere = Buffer { base: hal::DevicePtr(8), bytes: BYTES };
    let bad = raw::request((Side::Device(nowhere), 0), (Side::Host(&ones), 0), 64);
    let first = raw::request(place(0), (Side::Host(&twos), 0), BYTES / 4);
    refused("a batch with a bad request", raw::batch(&low, &[first, bad]), &[Code::INVALID_VALUE])?;
    low.synchronize()?;
    expected[..BYTES as usize / 4].fill(2);
    same_bytes("the bytes before it", &rig.download(buffer, low.raw())?, &expected)
}

/// Copies without order among them all arrive at their targets, by every transport of bulk.
pub fn unordered(rig: &Rig) -> Outcome {
    for transport in [Transport::Auto, Transport::Engine, Transport::Kernel, Transport::Native] {
        let overtake = bed::open(rig, bed::transport(transport))?;
        let (low, _high) = (overtake.adopt(rig.stream()?, level(1))?, overtake.adopt(rig.stream()?, level(3))?);
        let (ones, buffer) = (rig.pinned_of(&[1; BYTES as usize])?, rig.buffer_of(&[0; BYTES as usize])?);
        let piece = |at| raw::request((Side::Device(buffer), at), (Side::Host(&ones), at), BYTES / 4);
        let pieces = [piece(BYTES / 2), piece(0)];
        let native = || {
            rig.htod((buffer, 0), (&ones, 0), BYTES / 4, low.raw())?;
            rig.htod((buffer, BYTES / 2), (&ones, BYTES / 2), BYTES / 4, low.raw())
        };
        raw::unordered_through(&low, &pieces, &native)?;
        low.synchronize()?;
        let mut expected = [0; BYTES as usize];
        expected[..BYTES as usize / 4].fill(1);
        expected[BYTES as usize / 2..BYTES as usize / 4 * 3].fill(1);
        same_bytes(&format!("by {transport:?}"), &rig.download(buffer, low.raw())?, &expected)?;
        bed::at_rest(rig, &overtake)?;
    }
    Ok(())
}

/// Streams made by the layer end with their owner, and adopted ones stay; handles outlive both.
pub fn streams_and_handles(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, bed::small_options())?;
    let (raw, memory) = (rig.stream()?, (rig.pinned(BYTES)?, rig.buffer(BYTES)?));
    let (adopted, own) = (overtake.adopt(raw, level(1))?, overtake.stream(level(3))?);
    let handles = [
        raw::htod(&adopted, memory.1, &memory.0, BYTES)?,
        raw::dtoh(&own, &memory.0, memory.1, BYTES)?,
        raw::dtoh(&own, &memory.0, memory.1, 64)?,
    ];
    drop((adopted, own));
    for handle in &handles {
        handle.wait()?;
        same("that it is done", &handle.is_done()?, &true)?;
    }
    rig.driver().stream_query(raw)?;
    bed::at_rest(rig, &overtake)
}

/// The default streams can be adopted.
pub fn default_streams(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, bed::small_options())?;
    let _high = overtake.adopt(rig.stream()?, level(3))?;
    let (memory, back) = ((rig.pinned_of(&[9; BYTES as usize])?, rig.buffer(BYTES)?), rig.pinned(BYTES)?);
    for raw in [Stream::LEGACY, Stream::PER_THREAD] {
        let low = overtake.adopt(raw, level(1))?;
        rig.driver().memset_d8_async(memory.1.at(0), 0, BYTES, raw)?;
        raw::htod(&low, memory.1, &memory.0, BYTES)?;
        raw::dtoh(&low, &back, memory.1, BYTES)?.wait()?;
        same_bytes("there and back", &back.read_all(), &[9; BYTES as usize])?;
    }
    bed::at_rest(rig, &overtake)
}

/// Statistics count each copy once.
pub fn statistics(rig: &Rig) -> Outcome {
    let priorities = Priorities::new(3).expect("3 is a valid count");
    let overtake =
        bed::open(rig, Options { priorities, ..Options::default() }.with_profile(|profile| profile.fence_every = 1))?;
    let (low, high) = (overtake.adopt(rig.stream()?, level(1))?, overtake.adopt(rig.stream()?, level(3))?);
    let (host, device) = (rig.pinned(BYTES * 2)?, rig.buffer(BYTES * 2)?);
    raw::htod(&low, device, &host, 32 << 10)?;
    raw::htod(&low, device, &host, 128 << 10)?;
    raw::dtoh(&low, &host, device, 512 << 10)?;
    raw::htod(&high, device, &host, 16 << 10)?;
    // The copy is waited for, so that the next one does not belong to the same run.
    raw::dtoh(&high, &host, device, 16 << 10)?.wait()?;
    raw::htod(&high, device, &host, 64 << 10)?;
    raw::htod_pageable(&high, (device, 0), &[0; 1_000])?;
    [low, high].iter().try_for_each(overtake::PriorityStream::synchronize)?;
    bed::at_rest(rig, &overtake)?;
    let seen = overtake.statistics();
    let class = |class: overtake::ClassSnapshot| (class.copies, class.bytes);
    same("urgent", &class(seen.urgent), &(2, 80 << 10))?;
    same("by kernel", &class(seen.kernel), &(1, 512 << 10))?;
    same("by engine", &class(seen.engine), &(1, 128 << 10))?;
    same("chunks", &seen.chunks, &1)?;
    let native: Vec<_> = seen.native.iter().map(|(reason, counts)| (reason.name(), class(*counts))).collect();
    let expected = [("within budget", (2, 48 << 10)), ("pageable", (1, 1_000))];
    same("passed on", &native.as_slice(), &expected.as_slice())?;
    let latencies: Vec<_> = seen.latencies.iter().map(|(priority, latency)| (*priority, latency.count)).collect();
    same("latencies", &latencies.as_slice(), &[(1, 2), (3, 2)].as_slice())?;
    ensure!(seen.latencies[&1].p50_us > 0.0, "{:?}", seen.latencies);
    same("trouble", &(seen.errors, seen.rescues, seen.stood_down), &(0, 0, false))
}

/// Every eighth urgent copy of a stream gets a fence. The others hold bulk back all the same, for about their
/// duration.
pub fn fences_serve_several(rig: &Rig) -> Outcome {
    let priorities = Priorities::new(2).expect("2 is a valid count");
    let overtake =
        bed::open(rig, Options { priorities, ..Options::default() }.with_profile(|profile| profile.fence_every = 8))?;
    let (_low, high) = (overtake.adopt(rig.stream()?, level(1))?, overtake.adopt(rig.stream()?, level(2))?);
    let (host, device) = (rig.pinned(BYTES)?, rig.buffer(BYTES)?);
    for copy in 0..16 {
        let handle = raw::htod(&high, device, &host, 64 << 10)?;
        ensure!(overtake.pending_above(Direction::HostToDevice, level(1)) > 0, "copy {copy} holds no bulk back");
        handle.wait()?;
        bed::at_rest(rig, &overtake)?;
    }
    same("latencies", &overtake.statistics().latencies[&2].count, &2)
}
