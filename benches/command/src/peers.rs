//! `bench peers`: an urgent copy from one device to another beside saturating bulk between the two, natively and
//! through overtake.
//!
//! Every method has a turn in each round, and each round begins with another one. Ratios are formed within a round, and
//! the verdict is on their medians. A second measurement of the plain streams is the control: its ratio to the first
//! tells how far two equal methods come out different here.

use std::sync::Arc;

use console::Globals;
use console::failure::{Failure, Result};
use hal::Nanos;
use measure::case::{Case, Sizes, notes, rows};
use measure::catalogue::{IDLE, Label, MethodName, RAW};
use measure::present::{subtitle, table};
use measure::runner::{self, Load, Measured, Pace};
use measure::stage::{Shown, Stage, finish, span};
use priority::Direction;
use report::{BenchRow, Distribution, Run, Spread};

use super::args::PeersArguments;
use super::tasks::judged;

/// Plain streams, measured once more.
const CONTROL: &str = "native again";
/// The methods that are compared, the reference of their ratios first.
const METHODS: [MethodName; 4] =
    [MethodName::Native, MethodName::NativePriority, MethodName::EngineHold, MethodName::KernelHold];
/// Those of overtake.
const OURS: [MethodName; 2] = [MethodName::EngineHold, MethodName::KernelHold];
/// The part of its raw bandwidth that bulk has to keep.
const KEPT_MIN: f64 = 0.88;
/// The ratios of two equal methods.
const CONTROL_LIMITS: (f64, f64) = (0.8, 1.25);
/// The time for which the rate is measured before anything else.
const RATE_SECONDS: f64 = 0.1;
/// The time that an urgent copy may take beyond an idle one and a chunk.
const SLACK_US: f64 = 25.0;

/// Runs the command.
pub fn run(globals: &Globals, peers: &PeersArguments) -> Result<()> {
    if peers.common.device == peers.peer {
        return Err(Failure::Other("copies on one device are left to the driver: --peer takes another one".to_owned()));
    }
    let (bytes, ends) = ([peers.high_bytes, peers.common.bulk_bytes], (peers.common.device, peers.peer, peers.pull));
    let mut stage = Stage::between(globals, ends, &peers.common.options, &bytes)?;
    let sizes = Stage::sizes(Direction::Peer, peers.high_bytes, peers.common.bulk_bytes);
    let mut notes_first = Vec::new();
    if !peers.common.options.iter().any(|option| option.starts_with("peer_gbps=")) {
        notes_first.push(set_rate(&mut stage, sizes)?);
    }
    if !stage.reaches_peer {
        notes_first.push("kernels do not reach the other device here: peer access is not possible".to_owned());
    }
    let cases = cases(&stage, sizes)?;
    let rounds = measure(&stage, peers, &cases)?;
    let merged: Vec<Measured> =
        rounds.iter().map(|slices| slices.iter().cloned().fold(Measured::default(), Measured::and)).collect();
    let mut all = rows(&cases, &merged, 1);
    for row in &mut all {
        row.ratio =
            Some(()).filter(|()| row.method != IDLE).and_then(|()| slowdown(&cases, &rounds, &row.method, IDLE));
        row.setting = (row.method == RAW).then(|| way(peers));
    }
    let run = Run { header: stage.header.clone(), rows: all };
    let summary = format!("{}\n{}", subtitle(&run), verdict(&stage, &cases, &rounds, &run.rows).join("\n"));
    let notes = [notes_first, notes(&cases, &merged)].concat();
    let shown = Shown { title: "peers".into(), summary, table: table(&run), picture: None, svg: None, notes };
    finish(&peers.common.output, &run, &shown)
}

fn way(peers: &PeersArguments) -> String {
    let (from, to) = if peers.pull { (peers.peer, peers.common.device) } else { (peers.common.device, peers.peer) };
    format!("device {from} to device {to}")
}

/// Gives overtake the rate between the devices, as measured now.
fn set_rate(stage: &mut Stage, sizes: Sizes) -> Result<String> {
    let raw = sizes.raw(&stage.shop)?;
    let pace = Pace { rounds: 1, ..Pace::of(RATE_SECONDS) };
    let measured = runner::run(&[raw.scenario], pace, &mut |_| {})?;
    let rate = rate(measured.first().and_then(|measured| measured.bulk.gbps()))?;
    stage.shop.options.peer_gbps = Some(rate);
    Ok(format!("peer_gbps={rate}, as measured before; chunks follow from it"))
}

/// The rate in whole GB/s. Without one the copies of overtake's rows would have no priorities.
fn rate(gbps: Option<f64>) -> Result<u32> {
    let why = "the rate between the devices could not be measured: give it with --set peer_gbps=RATE";
    gbps.map(|gbps| (gbps.round() as u32).max(1)).ok_or_else(|| Failure::Other(why.to_owned()))
}

