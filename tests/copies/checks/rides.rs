//! Urgent copies that go without a fence of their own, behind the last one of their stream: only permitted ones.

use std::sync::Arc;

use hal::{CaptureMode, Driver, Nanos, Wait};
use overtake::copy::{CopyHandle, Plan, Reason};
use overtake::options::UrgentTransport;
use overtake::{Overtake, PriorityStream};

use crate::bed;
use crate::failure::{Failure, Outcome, ensure, same, same_bytes};
use crate::lane::level;
use crate::memory::Pinned;
use crate::place::{Buffer, Side};
use crate::prng::Prng;
use crate::raw;
use crate::rig::{Rig, span};

const BYTES: u64 = 64 << 10;
const INLINED_BYTES: u64 = 4 << 10;
/// More than the driver inlines.
const INLINE_END_BYTES: u64 = 25 << 10;
const BULK_BYTES: u64 = 1 << 20;

/// A stream, and memory for its copies.
struct Rider {
    stream: PriorityStream,
    host: Arc<Pinned>,
    device: Buffer,
}

fn rider(rig: &Rig, overtake: &Overtake, priority: u8) -> Result<Rider, Failure> {
    let stream = overtake.adopt(rig.stream()?, level(priority))?;
    Ok(Rider { stream, host: rig.pinned(BULK_BYTES)?, device: rig.buffer(BULK_BYTES)? })
}

/// One urgent copy that gets a fence, so that later ones may go without.
fn first(rig: &Rig, overtake: &Overtake, urgent: &Rider) -> Outcome {
    next("the first copy", urgent, BYTES, None, Plan::Urgent)?;
    urgent.stream.synchronize()?;
    bed::at_rest(rig, overtake)
}

fn next(what: &str, rider: &Rider, bytes: u64, priority: Option<u8>, plan: Plan) -> Outcome {
    let (device, host) = ((Side::Device(rider.device), 0), (Side::Host(&rider.host), 0));
    let handle = raw::linear(&rider.stream, device, host, bytes, priority.map(level))?;
    same(what, &handle.plan(), &plan)
}

/// A copy that the driver inlines holds no copy back, and neither does a copy when no lower priority is left.
pub fn not_for_nothing(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, bed::small_options())?;
    let (low, high) = (rider(rig, &overtake, 1)?, rider(rig, &overtake, 3)?);
    first(rig, &overtake, &high)?;
    next("a copy that is inlined", &high, INLINED_BYTES, None, Plan::Native(Reason::WithinBudget))?;
    next("a copy that rides", &high, BYTES, None, Plan::Urgent)?;
    drop(low);
    next("a copy that is alone", &high, BYTES, None, Plan::Native(Reason::Alone))?;
    bed::at_rest(rig, &overtake)
}

/// A priority that is new to the stream on this engine is announced there; otherwise bulk would not hold back for it.
pub fn not_unannounced(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, bed::small_options())?;
    let (low, other) = (rider(rig, &overtake, 1)?, rider(rig, &overtake, 1)?);
    next("a copy to the device, more urgent than its stream", &low, BYTES, Some(3), Plan::Urgent)?;
    bed::at_rest(rig, &overtake)?;
    let (device, host) = ((Side::Device(low.device), 0), (Side::Host(&low.host), 0));
    let back = raw::linear(&low.stream, host, device, BYTES, Some(level(3)))?;
    same("one to the host", &back.plan(), &Plan::Urgent)?;
    let bulk = raw::dtoh(&other.stream, &other.host, other.device, BULK_BYTES)?;
    same("bulk to the host after that", &bulk.plan(), &Plan::Kernel { raises: false })?;
    bed::at_rest(rig, &overtake)
}

/// A copy that must go by kernel does so, even right behind a copy that others could ride behind.
pub fn not_another_way(rig: &Rig) -> Outcome {
    let options = bed::small_options().with_profile(|profile| profile.urgent_transport = UrgentTransport::Kernel);
    let overtake = bed::open(rig, options)?;
    let (_low, middle, high) = (rider(rig, &overtake, 1)?, rider(rig, &overtake, 2)?, rider(rig, &overtake, 3)?);
    next("a copy below another priority", &middle, BULK_BYTES, None, Plan::Kernel { raises: true })?;
    drop(high);
    next("the most urgent", &middle, BYTES, None, Plan::UrgentKernel)?;
    bed::at_rest(rig, &overtake)
}

