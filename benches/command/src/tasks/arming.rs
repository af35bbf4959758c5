//! The bandwidth of bulk through the layer before the first urgent task, beside urgent tasks, and after the last, as a
//! share of that of plain bulk in the same round.
//!
//! A round opens the layer once. Before and after urgent tasks, short slices of plain bulk and of bulk through the
//! layer take turns, because the speed of the host's memory wanders from one tenth of a second to the next. Plain bulk
//! has two places in that turn: the second by the first is the control.

use std::sync::Arc;

use console::failure;
use hal::{Nanos, Result};
use measure::bulk::{Feeder, Throughput};
use measure::catalogue::Workshop;
use measure::flow::{Cargo, Flow};
use measure::rig::STREAM_PRIORITY_DEFAULT;
use overtake::task::Tasks;
use priority::Direction;
use report::{BenchRow, Spread};

use super::{Course, judged, row};
use crate::piece::{Part, Piece, driver_error};
use crate::yard::{BOTH, Parts, Yard};

/// Slices of a round and direction: one with no layer open, three each before and after urgent tasks, one beside them,
/// and one just after them.
pub const SLICES: usize = 9;
/// The share of raw before and after urgent tasks, at least.
const SHARE: f64 = 0.99;
/// Bytes of an urgent copy, and the time between two.
const URGENT_BYTES: u64 = 64 << 10;
const GAP: Nanos = Nanos::from_us(1_000);
/// The dispatcher expects copies for so long after the last.
const EXPECTED: Nanos = Nanos::from_ms(50);
/// It looks for the end of that time in its own thread.
const SEEN: Nanos = Nanos::from_ms(20);
/// The parts of a slice that takes turns with others.
const TURNS: u64 = 4;
/// Requests of a slice or a part of one, at least.
const LEAST_REQUESTS: u32 = 4;
const PATIENCE: Nanos = Nanos::from_ms(10_000);
/// The lane of urgent copies: the first after those of bulk.
const URGENT_LANE: usize = 2;
const WORD: usize = 1;

/// Plain bulk, bulk through the layer and plain bulk again, in turn.
#[derive(Clone, Copy)]
struct InTurn {
    raw: Throughput,
    ours: Throughput,
    again: Throughput,
    /// Copies of the layer's by kernel, which costs bulk a tenth of its speed.
    by_kernel: u64,
}

/// The slices of a round.
#[derive(Clone, Copy)]
struct Round {
    closed: Throughput,
    before: InTurn,
    beside: Throughput,
    just_after: Throughput,
    after: InTurn,
}

