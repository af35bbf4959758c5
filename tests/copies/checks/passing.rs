//! Copies that are passed on: pageable memory, captures, and all copies while the layer is off, alone or told to.

use hal::{CaptureMode, CaptureStatus, Shape, Side};
use overtake::copy::{Look, Plan, Reason};
use overtake::options::Transport;
use overtake::{Options, Overtake, PriorityStream};

use crate::bed;
use crate::failure::{Failure, Outcome, ensure, same, same_bytes};
use crate::lane::level;
use crate::place;
use crate::prng::Prng;
use crate::raw;
use crate::rig::Rig;
use crate::traffic::is_done;

const BYTES: u64 = 512 << 10;

fn pair(rig: &Rig, overtake: &Overtake) -> Result<(PriorityStream, PriorityStream), Failure> {
    Ok((overtake.adopt(rig.stream()?, level(1))?, overtake.adopt(rig.stream()?, level(3))?))
}

/// Pageable copies go as without overtake: consumed or complete on return.
pub fn pageable(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, bed::small_options())?;
    let (low, high) = pair(rig, &overtake)?;
    let (mut prng, buffer) = (Prng::new(7), rig.buffer(BYTES)?);
    for stream in [&low, &high] {
        let sent = prng.bytes(BYTES);
        let mut source = sent.clone();
        let handle = raw::htod_pageable(stream, (buffer, 0), &source)?;
        source.fill(0);
        same("the plan", &handle.plan(), &Plan::Native(Reason::Pageable))?;
        let mut target = vec![0; BYTES as usize];
        raw::dtoh_pageable(stream, &mut target, (buffer, 0))?;
        same_bytes("there and back", &target, &sent)?;
    }
    Ok(())
}

/// A copy in a capture becomes part of the graph and stays unchanged. Afterwards copies are handled as before.
pub fn capture(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, bed::small_options())?;
    let (low, high) = pair(rig, &overtake)?;
    let (driver, memory) = (rig.driver(), (rig.pinned_of(&[7; BYTES as usize])?, rig.buffer_of(&[1; BYTES as usize])?));
    for stream in [&low, &high] {
        driver.stream_begin_capture(stream.raw(), CaptureMode::Relaxed)?;
        let handle = raw::htod(stream, memory.1, &memory.0, BYTES)?;
        same("the plan", &handle.plan(), &Plan::Native(Reason::Capturing))?;
        same("the status", &driver.stream_capture_status(stream.raw())?, &CaptureStatus::Active)?;
        let graph = driver.stream_end_capture(stream.raw())?;
        driver.graph_destroy(graph)?;
        same_bytes("nothing ran", &rig.download(memory.1, rig.stream()?)?, &[1; BYTES as usize])?;
    }
    let handle = raw::htod(&low, memory.1, &memory.0, BYTES)?;
    same("the plan after the capture", &handle.plan(), &Plan::Kernel { raises: false })?;
    handle.wait()?;
    same_bytes("it ran", &rig.download(memory.1, low.raw())?, &[7; BYTES as usize])
}

/// Copies on other streams do not spoil a capture, even one that prohibits other calls.
pub fn beside_a_capture(rig: &Rig) -> Outcome {
    for transport in [Transport::Kernel, Transport::Engine] {
        let overtake = bed::open(rig, bed::transport(transport))?;
        let (low, high) = pair(rig, &overtake)?;
        let (driver, captured) = (rig.driver(), rig.stream()?);
        let memory = (rig.pinned(BYTES)?, rig.buffer(BYTES)?);
        let spin = rig.kernels()?.spin;
        raw::spin(driver, spin, 100_000, high.raw())?;
        driver.stream_begin_capture(captured, CaptureMode::Global)?;
        rig.htod((memory.1, 0), (&memory.0, 0), BYTES, captured)?;
        raw::htod(&low, memory.1, &memory.0, BYTES)?;
        raw::htod(&high, memory.1, &memory.0, BYTES)?;
        raw::dtoh(&high, &memory.0, memory.1, BYTES)?;
        same("the capture", &driver.stream_capture_status(captured)?, &CaptureStatus::Active)?;
        let graph = driver.stream_end_capture(captured)?;
        driver.graph_destroy(graph)?;
        [low, high].iter().try_for_each(PriorityStream::synchronize)?;
        bed::at_rest(rig, &overtake)?;
    }
    Ok(())
}

