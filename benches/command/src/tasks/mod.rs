//! `bench tasks`: the dispatcher against streams and events that are written by hand, the time from the end of a node
//! to the function that waits for it, and the bandwidth of bulk before, during and after urgent tasks.

mod arming;
mod chains;
mod ends;

use console::Globals;
use console::failure::Result;
use console::progress::Progress;
use hal::Nanos;
use measure::case::fill_latency;
use measure::present::{subtitle, table};
use measure::stage::{Shown, Stage, finish, span};
use report::{BenchRow, Distribution, Run};

use crate::args::{TasksArguments, TasksPart};

/// A measurement in rounds.
struct Course<'s> {
    stage: &'s Stage,
    progress: &'s mut Progress,
    rounds: u32,
    /// The time of one slice of a round.
    span: Nanos,
    bulk_bytes: u64,
}

/// The rows of a part, and the figures that have a limit, in words.
#[derive(Default)]
pub(super) struct Part {
    pub(super) rows: Vec<BenchRow>,
    pub(super) verdict: Vec<String>,
}

/// Runs the command.
pub fn run(globals: &Globals, tasks: &TasksArguments) -> Result<()> {
    let mut lane_bytes = vec![tasks.common.bulk_bytes; 2];
    lane_bytes.extend([chains::BYTES; chains::CHAINS]);
    let stage = Stage::set(globals, tasks.common.device, &tasks.common.options, &lane_bytes)?;
    let parts = if tasks.parts.is_empty() { &TasksPart::ALL[..] } else { &tasks.parts };
    let slices: usize = parts.iter().map(|part| slices(*part)).sum();
    let steps = slices * tasks.common.rounds as usize;
    let mut progress = stage.progress(tasks.common.seconds, steps);
    let part_span = Nanos(span(tasks.common.seconds).0 / steps.max(1) as u64);
    let mut all = Part::default();
    for part in parts {
        let mut course = Course {
            stage: &stage,
            progress: &mut progress,
            rounds: tasks.common.rounds,
            span: part_span,
            bulk_bytes: tasks.common.bulk_bytes,
        };
        let measured = match part {
            TasksPart::Chains => chains::run(&mut course)?,
            TasksPart::Ends => ends::run(&mut course)?,
            TasksPart::Arming => arming::run(&mut course)?,
        };
        all.rows.extend(measured.rows);
        all.verdict.extend(measured.verdict);
    }
    drop(progress);
    let run = Run { header: stage.header.clone(), rows: all.rows };
    let summary = format!("{}\n{}", subtitle(&run), all.verdict.join("\n"));
    let shown =
        Shown { title: "tasks".into(), summary, table: table(&run), picture: None, svg: None, notes: Vec::new() };
    finish(&tasks.common.output, &run, &shown)
}

/// Slices of a round.
fn slices(part: TasksPart) -> usize {
    match part {
        TasksPart::Chains => chains::METHODS.len(),
        TasksPart::Ends => ends::PLACES.len(),
        TasksPart::Arming => 2 * arming::SLICES,
    }
}

/// A row of latencies.
pub(super) fn row(method: &str, transport: &str, direction: &str, latencies_ns: &[u64]) -> BenchRow {
    let mut row = BenchRow {
        method: method.to_owned(),
        transport: transport.to_owned(),
        emulation: if transport == "kernel" { "hold" } else { "none" }.to_owned(),
        direction: direction.to_owned(),
        ..BenchRow::default()
    };
    fill_latency(&mut row, latencies_ns, &[]);
    row
}

pub(super) fn median_ns(samples_ns: &[u64]) -> Option<f64> {
    Distribution::new(samples_ns.to_vec()).map(|all| all.quantile_ns(0.5) as f64)
}

/// A figure beside its limit, in words.
pub(super) fn judged(what: &str, figure: f64, unit: &str, limit: &str, holds: bool) -> String {
    format!("{what}: {figure:.3}{unit} (limit {limit}): {}", if holds { "holds" } else { "DOES NOT HOLD" })
}
