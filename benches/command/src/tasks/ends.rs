//! The time from the end of a node on the device to the function of the host that waits for it.
//!
//! The last kernel of the node writes a word that the host sees, and a thread that does nothing else looks at that
//! word. The time from there to the first line of the function is the sample. The kernel itself ends some microseconds
//! after its write, so the figure is above the dispatcher's own part.
//!
//! The control takes turns with it, sample by sample: the same kernels in a stream, with an event behind them, and a
//! thread that does nothing but ask for that event. No way that asks for events is faster than this one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use console::failure;
use hal::{Code, Event, EventFlags, Nanos, Result, Stream};
use measure::catalogue::Workshop;
use measure::flow::Cargo;
use measure::ground::Ground;
use overtake::task::{Lane, More, Tasks};
use report::{BenchRow, Spread};

use super::{Course, judged, median_ns, row};
use crate::piece::driver_error;
use crate::yard::{BOTH, Fed, Parts, Yard};

/// Places of the measurement, whether they have bulk, and the most microseconds of the median.
pub const PLACES: [(&str, bool, f64); 2] = [("idle", false, 10.0), ("beside bulk", true, 25.0)];
/// The time of a node's first kernel.
const KERNEL: Nanos = Nanos::from_us(50);
/// The time between two samples, at least: the threads of the dispatcher sleep meanwhile.
const GAP: Nanos = Nanos::from_us(500);
const PATIENCE: Nanos = Nanos::from_ms(10_000);
const LEAST_SAMPLES: usize = 20;
/// The word that the kernel writes, and those that count bulk.
const WORD: usize = 1;
const BULK_WORD: usize = 2;

/// The samples of a slice.
#[derive(Default)]
struct Samples {
    /// From the end of a node to its function.
    ours: Vec<u64>,
    /// The control.
    by_hand: Vec<u64>,
}

impl Samples {
    /// The median of ours by that of the control.
    fn ratio(&self) -> Option<f64> {
        Some(median_ns(&self.ours)? / median_ns(&self.by_hand)?)
    }
}

fn slice(shop: &Workshop, has_bulk: bool, bytes: u64, span: Nanos) -> Result<Samples> {
    let mut yard = Yard::open(shop, Parts::Dispatcher)?;
    let stream = yard.stream(yard.range.greatest)?;
    let event = yard.ground.driver().event_create(EventFlags::DISABLE_TIMING)?;
    let least = yard.range.least;
    let flows = if has_bulk {
        let flow = |(lane, direction)| yard.bulk(Cargo { direction, lane, bytes, word: BULK_WORD + lane }, least);
        BOTH.into_iter().enumerate().map(flow).collect::<Result<Vec<_>>>()?
    } else {
        Vec::new()
    };
    let fed = Fed::start(&flows)?;
    let samples = samples(&yard, (stream, event), span);
    fed.stop()?;
    drop(flows);
    let samples = samples?;
    yard.ground.driver().event_destroy(event)?;
    yard.close()?;
    Ok(samples)
}

fn samples(yard: &Yard, own: (Stream, Event), span: Nanos) -> Result<Samples> {
    let host = yard.ground.driver().host();
    let tasks = Tasks::new(yard.dispatcher.as_ref().expect("opened with the dispatcher"));
    let (end, mut samples) = (host.now() + span, Samples::default());
    // The first of each is the warm-up.
    while host.now() < end || samples.ours.len() <= LEAST_SAMPLES {
        samples.ours.push(sample(yard, &tasks)?);
        host.sleep(GAP);
        samples.by_hand.push(sample_by_hand(yard, own)?);
        host.sleep(GAP);
    }
    samples.ours.remove(0);
    samples.by_hand.remove(0);
    Ok(samples)
}

/// Launches the kernels of a node, of which the last writes the word.
fn launch(ground: &Ground, next: u32, stream: Stream) -> Result<()> {
    ground.spin(KERNEL, stream)?;
    ground.store(WORD, next, stream)
}

