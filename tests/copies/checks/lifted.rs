//! A lifted copy passes urgent traffic in its own time, in the machine's time too: judged by the median over rounds,
//! because a host that is busy for a moment spoils one.

use std::sync::Arc;

use hal::Nanos;
use overtake::copy::CopyHandle;
use overtake::options::Transport;
use overtake::{Direction, Options, Overtake, PriorityStream};

use crate::bed;
use crate::checks::lift::relentless;
use crate::failure::{Failure, Outcome, ensure};
use crate::lane::level;
use crate::memory::Pinned;
use crate::place::Buffer;
use crate::raw;
use crate::rig::Rig;
use crate::traffic::{Traffic, done_within, is_done};

const BULK_BYTES: u64 = 16 << 20;
/// A real device takes so long for one of them that the thread has submitted the next by then.
const TRAFFIC_BYTES: u64 = 4 << 20;
/// A copy that is not lifted has not completed after so long.
const LATEST: Nanos = Nanos::from_ms(60);
/// Bulk that is held makes no progress for so long.
const HELD: Nanos = Nanos::from_ms(3);
/// The time in which a completion is seen.
const SEEN: Nanos = Nanos::from_us(20);

/// The times of a round.
#[derive(Debug)]
struct Round {
    /// Of a copy that gives way to no traffic, from its submission to its end.
    own: Nanos,
    /// Of the copy from its lift to its end.
    lifted: Nanos,
    /// Whether the other copy, which has no share beside the traffic, was held before the lift and after it.
    is_held: bool,
}

/// A stream of bulk, and the memory of its copy.
struct Bulk {
    stream: PriorityStream,
    target: Buffer,
    source: Arc<Pinned>,
}

impl Bulk {
    fn new(rig: &Rig, overtake: &Overtake) -> Result<Bulk, Failure> {
        let stream = overtake.adopt(rig.stream()?, level(1))?;
        Ok(Bulk { stream, target: rig.buffer(BULK_BYTES)?, source: rig.pinned(BULK_BYTES)? })
    }

    fn copy(&self) -> Result<CopyHandle, Failure> {
        Ok(raw::htod(&self.stream, self.target, &self.source, BULK_BYTES)?)
    }
}

/// Copies beside endless traffic. All of them end with it.
struct Beside {
    overtake: Overtake,
    bulk: Vec<Bulk>,
    traffic: Traffic,
}

impl Beside {
    /// All memory is there before the traffic: while a driver makes some pinned, it keeps other threads out, the one
    /// of the traffic too.
    fn start(rig: &Rig, options: Options, streams: usize) -> Result<Beside, Failure> {
        let overtake = bed::open(rig, options)?;
        let bulk = (0..streams).map(|_| Bulk::new(rig, &overtake)).collect::<Result<_, Failure>>()?;
        let traffic = Traffic::start(rig, &overtake, Direction::HostToDevice, TRAFFIC_BYTES)?;
        Ok(Beside { overtake, bulk, traffic })
    }

    fn stop(self, rig: &Rig) -> Outcome {
        self.traffic.stop()?;
        self.bulk.iter().try_for_each(|bulk| bulk.stream.synchronize())?;
        bed::at_rest(rig, &self.overtake)
    }
}

/// The time of a copy that gives way to none.
fn own_time(rig: &Rig, options: &Options) -> Result<Nanos, Failure> {
    let beside = Beside::start(rig, options.clone().with_profile(|profile| profile.kernel_wait_max = Nanos::ZERO), 1)?;
    let (host, copy) = (rig.driver().host(), beside.bulk[0].copy()?);
    // The call itself is not the copy's time.
    let began = host.now();
    ensure!(done_within(rig, &copy, LATEST)?, "a copy that gives way to none has not completed");
    let own = host.now().since(began);
    beside.stop(rig)?;
    Ok(own)
}

