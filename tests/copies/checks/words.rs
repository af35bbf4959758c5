//! A word is up exactly while an urgent copy that could run is pending.

use hal::Nanos;
use overtake::copy::{CopyHandle, Plan};
use overtake::options::Transport;
use overtake::{Direction, Overtake, PriorityStream};

use crate::bed::{self, DIRECTIONS};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::lane::level;
use crate::memory::Pinned;
use crate::place::{Buffer, Side};
use crate::raw;
use crate::rig::Rig;
use crate::traffic::is_done;

const URGENT_BYTES: u64 = 64 << 10;
/// Occupies an engine for more than half a millisecond, and waits for no word.
const OCCUPANT_BYTES: u64 = 32 << 20;
/// Occupies it for so short a time that the copy behind it is not doubted.
const SHORT_BYTES: u64 = 1 << 20;

struct Occupant {
    host: std::sync::Arc<Pinned>,
    device: Buffer,
    stream: hal::Stream,
}

impl Occupant {
    fn new(rig: &Rig) -> Result<Occupant, Failure> {
        Ok(Occupant { host: rig.pinned(OCCUPANT_BYTES)?, device: rig.buffer(OCCUPANT_BYTES)?, stream: rig.stream()? })
    }

    /// A copy that the layer does not know.
    fn occupy(&self, rig: &Rig, direction: Direction, bytes: u64) -> Outcome {
        match direction {
            Direction::DeviceToHost => rig.dtoh((&self.host, 0), (self.device, 0), bytes, self.stream)?,
            _ => rig.htod((self.device, 0), (&self.host, 0), bytes, self.stream)?,
        }
        Ok(())
    }
}

/// Streams of the lowest and the highest priority.
fn pair(rig: &Rig, overtake: &Overtake) -> Result<(PriorityStream, PriorityStream), Failure> {
    Ok((overtake.adopt(rig.stream()?, level(1))?, overtake.adopt(rig.stream()?, level(3))?))
}

fn copy(
    stream: &PriorityStream,
    direction: Direction,
    (host, device): (&Pinned, Buffer),
    bytes: u64,
) -> hal::Result<CopyHandle> {
    match direction {
        Direction::DeviceToHost => raw::dtoh(stream, host, device, bytes),
        _ => raw::htod(stream, device, host, bytes),
    }
}

/// Looks at the word until the copy is done: it has to be up at every look before that. Returns the number of looks.
fn watch(rig: &Rig, overtake: &Overtake, direction: Direction, urgent: &CopyHandle) -> Result<u32, Failure> {
    for looks in 0.. {
        // The word is read first: if the copy is still pending afterwards, it was pending at the time of the reading.
        let up = overtake.pending_above(direction, level(1));
        if is_done(urgent)? {
            return Ok(looks);
        }
        ensure!(up == 1, "look {looks}: {up} copies are said to be pending while one is");
        rig.driver().host().sleep(Nanos::from_us(5));
    }
    unreachable!("the loop above has no end")
}

/// An urgent copy that has to wait for the engine holds bulk back until it has completed, and no longer.
pub fn up_while_pending(rig: &Rig) -> Outcome {
    for direction in DIRECTIONS {
        let overtake = bed::open(rig, bed::small_options())?;
        let (_low, high) = pair(rig, &overtake)?;
        let (occupant, memory) = (Occupant::new(rig)?, (rig.pinned(URGENT_BYTES)?, rig.buffer(URGENT_BYTES)?));
        occupant.occupy(rig, direction, SHORT_BYTES)?;
        let urgent = copy(&high, direction, (&memory.0, memory.1), URGENT_BYTES)?;
        same("the plan", &urgent.plan(), &Plan::Urgent)?;
        ensure!(watch(rig, &overtake, direction, &urgent)? > 0, "the copy did not have to wait");
        bed::at_rest(rig, &overtake)?;
        rig.settle(occupant.stream)?;
        same("rescues while no copy waits for a word", &overtake.statistics().rescues, &0)?;
    }
    Ok(())
}