fn sample(yard: &Yard, tasks: &Tasks) -> Result<u64> {
    let (ground, driver) = (Arc::clone(&yard.ground), Arc::clone(yard.ground.driver()));
    let (rig, host) = (yard.ground.rig(), yard.ground.driver().host());
    let word = rig.word(WORD);
    let next = word.load(Ordering::Acquire).wrapping_add(1);
    let launch = move |lane: &mut Lane<'_>| {
        launch(&ground, next, lane.stream())?;
        Ok(More::Done)
    };
    let began = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&began);
    let note = move || {
        seen.store(driver.host().now().0.max(1), Ordering::Release);
        Ok(())
    };
    let node = tasks.kernel("node", launch).priority(yard.highest()).submit().map_err(driver_error)?;
    tasks.host("after it", note).priority(yard.highest()).after(&node).submit().map_err(driver_error)?;
    let is_written = rig.wait_for(PATIENCE, &mut || word.load(Ordering::Acquire) == next);
    let written = host.now();
    let has_begun = is_written && rig.wait_for(PATIENCE, &mut || began.load(Ordering::Acquire) != 0);
    if !has_begun {
        return Err(Code::LAUNCH_TIMEOUT.at("overtake task").because("the function after a node did not run"));
    }
    tasks.wait().map_err(driver_error)?;
    Ok(Nanos(began.load(Ordering::Acquire)).since(written).0)
}

fn sample_by_hand(yard: &Yard, (stream, event): (Stream, Event)) -> Result<u64> {
    let (rig, driver) = (yard.ground.rig(), yard.ground.driver());
    let word = rig.word(WORD);
    let next = word.load(Ordering::Acquire).wrapping_add(1);
    let is_recorded = Arc::new(AtomicBool::new(false));
    let (ground, recorded) = (Arc::clone(&yard.ground), Arc::clone(&is_recorded));
    let asks = hal::spawn(driver, "asks", move || {
        ground.rig().make_current()?;
        let _recorded = ground.rig().wait_for(PATIENCE, &mut || recorded.load(Ordering::Acquire));
        let (driver, host) = (ground.driver(), ground.driver().host());
        let begun = host.now();
        while !driver.event_query(event)? && host.now().since(begun) < PATIENCE {
            host.pause();
        }
        Ok(host.now())
    })?;
    let launched = launch(&yard.ground, next, stream).and_then(|()| driver.event_record(event, stream));
    is_recorded.store(true, Ordering::Release);
    let is_written = launched.is_ok() && rig.wait_for(PATIENCE, &mut || word.load(Ordering::Acquire) == next);
    let written = driver.host().now();
    let seen: Result<Nanos> = asks.join(driver.host());
    launched?;
    if !is_written {
        return Err(Code::LAUNCH_TIMEOUT.at("cuLaunchKernel").because("the kernel wrote no word"));
    }
    Ok(seen?.since(written).0)
}

/// Runs the part.
pub fn run(course: &mut Course<'_>) -> failure::Result<super::Part> {
    let mut all = PLACES.map(|_| Vec::new());
    for _ in 0..course.rounds {
        for ((name, has_bulk, _), all) in PLACES.iter().zip(&mut all) {
            course.progress.step(&format!("ends: {name}"));
            all.push(slice(&course.stage.shop, *has_bulk, course.bulk_bytes, course.span)?);
        }
    }
    let mut part = super::Part::default();
    for ((name, has_bulk, limit_us), all) in PLACES.into_iter().zip(&all) {
        let bulk_bytes = if has_bulk { course.bulk_bytes } else { 0 };
        let of = |method, samples: Vec<u64>| {
            let setting = Some(name.to_owned());
            BenchRow { bulk_bytes, setting, ..row(method, "kernel", "both", &samples) }
        };
        let ratio = Spread::of(all.iter().filter_map(Samples::ratio).collect());
        let ours = all.iter().flat_map(|samples| samples.ours.iter().copied()).collect();
        let ours = BenchRow { ratio, ..of("end to function", ours) };
        let by_hand = of("end to event, by hand", all.iter().flat_map(|it| it.by_hand.iter().copied()).collect());
        let judged = |p50_us| {
            let what = format!("p50 from a node's end to its function, {name}");
            judged(&what, p50_us, " us", &limit_us.to_string(), p50_us <= limit_us)
        };
        part.verdict.extend(ours.p50_us.map(judged));
        part.verdict.extend(ratio.zip(by_hand.p50_us).map(|(ratio, p50_us)| {
            let Spread { median, least, most, .. } = ratio;
            let by_hand = format!("the same by a thread that asks for an event: {p50_us:.3} us");
            format!("{by_hand}; ratio {median:.3} ({least:.3} to {most:.3})")
        }));
        part.rows.extend([ours, by_hand]);
    }
    Ok(part)
}
