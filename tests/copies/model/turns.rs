//! The waits of urgent copies that tolerate one, beside bulk without end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hal::{Driver, Event, HostThread, Nanos};
use overtake::copy::{CopyHandle, Plan, Reason};
use overtake::{Options, Overtake, Priority, PriorityStream};
use softgpu::{Connections, Payload};

use crate::bed;
use crate::doors;
use crate::failure::{Failure, Outcome, ensure, same};
use crate::memory::Pinned;
use crate::model::on;
use crate::place::Buffer;
use crate::rig::Rig;

const MIB: u64 = 1 << 20;
const URGENT_BYTES: u64 = 64 << 10;
/// The copies of each stream of bulk that are under way at once.
const QUEUED: usize = 16;
/// The urgent copies of each direction, and the least pause between two.
const SAMPLES: u64 = 60;
const PAUSE: Nanos = Nanos::from_us(400);
const TOLERANCE: Nanos = Nanos::from_us(150);
/// A little more than 4 MiB keep an engine.
const TURN: Nanos = Nanos::from_us(85);

/// A pinned block and one of the device, with a stream.
struct Lane {
    stream: PriorityStream,
    device: Buffer,
    host: Arc<Pinned>,
    bytes: u64,
    to_device: bool,
}

impl Lane {
    fn new(rig: &Rig, stream: PriorityStream, bytes: u64, to_device: bool) -> Result<Lane, Failure> {
        Ok(Lane { stream, device: rig.buffer(bytes)?, host: rig.pinned(bytes)?, bytes, to_device })
    }

    fn copy(&self) -> hal::Result<CopyHandle> {
        match self.to_device {
            true => doors::htod(&self.stream, self.device, &self.host, self.bytes),
            false => doors::dtoh(&self.stream, &self.host, self.device, self.bytes),
        }
    }

    /// The longest time of so many copies, to the end as an event tells it.
    fn longest(&self, rig: &Rig, samples: u64) -> Result<Nanos, Failure> {
        let (host, mut longest) = (rig.driver().host(), Nanos::ZERO);
        for number in 0..samples {
            // Bulk and urgent copies do not fall into step.
            host.sleep(PAUSE + Nanos(7_919 * number % 240_000));
            let began = host.now();
            self.copy()?;
            let end = rig.event()?;
            rig.driver().event_record(end, self.stream.raw())?;
            rig.driver().event_synchronize(end)?;
            longest = longest.max(host.now().since(began));
        }
        Ok(longest)
    }
}

/// Threads that keep bulk under way, in so many streams each way.
struct Load<'a> {
    rig: &'a Rig,
    stop: Arc<AtomicBool>,
    moved: Arc<AtomicU64>,
    threads: Vec<HostThread<Outcome>>,
}

impl Load<'_> {
    fn start<'a>(rig: &'a Rig, overtake: &Overtake, streams: usize, bytes: u64) -> Result<Load<'a>, Failure> {
        let (stop, moved) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let mut load = Load { rig, stop, moved, threads: Vec::new() };
        for number in 0..2 * streams {
            let lane = Lane::new(rig, overtake.adopt(rig.stream()?, Priority::LOWEST)?, bytes, number % 2 == 0)?;
            let (stop, moved) = (Arc::clone(&load.stop), Arc::clone(&load.moved));
            let ends = (0..QUEUED).map(|_| rig.event()).collect::<Result<Vec<Event>, Failure>>()?;
            load.threads.push(rig.spawn("bulk", move |driver| feed(driver, &lane, &ends, (&stop, &moved))));
        }
        bed::eventually(rig, "bulk is under way", || load.moved.load(Ordering::SeqCst) > 8 * bytes)?;
        Ok(load)
    }

    /// The rate of all streams in GB/s meanwhile, and the result of `during`.
    fn rate<T>(&self, during: impl FnOnce() -> Result<T, Failure>) -> Result<(f64, T), Failure> {
        let (host, moved) = (self.rig.driver().host(), || self.moved.load(Ordering::SeqCst));
        let (began, before) = (host.now(), moved());
        let result = during()?;
        Ok(((moved() - before) as f64 / host.now().since(began).0 as f64, result))
    }

    fn end(&mut self) -> Outcome {
        self.stop.store(true, Ordering::SeqCst);
        let host = self.rig.driver().host();
        self.threads.drain(..).map(|thread| thread.join(host)).collect::<Vec<_>>().into_iter().collect()
    }
}

impl Drop for Load<'_> {
    fn drop(&mut self) {
        // The check has failed for another reason, so an error of the load adds nothing.
        let _ = self.end();
    }
}

/// An event ends no turn, as a write of the feeder's own would.
fn feed(driver: &dyn Driver, lane: &Lane, ends: &[Event], (stop, moved): (&AtomicBool, &AtomicU64)) -> Outcome {
    for (number, end) in ends.iter().cycle().enumerate().take_while(|_| !stop.load(Ordering::SeqCst)) {
        if number >= ends.len() {
            driver.event_synchronize(*end)?;
            moved.fetch_add(lane.bytes, Ordering::SeqCst);
        }
        lane.copy()?;
        driver.event_record(*end, lane.stream.raw())?;
    }
    Ok(lane.stream.synchronize()?)
}

/// Bulk in so many streams each way, of copies of so many bytes, beside urgent copies that tolerate 150 us.
#[derive(Clone, Copy)]
struct Scene {
    streams: usize,
    bytes: u64,
    /// Quiet streams of the urgent priority, of which two copy.
    urgent_streams: usize,
    copy_queues: u32,
}

