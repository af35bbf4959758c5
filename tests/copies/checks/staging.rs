//! Pageable copies through pinned slots: bytes, order, and when memory may be touched.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use hal::{CaptureMode, Nanos};
use overtake::copy::{Plan, Reason};
use overtake::{Options, Overtake, PriorityStream};

use crate::bed;
use crate::failure::{Failure, Outcome, ensure, same, same_bytes};
use crate::lane::level;
use crate::place::Buffer;
use crate::prng::Prng;
use crate::raw;
use crate::rig::{Rig, span};

const STAGED: Plan = Plan::Staged { raises: false };
const KIB: u64 = 1 << 10;
const WARM_BYTES: u64 = 64 * KIB;

/// Staging for small copies too, by two threads.
pub fn staging() -> Options {
    Options { staging: true, staging_threads: 2, ..bed::small_options() }
        .with_profile(|profile| profile.staging_bytes_min = 8 * KIB)
}

/// A layer with slots and threads, and a stream.
fn open(rig: &Rig, options: Options) -> Result<(Overtake, PriorityStream), Failure> {
    let (overtake, stream) = (bed::open(rig, options)?, rig.stream()?);
    warm_up(rig, &overtake, (stream, rig.buffer(WARM_BYTES)?))?;
    let stream = overtake.adopt(stream, level(1))?;
    Ok((overtake, stream))
}

/// Copies until the slots have been made, both ways. The driver makes those copies.
pub fn warm_up(rig: &Rig, overtake: &Overtake, (stream, buffer): (hal::Stream, Buffer)) -> Outcome {
    let stream = overtake.adopt(stream, level(1))?;
    let (mut memory, host) = (vec![1; WARM_BYTES as usize], rig.driver().host());
    let end = host.now() + span(rig.driver());
    while host.now() < end {
        let there = raw::htod_pageable(&stream, (buffer, 0), &memory)?.plan();
        if [there, raw::dtoh_pageable(&stream, &mut memory, (buffer, 0))?.plan()] == [STAGED; 2] {
            return Ok(());
        }
        host.sleep(Nanos::from_us(100));
    }
    Err(Failure::new(format_args!("no slots were made: {:?}", overtake.statistics())))
}

/// The first copies do not wait for slots. They go natively and are counted, and later ones are staged.
pub fn first_copies(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, staging())?;
    let lane = (rig.stream()?, rig.buffer(1 << 20)?);
    let (stream, buffer) = (overtake.adopt(lane.0, level(1))?, lane.1);
    let sent = Prng::new(35).bytes(1 << 20);
    let handle = raw::htod_pageable(&stream, (buffer, 0), &sent)?;
    same("the plan", &handle.plan(), &Plan::Native(Reason::Unstaged))?;
    same_bytes("the bytes", &rig.download(buffer, stream.raw())?, &sent)?;
    same("copies counted", &overtake.statistics().native[&Reason::Unstaged].copies, &1)?;
    warm_up(rig, &overtake, lane)?;
    same("the plan", &raw::htod_pageable(&stream, (buffer, 0), &sent)?.plan(), &STAGED)
}

/// Bytes of many sizes both ways, with the source overwritten as soon as its call has returned.
fn there_and_back(rig: &Rig, options: Options) -> Outcome {
    let (overtake, stream) = open(rig, options)?;
    let (mut prng, before) = (Prng::new(31), overtake.statistics().staged.copies);
    for bytes in [8 * KIB, 100_001, 256 * KIB, 256 * KIB + 1, 1 << 20, (3 << 20) + 77, 9 << 20] {
        let (sent, buffer) = (prng.bytes(bytes), rig.buffer(bytes + 10)?);
        let mut source = sent.clone();
        let handle = raw::htod_pageable(&stream, (buffer, 10), &source)?;
        source.fill(0xee);
        same("the plan", &handle.plan(), &STAGED)?;
        let mut target = vec![0; bytes as usize];
        let handle = raw::dtoh_pageable(&stream, &mut target, (buffer, 10))?;
        same_bytes(&format!("{bytes} bytes"), &target, &sent)?;
        same("the plan", &handle.plan(), &STAGED)?;
    }
    let statistics = overtake.statistics();
    same("staged copies", &statistics.staged.copies, &(before + 14))?;
    same("bytes that the driver made", &statistics.unstaged_bytes, &0)?;
    same("errors", &statistics.errors, &0)
}

pub fn bytes(rig: &Rig) -> Outcome {
    there_and_back(rig, staging())
}

pub fn one_slot(rig: &Rig) -> Outcome {
    there_and_back(rig, staging().with_profile(|profile| profile.staging_slots = 1))
}

pub fn one_thread(rig: &Rig) -> Outcome {
    there_and_back(rig, Options { staging_threads: 1, ..staging() })
}

