//! The combined reports of the processes of a run.

mod folder;
mod observed;
pub mod record;
mod text;
mod total;
mod trace;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;
use shim::record::FORMAT;

pub use folder::Folder;
pub use observed::tail;
use record::ProcessRecord;
pub use total::Total;

use super::args::RunArguments;
use super::supervise::Ending;
use super::variables::Changes;
use console::failure::{Failure, Result};
use console::output;

/// The outputs of a run. Their files are made beforehand, so that a bad name is found before the program has run for
/// hours.
pub struct Reports {
    is_text: bool,
    json: Option<Target>,
    trace: Option<Target>,
}

/// A file, or standard output.
pub enum Target {
    Output,
    File(PathBuf, File),
}

/// Facts about a run that its processes do not report.
pub struct Run<'a> {
    /// The program with its arguments.
    pub command: Vec<String>,
    /// The way in which it ended.
    pub ending: Ending,
    /// Its running time.
    pub wall_ms: u64,
    /// The deployment of the library.
    pub deployment: &'static str,
    pub library: &'a Path,
    /// The changes to its environment.
    pub variables: &'a Changes,
    /// Why no process used CUDA through the drop-in, if none did, and what to try.
    pub unseen: (String, &'static str),
}

/// The JSON of a run.
#[derive(Serialize)]
struct Document<'a> {
    format: u32,
    command: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_status: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<i32>,
    wall_ms: u64,
    deployment: &'static str,
    library: String,
    variables: BTreeMap<&'a str, String>,
    total: &'a Total,
    /// Why no process used CUDA through the drop-in.
    #[serde(skip_serializing_if = "Option::is_none")]
    unseen: Option<&'a str>,
    processes: Vec<&'a Value>,
    warnings: &'a [String],
}

impl Reports {
    pub fn open(run: &RunArguments) -> Result<Reports> {
        let open = |path: &Option<PathBuf>| path.as_deref().map(Target::open).transpose();
        Ok(Reports {
            is_text: run.report || (run.observe && run.json.is_none()),
            json: open(&run.json)?,
            trace: open(&run.trace)?,
        })
    }

    /// Whether the processes have to write traces.
    pub fn has_trace(&self) -> bool {
        self.trace.is_some()
    }

    pub fn write(self, run: &Run<'_>, folder: &Folder) -> Result<()> {
        let found = folder.reports();
        let records: Vec<&ProcessRecord> = found.processes.iter().map(|process| &process.record).collect();
        let mut complaints = found.complaints;
        if let Some(target) = self.trace {
            let (trace, cut_off) = trace::merge(&folder.traces(), &records);
            complaints.extend(cut_off);
            target.write(&format!("{trace}\n"))?;
        }
        let total = Total::of(records.iter().copied());
        if let Some(target) = self.json {
            let processes = found.processes.iter().map(|process| &process.raw).collect();
            target.write(&document(run, &total, processes, &complaints)?)?;
        }
        if self.is_text {
            // Standard error may be closed; the program's result stands.
            let text = text::render(&run.heading(), &total, &records, &complaints, &run.unseen);
            let _ = std::io::stderr().lock().write_all(text.as_bytes());
        }
        Ok(())
    }
}

impl Run<'_> {
    /// A line such as `python serve.py (ended with 0 after 12.5 s)`.
    fn heading(&self) -> String {
        let ending = match self.ending {
            Ending::Exited(status) => format!("ended with {status}"),
            Ending::Killed(signal) => format!("ended by signal {signal}"),
        };
        let wall = report::format::span_us(self.wall_ms as f64 * 1e3);
        format!("{} ({ending} after {wall}, deployment {})", self.command.join(" "), self.deployment)
    }
}

fn document(run: &Run<'_>, total: &Total, processes: Vec<&Value>, warnings: &[String]) -> Result<String> {
    let (exit_status, signal) = match run.ending {
        Ending::Exited(status) => (Some(status), None),
        Ending::Killed(signal) => (None, Some(signal)),
    };
    let document = Document {
        format: FORMAT,
        command: &run.command,
        exit_status,
        signal,
        wall_ms: run.wall_ms,
        deployment: run.deployment,
        library: run.library.display().to_string(),
        variables: run.variables.iter().map(|(name, value)| (name.as_str(), value.display().to_string())).collect(),
        total,
        unseen: (total.processes == 0).then_some(run.unseen.0.as_str()),
        processes,
        warnings,
    };
    let text = serde_json::to_string_pretty(&document)
        .map_err(|error| Failure::Other(format!("the report does not serialise: {error}; please report this bug")))?;
    Ok(text + "\n")
}

impl Target {
    pub fn open(path: &Path) -> Result<Target> {
        if path == Path::new("-") {
            return Ok(Target::Output);
        }
        let file = os::file::create(path).map_err(|error| Failure::File(path.to_owned(), error))?;
        Ok(Target::File(path.to_owned(), file))
    }

    pub fn write(self, text: &str) -> Result<()> {
        match self {
            Target::Output => output::print(text),
            Target::File(path, mut file) => file.write_all(text.as_bytes()).map_err(|error| Failure::File(path, error)),
        }
    }
}
