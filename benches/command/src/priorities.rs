//! `bench latency --priorities N`: every priority sends copies of the same size at the same pace, all at once, beside
//! bulk at the lowest; latency must follow priority.

use std::sync::Arc;

use console::Globals;
use console::failure::{Failure, Result};
use hal::{Code, Nanos};
use measure::bulk::{Feeder, Throughput};
use measure::case::fill_latency;
use measure::catalogue::MethodName;
use measure::flow::{Cargo, Flow, Plain, Through};
use measure::method::Tally;
use measure::present::{latency_figure, latency_text, subtitle, table};
use measure::rig::STREAM_PRIORITY_DEFAULT;
use measure::stage::{Shown, Stage, finish, methods_or, span};
use measure::urgent::{UrgentPlan, UrgentSamples, Watch, measure_urgent};
use overtake::{Options, Overtake, Priority};
use priority::{Direction, Priorities};
use report::{BenchRow, Run};

use super::args::LatencyArguments;

/// The methods that are compared unless the command line names others.
const METHODS: [MethodName; 3] = [MethodName::NativePriority, MethodName::EngineHold, MethodName::KernelHold];
/// The pause between two copies of one priority. It is short, so that priorities meet.
const GAP: Nanos = Nanos::from_us(20);
const JITTER: Nanos = Nanos::from_us(60);
const ROUNDS: u32 = 3;
const DRAIN: Nanos = Nanos::from_ms(10_000);
/// The word of the bulk; the words of the priorities follow it.
const BULK_WORD: usize = 2;
/// A slice takes at least this many samples of each priority.
const LEAST_SAMPLES: usize = 5;

/// One flow for each priority, the lowest first, and the bulk.
struct Crowd {
    levels: Vec<Arc<dyn Flow>>,
    bulk: Arc<dyn Flow>,
    /// It is open as long as its flows.
    overtake: Option<Overtake>,
}

/// The measurements of the crowd.
#[derive(Default)]
struct Outcome {
    levels: Vec<UrgentSamples>,
    bulk: Throughput,
    tally: Tally,
}

struct Bench<'a> {
    stage: &'a Stage,
    count: u8,
    bytes: u64,
    bulk_bytes: u64,
}

/// Runs the command.
pub fn run(globals: &Globals, latency: &LatencyArguments, count: u8) -> Result<()> {
    let common = &latency.common;
    let bytes = latency.high_bytes.iter().copied().max().unwrap_or(1);
    let mut lanes = vec![bytes; usize::from(count)];
    lanes.push(latency.bulk_bytes);
    let stage = Stage::set(globals, common.device, &common.options, &lanes)?;
    let bench = Bench { stage: &stage, count, bytes, bulk_bytes: latency.bulk_bytes };
    let (rows, notes) = bench.rows(latency)?;
    let run = Run { header: stage.header.clone(), rows };
    let title = "How long a copy takes, by priority, all priorities at once";
    let shown = Shown {
        title: "priorities".into(),
        summary: format!(
            "{count} priorities at once, each with copies of its own; {}\n{}",
            subtitle(&run),
            verdict(&run)
        ),
        table: table(&run),
        picture: Some(latency_text(&run, title)),
        svg: Some(latency_figure(&run, title).to_svg()),
        notes,
    };
    finish(&common.output, &run, &shown)
}