/// Small copies, and those of a layer without the option, go as they did.
pub fn not_asked_for(rig: &Rig) -> Outcome {
    let buffer = rig.buffer(1 << 20)?;
    for (options, bytes) in [(staging(), 8 * KIB - 1), (Options { staging: false, ..staging() }, 1 << 20)] {
        let overtake = bed::open(rig, options)?;
        let stream = overtake.adopt(rig.stream()?, level(1))?;
        let handle = raw::htod_pageable(&stream, (buffer, 0), &vec![1; bytes as usize])?;
        same("the plan", &handle.plan(), &Plan::Native(Reason::Alone))?;
    }
    Ok(())
}

/// Rectangles whose rows have gaps, on both sides.
pub fn rectangles(rig: &Rig) -> Outcome {
    let (_overtake, stream) = open(rig, staging())?;
    let mut prng = Prng::new(32);
    for (width, rows, theirs, ours) in [(3_000, 100, 3_000, 4_096), (40_000, 60, 50_000, 40_000), (700, 999, 777, 701)]
    {
        let sent = prng.bytes(theirs * rows);
        let (mut source, buffer) = (sent.clone(), rig.buffer(ours * rows)?);
        let area = raw::Area { width, rows, theirs, ours };
        let handle = raw::rows_to_device(&stream, buffer, &source, area)?;
        source.fill(0);
        same("the plan", &handle.plan(), &STAGED)?;
        let mut target = vec![0x55; (theirs * rows) as usize];
        let handle = raw::rows_to_host(&stream, &mut target, buffer, area)?;
        same("the plan", &handle.plan(), &STAGED)?;
        let expected: Vec<u8> =
            (0..theirs * rows).map(|at| if at % theirs < width { sent[at as usize] } else { 0x55 }).collect();
        same_bytes(&format!("rows of {width}"), &target, &expected)?;
    }
    Ok(())
}

/// No byte of a source is read before earlier work of the stream has completed.
pub fn source_is_read_after_earlier_work(rig: &Rig) -> Outcome {
    let (_overtake, stream) = open(rig, staging())?;
    let source: Arc<[AtomicU8]> = (0..300 * KIB).map(|_| AtomicU8::new(1)).collect();
    let buffer = rig.buffer(source.len() as u64)?;
    let gate = rig.gate(stream.raw())?;
    let shared = Arc::clone(&source);
    let opener = rig.spawn("opener", move |driver| {
        driver.host().sleep(Nanos::from_us(300));
        shared.iter().for_each(|byte| byte.store(2, Ordering::Relaxed));
        gate.open();
        Ok(())
    });
    let handle = raw::htod_shared(&stream, buffer, &source)?;
    same("the plan", &handle.plan(), &STAGED)?;
    rig.join(opener)?;
    same_bytes("the bytes of the earlier work", &rig.download(buffer, stream.raw())?, &vec![2; source.len()])
}

/// A download waits for the work before it in its stream.
pub fn download_waits(rig: &Rig) -> Outcome {
    let (_overtake, stream) = open(rig, staging())?;
    let (buffer, mut target) = (rig.buffer_of(&[1; 100_000])?, vec![0; 100_000]);
    let gate = rig.gate(stream.raw())?;
    rig.driver().memset_d8_async(buffer.at(0), 8, 100_000, stream.raw())?;
    let opener = rig.open_later(&gate);
    raw::dtoh_pageable(&stream, &mut target, (buffer, 0))?;
    same_bytes("the download", &target, &[8; 100_000])?;
    rig.join(opener)
}

/// Uploads from pageable and from pinned memory on one stream keep their order, and so do events behind them.
pub fn order(rig: &Rig) -> Outcome {
    const BYTES: u64 = 700_000;
    let (overtake, stream) = open(rig, staging())?;
    let other = overtake.adopt(rig.stream()?, level(1))?;
    let mut prng = Prng::new(33);
    let (first, last) = (prng.bytes(BYTES), prng.bytes(BYTES));
    let (pinned, buffer) = (rig.pinned_of(&first)?, rig.buffer(BYTES)?);
    for _ in 0..10 {
        raw::htod(&stream, buffer, &pinned, BYTES)?;
        raw::htod_pageable(&stream, (buffer, 0), &last)?;
        other.wait_for(&stream)?;
        same_bytes("pageable last", &rig.download(buffer, other.raw())?, &last)?;
        stream.wait_for(&other)?;
        raw::htod_pageable(&stream, (buffer, 0), &last)?;
        raw::htod(&stream, buffer, &pinned, BYTES)?;
        other.wait_for(&stream)?;
        same_bytes("pinned last", &rig.download(buffer, other.raw())?, &first)?;
        stream.wait_for(&other)?;
    }
    Ok(())
}