/// A copy that takes suspiciously long may be waiting for its own stream, so it stops holding bulk back. The next
/// copies of the stream are submitted with care: the layer then knows when they can run.
pub fn doubt_and_care(rig: &Rig) -> Outcome {
    let direction = Direction::HostToDevice;
    let overtake = bed::open(rig, bed::small_options())?;
    let (_low, high) = pair(rig, &overtake)?;
    let (occupant, memory) = (Occupant::new(rig)?, (rig.pinned(URGENT_BYTES)?, rig.buffer(URGENT_BYTES)?));
    occupant.occupy(rig, direction, OCCUPANT_BYTES)?;
    let doubted = copy(&high, direction, (&memory.0, memory.1), URGENT_BYTES)?;
    same("copies that hold others off", &bed::raised(&overtake), &1)?;
    bed::eventually(rig, "the word goes down", || bed::raised(&overtake) == 0)?;
    ensure!(!is_done(&doubted)?, "the copy did not take long");
    doubted.wait()?;
    occupant.occupy(rig, direction, OCCUPANT_BYTES)?;
    let careful = copy(&high, direction, (&memory.0, memory.1), URGENT_BYTES)?;
    bed::eventually(rig, "the word goes up", || bed::raised(&overtake) == 1)?;
    ensure!(watch(rig, &overtake, direction, &careful)? > 10, "the copy did not take long");
    rig.settle(occupant.stream)?;
    bed::at_rest(rig, &overtake)
}

/// An urgent copy behind a kernel of its own stream cannot run yet, so bulk goes on until it can.
pub fn down_while_not_ready(rig: &Rig) -> Outcome {
    for transport in [Transport::Kernel, Transport::Engine] {
        let overtake = bed::open(rig, bed::transport(transport))?;
        let (low, high) = pair(rig, &overtake)?;
        let (spin, bytes) = (rig.kernels()?.spin, 2 << 20);
        let (small, large) = ((rig.pinned(bytes)?, rig.buffer(bytes)?), (rig.pinned(bytes)?, rig.buffer(bytes)?));
        raw::htod(&low, large.1, &large.0, bytes)?.wait()?;
        raw::spin(rig.driver(), spin, 8_000_000, high.raw())?;
        let urgent = raw::htod(&high, small.1, &small.0, URGENT_BYTES)?;
        raw::htod(&low, large.1, &large.0, bytes)?.wait()?;
        ensure!(!is_done(&urgent)?, "bulk waited for the urgent copy, which waited for its kernel");
        same("copies that hold others off, still", &bed::raised(&overtake), &0)?;
        urgent.wait()?;
        bed::at_rest(rig, &overtake)?;
        same("rescues", &overtake.statistics().rescues, &0)?;
    }
    Ok(())
}

/// When the kernel has ended, the copy can run, and from then on it holds bulk back.
pub fn up_when_it_becomes_ready(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, bed::small_options())?;
    let (_low, high) = pair(rig, &overtake)?;
    let (spin, occupant) = (rig.kernels()?.spin, Occupant::new(rig)?);
    let memory = (rig.pinned(URGENT_BYTES)?, rig.buffer(URGENT_BYTES)?);
    raw::spin(rig.driver(), spin, 300_000, high.raw())?;
    let urgent = raw::htod(&high, memory.1, &memory.0, URGENT_BYTES)?;
    (0..4).try_for_each(|_| occupant.occupy(rig, Direction::HostToDevice, OCCUPANT_BYTES))?;
    bed::eventually(rig, "the word goes up", || bed::raised(&overtake) == 1)?;
    ensure!(!is_done(&urgent)?, "the word went up for a copy that was done");
    urgent.wait()?;
    rig.settle(occupant.stream)?;
    bed::at_rest(rig, &overtake)
}

/// A copy with its caller's word on whether it can begin.
fn stated(stream: &PriorityStream, memory: (&Pinned, Buffer), is_ready: bool) -> Result<CopyHandle, Failure> {
    let (device, host) = ((Side::Device(memory.1), 0), (Side::Host(memory.0), 0));
    let copies = raw::batch(stream, &[raw::request(device, host, URGENT_BYTES).ready(is_ready)])?;
    copies.into_iter().next().ok_or_else(|| Failure::new("a batch of one has no copy"))
}

