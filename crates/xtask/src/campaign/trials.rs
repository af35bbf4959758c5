//! The tests of the workspace, one by one, and the changes that each of them reaches.

use std::collections::{BTreeSet, HashMap};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A test that takes longer with a change, in multiples and at least, does not end.
const SLOWNESS_MAX: u32 = 6;
const SECONDS_MIN: u64 = 10;
/// A test that takes longer without one is left out.
const SECONDS_MAX: u64 = 60;

/// Cases of random tests.
const CASES: &str = "32";

#[derive(Clone, Serialize, Deserialize)]
pub struct Trial {
    program: PathBuf,
    folder: PathBuf,
    pub name: String,
    pub time_ms: u64,
    /// The changes that it reaches.
    pub reaches: BTreeSet<usize>,
}

impl Trial {
    pub fn title(&self) -> String {
        let program = self.program.file_name().unwrap_or_default().to_string_lossy();
        format!("{}::{}", program.rsplit_once('-').map_or(&*program, |(name, _)| name), self.name)
    }

    fn command(&self, mutant: &str, limit: Duration) -> Command {
        let mut command = Command::new("timeout");
        command.args(["--kill-after=1", &limit.as_secs().to_string()]).arg(&self.program);
        command.args(["--exact", &self.name, "--test-threads", "1"]).current_dir(&self.folder);
        command.env("MUTANT", mutant).env("PROPTEST_CASES", CASES).env("PROPTEST_FAILURE_PERSISTENCE", "off");
        command.stdout(Stdio::null()).stderr(Stdio::null()).stdin(Stdio::null());
        command
    }

    /// How it fails with the change, if it does.
    pub fn fails(&self, mutant: usize) -> Result<Option<&'static str>, String> {
        let limit = Duration::from_millis(self.time_ms * u64::from(SLOWNESS_MAX));
        let limit = limit.max(Duration::from_secs(SECONDS_MIN));
        let status =
            self.command(&mutant.to_string(), limit).status().map_err(|error| format!("timeout: {error}\n"))?;
        Ok(match status.code() {
            Some(0) => None,
            // What `timeout` returns. On a busy machine that may be chance.
            Some(124 | 137) => Some("not in time"),
            _ => Some("failed"),
        })
    }

    /// Runs it without a change. Returns whether it passes in time.
    fn watch(&mut self, hits: &Path) -> Result<bool, String> {
        let _absent = std::fs::remove_file(hits);
        let begin = Instant::now();
        let mut command = self.command("all", Duration::from_secs(SECONDS_MAX));
        let status = command.env("MUTANT_HITS", hits).status().map_err(|error| format!("timeout: {error}\n"))?;
        self.time_ms = begin.elapsed().as_millis() as u64;
        let text = std::fs::read_to_string(hits).unwrap_or_default();
        self.reaches = text.lines().filter_map(|line| line.parse().ok()).collect();
        Ok(status.success())
    }
}

/// The tests of the programs that a build has made, by its messages, with what they reach. Each is watched once: a line
/// of a file keeps it. The lines of an earlier build are good for as long as the programs are called the same.
pub fn all(messages: &str, kept: &Path) -> Result<Vec<Trial>, String> {
    let text = std::fs::read_to_string(kept).unwrap_or_default();
    let known = text.lines().filter_map(|line| serde_json::from_str(line).ok());
    let mut known: HashMap<(PathBuf, String), Trial> =
        known.map(|trial: Trial| ((trial.program.clone(), trial.name.clone()), trial)).collect();
    let mut log =
        std::fs::OpenOptions::new().append(true).create(true).open(kept).map_err(|error| error.to_string())?;
    let (listed, mut trials) = (listed(messages)?, Vec::new());
    let (count, hits) = (listed.len(), kept.with_extension("hits"));
    for (number, mut trial) in listed.into_iter().enumerate() {
        if number % 100 == 0 {
            println!("{number} of {count} tests without a change");
        }
        if let Some(before) = known.remove(&(trial.program.clone(), trial.name.clone())) {
            trials.push(before);
            continue;
        }
        if !trial.watch(&hits)? {
            println!("fails without a change, and is left out: {}", trial.title());
            trial.reaches.clear();
        }
        let text = serde_json::to_string(&trial).map_err(|error| error.to_string())?;
        writeln!(log, "{text}").map_err(|error| error.to_string())?;
        trials.push(trial);
    }
    Ok(trials)
}

fn listed(messages: &str) -> Result<Vec<Trial>, String> {
    let mut trials = Vec::new();
    for line in messages.lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
        let (Some(program), true) = (message["executable"].as_str(), message["profile"]["test"] == true) else {
            continue;
        };
        let manifest = PathBuf::from(message["manifest_path"].as_str().unwrap_or_default());
        let folder = manifest.parent().unwrap_or(Path::new(".")).to_owned();
        let program = PathBuf::from(program);
        let output = Command::new(&program).current_dir(&folder).arg("--list").output();
        let output = output.map_err(|error| format!("{}: {error}\n", program.display()))?;
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let Some(name) = line.strip_suffix(": test") else { continue };
            let (program, folder, name) = (program.clone(), folder.clone(), name.to_owned());
            trials.push(Trial { program, folder, name, time_ms: 0, reaches: BTreeSet::new() });
        }
    }
    Ok(trials)
}
