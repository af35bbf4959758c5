//! `overtake dag`: graphs of computations, without a driver.

mod figure;
mod present;

use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args, Subcommand};
use console::failure::{Failure, Result};
use console::output;
use graph::Bandwidth;
use overtake_plan::dag::{Policies, Program};

use present::Report;

/// Arguments of `dag`.
#[derive(Debug, Args)]
pub struct DagArguments {
    /// The command.
    #[command(subcommand)]
    command: DagCommand,
}

/// The commands about graphs.
#[derive(Debug, Subcommand)]
enum DagCommand {
    /// Tell device, stream, parents and transfers of each computation of a program, without running it.
    Plan(PlanArguments),
}

/// Arguments of `dag plan`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("pictures").args(["dot", "svg"]).multiple(true))]
struct PlanArguments {
    /// The program's text, for instance examples/graphs/image.txt; docs/plan.md has the format.
    #[arg(value_name = "GRAPH")]
    file: PathBuf,
    /// Policies, with commas between them, at most one of each kind: with-const, no-const; same-as-parent, disjoint,
    /// multigpu-early-disjoint, multigpu-disjoint; reuse, always-new; single-gpu, round-robin, stream-aware,
    /// min-transfer-size, minmin-transfer-time, minmax-transfer-time; grcuda-compat.
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    policy: Vec<String>,
    /// How many devices there are.
    #[arg(long, default_value_t = 1, value_name = "N")]
    devices: u8,
    /// A file of bandwidths in GB/s, lines `FROM,TO,BANDWIDTH` behind a header; -1 is the host.
    #[arg(long, value_name = "FILE")]
    bandwidth: Option<PathBuf>,
    /// A device that has more than this part of a computation's bytes is worth more than one whose turn it is.
    #[arg(long, value_name = "PART", value_parser = part)]
    threshold: Option<f64>,
    /// Write a picture for Graphviz's `dot` to this file.
    #[arg(long, value_name = "FILE")]
    dot: Option<PathBuf>,
    /// Write a figure to this file: lanes, devices, order, transfers, and priorities, inherited ones marked.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Frame sections in the picture and in the figure up to so many in each other. Deeper ones are a node each in the
    /// picture, and in the figure a box for each stretch of a lane.
    #[arg(long, value_name = "N", requires = "pictures")]
    depth: Option<usize>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Parses a part of a whole.
fn part(text: &str) -> std::result::Result<f64, String> {
    let part: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.0..=1.0).contains(&part) { Ok(part) } else { Err("must lie between 0 and 1".to_owned()) }
}

/// Runs the command.
pub fn run(arguments: &DagArguments) -> Result<()> {
    let DagCommand::Plan(arguments) = &arguments.command;
    let path = arguments.file.display();
    let explain =
        |fault: overtake_plan::dag::Fault| Failure::Other(format!("{path}:{}: {}", fault.line, fault.message));
    let text = read(&arguments.file, "docs/plan.md tells how a program is written")?;
    let program = Program::parse(&text).map_err(explain)?;
    let policies = policies(arguments)?;
    let plan = program.plan(&policies, arguments.devices).map_err(explain)?;
    let depth = arguments.depth.unwrap_or(usize::MAX);
    if let Some(file) = &arguments.dot {
        output::write_file(file, &plan.dot(&program, depth))?;
    }
    let report = Report { program: &program, policies: policies.names(), devices: arguments.devices, plan: &plan };
    if let Some(file) = &arguments.svg {
        output::write_file(file, &figure::of(&report, depth).to_svg())?;
    }
    if arguments.json { output::print_json(&report.json()) } else { output::print(&report.text()) }
}

fn policies(arguments: &PlanArguments) -> Result<Policies> {
    let mut policies = Policies { threshold: arguments.threshold, ..Policies::default() };
    for name in &arguments.policy {
        policies.choose(name).map_err(|fault| Failure::Other(format!("--policy: {fault}")))?;
    }
    if let Some(path) = &arguments.bandwidth {
        let text = read(path, "name a file of bandwidths")?;
        let read = Bandwidth::read(&text, arguments.devices);
        let explain = |(line, fault)| Failure::Other(format!("{}:{line}: {fault}", path.display()));
        policies.bandwidth = Some(read.map_err(explain)?);
    }
    Ok(policies)
}

fn read(path: &Path, cure: &str) -> Result<String> {
    let told = os::file::read_text(path);
    told.map_err(|error| Failure::Other(format!("cannot read {}: {error}; {cure}", path.display())))
}
