//! An urgent copy that depends on bulk lifts the bulk: it neither deadlocks nor waits for urgent copies of other
//! streams.

use hal::Nanos;
use overtake::options::Transport;
use overtake::{Direction, Options};

use crate::bed;
use crate::failure::{Outcome, ensure};
use crate::lane::level;
use crate::raw;
use crate::rig::Rig;
use crate::traffic::{Traffic, done_within, is_done};

const BULK_BYTES: u64 = 4 << 20;
const TRAFFIC_BYTES: u64 = 1 << 20;
const URGENT_BYTES: u64 = 64 << 10;

/// Options under which only a boost lets bulk pass urgent traffic.
fn relentless(transport: Transport) -> Options {
    let mut options =
        bed::transport(transport).with_profile(|profile| profile.kernel_wait_max = Nanos::from_ms(10_000));
    options.profile.share.share = 0.0;
    options
}

/// Bulk at the lowest priority, a copy at the middle one that depends on it, and an urgent one that depends on that
/// copy. All of them stand behind urgent traffic that never ends.
fn chain(rig: &Rig, transport: Transport, depth: u8, urgent_bytes: u64) -> Outcome {
    let overtake = bed::open(rig, relentless(transport))?;
    let streams = [1, 2, 3].map(|priority| rig.stream().map(|stream| overtake.adopt(stream, level(priority))));
    let [low, middle, high] = streams;
    let (low, middle, high) = (low??, middle??, high??);
    let memory = (rig.pinned(BULK_BYTES)?, rig.buffer(BULK_BYTES)?);
    let traffic = Traffic::start(rig, &overtake, Direction::HostToDevice, TRAFFIC_BYTES)?;
    let bulk = raw::htod(&low, memory.1, &memory.0, BULK_BYTES)?;
    ensure!(!done_within(rig, &bulk, Nanos::from_ms(3))?, "bulk passes urgent traffic anyway, so this shows nothing");
    let mut last = &low;
    if depth == 3 {
        middle.wait_for(last)?;
        raw::htod(&middle, memory.1, &memory.0, BULK_BYTES / 4)?;
        last = &middle;
    }
    high.wait_for(last)?;
    let urgent = raw::htod(&high, memory.1, &memory.0, urgent_bytes)?;
    let done = done_within(rig, &urgent, Nanos::from_ms(30))?;
    ensure!(!done || is_done(&bulk)?, "the urgent copy overtook its dependency");
    let going_on = traffic.stop();
    ensure!(done, "an urgent copy waits for bulk that waits for others' urgent copies");
    going_on?;
    ensure!(overtake.statistics().boosts >= u64::from(depth - 1), "{:?}", overtake.statistics());
    [low, middle, high].iter().try_for_each(|stream| stream.synchronize())?;
    bed::at_rest(rig, &overtake)
}

/// One step, with bulk by kernel.
pub fn bulk_by_kernel(rig: &Rig) -> Outcome {
    chain(rig, Transport::Kernel, 2, URGENT_BYTES)
}

/// One step, with bulk in a channel.
pub fn bulk_by_engine(rig: &Rig) -> Outcome {
    chain(rig, Transport::Engine, 2, URGENT_BYTES)
}

/// Two steps, with bulk by kernel.
pub fn chain_by_kernel(rig: &Rig) -> Outcome {
    chain(rig, Transport::Kernel, 3, URGENT_BYTES)
}

/// Two steps, with bulk in channels.
pub fn chain_by_engine(rig: &Rig) -> Outcome {
    chain(rig, Transport::Engine, 3, URGENT_BYTES)
}

/// An urgent copy that is so small that it goes natively lifts its dependencies all the same.
pub fn small_urgent_copy(rig: &Rig) -> Outcome {
    chain(rig, Transport::Kernel, 2, 4 << 10)
}
