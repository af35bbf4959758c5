//! The parser of Prometheus' own client for Python reads what `overtake metrics` prints.

use std::io::Write as _;
use std::process::{Command, Stdio};

use libtest_mimic::{Completion, Failed, Trial};

use crate::exposition;
use crate::written::metrics;

/// Prints the number of series. The parser itself demands little of histograms, so their buckets are counted too.
const SCRIPT: &str = "\
import sys
from prometheus_client.parser import text_string_to_metric_families as parse
families = {family.name: family for family in parse(sys.stdin.read())}
assert families['overtake_copy_bytes'].type == 'counter', families
waits = families['overtake_copy_wait_seconds']
assert waits.type == 'histogram', families
bounds = [float(sample.labels['le']) for sample in waits.samples if sample.name.endswith('_bucket')]
assert len(bounds) > 10 and bounds == sorted(bounds) and bounds[-1] == float('inf'), bounds
assert all(family.documentation for family in families.values()), families
print(sum(len(family.samples) for family in families.values()))
";

fn is_here() -> bool {
    let found = Command::new("python3").args(["-c", "import prometheus_client"]).output();
    found.is_ok_and(|output| output.status.success())
}

fn the_parser_of_prometheus_accepts_the_text() -> Result<Completion, Failed> {
    if !is_here() {
        return Ok(Completion::ignored_with("there is no python3 with prometheus_client"));
    }
    let mut python = Command::new("python3");
    let mut python = python.args(["-c", SCRIPT]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let text = metrics();
    python.stdin.take().ok_or("no input")?.write_all(text.as_bytes())?;
    let output = python.wait_with_output()?;
    assert!(output.status.success(), "{output:?}\n{text}");
    let count: usize = String::from_utf8(output.stdout)?.trim().parse()?;
    assert_eq!(count, exposition::read(&text).len(), "{text}");
    Ok(Completion::Completed)
}

pub fn trial() -> Trial {
    Trial::ignorable_test("the_parser_of_prometheus_accepts_the_text", the_parser_of_prometheus_accepts_the_text)
}
