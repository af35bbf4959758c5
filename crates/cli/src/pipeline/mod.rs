//! `overtake pipeline`: live streams, planned without a driver.

mod file;
mod machine;
mod present;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use console::failure::{Failure, Result};
use console::output;
use graph::{Bandwidth, Location};
use os::fault::Source;
use overtake_plan::latency::plan;

use file::Streams;
use present::Report;

/// Arguments of `pipeline`.
#[derive(Debug, Args)]
pub struct PipelineArguments {
    /// The command.
    #[command(subcommand)]
    command: PipelineCommand,
}

/// The commands about pipelines.
#[derive(Debug, Subcommand)]
enum PipelineCommand {
    /// Tell the load of each engine and the longest latency of each stream, without running anything. Fails, with the
    /// reason, if a frame may be late.
    Plan(PlanArguments),
}

/// Arguments of `pipeline plan`.
#[derive(Debug, Args)]
struct PlanArguments {
    /// The streams, for instance examples/pipelines/cameras.toml; docs/pipelines.md has the format.
    #[arg(value_name = "FILE.toml")]
    file: PathBuf,
    /// A file of bandwidths in GB/s, as `overtake bench bandwidth --pairs --csv` writes it, in place of the file's.
    #[arg(long, value_name = "FILE")]
    bandwidth: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &PipelineArguments) -> Result<()> {
    let PipelineCommand::Plan(arguments) = &arguments.command;
    let origin = arguments.file.display().to_string();
    let text = read(&arguments.file, "docs/pipelines.md tells how streams are written")?;
    let mut streams = file::parse(&Source { origin: &origin, text: &text }).map_err(Failure::Other)?;
    if let Some(path) = &arguments.bandwidth {
        apply(&mut streams, path)?;
    }
    let plan = plan(&streams.machine, &streams.background, &streams.streams);
    let report = Report { streams: &streams, plan: &plan };
    if arguments.json {
        output::print_json(&report.json())?
    } else {
        output::print(&report.text())?
    }
    match report.reasons() {
        reasons if reasons.is_empty() => Ok(()),
        reasons => Err(Failure::Other(format!("{origin}: it cannot hold: {}", reasons.join("; ")))),
    }
}

/// Takes the rate between the host and the first device.
fn apply(streams: &mut Streams, path: &Path) -> Result<()> {
    let text = read(path, "name a file of bandwidths")?;
    let explain = |(line, fault)| Failure::Other(format!("{}:{line}: {fault}", path.display()));
    let read = Bandwidth::read(&text, 1).map_err(explain)?;
    let gbps = read.between(Location::Host, Location::Device(0)).filter(|gbps| *gbps > 0.0);
    let none = || Failure::Other(format!("{}: there is no bandwidth between host and device 0", path.display()));
    let gbps = gbps.ok_or_else(none)?;
    (streams.machine.h2d_gbps, streams.machine.d2h_gbps) = (gbps, gbps);
    machine::expect_beside_kernels(&mut streams.machine);
    streams.origin = format!("{}; rates of {}", streams.origin, path.display());
    Ok(())
}

fn read(path: &Path, cure: &str) -> Result<String> {
    let told = os::file::read_text(path);
    told.map_err(|error| Failure::Other(format!("cannot read {}: {error}; {cure}", path.display())))
}