/// A copy whose call blocks has arrived when the call returns, for streams that do not wait for it too.
pub fn blocking_copies_land(rig: &Rig) -> Outcome {
    const BYTES: u64 = 3 << 20;
    let (_overtake, stream) = open(rig, staging())?;
    let (other, buffer) = (rig.stream()?, rig.buffer_of(&[1; BYTES as usize])?);
    for value in 2..12 {
        let source = vec![value; BYTES as usize];
        let handle = raw::htod_pageable_blocking(rig, &stream, buffer, &source)?;
        ensure!(rig.driver().stream_query(stream.raw())?, "the stream has work left");
        same("the plan", &handle.plan(), &STAGED)?;
        same_bytes("the bytes on the device", &rig.download(buffer, other)?, &source)?;
    }
    Ok(())
}

/// A copy beside others of another priority, above it and below.
pub fn among_others(rig: &Rig) -> Outcome {
    let (overtake, low) = open(rig, staging())?;
    let high = overtake.adopt(rig.stream()?, level(3))?;
    let mut prng = Prng::new(34);
    let (sent, buffer) = (prng.bytes(2 << 20), rig.buffer(2 << 20)?);
    for (stream, raises) in [(&low, false), (&high, true)] {
        let mut source = sent.clone();
        let handle = raw::htod_pageable(stream, (buffer, 0), &source)?;
        source.fill(0);
        same("the plan", &handle.plan(), &Plan::Staged { raises })?;
        let mut target = vec![0; sent.len()];
        raw::dtoh_pageable(stream, &mut target, (buffer, 0))?;
        same_bytes("there and back", &target, &sent)?;
    }
    bed::at_rest(rig, &overtake)
}

/// While the engine has pieces of an urgent staged copy, its word is up; afterwards it is down.
pub fn urgent_holds_off(rig: &Rig) -> Outcome {
    let (overtake, _low) = open(rig, staging())?;
    let overtake = Arc::new(overtake);
    let high = overtake.adopt(rig.stream()?, level(3))?;
    let (buffer, mut memory) = (rig.buffer(8 << 20)?, vec![1; 8 << 20]);
    for direction in bed::DIRECTIONS {
        let watched = Arc::clone(&overtake);
        let watcher = rig.spawn("watcher", move |driver| {
            let end = driver.host().now() + Nanos::from_ms(1);
            let mut seen = 0;
            while driver.host().now() < end {
                seen += watched.pending_above(direction, level(1));
                driver.host().sleep(Nanos::from_us(3));
            }
            Ok(seen)
        });
        match direction {
            overtake::Direction::HostToDevice => raw::htod_pageable(&high, (buffer, 0), &memory)?,
            _ => raw::dtoh_pageable(&high, &mut memory, (buffer, 0))?,
        };
        same("pending after the call", &overtake.pending_above(direction, level(1)), &0)?;
        ensure!(rig.join(watcher)? > 5, "{direction:?}: the word was not up");
    }
    Ok(())
}

/// A copy in a capture is the driver's.
pub fn capture(rig: &Rig) -> Outcome {
    let (_overtake, stream) = open(rig, staging())?;
    let (driver, buffer, source) = (rig.driver(), rig.buffer(64 * KIB)?, vec![1; 64 << 10]);
    driver.stream_begin_capture(stream.raw(), CaptureMode::Relaxed)?;
    let handle = raw::htod_pageable(&stream, (buffer, 0), &source)?;
    same("the plan", &handle.plan(), &Plan::Native(Reason::Capturing))?;
    let graph = driver.stream_end_capture(stream.raw())?;
    Ok(driver.graph_destroy(graph)?)
}

/// A copy that the driver refuses is refused as natively, and none of it is made.
pub fn refused(rig: &Rig) -> Outcome {
    let (_overtake, stream) = open(rig, staging())?;
    // On the model the second allocation lies right behind the first.
    let (buffer, neighbour) = (rig.buffer_of(&[3; 1 << 20])?, rig.buffer_of(&[5; 1 << 20])?);
    let staged = raw::attempt_pageable(&stream, buffer, 2 << 20).err().map(|error| error.code());
    let native = raw::attempt_natively(rig, buffer, 2 << 20, stream.raw()).err().map(|error| error.code());
    same("the error", &staged, &native)?;
    ensure!(native.is_some(), "the driver takes a copy beyond the end of its allocation");
    same_bytes("the target", &rig.download(buffer, stream.raw())?, &[3; 1 << 20])?;
    same_bytes("the neighbour", &rig.download(neighbour, stream.raw())?, &[5; 1 << 20])
}

