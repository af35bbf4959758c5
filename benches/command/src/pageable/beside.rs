//! Small copies beside pageable bulk.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use console::failure::Result;
use hal::{HostThread, Nanos};
use measure::case::fill_latency;
use measure::catalogue::{IDLE, Label};
use measure::stage::{Stage, span};
use overtake::{Overtake, Priority};
use priority::Direction;
use report::{BenchRow, Distribution, Spread};

use super::memory::{Copier, Host, Memory};
use super::{NATIVE, STAGED};
use crate::args::PageableArguments;

/// The size of a small copy.
pub const URGENT_BYTES: u64 = 64 << 10;

/// The pause between two small copies.
const GAP: Nanos = Nanos::from_us(500);

/// Bulk runs for so long before the first small copy.
const LEAD: Nanos = Nanos::from_ms(20);

/// The kinds of a small copy's memory.
const KINDS: [&str; 2] = ["pageable", "pinned"];

/// The bulk beside the small copies.
#[derive(Clone, Copy, PartialEq)]
enum Bulk {
    Nothing,
    Native,
    Staged,
}

const ALL: [Bulk; 3] = [Bulk::Nothing, Bulk::Native, Bulk::Staged];

/// The figures of one round.
#[derive(Default)]
struct Round {
    latencies_ns: [Vec<u64>; 2],
    bulk_gbps: f64,
}

/// Measures small copies beside all kinds of bulk, in turn.
pub fn measure(
    stage: &Stage,
    pageable: &PageableArguments,
    memory: &Arc<Memory>,
    overtake: &Arc<Overtake>,
) -> Result<Vec<BenchRow>> {
    let directions = pageable.direction.directions();
    let parts = directions.len() * ALL.len() * pageable.common.rounds as usize;
    let part = Nanos(span(pageable.common.seconds).0 / parts.max(1) as u64);
    let mut progress = stage.progress(pageable.common.seconds, parts);
    let mut rows = Vec::new();
    for direction in directions {
        let scene = Scene { stage, memory, overtake, direction, bulk_bytes: pageable.common.bulk_bytes };
        let mut rounds: [Vec<Round>; 3] = Default::default();
        for _ in 0..pageable.common.rounds {
            for (bulk, rounds) in ALL.into_iter().zip(&mut rounds) {
                progress.step(scene.label(bulk).method);
                rounds.push(scene.round(bulk, part)?);
            }
        }
        for (index, kind) in KINDS.into_iter().enumerate() {
            rows.extend(
                ALL.into_iter().zip(&rounds).map(|(bulk, own)| scene.row(bulk, (index, kind), own, &rounds[0])),
            );
        }
    }
    Ok(rows)
}

struct Scene<'a> {
    stage: &'a Stage,
    memory: &'a Arc<Memory>,
    overtake: &'a Arc<Overtake>,
    direction: Direction,
    bulk_bytes: u64,
}

impl Scene<'_> {
    fn label(&self, bulk: Bulk) -> Label {
        match bulk {
            Bulk::Nothing => Label::plain(IDLE),
            Bulk::Native => NATIVE,
            Bulk::Staged => STAGED,
        }
    }

    fn copier(&self, bulk: Bulk, is_urgent: bool) -> hal::Result<Copier> {
        let range = self.stage.shop.range;
        match bulk {
            Bulk::Staged => {
                let highest = self.overtake.priorities().highest();
                let priority = if is_urgent { highest } else { Priority::LOWEST };
                Copier::through(self.memory, self.direction, self.overtake, priority)
            }
            _ => {
                let priority = if is_urgent { range.greatest } else { range.least };
                Copier::native(self.memory, self.direction, priority)
            }
        }
    }

    fn round(&self, bulk: Bulk, span: Nanos) -> Result<Round> {
        let driver = self.stage.shop.ground.driver();
        let (host, urgent) = (driver.host(), self.copier(bulk, true)?);
        let mut round = Round::default();
        let mut small = vec![1_u8; URGENT_BYTES as usize];
        // The first use of a stream is not measured.
        urgent.copy(&mut Host::Pageable(&mut small), URGENT_BYTES)?;
        let end = host.now() + LEAD + span;
        let moved = Arc::new(AtomicU64::new(0));
        let feeder = if bulk == Bulk::Nothing { None } else { Some(self.feed(bulk, end, &moved)?) };
        host.sleep(LEAD);
        let (began, before) = (host.now(), moved.load(Ordering::SeqCst));
        while host.now() < end {
            round.latencies_ns[0].push(urgent.copy(&mut Host::Pageable(&mut small), URGENT_BYTES)?);
            round.latencies_ns[1].push(urgent.copy(&mut Host::Pinned, URGENT_BYTES)?);
            host.sleep(GAP);
        }
        let bytes = moved.load(Ordering::SeqCst) - before;
        round.bulk_gbps = bytes as f64 / host.now().since(began).0.max(1) as f64;
        feeder.map_or(Ok(()), |feeder| feeder.join(host))?;
        Ok(round)
    }

    /// Copies bulk until `end`, on a thread of its own: a small copy may wait as long as bulk goes on.
    fn feed(&self, bulk: Bulk, end: Nanos, moved: &Arc<AtomicU64>) -> Result<HostThread<hal::Result<()>>> {
        let copier = self.copier(bulk, false)?;
        let (driver, moved, bytes) = (Arc::clone(self.stage.shop.ground.driver()), Arc::clone(moved), self.bulk_bytes);
        let context = driver.context_current()?;
        let its_driver = Arc::clone(&driver);
        Ok(hal::spawn(&driver, "bulk", move || {
            its_driver.context_set_current(context)?;
            let mut memory = vec![1_u8; bytes as usize];
            while its_driver.host().now() < end {
                copier.copy(&mut Host::Pageable(&mut memory), bytes)?;
                moved.fetch_add(bytes, Ordering::SeqCst);
            }
            Ok(())
        })?)
    }

    fn row(&self, bulk: Bulk, (index, kind): (usize, &str), own: &[Round], idle: &[Round]) -> BenchRow {
        let p50 = |round: &Round| Distribution::new(round.latencies_ns[index].clone()).map(|all| all.quantile_us(0.5));
        let ratios = own.iter().zip(idle).filter_map(|(own, idle)| Some(p50(own)? / p50(idle)?));
        let all =
            |rounds: &[Round]| rounds.iter().flat_map(|round| round.latencies_ns[index].clone()).collect::<Vec<_>>();
        let label = self.label(bulk);
        let has_bulk = bulk != Bulk::Nothing;
        let mut gbps: Vec<f64> = own.iter().map(|round| round.bulk_gbps).collect();
        gbps.sort_unstable_by(f64::total_cmp);
        let mut row = BenchRow {
            method: label.method.to_owned(),
            transport: label.transport.to_owned(),
            emulation: label.emulation.to_owned(),
            direction: self.direction.name().to_owned(),
            high_bytes: URGENT_BYTES,
            bulk_bytes: if has_bulk { self.bulk_bytes } else { 0 },
            setting: Some(format!("{kind} copy")),
            bulk_gbps: has_bulk.then(|| gbps[gbps.len() / 2]),
            ratio: has_bulk.then(|| Spread::of(ratios.collect())).flatten(),
            ..BenchRow::default()
        };
        fill_latency(&mut row, &all(own), &[]);
        let idle = Distribution::new(all(idle)).map(|idle| idle.summary());
        idle.map(|idle| row.clone().with_idle(idle)).unwrap_or(row)
    }
}