/// Each reason for passing a copy on, by name.
pub fn reasons(rig: &Rig) -> Outcome {
    let memory = (rig.pinned(BYTES)?, rig.buffer(BYTES)?);
    let plan_with = |options: Options, with_urgent: bool| -> Result<Plan, Failure> {
        let overtake = bed::open(rig, options)?;
        let low = overtake.adopt(rig.stream()?, level(1))?;
        let _high = with_urgent.then(|| overtake.adopt(rig.stream()?, level(3)).map_err(Failure::from)).transpose()?;
        let request = raw::request((place::Side::Device(memory.1), 0), (place::Side::Host(&memory.0), 0), BYTES);
        let said_alone = matches!(low.look(&request, level(1)), Look::Alone);
        let handle = raw::htod(&low, memory.1, &memory.0, BYTES)?;
        handle.wait()?;
        same("the question that calls no driver", &said_alone, &(handle.plan() == Plan::Native(Reason::Alone)))?;
        Ok(handle.plan())
    };
    let small = bed::small_options;
    same("alone", &plan_with(small(), false)?, &Plan::Native(Reason::Alone))?;
    same("off", &plan_with(Options { enabled: false, ..small() }, true)?, &Plan::Native(Reason::Disabled))?;
    same("whole bulk", &plan_with(bed::transport(Transport::Native), true)?, &Plan::Native(Reason::LeftAlone))?;
    same(
        "small",
        &plan_with(small().with_profile(|profile| profile.gate_bytes_min = 2 * BYTES), true)?,
        &Plan::Native(Reason::WithinBudget),
    )?;
    same("the kernel", &plan_with(small(), true)?, &Plan::Kernel { raises: false })?;
    same("the engine", &plan_with(bed::transport(Transport::Engine), true)?, &Plan::Engine { raises: false })?;
    let unchannelled = bed::transport(Transport::Engine).with_profile(|profile| profile.channels = false);
    same("no kernel and no channel", &plan_with(unchannelled, true)?, &Plan::Native(Reason::NoKernel))?;
    left_alone(rig)?;
    misshapen(rig)?;
    // `guard::a_carrier_for_each`, `calm`, `turns`, `service::in_flight`, `peers` and `staging::cold_sources` check the
    // others.
    ensure!(Reason::ALL.len() == 14, "a reason was added: add a check for it");
    Ok(())
}

/// The layer cannot handle an empty rectangle; `sizes` has the other shapes that it cannot handle.
fn misshapen(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, bed::small_options())?;
    let (low, _high) = pair(rig, &overtake)?;
    let (host, buffer) = (rig.pinned(BYTES)?, rig.buffer(BYTES)?);
    let (source, target) = (Side::host(host.address()).pitched(64, 0), Side::device(buffer.base).pitched(64, 0));
    let empty = Shape { source, target, width_bytes: 0, rows: 4, depth: 1 };
    same("empty", &raw::attempt(&low, &empty)?.plan(), &Plan::Native(Reason::Misshapen))?;
    same("copies counted", &overtake.statistics().native[&Reason::Misshapen].copies, &1)
}

/// A copy that is left alone is not planned, but it counts.
fn left_alone(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, bed::small_options())?;
    let (low, _high) = pair(rig, &overtake)?;
    let (host, buffer) = (rig.pinned_of(&[5; BYTES as usize])?, rig.buffer(BYTES)?);
    raw::leave_alone(&overtake, buffer, &host, BYTES, low.raw())?;
    low.pass_on(Reason::LeftAlone, None, 3, || ());
    same_bytes("the bytes", &rig.download(buffer, low.raw())?, &[5; BYTES as usize])?;
    let counted = overtake.statistics().native;
    same("the kinds", &counted.keys().copied().collect::<Vec<_>>(), &vec![Reason::LeftAlone])?;
    same("the bytes counted", &counted[&Reason::LeftAlone].bytes, &(BYTES + 3))
}

/// Streams that wait for each other by words in memory, or for long kernels, do so as without overtake: a copy never
/// stands behind another stream's copy that cannot run yet.
pub fn streams_release_each_other(rig: &Rig) -> Outcome {
    let spin = rig.kernels()?.spin;
    for (transport, bytes) in [(Transport::Auto, BYTES / 16), (Transport::Engine, BYTES), (Transport::Kernel, BYTES)] {
        let overtake = bed::open(rig, bed::transport(transport))?;
        let (first, _high) = pair(rig, &overtake)?;
        let (second, _other) = pair(rig, &overtake)?;
        let memory = (rig.pinned(BYTES)?, rig.buffer(BYTES)?);
        // This makes the channel, and leaves it empty.
        raw::htod(&second, memory.1, &memory.0, bytes)?.wait()?;
        let (gate, done) = (rig.gate(first.raw())?, rig.word());
        let held = raw::htod(&first, memory.1, &memory.0, bytes)?;
        raw::htod(&first, memory.1, &memory.0, bytes)?;
        let beside = raw::htod(&second, memory.1, &memory.0, bytes)?;
        same("the plan, where the channel is taken", &beside.plan(), &Plan::Kernel { raises: false })?;
        rig.mark(second.raw(), &done, 1)?;
        rig.reaches("the second stream, while the first waits", &done, 1)?;
        ensure!(!is_done(&held)?, "the first stream did not wait");
        gate.open();
        first.synchronize()?;
        raw::spin(rig.driver(), spin, 4_000_000, first.raw())?;
        let behind = raw::htod(&first, memory.1, &memory.0, bytes)?;
        raw::htod(&second, memory.1, &memory.0, bytes)?.wait()?;
        ensure!(!is_done(&behind)?, "{transport:?}: a copy waited for another stream's kernel");
        behind.wait()?;
        bed::at_rest(rig, &overtake)?;
    }
    Ok(())
}