/// A copy that is complete when its call returns needs no estimate of its end: bulk goes on at once.
pub fn not_blocking(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, bed::small_options())?;
    let (_low, high) = (rider(rig, &overtake, 1)?, rider(rig, &overtake, 3)?);
    first(rig, &overtake, &high)?;
    let blocking = raw::htod_blocking(rig, &high.stream, high.device, &high.host, BYTES)?;
    same("the plan", &blocking.plan(), &Plan::Urgent)?;
    rig.driver().host().sleep(Nanos::from_us(3));
    same("copies that hold others off", &bed::raised(&overtake), &0)?;
    bed::at_rest(rig, &overtake)
}

/// A copy behind bulk of its own stream lifts that bulk.
pub fn not_behind_bulk(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, bed::small_options())?;
    let (_middle, high) = (rider(rig, &overtake, 2)?, rider(rig, &overtake, 3)?);
    first(rig, &overtake, &high)?;
    raw::spin(rig.driver(), rig.kernels()?.spin, 500_000, high.stream.raw())?;
    next("bulk", &high, BULK_BYTES, Some(1), Plan::Kernel { raises: false })?;
    next("an urgent copy behind it", &high, BYTES, None, Plan::Urgent)?;
    let boosts = overtake.statistics().boosts;
    ensure!(boosts == 1, "{boosts} copies were lifted in place of one");
    bed::at_rest(rig, &overtake)
}

/// The longest time that an early copy may hold others off: that of its bytes, a margin, and the watcher's look. On a
/// real host that look depends on the machine's other work.
const HOLDS_FOR: Nanos = Nanos::from_us(500);

/// The copy was taken for an urgent one. In real time the watcher may have been late, and have doubted its stream: then
/// all is asked first, and the copy goes natively.
fn went_early(driver: &dyn Driver, copy: &CopyHandle) -> Outcome {
    let plan = copy.plan();
    let is_sure = driver.host().is_virtual();
    ensure!(plan == Plan::Urgent || !is_sure && matches!(plan, Plan::Native(_)), "the copy went by {plan:?}");
    Ok(())
}

/// Where an early copy has been taken for a pinned one in a stream that is not captured, and is not, the driver gets
/// the same call, and others are held off for no longer than the copy would have taken.
pub fn supposed_in_vain(rig: &Rig) -> Outcome {
    // One fence covers all of them.
    let overtake = bed::open(rig, bed::small_options().with_profile(|profile| profile.fence_every = 1000))?;
    let (_low, high) = (rider(rig, &overtake, 1)?, rider(rig, &overtake, 3)?);
    let (driver, mut prng) = (rig.driver(), Prng::new(13));
    for round in 0..16 {
        let bytes = 8 * prng.between(INLINE_END_BYTES / 8, BYTES / 8);
        first(rig, &overtake, &high)?;
        let is_captured = round % 2 == 0;
        if is_captured {
            driver.stream_begin_capture(high.stream.raw(), CaptureMode::Relaxed)?;
            let (device, host) = ((Side::Device(high.device), 0), (Side::Host(&high.host), 0));
            went_early(driver, &raw::linear(&high.stream, device, host, bytes, None)?)?;
            let graph = driver.stream_end_capture(high.stream.raw())?;
            driver.graph_destroy(graph)?;
        } else {
            let (sent, mut got) = (prng.bytes(bytes), vec![0; bytes as usize]);
            let there = raw::htod_pageable(&high.stream, (high.device, 0), &sent)?;
            let back = raw::dtoh_pageable(&high.stream, &mut got, (high.device, 0))?;
            went_early(driver, &there)?;
            went_early(driver, &back)?;
            same_bytes("there and back", &got, &sent)?;
        }
        let (host, down) = (driver.host(), || bed::raised(&overtake) == 0);
        let patience = if host.is_virtual() { HOLDS_FOR } else { span(driver) };
        let lowered = host.wait_until(Some(host.now() + patience), &mut { down });
        ensure!(lowered == Wait::Met, "round {round}: a word is up {patience} after the copy: {lowered:?}");
    }
    Ok(())
}