fn round(rig: &Rig, options: &Options) -> Result<Round, Failure> {
    let own = own_time(rig, options)?;
    let beside = Beside::start(rig, relentless(options.clone()), 2)?;
    let host = rig.driver().host();
    let copies = beside.bulk.iter().map(Bulk::copy).collect::<Result<Vec<_>, Failure>>()?;
    let was_held = !done_within(rig, &copies[1], HELD)? && !is_done(&copies[0])?;
    let began = host.now();
    copies[0].lift(level(3))?;
    ensure!(done_within(rig, &copies[0], LATEST)?, "the lifted copy has not completed after {LATEST}");
    let lifted = host.now().since(began);
    let is_held = was_held && !done_within(rig, &copies[1], HELD)?;
    beside.stop(rig)?;
    Ok(Round { own, lifted, is_held })
}

fn median(spans: impl Iterator<Item = Nanos>) -> Nanos {
    let mut spans: Vec<Nanos> = spans.collect();
    spans.sort_unstable();
    spans[spans.len() / 2]
}

/// A real device takes longer than estimated for copies that share its link: each has a fence.
fn tracked(options: Options) -> Options {
    options.with_profile(|profile| (profile.chunk_max, profile.fence_every) = (Nanos::from_us(45), 1))
}

fn rounds(rig: &Rig) -> usize {
    if rig.driver().host().is_virtual() { 1 } else { 9 }
}

fn in_rounds(rig: &Rig, options: Options) -> Outcome {
    let (options, count) = (&tracked(options), rounds(rig));
    let rounds = (0..count).map(|_| round(rig, options)).collect::<Result<Vec<_>, Failure>>()?;
    let within = median(rounds.iter().map(|round| round.own)) + options.profile.chunk_max + SEEN;
    let lifted = median(rounds.iter().map(|round| round.lifted));
    ensure!(lifted <= within, "a lifted copy takes longer than {within}: {rounds:?}");
    let held = rounds.iter().filter(|round| round.is_held).count();
    ensure!(held > count / 2, "the other copy passes urgent traffic: {rounds:?}");
    if count > 1 {
        println!("a lifted copy takes {lifted}, and may take {within}: {rounds:?}");
    }
    Ok(())
}

/// By kernel.
pub fn by_kernel(rig: &Rig) -> Outcome {
    in_rounds(rig, bed::transport(Transport::Kernel))
}

/// By guarded kernel.
pub fn guarded(rig: &Rig) -> Outcome {
    in_rounds(rig, bed::transport(Transport::Kernel).with_profile(|profile| profile.guard_bytes_min = Some(0)))
}

/// Three copies, each in a stream that waits for that of the one before, and a fourth by itself. The last of the three
/// is lifted. Returns whether bulk was held before that, and the fourth after it.
fn chain_round(rig: &Rig) -> Result<bool, Failure> {
    let beside = Beside::start(rig, relentless(tracked(bed::transport(Transport::Kernel))), 4)?;
    let (bulk, mut chain) = (&beside.bulk, Vec::new());
    for index in 0..3 {
        if index > 0 {
            bulk[index].stream.wait_for(&bulk[index - 1].stream)?;
        }
        chain.push(bulk[index].copy()?);
    }
    let other = bulk[3].copy()?;
    let was_held = !done_within(rig, &other, HELD)? && !is_done(&chain[0])?;
    chain[2].lift(level(3))?;
    ensure!(done_within(rig, &chain[2], LATEST)?, "the last of the chain has not completed after {LATEST}");
    ensure!(is_done(&chain[0])? && is_done(&chain[1])?, "the last of the chain overtook one before it");
    let is_held = was_held && !done_within(rig, &other, HELD)?;
    beside.stop(rig)?;
    Ok(is_held)
}

/// A copy that waits for two others is lifted with them, and a fourth is not.
pub fn chain(rig: &Rig) -> Outcome {
    let held = (0..rounds(rig)).map(|_| chain_round(rig)).collect::<Result<Vec<_>, Failure>>()?;
    let count = held.iter().filter(|is_held| **is_held).count();
    ensure!(count > held.len() / 2, "bulk that is not lifted passes urgent traffic: held in rounds {held:?}");
    Ok(())
}
