//! The order of completion: the more urgent first; and bulk gets its share nevertheless.

use hal::{Event, EventFlags, Nanos};
use overtake::options::Transport;
use overtake::{Direction, PriorityStream};

use crate::bed::{self, DIRECTIONS};
use crate::failure::{Failure, Outcome, ensure};
use crate::lane::level;
use crate::raw;
use crate::rig::Rig;
use crate::traffic::{Traffic, done_within};

const MIB: u64 = 1 << 20;

/// Large copies of three priorities, submitted the lowest first, complete in the order of their priorities.
pub fn three_priorities(rig: &Rig) -> Outcome {
    for transport in [Transport::Kernel, Transport::Engine] {
        let options = bed::transport(transport).with_profile(|profile| profile.chunk_max = Nanos::from_us(45));
        let overtake = bed::open(rig, options)?;
        let streams = (1..=3).map(|priority| Ok(overtake.adopt(rig.stream()?, level(priority))?));
        let streams = streams.collect::<Result<Vec<PriorityStream>, Failure>>()?;
        for direction in DIRECTIONS {
            // The first run makes channels.
            finishing_times(rig, &streams, direction, MIB)?;
            let ms = finishing_times(rig, &streams, direction, 32 * MIB)?;
            ensure!(
                ms[2] < ms[1] && ms[1] < ms[0],
                "{transport:?} {}: priorities 1, 2, 3 took {ms:?} ms",
                direction.name()
            );
        }
        bed::at_rest(rig, &overtake)?;
    }
    Ok(())
}

fn finishing_times(
    rig: &Rig,
    streams: &[PriorityStream],
    direction: Direction,
    bytes: u64,
) -> Result<Vec<f32>, Failure> {
    let driver = rig.driver();
    let start = rig.event_with(EventFlags::DEFAULT)?;
    driver.event_record(start, streams[0].raw())?;
    let mut ends: Vec<Event> = Vec::new();
    for (stream, index) in streams.iter().zip(0..) {
        // The more urgent copy is smaller: otherwise the order would prove nothing.
        let bytes = bytes >> index;
        let (host, device) = (rig.pinned(bytes)?, rig.buffer(bytes)?);
        match direction {
            Direction::DeviceToHost => raw::dtoh(stream, &host, device, bytes)?,
            _ => raw::htod(stream, device, &host, bytes)?,
        };
        let end = rig.event_with(EventFlags::DEFAULT)?;
        driver.event_record(end, stream.raw())?;
        ends.push(end);
    }
    streams.iter().try_for_each(PriorityStream::synchronize)?;
    ends.into_iter().map(|end| Ok(driver.event_elapsed_ms(start, end)?)).collect()
}

/// Under endless urgent traffic, bulk gets its share of the time; without a share it gets nothing.
pub fn starvation_bound(rig: &Rig) -> Outcome {
    for transport in [Transport::Kernel, Transport::Engine] {
        for (share, passes) in [(0.2, true), (0.0, false)] {
            let spans = (Nanos::from_us(45), Nanos::from_ms(10_000));
            let mut options =
                bed::transport(transport).with_profile(|profile| (profile.chunk_max, profile.kernel_wait_max) = spans);
            options.profile.share.share = share;
            let overtake = bed::open(rig, options)?;
            let low = overtake.adopt(rig.stream()?, level(1))?;
            let memory = (rig.pinned(16 * MIB)?, rig.buffer(16 * MIB)?);
            let traffic = Traffic::start(rig, &overtake, Direction::HostToDevice, MIB)?;
            let bulk = raw::htod(&low, memory.1, &memory.0, 16 * MIB)?;
            let done = done_within(rig, &bulk, Nanos::from_ms(25))?;
            let going_on = traffic.stop();
            ensure!(done == passes, "{transport:?}: bulk with a share of {share} has {}come through", not(done));
            going_on?;
            low.synchronize()?;
            bed::at_rest(rig, &overtake)?;
            ensure!(overtake.statistics().rescues == 0, "{:?}", overtake.statistics());
        }
    }
    Ok(())
}

fn not(done: bool) -> &'static str {
    if done { "" } else { "not " }
}
