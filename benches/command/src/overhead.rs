//! `bench overhead`: the cost of overtake while nothing is armed, and its cost for a copy on an idle device when
//! something is.
//!
//! The differences here are smaller than a machine's drift in a second. So small copies and calls are measured in
//! pairs that alternate, native and through overtake. Every figure of overtake stands beside the native figure of its
//! own pair.

use std::sync::Arc;

use console::Globals;
use console::failure::{Failure, Result};
use hal::{Code, Nanos};
use measure::case::{Sizes, fill_latency};
use measure::catalogue::{Label, MethodName, RAW};
use measure::flow::Flow;
use measure::method::{Flows, Method, Opened};
use measure::present::{subtitle, table};
use measure::product::{Product, Setup, Way};
use measure::rig::STREAM_PRIORITY_DEFAULT;
use measure::runner::{Load, Pace};
use measure::stage::{Shown, Stage, finish, span};
use measure::urgent::{UrgentPlan, UrgentSamples, Watch, measure_urgent};
use priority::Direction;
use report::{BenchRow, Distribution, Run};

use super::args::OverheadArguments;

/// Through overtake, with streams of one priority only.
const ALONE: Label =
    Label { method: "overtake, alone", transport: "engine", urgent_transport: None, emulation: "none" };
/// Through overtake, with a stream of a lower priority beside it.
const ARMED: Label =
    Label { method: "overtake, armed", transport: "kernel", urgent_transport: None, emulation: "hold" };
/// The other half of every pair.
const NATIVE: Label = Label::plain("native");
/// The number of turns of each pair.
const ROUNDS: u32 = 3;
/// A batch of calls must have completed within this.
const DRAIN: Nanos = Nanos::from_ms(5_000);
/// The shares of the time that bulk, small copies and calls get.
const SHARES: [f64; 3] = [0.4, 0.4, 0.2];

/// A method of overtake and its native half.
struct Pair {
    direction: Direction,
    label: Label,
    native: Arc<dyn Method>,
    ours: Arc<dyn Method>,
}

/// The measurements of one half of a pair.
#[derive(Default)]
struct Half {
    copies: UrgentSamples,
    /// Mean times of a call, in picoseconds, so that fractions of a nanosecond are kept.
    calls_ps: Vec<u64>,
}

/// Runs the command.
pub fn run(globals: &Globals, overhead: &OverheadArguments) -> Result<()> {
    let common = &overhead.common;
    let stage = Stage::set(globals, common.device, &common.options, &[overhead.high_bytes, overhead.bulk_bytes])?;
    let (mut cases, mut pairs) = (Vec::new(), Vec::new());
    for direction in common.direction.directions() {
        let sizes = Stage::sizes(direction, overhead.high_bytes, overhead.bulk_bytes);
        let (alone, armed) = (product(&stage, sizes, true)?, product(&stage, sizes, false)?);
        cases.push(sizes.raw(&stage.shop)?);
        cases.push(sizes.case(ALONE, Load::Bulk, &alone, 2));
        let native = MethodName::Native.make(&stage.shop, &stage.shop.options, sizes.cargo())?;
        for (label, ours) in [(ALONE, alone), (ARMED, armed)] {
            pairs.push(Pair { direction, label, native: Arc::clone(&native), ours });
        }
    }
    let (mut run, mut notes) = stage.run(&cases, Pace::of(common.seconds * SHARES[0]))?;
    run.rows.extend(measure_pairs(&stage, overhead, &pairs)?);
    if stage.is_virtual() {
        let text = "on the software GPU the cost of a call is that of the driver calls inside; instructions between \
                    them take no virtual time (cargo bench measures those)";
        notes.push(text.to_owned());
    }
    let summary = format!("{}\n{}", subtitle(&run), verdict(&run));
    let shown = Shown { title: "overhead".into(), summary, table: table(&run), picture: None, svg: None, notes };
    finish(&common.output, &run, &shown)
}

fn product(stage: &Stage, sizes: Sizes, is_alone: bool) -> Result<Arc<dyn Method>> {
    let options = MethodName::KernelHold.options(&stage.shop.options);
    let ways = if is_alone { (Way::Unchanged, Way::Unchanged) } else { (Way::OwnStream, Way::Kernel) };
    let setup = Setup { options, ways, is_alone, device: stage.shop.device };
    Ok(Arc::new(Product::new(&stage.shop.ground, setup, STREAM_PRIORITY_DEFAULT, sizes.cargo())?))
}

/// Measures all pairs, in turns, and makes two rows of each.
fn measure_pairs(stage: &Stage, overhead: &OverheadArguments, pairs: &[Pair]) -> Result<Vec<BenchRow>> {
    let part =
        |share: f64| Nanos(span(overhead.common.seconds * share).0 / (pairs.len() as u64 * u64::from(ROUNDS)).max(1));
    let mut progress = stage.progress(overhead.common.seconds, pairs.len() * ROUNDS as usize);
    let mut halves: Vec<[Half; 2]> = pairs.iter().map(|_| <[Half; 2]>::default()).collect();
    for _ in 0..ROUNDS {
        for (pair, halves) in pairs.iter().zip(&mut halves) {
            let (direction, name) = (pair.direction.name(), pair.label.method);
            progress.step(&format!("pairs: {direction}: {name}"));
            let flows = [open(&*pair.native, NATIVE)?, open(&*pair.ours, pair.label)?];
            alternate_copies(&flows, part(SHARES[1]), halves)?;
            alternate_calls(&flows, part(SHARES[2]), overhead.calls, halves)?;
            drop(flows);
            pair.ours.close(0);
            pair.native.close(0);
        }
    }
    Ok(pairs.iter().zip(&halves).flat_map(|(pair, halves)| pair_rows(overhead, pair, halves)).collect())
}

