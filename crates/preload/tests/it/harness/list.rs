//! The lines of `clients.list`.

use std::path::Path;

use crate::harness::report::Expect;
use crate::harness::run::End;

/// A program, or a library that programs need.
#[derive(Clone, Debug)]
pub struct Client {
    /// The name of the binary and of the trial.
    pub name: String,
    /// Relative to `c/`, or to the repository's `tests/c` after `shared/`; empty where cargo builds it.
    pub source: String,
    /// Flags for gcc.
    pub flags: Vec<String>,
    /// Its native end.
    pub end: End,
    /// The expected content of the drop-in's reports.
    pub report: Expect,
    /// Arguments, in which `@bin` and `@tests` stand for folders.
    pub arguments: Vec<String>,
    /// A library is built and not run.
    pub is_library: bool,
}

impl Client {
    /// A program outside the list, because its output differs between deployments.
    pub fn program(name: &str, source: &str, flags: &[&str]) -> Client {
        Client {
            name: name.to_owned(),
            source: source.to_owned(),
            flags: flags.iter().map(|flag| (*flag).to_owned()).collect(),
            end: End::Status(0),
            report: Expect::Anything,
            arguments: Vec::new(),
            is_library: false,
        }
    }
}

/// Reads the list. Its libraries come first in the file, so that programs can be linked with them.
pub fn read(path: &Path) -> Vec<Client> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("read {}: {error}", path.display()));
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    lines.map(|line| client(line).unwrap_or_else(|why| panic!("{}: {why}: {line}", path.display()))).collect()
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn client(line: &str) -> Result<Client, String> {
    let columns: Vec<&str> = line.split('|').map(str::trim).collect();
    let [kind, name, source, flags, end, report, _, arguments] = columns[..] else {
        return Err(format!("{} columns, not 8", columns.len()));
    };
    let is_library = kind == "library";
    let (end, report) = if is_library { (End::Status(0), Expect::Anything) } else { (end_of(end)?, expect(report)?) };
    Ok(Client {
        name: name.to_owned(),
        source: source.to_owned(),
        flags: words(flags),
        end,
        report,
        arguments: words(arguments),
        is_library,
    })
}

fn end_of(text: &str) -> Result<End, String> {
    let number = |text: &str| text.trim().parse().map_err(|error| format!("`{text}`: {error}"));
    match text.strip_prefix("signal") {
        Some(signal) => Ok(End::Signal(number(signal)?)),
        None => Ok(End::Status(number(text)?)),
    }
}

fn expect(text: &str) -> Result<Expect, String> {
    match text {
        "any" => Ok(Expect::Anything),
        "moved" => Ok(Expect::Moved),
        "moving" => Ok(Expect::Moving),
        "elsewhere" => Ok(Expect::Elsewhere),
        "captured" => Ok(Expect::Captured),
        "forked" => Ok(Expect::Forked),
        "silent" => Ok(Expect::Silence),
        "warns" => Ok(Expect::Warnings),
        "launches block" => Ok(Expect::LaunchesBlock),
        "unasked" => Ok(Expect::Unasked),
        other => {
            let least = |word| other.strip_prefix(word).and_then(|least| least.parse().ok());
            let urgent = least("urgent ").map(Expect::Urgent);
            let known = urgent.or_else(|| least("waited ").map(Expect::Waited));
            known.ok_or_else(|| format!("`{other}` is no expectation"))
        }
    }
}
