//! `overtake bench` on the software GPU, and the rows that it measures.

use serde_json::Value;

use crate::common::{Folder, succeed};

pub const FIELDS: &str = "method transport emulation direction high_bytes bulk_bytes chunk_bytes samples idle_p50_us \
                      idle_p99_us p50_us p90_us p99_us max_us bulk_gbps raw_gbps rescues";

/// Runs `overtake bench` with this line of arguments.
pub fn bench(name: &str, line: &str) -> Value {
    bench_with(name, line, &[])
}

pub fn bench_with(name: &str, line: &str, variables: &[(&str, &str)]) -> Value {
    let folder = Folder::new(name);
    let out = bench_in(&folder, &format!("{line} --json -"), variables);
    let run: Value = serde_json::from_str(&out).unwrap();
    for row in rows(&run) {
        assert!(FIELDS.split(' ').all(|field| row.get(field).is_some()), "{row}");
    }
    assert_eq!(run["header"]["backend"], "soft");
    // Every measurement makes a page.
    std::fs::write(folder.path().join("run.json"), &out).unwrap();
    let (told, _) = succeed(&folder, &["report", "run.json"], &[]);
    assert_eq!(told, format!("overtake-report.html: 1 run, {} rows\n", rows(&run).len()));
    run
}

/// The same in that folder: its output as it is.
pub fn bench_in(folder: &Folder, line: &str, variables: &[(&str, &str)]) -> String {
    let all: Vec<&str> = ["--backend", "soft", "--quiet", "bench"].into_iter().chain(line.split(' ')).collect();
    succeed(folder, &all, variables).0
}

pub fn rows(run: &Value) -> &Vec<Value> {
    run["rows"].as_array().unwrap()
}

pub fn row<'a>(run: &'a Value, method: &str) -> &'a Value {
    rows(run).iter().find(|row| row["method"] == method).unwrap_or_else(|| panic!("no row of {method} in {run}"))
}

pub fn number(row: &Value, name: &str) -> f64 {
    row[name].as_f64().unwrap_or_else(|| panic!("{name} is not measured in {row}"))
}
