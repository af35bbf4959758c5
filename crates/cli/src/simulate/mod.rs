//! `overtake simulate`: the order in which copies run, on a small exact machine without a driver.
//!
//! `README.md` beside this file has the machine's rules.

mod alias;
mod channel;
mod check;
mod demand;
mod dependencies;
mod machine;
mod outcome;
mod pending;
mod present;
#[cfg(test)]
mod properties;
mod scenario;
mod schedule;
mod setup;
mod words;

use std::path::{Path, PathBuf};

use clap::Args;
use console::failure::{Failure, Result};
use console::output;
use os::fault::Source;
use overtake::options::syntax;

use present::Report;
use scenario::{Mode, Scenario};
use setup::Setup;

/// Arguments of `simulate`.
#[derive(Debug, Args)]
pub struct SimulateArguments {
    /// The scenario, for instance examples/scenarios/worked-example.toml.
    #[arg(value_name = "FILE.toml")]
    file: PathBuf,
    /// The order of copies, instead of the file's mode.
    #[arg(long, value_enum, value_name = "MODE")]
    mode: Option<Mode>,
    /// Cut copies below the highest priority into chunks of this many bytes, instead of the file's chunks.
    #[arg(long, value_name = "BYTES")]
    chunk_bytes: Option<u64>,
    /// Write the timeline to this file.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Write the outcome to this file; `-` prints it instead of the text.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Runs the command.
pub fn run(arguments: &SimulateArguments) -> Result<()> {
    let explain = |error: String| Failure::Other(format!("{}: {error}", arguments.file.display()));
    let scenario = read(&arguments.file)?;
    let mode = arguments.mode.unwrap_or(scenario.mode);
    let chunk_bytes = arguments.chunk_bytes.or(scenario.chunk_bytes);
    let setup = Setup::new(&scenario, mode, chunk_bytes).map_err(explain)?;
    let outcome = machine::simulate(&setup).map_err(explain)?;
    let expected = scenario.expect.of(mode, scenario.mode).map_err(explain)?;
    // The expectations are about the file's own chunks.
    let expected = expected.filter(|_| chunk_bytes == scenario.chunk_bytes);
    let unmet = expected.map(|expected| check::unmet(&expected, &setup, &outcome)).transpose().map_err(explain)?;
    let report = Report { scenario: &scenario, setup: &setup, chunk_bytes, outcome: &outcome, unmet: unmet.as_deref() };
    write(arguments, &report)?;
    match (unmet, &outcome.deadlock) {
        (Some(unmet), _) if !unmet.is_empty() => Err(explain(format!("not as expected: {}", unmet.join("; ")))),
        (None, Some(_)) => Err(explain(
            "nothing moves any more; try --mode hold, and `inc = \"schedulable\"` with `boost = true` in the file"
                .to_owned(),
        )),
        _ => Ok(()),
    }
}

fn read(path: &Path) -> Result<Scenario> {
    let origin = path.display().to_string();
    let text = os::file::read_text(path).map_err(|error| {
        Failure::Other(format!("cannot read {origin}: {error}; name a scenario file, as in examples/scenarios"))
    })?;
    let fault = |error: toml::de::Error| syntax(&Source { origin: &origin, text: &text }, &error);
    toml::from_str(&text).map_err(|error| Failure::Other(fault(error).to_string()))
}

fn write(arguments: &SimulateArguments, report: &Report<'_>) -> Result<()> {
    if let Some(path) = &arguments.svg {
        output::write_file(path, &report.timeline().to_svg())?;
    }
    let Some(path) = &arguments.json else { return output::print(&report.text()) };
    let json = report
        .json()
        .map_err(|error| Failure::Other(format!("the outcome does not serialise: {error}; please report this bug")))?;
    if path.as_os_str() == "-" {
        return output::print(&(json + "\n"));
    }
    output::write_file(path, &(json + "\n"))?;
    output::print(&report.text())
}
