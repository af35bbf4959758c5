//! One run of one program, which ends in any case.

use std::fmt;
use std::fs::File;
use std::io::{PipeReader, PipeWriter, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::harness::patience;
use crate::harness::spawn::spawn;

/// Lines of a difference that a message shows.
const LINES_SHOWN: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself.
    Status(i32),
    /// By a signal.
    Signal(i32),
    /// It ran for too long, and the test ended it.
    Never,
}

#[derive(Clone, Debug)]
pub struct Outcome {
    pub end: End,
    pub output: String,
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
    /// The outcome without the drop-in's messages.
    pub fn without_warnings(mut self) -> Outcome {
        let kept = self.errors.lines().filter(|line| !line.starts_with("overtake: "));
        self.errors = kept.map(|line| format!("{line}\n")).collect();
        self
    }

    /// Whether a message of the drop-in's has this in it.
    pub fn says(&self, text: &str) -> Result<(), String> {
        let said = self.errors.lines().any(|line| line.starts_with("overtake: ") && line.contains(text));
        said.then_some(()).ok_or_else(|| format!("no message names {text}:\n{}", self.errors))
    }

    pub fn output(&self) -> &str {
        &self.output
    }

    /// The first difference between two outcomes.
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

/// The error output of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errors {
    /// A file, which is read afterwards.
    Read,
    /// A pipe without a reader: a write to it raises a signal.
    NoReader,
    /// A full pipe that is never emptied: a write to it waits for ever.
    FullPipe,
    /// A device that is full: a write to it is an error.
    FullDevice,
}

impl Errors {
    /// Those in which no message finds room.
    pub const UNHEARD: [Errors; 3] = [Errors::NoReader, Errors::FullPipe, Errors::FullDevice];

    /// The word in names of trials.
    pub fn name(self) -> &'static str {
        match self {
            Errors::Read => "read",
            Errors::NoReader => "no_reader",
            Errors::FullPipe => "full_pipe",
            Errors::FullDevice => "full_device",
        }
    }

    /// The output, and a reader that must stay open as long as the program runs.
    fn open(self, file: &Path) -> std::io::Result<(Stdio, Option<PipeReader>)> {
        match self {
            Errors::Read => Ok((File::create(file)?.into(), None)),
            Errors::FullDevice => Ok((File::options().write(true).open("/dev/full")?.into(), None)),
            Errors::NoReader => Ok((std::io::pipe()?.1.into(), None)),
            Errors::FullPipe => {
                let (reader, writer) = std::io::pipe()?;
                fill(&writer)?;
                Ok((writer.into(), Some(reader)))
            }
        }
    }
}

/// Writes until there is no room.
fn fill(pipe: &PipeWriter) -> std::io::Result<()> {
    let path = format!("/proc/self/fd/{}", pipe.as_raw_fd());
    let mut own = File::options().write(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    while own.write(&[b'x'; 4096]).is_ok() {}
    Ok(())
}

/// Removes the variables that would change the model or the drop-in in the program.
pub fn forget_environment(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if ["OVERTAKE", "CUDA_", "LD_"].iter().any(|prefix| text.starts_with(prefix)) {
            command.env_remove(&name);
        }
    }
}

/// Runs the command for no longer than `limit`. Its outputs go through files of this folder, so that a child that it
/// leaves behind cannot block the test.
pub fn run(command: &mut Command, folder: &Path, heard: Errors, limit: Duration) -> Result<Outcome, String> {
    let why = |what: &str, error: std::io::Error| format!("{what}: {error}");
    let (output, errors) = (folder.join("output"), folder.join("errors"));
    command.stdin(Stdio::null()).process_group(0);
    command.stdout(File::create(&output).map_err(|error| why("create the output", error))?);
    let (stderr, _reader) = heard.open(&errors).map_err(|error| why("create the error output", error))?;
    command.stderr(stderr);
    let child = spawn(command).map_err(|error| why("start the program", error))?;
    let end = wait(child, limit).map_err(|error| why("wait for the program", error))?;
    // The program alone had the writer, and has ended.
    command.stderr(Stdio::null());
    let read = |path: &Path| std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let output = read(&output).map_err(|error| why("read the output", error))?;
    let errors = match heard {
        Errors::Read => without_that_of_tests(&read(&errors).map_err(|error| why("read the error output", error))?),
        _ => String::new(),
    };
    Ok(Outcome { end, output, errors })
}

/// The drop-in says that it is set up for a test, which is no difference.
fn without_that_of_tests(errors: &str) -> String {
    errors.split_inclusive('\n').filter(|line| !line.contains("OVERTAKE_UNLISTED is set")).collect()
}

fn wait(mut child: Child, limit: Duration) -> std::io::Result<End> {
    if let Some(status) = patience::end_within(&mut child, limit)? {
        return Ok(match (status.code(), status.signal()) {
            (Some(code), _) => End::Status(code),
            (None, signal) => End::Signal(signal.unwrap_or(0)),
        });
    }
    // The process group is the program's own: its children end with it.
    Command::new("kill").args(["-KILL", "--"]).arg(format!("-{}", child.id())).status()?;
    child.wait()?;
    Ok(End::Never)
}
