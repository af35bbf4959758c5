//! The time from the end of a node on the device to the function of the host that waits for it.
//!
//! The last kernel of the node writes a word that the host sees, and a thread that does nothing else looks at that
//! word. The time from there to the first line of the function is the sample. The kernel itself ends some microseconds
//! after its write, so the figure is above the dispatcher's own part.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hal::{Code, Nanos, Result};
use overtake::task::{Lane, More, Tasks};
use report::BenchRow;

use super::super::catalogue::Workshop;
use super::super::flow::Cargo;
use super::super::piece::driver_error;
use super::super::yard::{BOTH, Fed, Parts, Yard};
use super::{Course, judged, row};
use crate::failure;

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

fn slice(shop: &Workshop, has_bulk: bool, bytes: u64, span: Nanos) -> Result<Vec<u64>> {
    let mut yard = Yard::open(shop, Parts::Dispatcher)?;
    let least = yard.range.least;
    let flows = if has_bulk {
        let flow = |(lane, direction)| yard.bulk(Cargo { direction, lane, bytes, word: BULK_WORD + lane }, least);
        BOTH.into_iter().enumerate().map(flow).collect::<Result<Vec<_>>>()?
    } else {
        Vec::new()
    };
    let fed = Fed::start(&flows)?;
    let samples = samples(&yard, span);
    fed.stop()?;
    drop(flows);
    let samples = samples?;
    yard.close()?;
    Ok(samples)
}

fn samples(yard: &Yard, span: Nanos) -> Result<Vec<u64>> {
    let host = yard.ground.driver().host();
    let tasks = Tasks::new(yard.dispatcher.as_ref().expect("opened with the dispatcher"));
    let (end, mut samples) = (host.now() + span, Vec::new());
    // The first is the warm-up.
    while host.now() < end || samples.len() <= LEAST_SAMPLES {
        samples.push(sample(yard, &tasks)?);
        host.sleep(GAP);
    }
    samples.remove(0);
    Ok(samples)
}

fn sample(yard: &Yard, tasks: &Tasks) -> Result<u64> {
    let (ground, driver) = (Arc::clone(&yard.ground), Arc::clone(yard.ground.driver()));
    let (rig, host) = (yard.ground.rig(), yard.ground.driver().host());
    let word = rig.word(WORD);
    let next = word.load(Ordering::Acquire).wrapping_add(1);
    let launch = move |lane: &mut Lane<'_>| {
        ground.spin(KERNEL, lane.stream())?;
        ground.store(WORD, next, lane.stream())?;
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

/// Runs the part.
pub fn run(course: &mut Course<'_>) -> failure::Result<super::Part> {
    let mut all = PLACES.map(|_| Vec::new());
    for _ in 0..course.rounds {
        for ((name, has_bulk, _), all) in PLACES.iter().zip(&mut all) {
            course.progress.step(&format!("ends: {name}"));
            all.extend(slice(&course.stage.shop, *has_bulk, course.bulk_bytes, course.span)?);
        }
    }
    let mut part = super::Part::default();
    for ((name, has_bulk, limit_us), all) in PLACES.into_iter().zip(&all) {
        let bulk_bytes = if has_bulk { course.bulk_bytes } else { 0 };
        let row =
            BenchRow { bulk_bytes, setting: Some(name.to_owned()), ..row("end to function", "kernel", "both", all) };
        let judged = |p50_us| {
            let what = format!("p50 from a node's end to its function, {name}");
            judged(&what, p50_us, " us", &limit_us.to_string(), p50_us <= limit_us)
        };
        part.verdict.extend(row.p50_us.map(judged));
        part.rows.push(row);
    }
    Ok(part)
}
