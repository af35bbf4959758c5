//! `bench overhead`: what overtake costs while nothing is armed, and what it adds to a copy on an idle device when it
//! is.

use std::sync::Arc;

use channels::Direction;
use channels::probe::STREAM_PRIORITY_DEFAULT;
use hal::{Code, Nanos};
use report::{BenchRow, Distribution, Run};

use super::args::OverheadArguments;
use super::case::{Case, Sizes};
use super::catalogue::{Label, MethodName, RAW};
use super::flow::Flow;
use super::method::{Method, Opened};
use super::present::{subtitle, table};
use super::product::{Product, Setup, Way};
use super::runner::{Load, Pace};
use super::stage::{Shown, Stage, finish, span};
use crate::args::Arguments;
use crate::failure::{Failure, Result};

/// Through overtake, with streams of one priority only.
const ALONE: Label =
    Label { method: "overtake, alone", transport: "engine", urgent_transport: None, emulation: "none" };
/// Through overtake, with a stream of a lower priority about.
const ARMED: Label =
    Label { method: "overtake, armed", transport: "engine", urgent_transport: None, emulation: "hold" };
/// Turns that the methods take at being called in a loop.
const ROUNDS: u32 = 3;
/// A batch of calls must have completed within this.
const DRAIN: Nanos = Nanos::from_ms(5_000);

/// A method whose calls are timed.
struct Called {
    direction: Direction,
    label: Label,
    method: Arc<dyn Method>,
}

/// Runs the command.
pub fn run(arguments: &Arguments, overhead: &OverheadArguments) -> Result<()> {
    let common = &overhead.common;
    let stage = Stage::set(arguments, common.device, &common.options, &[overhead.high_bytes, overhead.bulk_bytes])?;
    let (mut cases, mut calls) = (Vec::new(), Vec::new());
    for direction in common.direction.directions() {
        let sizes = Stage::sizes(direction, overhead.high_bytes, overhead.bulk_bytes);
        let (alone, armed) = (product(&stage, sizes, true)?, product(&stage, sizes, false)?);
        cases.push(sizes.idle(&stage.shop)?);
        cases.push(sizes.case(ALONE, Load::Urgent, &alone, 2));
        cases.push(sizes.case(ARMED, Load::Urgent, &armed, 2));
        cases.push(sizes.raw(&stage.shop)?);
        cases.push(sizes.case(ALONE, Load::Bulk, &alone, 1));
        let native = MethodName::Native.make(&stage.shop, &stage.shop.options, sizes.cargo())?;
        let called = [(Label::plain("native"), native), (ALONE, alone), (ARMED, armed)];
        calls.extend(called.map(|(label, method)| Called { direction, label, method }));
    }
    double_bulk(&mut cases);
    let (mut run, mut notes) = stage.run(&cases, Pace::of(common.seconds * 0.8))?;
    run.rows.extend(time_calls(&stage, overhead, &calls)?);
    if stage.is_virtual() {
        let text = "on the software GPU the cost of a call is that of the driver calls inside; instructions between \
                    them take no virtual time (cargo bench measures those)";
        notes.push(text.to_owned());
    }
    let summary = format!("{}\n{}", subtitle(&run), verdict(&run));
    let shown = Shown { title: "overhead".into(), summary, table: table(&run), picture: None, svg: None, notes };
    finish(common, &run, &shown)
}

/// Bulk requests take longer than small copies: more time, or the share of one request is seen.
fn double_bulk(cases: &mut [Case]) {
    cases.iter_mut().filter(|case| case.scenario.load == Load::Bulk).for_each(|case| case.scenario.weight *= 3);
}

fn product(stage: &Stage, sizes: Sizes, is_alone: bool) -> Result<Arc<dyn Method>> {
    let options = MethodName::EngineHold.options(&stage.shop.options);
    let ways = if is_alone { (Way::Unchanged, Way::Unchanged) } else { (Way::OwnStream, Way::Channel) };
    let setup = Setup { options, ways, is_alone, device: stage.shop.device };
    Ok(Arc::new(Product::new(&stage.shop.ground, setup, STREAM_PRIORITY_DEFAULT, sizes.cargo())?))
}

