//! Urgent copies that go without a ticket of their own, behind the last one of their stream: only those that may.

use hal::{Driver, Nanos};
use overtake::copy::{Plan, Reason};
use overtake::options::UrgentTransport;
use overtake::{Options, Overtake, PriorityStream};

use crate::bed;
use crate::doors;
use crate::failure::{Failure, Outcome, ensure, same};
use crate::lane::level;
use crate::memory::Pinned;
use crate::place::{Buffer, Side};
use crate::rig::Rig;

const BYTES: u64 = 64 << 10;
const INLINED_BYTES: u64 = 4 << 10;
const BULK_BYTES: u64 = 1 << 20;

type Memory = (std::sync::Arc<Pinned>, Buffer);

/// A stream of that priority, and memory for its copies.
fn stream(rig: &Rig, overtake: &Overtake, priority: u8) -> Result<(PriorityStream, Memory), Failure> {
    let memory = (rig.pinned(BULK_BYTES)?, rig.buffer(BULK_BYTES)?);
    Ok((overtake.adopt(rig.stream()?, level(priority))?, memory))
}

/// One urgent copy that gets a ticket, behind which others may ride.
fn first(rig: &Rig, overtake: &Overtake, urgent: &(PriorityStream, Memory)) -> Outcome {
    next("the first copy", urgent, BYTES, None, Plan::Urgent)?;
    urgent.0.synchronize()?;
    bed::at_rest(rig, overtake)
}

fn next(
    what: &str,
    (stream, memory): &(PriorityStream, Memory),
    bytes: u64,
    priority: Option<u8>,
    plan: Plan,
) -> Outcome {
    let (device, host) = ((Side::Device(memory.1), 0), (Side::Host(&memory.0), 0));
    let handle = doors::linear(stream, device, host, bytes, priority.map(level))?;
    same(what, &handle.plan(), &plan)
}

/// What the driver inlines holds nobody off, and neither does who has nobody below him any more.
pub fn not_for_nothing(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, bed::small_options())?;
    let (low, high) = (stream(rig, &overtake, 1)?, stream(rig, &overtake, 3)?);
    first(rig, &overtake, &high)?;
    next("a copy that is inlined", &high, INLINED_BYTES, None, Plan::Native(Reason::Inlined))?;
    next("a copy that rides", &high, BYTES, None, Plan::Urgent)?;
    drop(low);
    next("a copy that is alone", &high, BYTES, None, Plan::Native(Reason::Alone))?;
    bed::at_rest(rig, &overtake)
}

/// A priority that the stream has not had on this engine is made known there, or bulk would not hold back for it.
pub fn not_unannounced(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, bed::small_options())?;
    let low = stream(rig, &overtake, 1)?;
    next("a copy to the device, more urgent than its stream", &low, BYTES, Some(3), Plan::Urgent)?;
    bed::at_rest(rig, &overtake)?;
    let (device, host) = ((Side::Device(low.1.1), 0), (Side::Host(&low.1.0), 0));
    let back = doors::linear(&low.0, host, device, BYTES, Some(level(3)))?;
    same("one to the host", &back.plan(), &Plan::Urgent)?;
    let bulk = doors::dtoh(&low.0, &low.1.0, low.1.1, BULK_BYTES)?;
    same("bulk to the host after that", &bulk.plan(), &Plan::Kernel { raises: false })?;
    bed::at_rest(rig, &overtake)
}

/// Whoever was asked to go by kernel does, also right behind a copy that others could ride behind.
pub fn not_another_way(rig: &Rig) -> Outcome {
    let options = Options { urgent_transport: UrgentTransport::Kernel, ..bed::small_options() };
    let overtake = bed::open(rig, options)?;
    let (_low, middle, high) = (stream(rig, &overtake, 1)?, stream(rig, &overtake, 2)?, stream(rig, &overtake, 3)?);
    next("a copy that has somebody above it", &middle, BULK_BYTES, None, Plan::Kernel { raises: true })?;
    drop(high);
    next("the most urgent", &middle, BYTES, None, Plan::UrgentKernel)?;
    bed::at_rest(rig, &overtake)
}

/// A copy that is complete when its call returns needs no estimate of when it is: bulk goes on at once.
pub fn not_blocking(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, bed::small_options())?;
    let (_low, high) = (stream(rig, &overtake, 1)?, stream(rig, &overtake, 3)?);
    first(rig, &overtake, &high)?;
    let blocking = doors::htod_blocking(rig, &high.0, high.1.1, &high.1.0, BYTES)?;
    same("the plan", &blocking.plan(), &Plan::Urgent)?;
    rig.driver().host().sleep(Nanos::from_us(3));
    same("copies that hold others off", &bed::raised(&overtake), &0)?;
    bed::at_rest(rig, &overtake)
}

/// A copy behind bulk of its own stream lifts that bulk.
pub fn not_behind_bulk(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, bed::small_options())?;
    let (_low, high) = (stream(rig, &overtake, 1)?, stream(rig, &overtake, 3)?);
    first(rig, &overtake, &high)?;
    let driver: &dyn Driver = rig.driver();
    doors::spin(driver, rig.kernels()?.spin, 500_000, high.0.raw())?;
    next("bulk", &high, BULK_BYTES, Some(1), Plan::Kernel { raises: false })?;
    next("an urgent copy behind it", &high, BYTES, None, Plan::Urgent)?;
    let boosts = overtake.statistics().boosts;
    ensure!(boosts == 1, "{boosts} copies were lifted in place of one");
    bed::at_rest(rig, &overtake)
}
