//! One run of one program, with an end in any case.

use std::fmt;
use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::harness::spawn::spawn;

/// Far more than any of them needs: a program that hangs must fail, not stop the run.
const PROGRAM_TIME_MAX: Duration = Duration::from_secs(60);

/// Lines of a difference that are worth showing.
const LINES_SHOWN: usize = 8;

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself.
    Status(i32),
    /// By a signal.
    Signal(i32),
    /// It had to be ended.
    Never,
}

/// What a run left behind.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    output: String,
    errors: String,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}\n{}{}", self.end, last_lines(&self.output), last_lines(&self.errors))
    }
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LINES_SHOWN)..].iter().map(|line| format!("    {line}\n")).collect()
}

impl Outcome {
    /// The same without what the drop-in has to say.
    pub fn without_warnings(mut self) -> Outcome {
        let kept = self.errors.lines().filter(|line| !line.starts_with("overtake: "));
        self.errors = kept.map(|line| format!("{line}\n")).collect();
        self
    }

    /// What is different, if anything is.
    pub fn difference_from(&self, native: &Outcome) -> Option<String> {
        if self.end != native.end {
            return Some(format!("it ended with {self}, and natively with {native}"));
        }
        let (output, errors) = (differing(&native.output, &self.output), differing(&native.errors, &self.errors));
        output.or(errors).map(|lines| format!("(- native, + here)\n{lines}"))
    }
}

fn differing(native: &str, here: &str) -> Option<String> {
    if native == here {
        return None;
    }
    let (mut wanted, mut seen) = (native.lines(), here.lines());
    let mut lines = Vec::new();
    loop {
        match (wanted.next(), seen.next()) {
            (None, None) => break,
            (a, b) if a == b => {}
            (a, b) => lines.extend([a.map(|line| format!("    - {line}\n")), b.map(|line| format!("    + {line}\n"))]),
        }
    }
    Some(lines.into_iter().flatten().take(2 * LINES_SHOWN).collect())
}

/// Takes away what would change the model or the drop-in under the program.
pub fn forget_environment(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if ["OVERTAKE", "CUDA_", "LD_"].iter().any(|prefix| text.starts_with(prefix)) {
            command.env_remove(&name);
        }
    }
}

/// Runs it; its outputs go through files of this folder, which no child that stays behind can block.
pub fn run(command: &mut Command, folder: &Path) -> Result<Outcome, String> {
    let why = |what: &str, error: std::io::Error| format!("{what}: {error}");
    let (output, errors) = (folder.join("output"), folder.join("errors"));
    command.stdin(Stdio::null()).process_group(0);
    command.stdout(File::create(&output).map_err(|error| why("create the output", error))?);
    command.stderr(File::create(&errors).map_err(|error| why("create the output", error))?);
    let child = spawn(command).map_err(|error| why("start the program", error))?;
    let end = wait(child).map_err(|error| why("wait for the program", error))?;
    let read = |path: &Path| std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let output = read(&output).map_err(|error| why("read the output", error))?;
    Ok(Outcome { end, output, errors: read(&errors).map_err(|error| why("read the output", error))? })
}

fn wait(mut child: Child) -> std::io::Result<End> {
    let started = Instant::now();
    while started.elapsed() < PROGRAM_TIME_MAX {
        if let Some(status) = child.try_wait()? {
            return Ok(match (status.code(), status.signal()) {
                (Some(code), _) => End::Status(code),
                (None, signal) => End::Signal(signal.unwrap_or(0)),
            });
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    // The group is the program's own: its children go with it.
    Command::new("kill").args(["-KILL", "--"]).arg(format!("-{}", child.id())).status()?;
    child.wait()?;
    Ok(End::Never)
}