/// Calls each method in a loop, in turns, and says what a call costs the host.
fn time_calls(stage: &Stage, overhead: &OverheadArguments, methods: &[Called]) -> Result<Vec<BenchRow>> {
    let each = Nanos(span(overhead.common.seconds * 0.2).0 / (methods.len() as u64 * u64::from(ROUNDS)).max(1));
    let progress = stage.progress(overhead.common.seconds);
    let mut means: Vec<Vec<u64>> = vec![Vec::new(); methods.len()];
    for round in 0..ROUNDS {
        for (called, means) in methods.iter().zip(&mut means) {
            let (direction, name) = (called.direction.name(), called.label.method);
            progress.step(&format!("calls, round {} of {ROUNDS}: {direction}: {name}", round + 1));
            match called.method.open()? {
                Opened::Unavailable(reason) => return Err(Failure::Other(format!("{name}: {reason}"))),
                Opened::Flows(flows) => {
                    means.extend(batches(&*flows.urgent, each, overhead.calls)?);
                    drop(flows);
                    called.method.close(0);
                }
            }
        }
    }
    Ok(methods.iter().zip(means).map(|(called, means)| call_row(overhead, called, means)).collect())
}

fn call_row(overhead: &OverheadArguments, called: &Called, means: Vec<u64>) -> BenchRow {
    BenchRow {
        method: called.label.method.to_owned(),
        transport: called.label.transport.to_owned(),
        emulation: called.label.emulation.to_owned(),
        direction: called.direction.name().to_owned(),
        high_bytes: overhead.high_bytes,
        samples: means.len(),
        call_ns: Distribution::new(means).map(|means| means.quantile_ns(0.5) as f64 / 1e3),
        setting: Some(format!("{} calls", overhead.calls)),
        ..BenchRow::default()
    }
}

/// The mean time of a call in each of many batches, in picoseconds, so that fractions of a nanosecond survive.
fn batches(flow: &dyn Flow, span: Nanos, calls: u32) -> hal::Result<Vec<u64>> {
    let host = flow.ground().driver().host();
    let end = host.now() + span;
    let mut means = Vec::new();
    while host.now() < end || means.len() < 3 {
        let start = host.now();
        for _ in 0..calls {
            flow.copy()?;
        }
        means.push(host.now().since(start).0 * 1_000 / u64::from(calls));
        if !flow.ground().rig().look(&[flow.stream()], DRAIN)?[0] {
            return Err(Code::LAUNCH_TIMEOUT.at("cuStreamQuery").because("a batch of copies did not complete"));
        }
    }
    Ok(means)
}

/// What it costs, in words.
fn verdict(run: &Run) -> String {
    let find = |row: &BenchRow, method: &str, has: fn(&BenchRow) -> Option<f64>| {
        let its = |other: &&BenchRow| other.method == method && other.direction == row.direction;
        run.rows.iter().filter(its).find_map(has)
    };
    let line = |row: &BenchRow| {
        if row.method != RAW {
            return None;
        }
        let bulk = find(row, ALONE.method, |row| row.bulk_gbps)? / row.bulk_gbps? * 100.0;
        let idle = find(row, ALONE.method, |row| row.p50_us)? - find(row, "idle", |row| row.p50_us)?;
        let call = find(row, ALONE.method, |row| row.call_ns)? - find(row, "native", |row| row.call_ns)?;
        let direction = &row.direction;
        Some(format!(
            "{direction}, nothing armed: bulk {bulk:.1} % of raw, an idle copy {idle:+.2} us, a call {call:+.0} ns"
        ))
    };
    run.rows.iter().filter_map(line).collect::<Vec<_>>().join("\n")
}