fn cases(stage: &Stage, sizes: Sizes) -> Result<Vec<Case>> {
    let shop = &stage.shop;
    let mut cases = vec![sizes.idle(shop)?, sizes.raw(shop)?];
    for method in METHODS {
        cases.push(sizes.method(shop, method, Load::Both, &shop.options, None)?);
    }
    let again = MethodName::Native.make(shop, &shop.options, sizes.cargo())?;
    cases.push(sizes.case(Label::plain(CONTROL), Load::Both, &Arc::clone(&again), 4));
    Ok(cases)
}

/// The measurements of each case, by round.
fn measure(stage: &Stage, peers: &PeersArguments, cases: &[Case]) -> Result<Vec<Vec<Measured>>> {
    let rounds = u64::from(peers.common.rounds);
    let mut progress = stage.progress(peers.common.seconds, cases.len() * peers.common.rounds as usize);
    let pace =
        Pace { rounds: 1, span: Nanos(span(peers.common.seconds).0 / rounds.max(1)), ..Pace::of(peers.common.seconds) };
    let mut all: Vec<Vec<Measured>> = cases.iter().map(|_| Vec::new()).collect();
    for round in 0..peers.common.rounds as usize {
        let mut order: Vec<usize> = (0..cases.len()).collect();
        order.rotate_left(round % cases.len());
        let scenarios: Vec<_> = order.iter().map(|case| cases[*case].scenario.clone()).collect();
        let measured = runner::run(&scenarios, pace, &mut |scenario| progress.step(&scenario.name))?;
        order.into_iter().zip(measured).for_each(|(case, measured)| all[case].push(measured));
    }
    Ok(all)
}

/// The slices of the case of this name.
fn slices<'a>(cases: &[Case], rounds: &'a [Vec<Measured>], name: &str) -> &'a [Measured] {
    let found = cases.iter().zip(rounds).find(|(case, _)| case.label.method == name);
    found.map_or(&[], |(_, slices)| slices)
}

fn p50_us(measured: &Measured) -> Option<f64> {
    Distribution::new(measured.urgent.latency_ns.clone()).map(|all| all.quantile_us(0.5))
}

/// The figure of one case by that of another, round by round.
fn ratio(
    cases: &[Case],
    rounds: &[Vec<Measured>],
    (name, reference): (&str, &str),
    figure: impl Fn(&Measured) -> Option<f64>,
) -> Option<Spread> {
    let pairs = slices(cases, rounds, name).iter().zip(slices(cases, rounds, reference));
    Spread::of(pairs.filter_map(|(own, other)| Some(figure(own)? / figure(other)?)).collect())
}

/// The median latency by that of a reference.
fn slowdown(cases: &[Case], rounds: &[Vec<Measured>], name: &str, reference: &str) -> Option<Spread> {
    ratio(cases, rounds, (name, reference), p50_us)
}

fn verdict(stage: &Stage, cases: &[Case], rounds: &[Vec<Measured>], rows: &[BenchRow]) -> Vec<String> {
    let mut text = Vec::new();
    let native = MethodName::Native.label().method;
    if let Some(control) = slowdown(cases, rounds, CONTROL, native) {
        let (least, most) = CONTROL_LIMITS;
        let holds = (least..=most).contains(&control.median);
        let what = "control: plain streams again, against themselves";
        text.push(judged(what, control.median, "", &format!("{least} to {most}"), holds));
    }
    let p50 = |name: &str| rows.iter().find(|row| row.method == name).and_then(|row| row.p50_us);
    for method in OURS {
        let (name, chunk_us) = (method.label().method, stage.shop.options.profile.chunk_max.as_us());
        let limit_us = p50(IDLE).unwrap_or(0.0) + SLACK_US + if method.has_chunks() { chunk_us } else { 0.0 };
        if let Some(us) = p50(name) {
            let limit = format!("{limit_us:.1} us, idle and a chunk");
            text.push(judged(&format!("{name}: urgent copy, median"), us, " us", &limit, us <= limit_us));
        }
        if let Some(part) = slowdown(cases, rounds, name, native) {
            let holds = part.median < 1.0;
            text.push(judged(&format!("{name}: urgent copy, by that of plain streams"), part.median, "", "1", holds));
        }
        if let Some(kept) = ratio(cases, rounds, (name, RAW), |measured| measured.bulk.gbps()) {
            let limit = format!("{KEPT_MIN} of raw");
            text.push(judged(&format!("{name}: bulk, by raw"), kept.median, "", &limit, kept.median >= KEPT_MIN));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_row_is_made_without_a_rate() {
        assert!(rate(None).is_err_and(|error| error.to_string().contains("peer_gbps")));
        assert_eq!((rate(Some(0.2)).unwrap(), rate(Some(374.6)).unwrap()), (1, 375));
    }
}