impl Bench<'_> {
    fn rows(&self, latency: &LatencyArguments) -> Result<(Vec<BenchRow>, Vec<String>)> {
        let methods = methods_or(&latency.common, &METHODS);
        let directions = latency.common.direction.directions();
        let slices = (methods.len() * directions.len()) as u64 * u64::from(ROUNDS);
        let each = Nanos(span(latency.common.seconds).0 / slices.max(1));
        let mut progress = self.stage.progress(latency.common.seconds, slices as usize);
        let cases: Vec<_> = directions.iter().flat_map(|at| methods.iter().map(move |method| (*at, *method))).collect();
        let mut outcomes: Vec<Option<Outcome>> = cases.iter().map(|_| Some(Outcome::default())).collect();
        let mut notes = Vec::new();
        for _ in 0..ROUNDS {
            for ((direction, method), outcome) in cases.iter().zip(&mut outcomes) {
                let name = method.label().method;
                progress.step(&format!("{}: {name}", direction.name()));
                let Some(before) = outcome.take() else { continue };
                match self.crowd(*direction, *method)? {
                    Ok(crowd) => *outcome = Some(before.and(crowd.measure(each)?)),
                    Err(reason) => notes.push(format!("{name} is left out: {reason}")),
                }
            }
        }
        let rows = cases.iter().zip(outcomes).filter_map(|(case, outcome)| Some(self.case_rows(*case, outcome?)));
        notes.dedup();
        Ok((rows.flatten().collect(), notes))
    }

    fn cargo(&self, direction: Direction, level: u8) -> Cargo {
        let lane = usize::from(level) - 1;
        Cargo { direction, lane, bytes: self.bytes, word: BULK_WORD + usize::from(level) }
    }

    /// The flows of a method, or the reason why this machine does not support them.
    fn crowd(&self, direction: Direction, method: MethodName) -> Result<std::result::Result<Crowd, String>> {
        let bulk = Cargo { direction, lane: usize::from(self.count), bytes: self.bulk_bytes, word: BULK_WORD };
        match method {
            MethodName::Native | MethodName::NativePriority => self.native(direction, method, bulk).map(Ok),
            MethodName::Chunks | MethodName::ChunksDummy => Ok(Err("chunks alone know two priorities only".to_owned())),
            _ => self.product(direction, method, bulk),
        }
    }

    fn native(&self, direction: Direction, method: MethodName, bulk: Cargo) -> Result<Crowd> {
        let (shop, top) = (&self.stage.shop, i32::from(self.count) - 1);
        let range = shop.range;
        let cuda = |level: u8| match method {
            MethodName::Native => STREAM_PRIORITY_DEFAULT,
            _ => range.least - (i32::from(level) - 1) * (range.least - range.greatest) / top.max(1),
        };
        let plain = |level: u8, cargo: Cargo| -> Result<Arc<dyn Flow>> {
            let stream = shop.ground.stream(cuda(level))?;
            Ok(Arc::new(Plain { ground: Arc::clone(&shop.ground), cargo, stream }))
        };
        let levels = (1..=self.count).map(|level| plain(level, self.cargo(direction, level)));
        Ok(Crowd { levels: levels.collect::<Result<_>>()?, bulk: plain(1, bulk)?, overtake: None })
    }

    fn product(
        &self,
        direction: Direction,
        method: MethodName,
        bulk: Cargo,
    ) -> Result<std::result::Result<Crowd, String>> {
        let shop = &self.stage.shop;
        let priorities = Priorities::new(self.count).expect("the command line bounds it");
        let options = Options { priorities, ..method.options(&shop.options) };
        let overtake = Overtake::open(shop.ground.driver(), shop.device, options)?;
        let through = |level: u8, cargo: Cargo| -> Result<Through> {
            let stream = shop.ground.stream(STREAM_PRIORITY_DEFAULT)?;
            let priority = Priority::new(level).expect("levels begin at 1");
            Ok(Through { adopted: shop.ground.adopt(&overtake, stream, priority)?, cargo })
        };
        let levels: Vec<Through> =
            (1..=self.count).map(|level| through(level, self.cargo(direction, level))).collect::<Result<_>>()?;
        let bulk = through(1, bulk)?;
        let plan = bulk.adopted.copy(direction, bulk.cargo.lane, 0, bulk.cargo.bytes)?.plan();
        let is_kernel = matches!(plan, overtake::copy::Plan::Kernel { .. });
        if (method == MethodName::KernelHold) != is_kernel {
            shop.ground.driver().context_synchronize()?;
            return Ok(Err(format!("bulk went {plan:?}")));
        }
        let levels = levels.into_iter().map(|level| Arc::new(level) as Arc<dyn Flow>).collect();
        Ok(Ok(Crowd { levels, bulk: Arc::new(bulk), overtake: Some(overtake) }))
    }

    fn case_rows(&self, (direction, method): (Direction, MethodName), outcome: Outcome) -> Vec<BenchRow> {
        let label = method.label();
        let row = |(index, samples): (usize, &UrgentSamples)| {
            let mut row = BenchRow {
                method: label.method.to_owned(),
                transport: label.transport.to_owned(),
                urgent_transport: label.urgent_transport.map(str::to_owned),
                emulation: label.emulation.to_owned(),
                direction: direction.name().to_owned(),
                high_bytes: self.bytes,
                bulk_bytes: self.bulk_bytes,
                priority: u8::try_from(index + 1).ok(),
                bulk_gbps: outcome.bulk.gbps(),
                rescues: outcome.tally.rescues,
                ..BenchRow::default()
            };
            fill_latency(&mut row, &samples.latency_ns, &samples.enqueue_ns);
            row
        };
        // The most urgent comes first, because readers look for it.
        outcome.levels.iter().enumerate().rev().map(row).collect()
    }
}

