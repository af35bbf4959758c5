//! The command line.

use std::path::PathBuf;

use bench::BenchArguments;
use clap::{Args, Parser, Subcommand};
use console::Globals;
use measure::args::seconds;
use overtake::VERSION_AND_COMMIT;

use crate::dag::DagArguments;
use crate::live::metrics::MetricsArguments;
use crate::live::top::TopArguments;
use crate::manual::ManualArguments;
use crate::pipeline::PipelineArguments;
use crate::run::RunArguments;
use crate::simulate::SimulateArguments;

const AFTER_HELP: &str = "\
Examples:
  overtake run -- python serve.py      a program, unchanged: its urgent copies pass its bulk copies
  overtake top                         all programs under the drop-in, live
  overtake info                        the properties of this machine, with advice
  overtake demo                        the problem and the cure, measured here, with a picture
  overtake --backend soft demo         the same on the software GPU: no GPU needed
  overtake demo --json - | jq .rows    the numbers alone
  overtake bench latency --frontier    latency against bandwidth, method against method
  overtake bench video                 pictures with deadlines beside bulk: streams, copies, tasks
  overtake trace copies.json out.svg   a trace of run --trace, or of kernels, as a picture
  overtake report one.json two.json    a page about runs of bench: figures and every number, side by side
  overtake dag plan program.txt        devices, streams and transfers of a program, without running it
  overtake pipeline plan cameras.toml  the longest latency of each live stream, without running it
  overtake options                     every option and variable
  overtake check rules.toml            the mistakes in a file of rules or options
  overtake manual ~/.local             man pages and completions, where man and the shells look for them

Without --backend, the variable OVERTAKE_BACKEND decides; without that, the real driver where there is one, else the
software GPU. Exit codes: 0 done, 1 failed, 2 the command line makes no sense; `run` ends as its program did.";

/// Gives GPU memory copies the priorities that CUDA does not.
#[derive(Debug, Parser)]
#[command(name = "overtake", version = VERSION_AND_COMMIT, after_help = AFTER_HELP, arg_required_else_help = true)]
pub struct Arguments {
    #[command(flatten)]
    pub globals: Globals,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show driver, devices and settings of this machine, and warn of traps.
    Info(InfoArguments),
    /// Measure how long a small copy waits behind bulk copies, natively and through overtake, and draw it.
    Demo(DemoArguments),
    /// Measure overtake against CUDA alone.
    Bench(BenchArguments),
    /// Run a program with priorities for its copies, unchanged, and report on them.
    Run(RunArguments),
    /// Watch all programs that run under the drop-in: rates, waits, ways, stand-downs.
    Top(TopArguments),
    /// The same for Prometheus: printed, to a file, or at a loopback port.
    Metrics(MetricsArguments),
    /// Run a scenario on a small exact machine, with or without semaphores: the order of copies, with reasons.
    Simulate(SimulateArguments),
    /// Draw a trace of a program's copies or of kernels as a picture.
    Trace(TraceArguments),
    /// Make one page of runs: origin, headline ratios, figures and every number, several runs side by side.
    Report(ReportArguments),
    /// Plan graphs of computations: devices, streams, transfers.
    Dag(DagArguments),
    /// Plan live streams: the load of each engine, and the longest latency of a frame.
    Pipeline(PipelineArguments),
    /// List every option and variable: its values, its default, its meaning.
    Options(OptionsArguments),
    /// Check files of rules and options: every mistake and its place.
    Check(CheckArguments),
    /// Write man pages, and completions for bash, zsh and fish.
    Manual(ManualArguments),
}

/// Arguments of `trace`.
#[derive(Debug, Args)]
pub struct TraceArguments {
    /// The trace: JSON for Perfetto, as `overtake run --trace` and `overtake::profile` write it.
    #[arg(value_name = "FILE.json")]
    pub file: PathBuf,
    /// Write the picture to this file: a lane for each track, a bar for each slice.
    #[arg(value_name = "PICTURE.svg")]
    pub picture: PathBuf,
    /// The headline, instead of the number of slices.
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
}

/// Arguments of `report`.
#[derive(Debug, Args)]
pub struct ReportArguments {
    /// Runs: JSON that `overtake bench` or `overtake run` wrote, one or a list, or a trace in the format of Perfetto.
    #[arg(required = true, value_name = "RUN")]
    pub files: Vec<PathBuf>,
    /// Write the page to this file; `-` prints it.
    #[arg(long, short, default_value = "overtake-report.html", value_name = "FILE")]
    pub output: PathBuf,
    /// The headline, instead of the run's command.
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Print the runs and their headline ratios as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `options`.
#[derive(Debug, Args)]
pub struct OptionsArguments {
    /// Show these options and variables alone, each with all that is known of it.
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `check`.
#[derive(Debug, Args)]
pub struct CheckArguments {
    /// Files of rules and options (TOML), in the format of --rules, --config, OVERTAKE_RULES and OVERTAKE_CONFIG.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `info`.
#[derive(Debug, Args)]
pub struct InfoArguments {
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// Measure the rates of each device's link, and say what to set where they differ from those assumed.
    #[arg(long)]
    pub calibrate: bool,
}

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub struct DemoArguments {
    /// The device to measure, by its ordinal.
    #[arg(long, default_value_t = 0, value_name = "ORDINAL")]
    pub device: i32,
    /// How long to measure, all cases together (virtual time on the software GPU).
    #[arg(long, default_value_t = 6.0, value_parser = seconds, value_name = "SECONDS")]
    pub seconds: f64,
    /// Write the numbers to this file; `-` prints them instead of the table.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write the picture to this file.
    #[arg(long, default_value = "overtake-demo.svg", value_name = "FILE")]
    pub svg: PathBuf,
    /// Write a page with table and picture to this file.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Arguments::command().debug_assert();
    }
}
