//! The files of `plan/tests/plans`: programs, and their plans by each policy. `plan/tests/README.md` has the format.
#![allow(clippy::disallowed_methods)] // tests are no guests

use std::path::{Path, PathBuf};

/// A file: a program's text, and its rows.
pub struct Case {
    /// The name of the file.
    pub name: String,
    /// The text of the program.
    pub program: String,
    /// All rows.
    pub rows: Vec<Row>,
}

/// One expectation.
#[derive(Clone, Debug)]
pub struct Row {
    /// The names of the policies.
    pub policies: Vec<String>,
    /// It has to fail as GrCUDA does it.
    pub is_correction: bool,
    /// How many devices.
    pub devices: u8,
    /// The file of bandwidths.
    pub bandwidth: Option<PathBuf>,
    /// The lines that tell the plan.
    pub lines: Vec<Line>,
}

/// One line of a row.
#[derive(Clone, Debug)]
pub struct Line {
    /// `devices`, `lanes`, `streams`, `frontier` or `shape`.
    pub kind: String,
    /// Its words, each repetition written out.
    pub words: Vec<String>,
    /// It tells the plan of so many computations only.
    pub first: Option<usize>,
}

/// The folder of the files.
#[must_use]
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plan/tests/plans")
}

/// All files.
///
/// # Panics
///
/// If one cannot be read, or is none of these.
#[must_use]
pub fn cases() -> Vec<Case> {
    let files = std::fs::read_dir(folder()).expect("the folder is there").map(|file| file.expect("a file").file_name());
    let names = files.map(|name| name.into_string().expect("its name is text"));
    names.filter(|name| name.ends_with(".txt")).map(|name| case(&name)).collect()
}

fn case(name: &str) -> Case {
    let text = std::fs::read_to_string(folder().join(name)).expect("it is text");
    let mut sections = text.split("\n== ");
    let program = sections.next().unwrap_or_default().to_owned();
    let mut rows = Vec::new();
    for section in sections {
        let (head, lines) = section.split_once('\n').expect("lines behind the head");
        let head: Vec<&str> = head.split("; ").collect();
        let [policies, devices, ..] = head[..] else { panic!("{name}: policies and devices in {head:?}") };
        let devices = devices.strip_prefix("devices ").expect("devices");
        let file = head.get(2).map(|file| folder().join(file.strip_prefix("bandwidth ").expect("a file")));
        let lines: Vec<Line> = lines.lines().filter(|line| !line.is_empty()).map(line).collect();
        for mut policies in choices(policies) {
            let is_correction = policies[0] == "corrected";
            policies.retain(|name| name != "corrected");
            rows.extend(devices.split('|').map(|devices| Row {
                policies: policies.clone(),
                is_correction,
                devices: devices.parse().expect("a number of devices"),
                bandwidth: file.clone(),
                lines: lines.clone(),
            }));
        }
    }
    Case { name: name.to_owned(), program, rows }
}

fn line(line: &str) -> Line {
    let (line, first) = line.split_once(" after ").unwrap_or((line, ""));
    let (kind, words) = line.split_once(' ').expect("a kind, and words");
    Line { kind: kind.to_owned(), words: written_out(words), first: first.parse().ok() }
}

/// Every choice of one of the words between `|`.
fn choices(words: &str) -> Vec<Vec<String>> {
    words.split_whitespace().fold(vec![Vec::new()], |all, word| {
        let with = |before: &Vec<String>, word: &str| before.iter().cloned().chain([word.to_owned()]).collect();
        all.iter().flat_map(|before| word.split('|').map(move |word| with(before, word))).collect()
    })
}

/// Words such as `0 (1 2)*2 host*3`, each repetition written out.
fn written_out(words: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut rest = words.trim();
    while !rest.is_empty() {
        let (group, behind) = match rest.strip_prefix('(') {
            Some(inner) => inner.split_once(')').expect("the end of a group"),
            None => rest.split_at(rest.find(['*', ' ']).unwrap_or(rest.len())),
        };
        let end = behind.find(' ').unwrap_or(behind.len());
        let times = behind[..end].strip_prefix('*').map_or(1, |times| times.parse().expect("a number of times"));
        (0..times).for_each(|_| all.extend(group.split_whitespace().map(str::to_owned)));
        rest = behind[end..].trim_start();
    }
    all
}
