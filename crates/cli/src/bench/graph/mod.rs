//! `bench graph`: programs whose order and copies follow from the arrays that they use.

mod automatic;
mod content;
mod hand;
mod memory;
mod parts;
mod shapes;
mod single;

use report::Run;

use super::args::GraphArguments;
use super::present::{subtitle, table};
use super::stage::{Shown, Stage, finish};
use super::tasks::Part;
use crate::args::Arguments;
use crate::failure::Result;
use crate::open::Payload;

/// Runs the command.
pub fn run(arguments: &Arguments, graph: &GraphArguments) -> Result<()> {
    let payload = if graph.check { Payload::Real } else { Payload::TimingOnly };
    let stage = Stage::set_with(arguments, payload, graph.common.device, &graph.common.options, &[])?;
    let Part { rows, verdict } = single::run(&stage, graph)?;
    let run = Run { header: stage.header.clone(), rows };
    let summary = format!("{}\n{}", subtitle(&run), verdict.join("\n"));
    let shown =
        Shown { title: "graph".into(), summary, table: table(&run), picture: None, svg: None, notes: Vec::new() };
    finish(&graph.common.output, &run, &shown)
}
