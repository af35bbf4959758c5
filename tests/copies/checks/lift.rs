//! A copy that was submitted as bulk is raised: it passes urgent traffic that never ends, until it has completed.

use hal::Nanos;
use overtake::copy::{CopyHandle, Lift, Plan};
use overtake::options::Transport;
use overtake::{Direction, Options, Overtake, PriorityStream};

use crate::bed;
use crate::failure::{Failure, Outcome, ensure, same};
use crate::lane::level;
use crate::place::Side;
use crate::raw;
use crate::rig::Rig;
use crate::traffic::{Traffic, done_within, is_done};

const BULK_BYTES: u64 = 4 << 20;
const TRAFFIC_BYTES: u64 = 256 << 10;

/// Bulk that is held makes no progress for so long.
const HELD: Nanos = Nanos::from_ms(6);

/// Options under which bulk has no share of its own.
pub fn relentless(options: Options) -> Options {
    let mut options = options.with_profile(|profile| profile.kernel_wait_max = Nanos::from_ms(10_000));
    options.profile.share.share = 0.0;
    options
}

/// A stream of bulk.
fn bulk(rig: &Rig, overtake: &Overtake) -> Result<PriorityStream, Failure> {
    Ok(overtake.adopt(rig.stream()?, level(1))?)
}

fn copy(rig: &Rig, stream: &PriorityStream) -> Result<CopyHandle, Failure> {
    Ok(raw::htod(stream, rig.buffer(BULK_BYTES)?, &*rig.pinned(BULK_BYTES)?, BULK_BYTES)?)
}

fn is_held(rig: &Rig, what: &str, copy: &CopyHandle) -> Outcome {
    ensure!(!done_within(rig, copy, HELD)?, "{what} passes urgent traffic");
    Ok(())
}

/// The time of a copy beside the same traffic if it gives way to none.
fn own_time(rig: &Rig, options: &Options) -> Result<Nanos, Failure> {
    let overtake = bed::open(rig, options.clone().with_profile(|profile| profile.kernel_wait_max = Nanos::ZERO))?;
    let (low, host) = (bulk(rig, &overtake)?, rig.driver().host());
    let traffic = Traffic::start(rig, &overtake, Direction::HostToDevice, TRAFFIC_BYTES)?;
    let began = host.now();
    copy(rig, &low)?.wait()?;
    let took = host.now().since(began);
    traffic.stop()?;
    bed::at_rest(rig, &overtake)?;
    Ok(took)
}

/// Two copies of one priority: the one that is lifted passes, and the lift ends with it.
fn of_two(rig: &Rig, options: Options, within: Nanos, effect: Lift) -> Outcome {
    let is_guarded = options.profile.guard_bytes_min.is_some();
    let overtake = bed::open(rig, relentless(options))?;
    let (one, other) = (bulk(rig, &overtake)?, bulk(rig, &overtake)?);
    let traffic = Traffic::start(rig, &overtake, Direction::HostToDevice, TRAFFIC_BYTES)?;
    let (lifted, left) = (copy(rig, &one)?, copy(rig, &other)?);
    is_held(rig, "bulk that is not lifted", &lifted)?;
    is_held(rig, "other bulk that is not lifted", &left)?;
    same("the effect", &lifted.lift(level(3))?, &effect)?;
    same("the effect of another", &lifted.lift(level(3))?, &Lift::Unchanged)?;
    ensure!(done_within(rig, &lifted, within)?, "the lifted copy has not completed within {within}");
    same("the effect when it has completed", &lifted.lift(level(3))?, &Lift::Unchanged)?;
    rig.driver().host().sleep(Nanos::from_us(100));
    if effect == Lift::Copy {
        is_held(rig, "the other copy", &left)?;
    }
    is_held(rig, "bulk after the lift", &copy(rig, &one)?)?;
    let going_on = traffic.stop();
    [one, other].iter().try_for_each(PriorityStream::synchronize)?;
    bed::at_rest(rig, &overtake)?;
    let statistics = overtake.statistics();
    same("rescues", &statistics.rescues, &0)?;
    same("whether bulk was guarded", &(statistics.guarded.copies > 0), &is_guarded)?;
    going_on
}

/// By kernel.
pub fn by_kernel(rig: &Rig) -> Outcome {
    let options = bed::transport(Transport::Kernel);
    let within = own_time(rig, &options)? + options.profile.chunk_max + Nanos::from_us(20);
    of_two(rig, options, within, Lift::Copy)
}

/// In chunks through a channel.
pub fn by_engine(rig: &Rig) -> Outcome {
    of_two(rig, bed::transport(Transport::Engine), Nanos::from_ms(30), Lift::Level)
}

