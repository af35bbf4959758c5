//! `bench graph`: programs whose order and copies follow from the arrays that they use.

mod automatic;
mod content;
mod contention;
mod devices;
mod hand;
mod memory;
mod parts;
mod shapes;
mod single;
mod urgent;

use console::Globals;
use console::failure::Result;
use console::open::Payload;
use measure::present::{subtitle, table};
use measure::stage::{Shown, Stage, finish, span};
use report::Run;

use crate::args::{GraphArguments, GraphPart};
use crate::tasks::Part;

/// Runs the command.
pub fn run(globals: &Globals, graph: &GraphArguments) -> Result<()> {
    let payload = if graph.check { Payload::Real } else { Payload::TimingOnly };
    let lanes = [graph.common.bulk_bytes, urgent::BYTES[0]];
    let stage = Stage::set_with(globals, payload, graph.common.device, &graph.common.options, &lanes)?;
    let parts = if graph.parts.is_empty() { &[GraphPart::Programs, GraphPart::Urgent] } else { &graph.parts[..] };
    let seconds = graph.common.seconds / parts.len() as f64;
    let mut all = Part::default();
    for part in parts {
        let measured = match part {
            GraphPart::Programs => single::run(&stage, graph, span(seconds))?,
            GraphPart::Devices => devices::run(&stage, graph, span(seconds))?,
            GraphPart::Urgent => urgent::run(&stage, graph.common.bulk_bytes, graph.common.rounds, span(seconds))?,
        };
        all.rows.extend(measured.rows);
        all.verdict.extend(measured.verdict);
    }
    let Part { rows, verdict } = all;
    let run = Run { header: stage.header.clone(), rows };
    let summary = format!("{}\n{}", subtitle(&run), verdict.join("\n"));
    let shown =
        Shown { title: "graph".into(), summary, table: table(&run), picture: None, svg: None, notes: Vec::new() };
    finish(&graph.common.output, &run, &shown)
}

/// The geometric mean over programs of each round's figure.
fn mean(by_program: &[Vec<f64>]) -> Vec<f64> {
    let rounds = by_program.iter().map(Vec::len).min().unwrap_or(0);
    let of_round = |round: usize| {
        let logarithms: f64 = by_program.iter().map(|rounds| rounds[round].ln()).sum();
        (logarithms / by_program.len() as f64).exp()
    };
    (0..rounds).map(of_round).collect()
}