/// The copies and the rate beside urgent copies.
#[derive(Debug)]
struct Seen {
    /// The copies of bulk that went whole.
    whole: u64,
    /// Others.
    not_whole: u64,
    /// The part of the rate without urgent copies.
    part: f64,
}

impl Scene {
    /// Fails if an urgent copy waits for longer than it tolerates.
    fn play(&self) -> Result<Seen, Failure> {
        let connections = Connections { max: None, copy: Some(self.copy_queues) };
        on(|builder| builder.connections(connections).payload(Payload::TimingOnly), |_, rig| self.play_on(rig))
    }

    fn play_on(&self, rig: &Rig) -> Result<Seen, Failure> {
        let overtake = bed::open(rig, Options::default())?;
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
        let mut load = Load::start(rig, &overtake, self.streams, self.bytes)?;
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
            |counts: &overtake::Statistics| counts.native.get(&Reason::Tolerated).map_or(0, |class| class.copies);
        let whole = whole_of(&after) - whole_of(&before);
        let not_whole = after.engine.copies + after.kernel.copies - before.engine.copies - before.kernel.copies;
        Ok(Seen { whole, not_whole, part: gbps / plain_gbps })
    }
}

/// Requests of 4 MiB keep the rate of plain ones, but for the write behind each, and an urgent copy waits for no more
/// than one of them.
pub fn one_stream_keeps_its_rate() -> Outcome {
    let seen = Scene { streams: 1, bytes: 4 * MIB, urgent_streams: 2, copy_queues: 16 }.play()?;
    ensure!(seen.not_whole == 0 && seen.whole > 100 && seen.part >= 0.93, "{seen:?}");
    Ok(())
}

/// Four turns of 1 MiB are no longer than that either.
pub fn three_streams_of_short_requests() -> Outcome {
    let seen = Scene { streams: 3, bytes: MIB, urgent_streams: 2, copy_queues: 16 }.play()?;
    ensure!(seen.not_whole == 0 && seen.whole > 300 && seen.part >= 0.8, "{seen:?}");
    Ok(())
}

/// Behind a request of each of three streams an urgent copy would wait for longer than it tolerates.
pub fn three_streams_go_in_chunks() -> Outcome {
    let seen = Scene { streams: 3, bytes: 4 * MIB, urgent_streams: 2, copy_queues: 16 }.play()?;
    ensure!(seen.whole == 0 && seen.not_whole > 100, "{seen:?}");
    Ok(())
}

/// The plans of bulk beside so many quiet streams.
fn plans_beside(rig: &Rig, counts: [usize; 3]) -> Result<Vec<Plan>, Failure> {
    let overtake = bed::open(rig, Options::default())?;
    let highest = overtake.priorities().highest();
    let bulk = Lane::new(rig, overtake.adopt(rig.stream()?, Priority::LOWEST)?, MIB, true)?;
    let _camera = overtake.expect(highest, None)?.tolerating(TOLERANCE);
    let mut quiet = Vec::new();
    let plan_beside = |streams| {
        quiet.truncate(streams);
        while quiet.len() < streams {
            quiet.push(overtake.adopt_quiet(rig.stream()?, highest)?);
        }
        let copy = bulk.copy()?;
        copy.wait()?;
        Ok(copy.plan())
    };
    counts.into_iter().map(plan_beside).collect()
}

/// An urgent copy that shared a queue with bulk would stand behind all that is queued there. A stream that is closed
/// needs none.
pub fn streams_without_queues_go_in_chunks() -> Outcome {
    let five = Connections { max: None, copy: Some(5) };
    let plans = on(|builder| builder.connections(five), |_, rig| plans_beside(rig, [2, 4, 2]))?;
    let whole = Plan::Native(Reason::Tolerated);
    same("the plans beside 2, 4 and 2 streams", &plans, &vec![whole, Plan::Engine { raises: false }, whole])?;
    for (urgent_streams, has_queues) in [(2, true), (3, false)] {
        let seen = Scene { streams: 1, bytes: 4 * MIB, urgent_streams, copy_queues: 4 }.play()?;
        ensure!((seen.whole > 100, seen.not_whole > 100) == (has_queues, !has_queues), "{urgent_streams}: {seen:?}");
    }
    Ok(())
}

/// Bulk that was submitted while all tolerated a wait holds one that tolerates none up for a turn, as chunks would; the
/// next copies of its stream give way.
pub fn one_that_tolerates_none_waits_for_a_turn() -> Outcome {
    on(
        |builder| builder.payload(Payload::TimingOnly),
        |_, rig| {
            let overtake = bed::open(rig, Options::default())?;
            let highest = overtake.priorities().highest();
            let urgent = Lane::new(rig, overtake.adopt_quiet(rig.stream()?, highest)?, URGENT_BYTES, true)?;
            let alone = urgent.longest(rig, SAMPLES)?;
            let bulk = Lane::new(rig, overtake.adopt(rig.stream()?, Priority::LOWEST)?, 4 * MIB, true)?;
            let camera = overtake.expect(highest, None)?.tolerating(TOLERANCE);
            for _ in 0..4 * QUEUED {
                same("bulk beside a camera", &bulk.copy()?.plan(), &Plan::Native(Reason::Tolerated))?;
            }
            let _hasty = overtake.expect(highest, None)?;
            same("bulk behind it", &bulk.copy()?.plan(), &Plan::Kernel { raises: false })?;
            let longest = urgent.longest(rig, 6)?;
            ensure!(longest <= alone + TURN, "{longest} beside bulk, {alone} alone");
            ensure!(!rig.driver().stream_query(bulk.stream.raw())?, "bulk had ended before");
            drop(camera);
            Ok(bulk.stream.synchronize()?)
        },
    )
}