impl Outcome {
    fn and(mut self, other: Outcome) -> Outcome {
        self.levels.resize_with(other.levels.len(), UrgentSamples::default);
        for (all, more) in self.levels.iter_mut().zip(other.levels) {
            all.latency_ns.extend(more.latency_ns);
            all.enqueue_ns.extend(more.enqueue_ns);
        }
        Outcome { levels: self.levels, bulk: self.bulk.and(other.bulk), tally: self.tally.and(other.tally) }
    }
}

impl Crowd {
    /// Runs all flows at once for `span`.
    fn measure(self, span: Nanos) -> Result<Outcome> {
        let rig = self.bulk.ground().rig();
        let everyone = || self.levels.iter().chain([&self.bulk]);
        everyone().try_for_each(|flow| flow.copy())?;
        let streams: Vec<_> = everyone().map(|flow| flow.stream()).collect();
        let drained = |what: &str| match rig.look(&streams, DRAIN)?.into_iter().all(|done| done) {
            true => Ok(()),
            false => {
                Err(Code::LAUNCH_TIMEOUT.at("cuStreamQuery").because(format!("{what} did not complete within {DRAIN}")))
            }
        };
        drained("the first copies")?;
        everyone().for_each(|flow| flow.reset());
        let before = self.overtake.as_ref().map(Overtake::statistics);
        let feeder = Feeder::start(&self.bulk)?;
        let plan = UrgentPlan { span, least_samples: LEAST_SAMPLES, burst: 1, gap: GAP, jitter: JITTER };
        let threads = self.levels.iter().map(|flow| spawn_level(flow, plan)).collect::<hal::Result<Vec<_>>>()?;
        let host = rig.driver().host();
        let levels: Vec<hal::Result<UrgentSamples>> = threads.into_iter().map(|thread| thread.join(host)).collect();
        let bulk = feeder.stop()?;
        drained("the last copies")?;
        let after = self.overtake.as_ref().map(Overtake::statistics);
        let rescues = after.zip(before).map_or(0, |(after, before)| after.rescues - before.rescues);
        let tally = Tally { rescues, ..Tally::default() };
        let levels = levels.into_iter().collect::<hal::Result<_>>().map_err(Failure::from)?;
        Ok(Outcome { levels, bulk, tally })
    }
}

fn spawn_level(flow: &Arc<dyn Flow>, plan: UrgentPlan) -> hal::Result<hal::HostThread<hal::Result<UrgentSamples>>> {
    let flow = Arc::clone(flow);
    let driver = Arc::clone(flow.ground().driver());
    hal::spawn(&driver, "priority", move || {
        flow.ground().rig().make_current()?;
        measure_urgent(&*flow, plan, Watch::NONE)
    })
}

/// Whether the medians follow the priorities.
fn verdict(run: &Run) -> String {
    let mut text = Vec::new();
    let mut cases: Vec<(&str, &str)> =
        run.rows.iter().map(|row| (row.direction.as_str(), row.method.as_str())).collect();
    cases.dedup();
    for (direction, method) in cases {
        let its = run.rows.iter().filter(|row| row.direction == direction && row.method == method);
        let medians: Vec<f64> = its.filter_map(|row| row.p50_us).collect();
        let follows = medians.windows(2).all(|pair| pair[0] < pair[1]);
        let words =
            if follows { "the medians follow the priorities" } else { "the medians do not follow the priorities" };
        text.push(format!("{direction} {method}: {words}"));
    }
    text.join("\n")
}
