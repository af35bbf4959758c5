//! The plans of `graph/tests/plans`: devices, streams, edges of each computation, by each policy.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use overtake_graph::Bandwidth;
use overtake_graph::plan::{Plan, Policies, Program};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plans")
}

fn read(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap()
}

/// One expectation: policies, devices, bandwidths, and the lines that tell the plan.
#[derive(Clone, Debug)]
struct Row {
    policies: String,
    devices: u8,
    bandwidth: Option<String>,
    lines: Vec<String>,
}

/// Every choice of one of the words between `|`.
fn choices(words: &str) -> Vec<String> {
    words.split_whitespace().fold(vec![String::new()], |all, word| {
        all.iter().flat_map(|before| word.split('|').map(move |word| format!("{before} {word}"))).collect()
    })
}

/// The program of a file, and all its rows.
fn case(name: &str) -> (Program, Vec<Row>) {
    let text = read(name);
    let mut sections = text.split("\n== ");
    let program = Program::parse(sections.next().unwrap()).unwrap();
    let mut rows = Vec::new();
    for section in sections {
        let (head, lines) = section.split_once('\n').unwrap();
        let mut head = head.split("; ");
        let policies = choices(head.next().unwrap());
        let devices = head.next().unwrap().strip_prefix("devices ").unwrap();
        let bandwidth = head.next().map(|file| file.strip_prefix("bandwidth ").unwrap().to_owned());
        let lines: Vec<String> = lines.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
        for policies in policies {
            for devices in devices.split('|') {
                let (devices, bandwidth, lines) = (devices.parse().unwrap(), bandwidth.clone(), lines.clone());
                rows.push(Row { policies: policies.clone(), devices, bandwidth, lines });
            }
        }
    }
    (program, rows)
}

fn plan(program: &Program, row: &Row, is_grcuda: bool) -> Plan {
    let mut policies = Policies::default();
    for name in row.policies.split_whitespace().filter(|name| *name != "corrected") {
        policies.choose(name).unwrap();
    }
    policies.is_grcuda |= is_grcuda;
    policies.bandwidth = row.bandwidth.as_ref().map(|file| Bandwidth::read(&read(file), row.devices).unwrap());
    program.plan(&policies, row.devices).unwrap()
}

/// Words such as `0 (1 2)*2 host*3`, each repetition written out.
fn written_out(words: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut rest = words.trim();
    while !rest.is_empty() {
        let (group, behind) = match rest.strip_prefix('(') {
            Some(inner) => inner.split_once(')').unwrap(),
            None => rest.split_at(rest.find(['*', ' ']).unwrap_or(rest.len())),
        };
        let end = behind.find(' ').unwrap_or(behind.len());
        let times = behind[..end].strip_prefix('*').map_or(1, |times| times.parse().unwrap());
        (0..times).for_each(|_| all.extend(group.split_whitespace().map(str::to_owned)));
        rest = behind[end..].trim_start();
    }
    all
}

/// The differences between the lines of a row and the plan.
fn differences(program: &Program, row: &Row, is_grcuda: bool) -> Vec<String> {
    let mut differences = Vec::new();
    for line in &row.lines {
        let (line, first) = line.split_once(" after ").unwrap_or((line, ""));
        let mut part = program.clone();
        part.computations.truncate(first.parse().unwrap_or(usize::MAX));
        let plan = plan(&part, row, is_grcuda);
        let (kind, expected) = line.split_once(' ').unwrap();
        let totals = plan.totals;
        let found = match kind {
            "devices" => plan.steps.iter().map(|step| step.at.to_string()).collect(),
            "lanes" => plan.steps.iter().map(|step| step.stream.map_or("-".to_owned(), |it| it.to_string())).collect(),
            "streams" => vec![totals.streams.to_string()],
            "frontier" => vec![totals.frontier.to_string()],
            "shape" => [totals.nodes, totals.edges, totals.frontier].map(|count| count.to_string()).to_vec(),
            _ => panic!("no line of a plan: {line}"),
        };
        if found != written_out(expected) {
            differences.push(format!("{line}\n  found {}", found.join(" ")));
        }
    }
    differences
}

fn files() -> Vec<String> {
    let files = std::fs::read_dir(folder()).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    files.filter(|name| name.ends_with(".txt")).collect()
}

#[test]
fn every_plan_is_as_its_file_says() {
    let (mut wrong, mut count) = (String::new(), BTreeMap::new());
    for name in files() {
        let (program, rows) = case(&name);
        for row in &rows {
            *count.entry(row.policies.contains("grcuda-compat")).or_insert(0) += row.lines.len();
            for difference in differences(&program, row, false) {
                wrong += &format!("{name}:{}, {} devices: {difference}\n", row.policies, row.devices);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(count[&true] >= 235, "{count:?}");
}

#[test]
fn each_correction_fails_as_grcuda_does_it() {
    let mut count = 0;
    for name in files() {
        let (program, rows) = case(&name);
        for row in rows.iter().filter(|row| row.policies.contains("corrected")) {
            assert!(!differences(&program, row, true).is_empty(), "{name}: {row:?}");
            count += 1;
        }
    }
    assert!(count >= 4, "{count}");
}