/// A copy of which its caller knows that it can begin holds bulk back from its submission until it has completed, in a
/// doubted stream too, and is not doubted for taking long.
pub fn up_where_readiness_is_stated(rig: &Rig) -> Outcome {
    let (direction, span) = (Direction::HostToDevice, OCCUPANT_BYTES);
    let overtake = bed::open(rig, bed::small_options())?;
    let (_low, high) = pair(rig, &overtake)?;
    let (occupant, memory) = (Occupant::new(rig)?, (rig.pinned(URGENT_BYTES)?, rig.buffer(URGENT_BYTES)?));
    occupant.occupy(rig, direction, span)?;
    let doubted = copy(&high, direction, (&memory.0, memory.1), URGENT_BYTES)?;
    bed::eventually(rig, "the word goes down", || bed::raised(&overtake) == 0)?;
    doubted.wait()?;
    for round in 0..2 {
        occupant.occupy(rig, direction, span)?;
        let known = stated(&high, (&memory.0, memory.1), true)?;
        same("copies that hold others off at once", &bed::raised(&overtake), &1)?;
        let looks = watch(rig, &overtake, direction, &known)?;
        ensure!(looks > 10, "round {round}: the copy did not take long: {looks} looks");
        rig.settle(occupant.stream)?;
        bed::at_rest(rig, &overtake)?;
    }
    Ok(())
}

/// A copy of which its caller knows that it cannot begin yet holds no bulk back before it can, in a trusted stream and
/// behind earlier copies too.
pub fn down_where_unreadiness_is_stated(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, bed::small_options())?;
    let (_low, high) = pair(rig, &overtake)?;
    let (spin, occupant) = (rig.kernels()?.spin, Occupant::new(rig)?);
    let memory = (rig.pinned(URGENT_BYTES)?, rig.buffer(URGENT_BYTES)?);
    for guesses in [0, 1, 2] {
        for _ in 0..guesses {
            copy(&high, Direction::HostToDevice, (&memory.0, memory.1), URGENT_BYTES)?.wait()?;
        }
        bed::at_rest(rig, &overtake)?;
        raw::spin(rig.driver(), spin, 300_000, high.raw())?;
        let known = stated(&high, (&memory.0, memory.1), false)?;
        same("the plan", &known.plan(), &Plan::Urgent)?;
        (0..4).try_for_each(|_| occupant.occupy(rig, Direction::HostToDevice, OCCUPANT_BYTES))?;
        same("copies that hold others off at once", &bed::raised(&overtake), &0)?;
        bed::eventually(rig, "the word goes up", || bed::raised(&overtake) == 1)?;
        ensure!(!is_done(&known)?, "the word went up for a copy that was done");
        known.wait()?;
        rig.settle(occupant.stream)?;
        bed::at_rest(rig, &overtake)?;
    }
    Ok(())
}

/// Another stream's kernel does not delay the news that a stream's copy can run.
pub fn readiness_of_streams_is_independent(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, bed::small_options())?;
    let (_low, first) = pair(rig, &overtake)?;
    let (_other, second) = pair(rig, &overtake)?;
    let (spin, occupant) = (rig.kernels()?.spin, Occupant::new(rig)?);
    let memory = (rig.pinned(URGENT_BYTES)?, rig.buffer(URGENT_BYTES)?);
    raw::spin(rig.driver(), spin, 20_000_000, first.raw())?;
    raw::spin(rig.driver(), spin, 300_000, second.raw())?;
    let late = raw::htod(&first, memory.1, &memory.0, URGENT_BYTES)?;
    let early = raw::dtoh(&second, &memory.0, memory.1, URGENT_BYTES)?;
    (0..4).try_for_each(|_| occupant.occupy(rig, Direction::DeviceToHost, OCCUPANT_BYTES))?;
    bed::eventually(rig, "the second word goes up", || bed::raised(&overtake) == 1)?;
    ensure!(!is_done(&early)?, "the word went up too late");
    ensure!(!is_done(&late)?, "the first stream's kernel has ended already");
    [early, late].iter().try_for_each(CopyHandle::wait)?;
    rig.settle(occupant.stream)?;
    bed::at_rest(rig, &overtake)
}
