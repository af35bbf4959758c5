//! `overtake report`: a page about runs.

use std::path::Path;

use console::failure::{Failure, Result};
use console::output;
use report::runs::{Headline, Stored, headlines, page, read};
use serde::Serialize;

use crate::args::ReportArguments;

/// A file of runs is not longer than this.
const BYTES_MAX: u64 = 256 << 20;

/// A run in the JSON of the command.
#[derive(Serialize)]
struct Told<'a> {
    name: &'a str,
    device: Option<&'a str>,
    commit: Option<&'a str>,
    rows: usize,
    headlines: Vec<Headline>,
}

/// Runs the command.
pub fn run(arguments: &ReportArguments) -> Result<()> {
    let mut runs = Vec::new();
    for file in &arguments.files {
        runs.extend(open(file)?);
    }
    let title = arguments.title.clone().unwrap_or_else(|| title(&runs));
    let html = page(&title, &runs);
    if arguments.output.as_os_str() == "-" {
        return output::print(&html);
    }
    output::write_file(&arguments.output, &html)?;
    if arguments.json {
        return output::print_json(&runs.iter().map(told).collect::<Vec<_>>());
    }
    output::print(&format!("{}: {}\n", arguments.output.display(), summary(&runs)))
}

fn open(file: &Path) -> Result<Vec<Stored>> {
    let origin = file.display();
    let explain = |why: &dyn std::fmt::Display| {
        let cure = "name a file that `overtake bench … --json FILE`, `overtake run --json FILE` or `--trace FILE` has \
                    written";
        Failure::Other(format!("cannot report on {origin}: {why}; {cure}"))
    };
    let bytes = os::file::read(file, BYTES_MAX).map_err(|error| explain(&error))?;
    let text = String::from_utf8(bytes).map_err(|_| explain(&"it is no text"))?;
    read(&origin.to_string(), &text).map_err(|why| explain(&why))
}

fn title(runs: &[Stored]) -> String {
    let command = |run: &Stored| match (&run.header, &run.own) {
        (Some(header), _) => Some(header.command.clone()),
        (None, Some(own)) => Some(format!("overtake run -- {}", own.command.join(" "))),
        _ => None,
    };
    let commands: Vec<String> = runs.iter().filter_map(command).collect();
    match commands.as_slice() {
        [command] => command.clone(),
        _ => format!("overtake: {}", count(runs.len(), "run")),
    }
}

fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

fn summary(runs: &[Stored]) -> String {
    let rows = runs.iter().map(|run| run.rows.len()).sum();
    format!("{}, {}", count(runs.len(), "run"), count(rows, "row"))
}

fn told(run: &Stored) -> Told<'_> {
    let header = run.header.as_ref();
    Told {
        name: &run.name,
        device: header.map(|header| header.device.as_str()),
        commit: header.map(|header| header.commit.as_str()),
        rows: run.rows.len(),
        headlines: headlines(run),
    }
}