/// By guarded kernel.
pub fn guarded(rig: &Rig) -> Outcome {
    let options = bed::transport(Transport::Kernel).with_profile(|profile| profile.guard_bytes_min = Some(0));
    let within = own_time(rig, &options)? + options.profile.chunk_max + Nanos::from_us(20);
    of_two(rig, options, within, Lift::Copy)
}

/// Copies before it in its stream are lifted with it, and wait at another word. Those behind it are not.
pub fn its_own_stream_too(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, relentless(bed::transport(Transport::Kernel)))?;
    let low = bulk(rig, &overtake)?;
    let traffic = Traffic::start(rig, &overtake, Direction::HostToDevice, TRAFFIC_BYTES)?;
    let first = copy(rig, &low)?;
    let (host, device) = (rig.pinned(BULK_BYTES)?, rig.buffer(BULK_BYTES)?);
    let (to, from) = ((Side::Device(device), 0), (Side::Host(&host), 0));
    let second = raw::linear(&low, to, from, BULK_BYTES, Some(level(2)))?;
    let third = copy(rig, &low)?;
    is_held(rig, "the first copy", &first)?;
    same("the effect on the second", &second.lift(level(3))?, &Lift::Copy)?;
    ensure!(done_within(rig, &second, Nanos::from_ms(30))?, "the second copy waits for the first");
    ensure!(is_done(&first)?, "the second copy overtook the first");
    is_held(rig, "the third copy", &third)?;
    traffic.stop()?;
    bed::at_rest(rig, &overtake)
}

/// Copies that wait at no word, or at none that the priority opens, stay as they are.
pub fn not_for_nothing(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, relentless(bed::transport(Transport::Kernel)))?;
    let (low, high) = (bulk(rig, &overtake)?, overtake.adopt(rig.stream()?, level(3))?);
    let gate = rig.gate(low.raw())?;
    let (waiting, urgent) = (copy(rig, &low)?, copy(rig, &high)?);
    same("the plans", &[waiting.plan(), urgent.plan()], &[Plan::Kernel { raises: false }, Plan::Urgent])?;
    let refused = waiting.lift(level(4)).err().map(|error| error.code());
    same("a lift to a priority that does not exist", &refused, &Some(hal::Code::INVALID_VALUE))?;
    same("a lift to its own priority", &waiting.lift(level(1))?, &Lift::Unchanged)?;
    same("a lift of an urgent copy", &urgent.lift(level(3))?, &Lift::Unchanged)?;
    same("boosts", &overtake.statistics().boosts, &0)?;
    same("a lift of bulk", &waiting.lift(level(2))?, &Lift::Copy)?;
    same("a higher one", &waiting.lift(level(3))?, &Lift::Copy)?;
    same("boosts", &overtake.statistics().boosts, &2)?;
    gate.open();
    [low, high].iter().try_for_each(PriorityStream::synchronize)?;
    bed::at_rest(rig, &overtake)
}

/// A thread that waits has the copies pass that stand ahead of it in that stream, and no others.
pub fn awaited(rig: &Rig) -> Outcome {
    let options = bed::transport(Transport::Kernel).with_profile(|profile| profile.guard_bytes_min = Some(0));
    let within = own_time(rig, &options)? + options.profile.chunk_max + Nanos::from_us(20);
    let overtake = bed::open(rig, relentless(options))?;
    let (one, other) = (bulk(rig, &overtake)?, bulk(rig, &overtake)?);
    ensure!(one.ahead_below(level(3)).is_none(), "nothing stands ahead in a stream without copies");
    let traffic = Traffic::start(rig, &overtake, Direction::HostToDevice, TRAFFIC_BYTES)?;
    let (first, left) = (copy(rig, &one)?, copy(rig, &other)?);
    let ahead = one.ahead_below(level(3)).ok_or_else(|| Failure::new("the first copy does not stand ahead"))?;
    let behind = copy(rig, &one)?;
    is_held(rig, "bulk that no thread waits for", &first)?;
    ensure!(one.ahead_below(level(1)).is_none(), "bulk stands below its own level");
    ensure!(!one.lift_awaited(&ahead, level(1)), "a wait at the level of bulk lifts bulk");
    is_held(rig, "bulk that is waited for as bulk", &first)?;
    ensure!(one.lift_awaited(&ahead, level(3)), "the wait lifts nothing");
    ensure!(!one.lift_awaited(&ahead, level(3)), "a second wait lifts it again");
    ensure!(done_within(rig, &first, within)?, "the awaited copy has not completed within {within}");
    ensure!(!one.lift_awaited(&ahead, level(3)), "it is lifted when it has completed");
    is_held(rig, "the copy behind the awaited one", &behind)?;
    is_held(rig, "a copy of another stream", &left)?;
    traffic.stop()?;
    [one, other].iter().try_for_each(PriorityStream::synchronize)?;
    bed::at_rest(rig, &overtake)?;
    same("boosts", &overtake.statistics().boosts, &1)
}