/// A source that is not in memory is read by one thread, the driver's.
pub fn cold_sources(rig: &Rig) -> Outcome {
    let (overtake, stream) = open(rig, staging())?;
    let (bytes, buffer) = (COLD_BYTES as u64, rig.buffer(COLD_BYTES as u64)?);
    let before = overtake.statistics().native[&Reason::Unstaged].bytes;
    // So many zeroes are mapped, and not touched.
    let handle = raw::htod_pageable(&stream, (buffer, 0), &vec![0; COLD_BYTES])?;
    same("the plan", &handle.plan(), &Plan::Native(Reason::Unstaged))?;
    same("bytes counted", &overtake.statistics().native[&Reason::Unstaged].bytes, &(before + bytes))?;
    same_bytes("the bytes", &rig.download(buffer, stream.raw())?, &vec![0; COLD_BYTES])
}

const COLD_BYTES: usize = 40 << 20;
const COPIES: u64 = 10_000;
const THREADS: u64 = 4;

/// Threads copy at random, and overwrite each source as soon as its call has returned.
pub fn sources_are_reused(rig: &Rig) -> Outcome {
    by_threads(rig, staging(), COPIES)
}

/// The same with so few slots that most are still in flight when the next copy wants one.
pub fn slots_are_reused(rig: &Rig) -> Outcome {
    by_threads(rig, staging().with_profile(|profile| profile.staging_slots = 2), COPIES / 5)
}

/// A copy that finds no slot waits for those of another one, and is staged whole.
pub fn waits_for_a_slot(rig: &Rig) -> Outcome {
    const BYTES: u64 = 300_000;
    let overtake = Arc::new(bed::open(rig, staging().with_profile(|profile| profile.staging_slots = 1))?);
    warm_up(rig, &overtake, (rig.stream()?, rig.buffer(WARM_BYTES)?))?;
    let threads = (0..2).map(|number| {
        let (stream, buffer) = (rig.stream()?, rig.buffer(BYTES)?);
        let overtake = Arc::clone(&overtake);
        let back_and_forth = move |_: &dyn hal::Driver| {
            let stream = overtake.adopt(stream, level(1))?;
            let (sent, mut back) = (Prng::new(60 + number).bytes(BYTES), vec![0; BYTES as usize]);
            for _ in 0..10 {
                same("the plan", &raw::htod_pageable(&stream, (buffer, 0), &sent)?.plan(), &STAGED)?;
                same("the plan", &raw::dtoh_pageable(&stream, &mut back, (buffer, 0))?.plan(), &STAGED)?;
                same_bytes("there and back", &back, &sent)?;
            }
            Ok(())
        };
        Ok(rig.spawn(&format!("copies {number}"), back_and_forth))
    });
    let threads = threads.collect::<Result<Vec<_>, Failure>>()?;
    threads.into_iter().try_for_each(|thread| rig.join(thread))?;
    same("bytes that the driver made", &overtake.statistics().unstaged_bytes, &0)
}

fn by_threads(rig: &Rig, options: Options, copies: u64) -> Outcome {
    let overtake = Arc::new(bed::open(rig, options)?);
    warm_up(rig, &overtake, (rig.stream()?, rig.buffer(WARM_BYTES)?))?;
    let threads = (0..THREADS).map(|number| {
        let lane = (rig.stream()?, rig.buffer(700 * KIB)?);
        let overtake = Arc::clone(&overtake);
        let name = format!("copies {number}");
        Ok(rig.spawn(&name, move |_| reuse(&overtake, lane, (copies / THREADS, Prng::new(100 + number)))))
    });
    let threads = threads.collect::<Result<Vec<_>, Failure>>()?;
    threads.into_iter().try_for_each(|thread| rig.join(thread))?;
    let staged = overtake.statistics().staged.copies;
    ensure!(staged > copies / 2, "{staged} of {copies} copies were staged");
    Ok(())
}

fn reuse(overtake: &Overtake, (stream, buffer): (hal::Stream, Buffer), (copies, mut prng): (u64, Prng)) -> Outcome {
    let stream = overtake.adopt(stream, level(1 + prng.below(3) as u8))?;
    let mut expected = prng.bytes(buffer.bytes);
    raw::htod_pageable(&stream, (buffer, 0), &expected)?;
    let mut source = vec![0; buffer.bytes as usize];
    for _ in 0..copies {
        let at = prng.below(buffer.bytes - 1);
        let bytes = prng.between(1, buffer.bytes - at);
        let range = at as usize..(at + bytes) as usize;
        if prng.below(2) == 0 {
            let value = prng.bits() as u8;
            source[range.clone()].fill(value);
            raw::htod_pageable(&stream, (buffer, at), &source[range.clone()])?;
            source[range.clone()].fill(!value);
            expected[range].fill(value);
        } else {
            raw::dtoh_pageable(&stream, &mut source[range.clone()], (buffer, at))?;
            same_bytes("the bytes that were copied there", &source[range.clone()], &expected[range])?;
        }
    }
    Ok(())
}
