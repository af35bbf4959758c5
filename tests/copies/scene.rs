//! Bulk without end, and the waits of urgent copies that tolerate one.

use std::sync::Arc;

use hal::{Driver, Event, Nanos};
use overtake::copy::{CopyHandle, Reason};
use overtake::{Options, Overtake, Priority, PriorityStream};

use crate::bed;
use crate::failure::{Failure, Outcome, ensure};
use crate::memory::Pinned;
use crate::place::Buffer;
use crate::raw;
use crate::rig::Rig;
use crate::running::{Progress, Running};

/// The wait that the urgent copies tolerate.
pub const TOLERANCE: Nanos = Nanos::from_us(150);

const URGENT_BYTES: u64 = 64 << 10;
/// The copies of each stream of bulk that are under way at once.
const QUEUED: usize = 16;
/// The urgent copies of each direction, and the least pause between two.
const SAMPLES: u64 = 60;
const PAUSE: Nanos = Nanos::from_us(400);

/// A pinned block and one of the device, with a stream.
pub struct Lane {
    pub stream: PriorityStream,
    device: Buffer,
    host: Arc<Pinned>,
    bytes: u64,
    to_device: bool,
}

impl Lane {
    pub fn new(rig: &Rig, stream: PriorityStream, bytes: u64, to_device: bool) -> Result<Lane, Failure> {
        Ok(Lane { stream, device: rig.buffer(bytes)?, host: rig.pinned(bytes)?, bytes, to_device })
    }

    pub fn copy(&self) -> hal::Result<CopyHandle> {
        match self.to_device {
            true => raw::htod(&self.stream, self.device, &self.host, self.bytes),
            false => raw::dtoh(&self.stream, &self.host, self.device, self.bytes),
        }
    }

    /// The longest time of so many copies, to the end as an event tells it. In real time that of nine in ten: the
    /// threads of a host are late now and then.
    pub fn longest(&self, rig: &Rig, samples: u64) -> Result<Nanos, Failure> {
        let (driver, mut times) = (rig.driver(), Vec::new());
        for number in 0..samples {
            // Bulk and urgent copies do not fall into step.
            driver.host().sleep(PAUSE + Nanos(7_919 * number % 240_000));
            let (began, end) = (driver.host().now(), rig.event()?);
            self.copy()?;
            driver.event_record(end, self.stream.raw())?;
            driver.event_synchronize(end)?;
            times.push(driver.host().now().since(began));
        }
        times.sort_unstable();
        let counted = if driver.host().is_virtual() { times.len() } else { times.len() * 9 / 10 };
        Ok(times[counted - 1])
    }
}

/// Keeps bulk under way, in so many streams each way.
fn start<'a>(rig: &'a Rig, overtake: &Overtake, streams: usize, bytes: u64) -> Result<Running<'a>, Failure> {
    let mut running = Running::new(rig);
    for number in 0..2 * streams {
        let lane = Lane::new(rig, overtake.adopt(rig.stream()?, Priority::LOWEST)?, bytes, number % 2 == 0)?;
        let ends = (0..QUEUED).map(|_| rig.event()).collect::<Result<Vec<Event>, Failure>>()?;
        running.spawn("bulk", move |driver, progress| feed(driver, &lane, &ends, progress));
    }
    running.wait_for(8 * bytes)?;
    Ok(running)
}

/// An event ends no turn, as a write of the feeder's own would.
fn feed(driver: &dyn Driver, lane: &Lane, ends: &[Event], progress: &Progress) -> Outcome {
    for (number, end) in ends.iter().cycle().enumerate().take_while(|_| progress.goes_on()) {
        if number >= ends.len() {
            driver.event_synchronize(*end)?;
            progress.add(lane.bytes);
        }
        lane.copy()?;
        driver.event_record(*end, lane.stream.raw())?;
    }
    Ok(lane.stream.synchronize()?)
}

/// Bulk in so many streams each way, of copies of so many bytes, beside urgent copies that tolerate 150 us.
#[derive(Clone, Copy)]
pub struct Scene {
    pub streams: usize,
    pub bytes: u64,
    /// Quiet streams of the urgent priority, of which two copy.
    pub urgent_streams: usize,
}

/// The copies and the rate beside urgent copies.
#[derive(Debug)]
pub struct Seen {
    /// The copies of bulk that went whole.
    pub whole: u64,
    /// Others.
    pub not_whole: u64,
    /// The part of the rate without urgent copies.
    pub part: f64,
}

impl Scene {
    /// Fails if an urgent copy waits for longer than it tolerates.
    pub fn play(&self, rig: &Rig, options: Options) -> Result<Seen, Failure> {
        let overtake = bed::open(rig, options)?;
        let highest = overtake.priorities().highest();
        let quiet = (0..self.urgent_streams).map(|_| Ok(overtake.adopt_quiet(rig.stream()?, highest)?));
        let mut quiet = quiet.collect::<Result<Vec<_>, Failure>>()?.into_iter();
        let lanes = [true, false].map(|to_device| {
            let stream = quiet.next().ok_or_else(|| Failure::new("a scene has two urgent streams"))?;
            Lane::new(rig, stream, URGENT_BYTES, to_device)
        });
        let lanes = lanes.into_iter().collect::<Result<Vec<_>, _>>()?;
        let longest = || lanes.iter().map(|lane| lane.longest(rig, SAMPLES)).collect::<Result<Vec<_>, Failure>>();
        let alone = longest()?;
        let mut load = start(rig, &overtake, self.streams, self.bytes)?;
        let (plain_gbps, ()) = load.rate(|| {
            rig.driver().host().sleep(Nanos::from_ms(20));
            Ok(())
        })?;
        let _camera = overtake.expect(highest, None)?.tolerating(TOLERANCE);
        // Copies that were submitted before go as they were.
        rig.driver().host().sleep(Nanos::from_ms(20));
        let before = overtake.statistics();
        let (gbps, beside) = load.rate(longest)?;
        let after = overtake.statistics();
        load.end()?;
        for (alone, beside) in alone.iter().zip(&beside) {
            ensure!(*beside <= *alone + TOLERANCE, "{beside} beside bulk, {alone} alone: {gbps} of {plain_gbps} GB/s");
        }
        let whole_of =
            |counts: &overtake::Statistics| counts.native.get(&Reason::WithinBudget).map_or(0, |class| class.copies);
        let whole = whole_of(&after) - whole_of(&before);
        let not_whole = after.engine.copies + after.kernel.copies - before.engine.copies - before.kernel.copies;
        Ok(Seen { whole, not_whole, part: gbps / plain_gbps })
    }
}