/// A row: its name, whether its copies may go by kernel, its slice of a round, and the one that it is compared with.
type Shown = (&'static str, bool, fn(&Round) -> Throughput, fn(&Round) -> Throughput);

const ROWS: [Shown; 7] = [
    ("raw", false, Round::raw, Round::raw),
    ("raw again", false, |round| round.before.again.and(round.after.again), Round::raw),
    ("raw, no layer open", false, |round| round.closed, Round::raw),
    ("before urgent tasks", true, |round| round.before.ours, |round| round.before.raw),
    ("beside urgent tasks", true, |round| round.beside, Round::raw),
    ("the first 50 ms after urgent tasks", true, |round| round.just_after, Round::raw),
    ("after urgent tasks", true, |round| round.after.ours, |round| round.after.raw),
];

impl Round {
    fn raw(&self) -> Throughput {
        self.before.raw.and(self.after.raw)
    }
}

/// The bandwidth of a flow while `act` runs.
fn feed(flow: &Arc<dyn Flow>, act: impl FnOnce() -> Result<()>) -> Result<Throughput> {
    flow.reset();
    let feeder = Feeder::start(flow)?;
    let done = act();
    let _is_enough = flow.ground().rig().wait_for(PATIENCE, &mut || feeder.completed() > LEAST_REQUESTS);
    let throughput = feeder.stop()?;
    done.map(|()| throughput)
}

/// The bandwidth of a flow for so long.
fn feed_for(flow: &Arc<dyn Flow>, span: Nanos) -> Result<Throughput> {
    feed(flow, || {
        flow.ground().driver().host().sleep(span);
        Ok(())
    })
}

/// The bandwidth with no layer open.
fn closed(shop: &Workshop, cargo: Cargo, span: Nanos) -> Result<Throughput> {
    let mut yard = Yard::open(shop, Parts::Nothing)?;
    let throughput = feed_for(&yard.bulk(cargo, STREAM_PRIORITY_DEFAULT)?, span)?;
    yard.close()?;
    Ok(throughput)
}

/// Bulk of a round in which the dispatcher is open.
struct Opened {
    raw: Arc<dyn Flow>,
    ours: Arc<dyn Flow>,
    yard: Yard,
}

impl Opened {
    fn open(shop: &Workshop, cargo: Cargo) -> Result<Opened> {
        let mut yard = Yard::open(shop, Parts::Dispatcher)?;
        let least = yard.range.least;
        Ok(Opened { raw: yard.plain(cargo, STREAM_PRIORITY_DEFAULT)?, ours: yard.bulk(cargo, least)?, yard })
    }

    fn in_turn(&self, span: Nanos) -> Result<InTurn> {
        let by_kernel = || self.yard.overtake.as_ref().map_or(0, |overtake| overtake.statistics().kernel.copies);
        let (part, before) = (Nanos(span.0 / TURNS), by_kernel());
        let [mut raw, mut ours, mut again] = [Throughput::default(); 3];
        for _ in 0..TURNS {
            raw = raw.and(feed_for(&self.raw, part)?);
            ours = ours.and(feed_for(&self.ours, part)?);
            again = again.and(feed_for(&self.raw, part)?);
        }
        Ok(InTurn { raw, ours, again, by_kernel: by_kernel() - before })
    }

    fn beside_urgent_tasks(&self, direction: Direction, span: Nanos) -> Result<Throughput> {
        let (yard, highest) = (&self.yard, self.yard.highest());
        let tasks = Tasks::new(yard.dispatcher.as_ref().expect("opened with the dispatcher"));
        let piece = Arc::new(Piece::spinning(&yard.ground, URGENT_LANE, [URGENT_BYTES; 2], Nanos::ZERO));
        let part = if direction == Direction::HostToDevice { Part::Upload } else { Part::Download };
        let host = yard.ground.driver().host();
        feed(&self.ours, || {
            let end = host.now() + span;
            while host.now() < end {
                let task = piece.task(&tasks, part).priority(highest).submit().map_err(driver_error)?;
                task.wait().map_err(driver_error)?;
                host.sleep(GAP);
            }
            Ok(())
        })
    }
}

fn round(shop: &Workshop, cargo: Cargo, span: Nanos, mut step: impl FnMut(&str)) -> Result<Round> {
    step("no layer open");
    let closed = closed(shop, cargo, span)?;
    let opened = Opened::open(shop, cargo)?;
    (0..3).for_each(|_| step("before urgent tasks"));
    let before = opened.in_turn(span)?;
    step("beside urgent tasks");
    let beside = opened.beside_urgent_tasks(cargo.direction, span)?;
    step("just after them");
    let just_after = feed_for(&opened.ours, EXPECTED)?;
    opened.yard.ground.driver().host().sleep(SEEN);
    (0..3).for_each(|_| step("after urgent tasks"));
    let after = opened.in_turn(span)?;
    let Opened { raw, ours, yard } = opened;
    drop((raw, ours));
    yard.close()?;
    Ok(Round { closed, before, beside, just_after, after })
}

/// Runs the part.
pub fn run(course: &mut Course<'_>) -> failure::Result<super::Part> {
    let (shop, span) = (&course.stage.shop, course.span);
    let mut part = super::Part::default();
    for (lane, direction) in BOTH.into_iter().enumerate() {
        let cargo = Cargo { direction, lane, bytes: course.bulk_bytes, word: WORD };
        let step = |what: &str| format!("arming: {}: {what}", direction.name());
        let rounds = (0..course.rounds).map(|_| round(shop, cargo, span, |what| course.progress.step(&step(what))));
        let rounds = rounds.collect::<Result<Vec<Round>>>()?;
        part.rows.extend(ROWS.iter().map(|shown| summed(cargo, &rounds, shown)));
        part.verdict.extend(verdict(direction, &rounds));
    }
    Ok(part)
}

fn ratio(rounds: &[Round], of: fn(&Round) -> Throughput, to: fn(&Round) -> Throughput) -> Option<Spread> {
    Spread::of(rounds.iter().filter_map(|round| Some(of(round).gbps()? / to(round).gbps()?)).collect())
}

/// The row of all rounds.
fn summed(cargo: Cargo, rounds: &[Round], &(name, is_ours, of, to): &Shown) -> BenchRow {
    let total = |of: fn(&Round) -> Throughput| {
        rounds.iter().fold(Throughput::default(), |sum, round| sum.and(of(round))).gbps()
    };
    BenchRow {
        bulk_bytes: cargo.bytes,
        bulk_gbps: total(of),
        raw_gbps: total(to),
        ratio: ratio(rounds, of, to).filter(|_| name != "raw"),
        ..row(name, if is_ours { "kernel" } else { "engine" }, cargo.direction.name(), &[])
    }
}

/// The shares before and after urgent tasks beside those of the control, and whether bulk went by kernel.
fn verdict(direction: Direction, rounds: &[Round]) -> Vec<String> {
    type Phase = fn(&Round) -> InTurn;
    let phases: [(&str, Phase); 2] = [("before", |round| round.before), ("after", |round| round.after)];
    let lines = phases.into_iter().filter_map(|(name, phase)| {
        let share = |of: fn(&InTurn) -> Throughput| {
            let shares = rounds.iter().map(phase).filter_map(|turn| Some(of(&turn).gbps()? / turn.raw.gbps()?));
            Spread::of(shares.collect())
        };
        let (ours, control) = (share(|turn| turn.ours)?.median, share(|turn| turn.again)?);
        let (least, most) = (control.least, control.most);
        let control = format!("{:.3}, rounds from {least:.3} to {most:.3}", control.median);
        let what = format!("{}: bulk {name} urgent tasks, by raw (control: {control})", direction.name());
        let by_kernel: u64 = rounds.iter().map(|round| phase(round).by_kernel).sum();
        let copies = format!("{}: bulk {name} urgent tasks that a kernel copied", direction.name());
        Some([
            judged(&what, ours, "", &SHARE.to_string(), ours >= SHARE),
            judged(&copies, by_kernel as f64, "", "0", by_kernel == 0),
        ])
    });
    lines.flatten().collect()
}