fn open(method: &dyn Method, label: Label) -> Result<Flows> {
    match method.open()? {
        Opened::Flows(flows) => Ok(flows),
        Opened::Unavailable(reason) => {
            Err(Failure::Other(format!("{} cannot be measured here: {reason}", label.method)))
        }
    }
}

/// One small copy each, again and again.
fn alternate_copies(flows: &[Flows; 2], span: Nanos, halves: &mut [Half; 2]) -> hal::Result<()> {
    let host = flows[0].urgent.ground().driver().host();
    let end = host.now() + span;
    let Pace { gap, jitter, burst, .. } = Pace::of(0.0);
    let plan = UrgentPlan { span: Nanos::ZERO, least_samples: 1, burst, gap, jitter };
    let mut count = 0_u32;
    while host.now() < end || count < 3 {
        // Both halves count in the same word.
        for (flows, half) in flows.iter().zip(halves.iter_mut()) {
            let one = measure_urgent(&*flows.urgent, plan, Watch::NONE)?;
            half.copies.latency_ns.extend(one.latency_ns);
            half.copies.enqueue_ns.extend(one.enqueue_ns);
        }
        count += 1;
    }
    Ok(())
}

/// One batch of calls each, again and again.
fn alternate_calls(flows: &[Flows; 2], span: Nanos, calls: u32, halves: &mut [Half; 2]) -> hal::Result<()> {
    let host = flows[0].urgent.ground().driver().host();
    let end = host.now() + span;
    let mut count = 0_u32;
    while host.now() < end || count < 3 {
        for (flows, half) in flows.iter().zip(halves.iter_mut()) {
            half.calls_ps.push(batch(&*flows.urgent, calls)?);
        }
        count += 1;
    }
    Ok(())
}

/// The mean time of a call in a batch, in picoseconds.
fn batch(flow: &dyn Flow, calls: u32) -> hal::Result<u64> {
    let host = flow.ground().driver().host();
    let start = host.now();
    for _ in 0..calls {
        flow.copy()?;
    }
    let mean_ps = host.now().since(start).0 * 1_000 / u64::from(calls);
    if flow.ground().rig().look(&[flow.stream()], DRAIN)?[0] {
        return Ok(mean_ps);
    }
    Err(Code::LAUNCH_TIMEOUT.at("cuStreamQuery").because("a batch of copies did not complete"))
}

fn pair_rows(overhead: &OverheadArguments, pair: &Pair, [native, ours]: &[Half; 2]) -> [BenchRow; 2] {
    let idle = Distribution::new(native.copies.latency_ns.clone()).map(|latency| latency.summary());
    [(NATIVE, native), (pair.label, ours)].map(|(label, half)| {
        let mut row = BenchRow {
            method: label.method.to_owned(),
            transport: label.transport.to_owned(),
            emulation: label.emulation.to_owned(),
            direction: pair.direction.name().to_owned(),
            high_bytes: overhead.high_bytes,
            call_ns: Distribution::new(half.calls_ps.clone()).map(|means| means.quantile_ns(0.5) as f64 / 1e3),
            setting: Some(format!("paired with {}", if label == NATIVE { pair.label.method } else { NATIVE.method })),
            ..BenchRow::default()
        };
        fill_latency(&mut row, &half.copies.latency_ns, &half.copies.enqueue_ns);
        idle.map(|idle| row.clone().with_idle(idle)).unwrap_or(row)
    })
}

/// The costs in words.
fn verdict(run: &Run) -> String {
    let mut text = Vec::new();
    for raw in run.rows.iter().filter(|row| row.method == RAW) {
        let its = |method: &str, partner: &str| {
            let is_its = |row: &&BenchRow| {
                let partners = row.setting.as_deref().is_some_and(|setting| setting.ends_with(partner));
                row.direction == raw.direction && row.method == method && partners
            };
            run.rows.iter().find(is_its)
        };
        let bulk = run.rows.iter().find(|row| row.direction == raw.direction && row.method == ALONE.method);
        let bulk = bulk.and_then(|row| row.bulk_gbps).zip(raw.bulk_gbps).map(|(ours, raw)| 100.0 * ours / raw);
        let bulk = bulk.map_or("not measured".to_owned(), |bulk| format!("{bulk:.1} % of raw"));
        text.push(format!("{}, nothing armed: bulk {bulk}", raw.direction));
        for label in [ALONE, ARMED] {
            let pair = its(label.method, NATIVE.method).zip(its(NATIVE.method, label.method));
            text.extend(pair.and_then(|(ours, native)| difference(ours, native)));
        }
    }
    text.join("\n")
}

fn difference(ours: &BenchRow, native: &BenchRow) -> Option<String> {
    let copy = ours.p50_us? - native.p50_us?;
    let call = ours.call_ns? - native.call_ns?;
    Some(format!("{}, {}: an idle copy {copy:+.2} us, a call {call:+.0} ns", ours.direction, ours.method))
}
