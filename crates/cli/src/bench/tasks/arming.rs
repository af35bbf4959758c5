//! The bandwidth of bulk through the layer before the first urgent task, beside urgent tasks, and after the last, as a
//! share of that of plain bulk in the same round. Plain bulk is measured twice in a round: the second by the first is
//! the control.

use std::sync::Arc;

use channels::probe::STREAM_PRIORITY_DEFAULT;
use hal::{Nanos, Result};
use overtake::task::Tasks;
use report::{BenchRow, Spread};
use terms::Direction;

use super::super::bulk::{Feeder, Throughput};
use super::super::catalogue::Workshop;
use super::super::flow::{Cargo, Flow};
use super::super::piece::{Part, Piece, driver_error};
use super::super::yard::{BOTH, Parts, Yard};
use super::{Course, judged, row};
use crate::failure;

/// The phases of a round, for each direction.
pub const PHASES: [&str; 5] = ["raw", "before urgent tasks", "beside urgent tasks", "after urgent tasks", "raw again"];
/// The share of raw before and after urgent tasks, at least.
const SHARE: f64 = 0.99;
/// Bytes of an urgent copy, and the time between two.
const URGENT_BYTES: u64 = 64 << 10;
const GAP: Nanos = Nanos::from_us(1_000);
/// The dispatcher expects copies for 50 ms after the last.
const LINGER: Nanos = Nanos::from_ms(80);
/// Requests of a phase, at least.
const LEAST_REQUESTS: u32 = 4;
const PATIENCE: Nanos = Nanos::from_ms(10_000);
/// The lane of urgent copies: the first after those of bulk.
const URGENT_LANE: usize = 2;
const WORD: usize = 1;

/// The bandwidth of a flow while `act` runs.
fn feed(flow: &Arc<dyn Flow>, act: impl FnOnce() -> Result<()>) -> Result<Throughput> {
    flow.reset();
    let feeder = Feeder::start(flow)?;
    let done = act();
    let _is_enough = flow.ground().rig().wait_for(PATIENCE, &mut || feeder.completed() > LEAST_REQUESTS);
    let throughput = feeder.stop()?;
    done.map(|()| throughput)
}

fn raw(shop: &Workshop, cargo: Cargo, span: Nanos) -> Result<Throughput> {
    let mut yard = Yard::open(shop, Parts::Nothing)?;
    let flow = yard.bulk(cargo, STREAM_PRIORITY_DEFAULT)?;
    let host = shop.ground.driver().host();
    let throughput = feed(&flow, || {
        host.sleep(span);
        Ok(())
    })?;
    drop(flow);
    yard.close()?;
    Ok(throughput)
}

/// Bulk before, beside and after urgent tasks.
fn ours(shop: &Workshop, cargo: Cargo, span: Nanos) -> Result<[Throughput; 3]> {
    let mut yard = Yard::open(shop, Parts::Dispatcher)?;
    let least = yard.range.least;
    let flow = yard.bulk(cargo, least)?;
    let host = shop.ground.driver().host();
    let rest = || {
        host.sleep(span);
        Ok(())
    };
    let before = feed(&flow, rest)?;
    let tasks = Tasks::new(yard.dispatcher.as_ref().expect("opened with the dispatcher"));
    let piece = Arc::new(Piece::spinning(&shop.ground, URGENT_LANE, URGENT_BYTES, Nanos::ZERO));
    let part = if cargo.direction == Direction::HostToDevice { Part::Upload } else { Part::Download };
    let highest = yard.highest();
    let beside = feed(&flow, || {
        let end = host.now() + span;
        while host.now() < end {
            let task = piece.task(&tasks, part).priority(highest).submit().map_err(driver_error)?;
            task.wait().map_err(driver_error)?;
            host.sleep(GAP);
        }
        Ok(())
    })?;
    host.sleep(LINGER);
    let after = feed(&flow, rest)?;
    drop((flow, tasks));
    yard.close()?;
    Ok([before, beside, after])
}

/// Runs the part.
pub fn run(course: &mut Course<'_>) -> failure::Result<super::Part> {
    let (shop, span) = (&course.stage.shop, course.span);
    let mut part = super::Part::default();
    for (lane, direction) in BOTH.into_iter().enumerate() {
        let cargo = Cargo { direction, lane, bytes: course.bulk_bytes, word: WORD };
        let mut rounds: Vec<[Throughput; 5]> = Vec::new();
        for _ in 0..course.rounds {
            let mut step =
                |phase: usize| course.progress.step(&format!("arming: {}: {}", direction.name(), PHASES[phase]));
            step(0);
            let first = raw(shop, cargo, span)?;
            (1..4).for_each(&mut step);
            let [before, beside, after] = ours(shop, cargo, span)?;
            step(4);
            rounds.push([first, before, beside, after, raw(shop, cargo, span)?]);
        }
        let total = |phase: usize| rounds.iter().fold(Throughput::default(), |sum, round| sum.and(round[phase]));
        for (phase, name) in PHASES.into_iter().enumerate() {
            let ratios = rounds.iter().filter_map(|round| Some(round[phase].gbps()? / round[0].gbps()?)).collect();
            let ratio = (phase > 0).then(|| Spread::of(ratios)).flatten();
            let transport = if (1..4).contains(&phase) { "kernel" } else { "engine" };
            let row = BenchRow {
                bulk_bytes: course.bulk_bytes,
                bulk_gbps: total(phase).gbps(),
                raw_gbps: total(0).gbps(),
                ratio,
                ..row(name, transport, direction.name(), &[])
            };
            if let Some(ratio) = row.ratio.filter(|_| [1, 3].contains(&phase)) {
                let (what, share) = (format!("{}: bulk {name}, by raw", direction.name()), ratio.median);
                part.verdict.push(judged(&what, share, "", &SHARE.to_string(), share >= SHARE));
            }
            part.rows.push(row);
        }
    }
    Ok(part)
}
