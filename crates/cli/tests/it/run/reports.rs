//! The combination of the reports that processes write.

use std::path::Path;

use serde_json::{Value, json};

use super::stand_ins::run;
use crate::common::{Folder, text};

/// A process's report, as the drop-in writes it.
fn record(pid: u32, urgent: u64, is_final: bool) -> Value {
    json!({
        "format": 1, "pid": pid, "parent": 1, "program": "client", "command": ["client", "--fast"],
        "started_unix_ms": 1000 + u64::from(pid), "written_unix_ms": 2000, "final": is_final, "state": "open",
        "deployment": "preload",
        "devices": [{
            "device": 0, "contexts": 1, "name": "a device",
            "copies": {
                "urgent": { "copies": urgent, "bytes": urgent * 65536 },
                "kernel": { "copies": 2, "bytes": 2 << 28 },
                "engine": { "copies": 0, "bytes": 0 }
            },
            "passed_on": [{ "reason": "capturing", "copies": 3, "bytes": 300 }],
            "chunks": 4, "rescues": 1, "boosts": 0, "errors": 0, "stood_down": false,
            "latencies": [{ "priority": 2, "count": urgent, "p50_us": 8.0, "p99_us": 12.0, "max_us": 20.0 }]
        }],
        "calls": [{ "symbol": "cuMemcpyHtoDAsync_v2", "intercepted": urgent + 2, "passed_on": 3 }],
        "warnings": ["something to know"]
    })
}

fn trace(pid: u32) -> Value {
    json!([
        { "ph": "M", "name": "thread_name", "pid": pid, "tid": 1, "args": { "name": "channel h2d 1" } },
        { "ph": "X", "name": "copy", "pid": pid, "tid": 1, "ts": 5.0, "dur": 2.0 },
        { "ph": "C", "name": "h2d semaphore 2", "pid": pid, "tid": 0, "ts": 4.0, "args": { "pending": 1 } }
    ])
}

/// Puts the files of two processes into the folder where the program looks for them.
fn prepare(folder: &Folder) {
    for (pid, urgent) in [(41, 10), (42, 20)] {
        let write = |name: String, value: Value| std::fs::write(folder.path().join(name), value.to_string()).unwrap();
        write(format!("{pid}.json"), record(pid, urgent, pid == 41));
        write(format!("{pid}.trace.json"), trace(pid));
    }
}

/// A program that leaves the files of two processes, and prints their folder.
const PROGRAM: &str = "cp 41.json 42.json $OVERTAKE_REPORT_DIR; \
                       [ -z \"$OVERTAKE_TRACE_DIR\" ] || cp 41.trace.json 42.trace.json $OVERTAKE_TRACE_DIR; \
                       echo $OVERTAKE_REPORT_DIR; exit 9";

fn read(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn everything_at_once() {
    let folder = Folder::new("run-everything");
    prepare(&folder);
    let arguments = ["--report", "--json", "run.json", "--trace", "trace.json", "--", "sh", "-c", PROGRAM];
    let output = run(&folder, &arguments, &[]);
    assert_eq!(output.status.code(), Some(9), "{}", text(&output.stderr));
    let used = text(&output.stdout).trim_end();
    assert!(Path::new(used).is_absolute() && !Path::new(used).exists(), "{used} is to be gone");
    check_json(&read(&folder.path().join("run.json")));
    check_trace(&read(&folder.path().join("trace.json")));
    let report = text(&output.stderr);
    for part in ["2 processes used CUDA", "urgent                   30", "ended with 9", "capturing", "were cut off"] {
        assert!(report.contains(part), "{part} is not in:\n{report}");
    }
}

fn check_json(run: &Value) {
    assert_eq!((&run["format"], &run["exit_status"], &run["deployment"]), (&json!(1), &json!(9), &json!("preload")));
    assert_eq!(run["command"][0], "sh");
    assert_eq!(run["variables"]["CUDA_DEVICE_MAX_COPY_CONNECTIONS"], Value::Null, "not ours to set");
    let device = &run["total"]["devices"][0];
    assert_eq!(device["copies"]["urgent"], json!({ "copies": 30, "bytes": 30 * 65536 }));
    assert_eq!(device["passed_on"], json!([{ "reason": "capturing", "copies": 6, "bytes": 600 }]));
    assert_eq!((&device["chunks"], &device["rescues"]), (&json!(8), &json!(2)));
    assert_eq!(device["latencies"][0]["p50_us"], Value::Null, "percentiles of two processes do not add up");
    assert_eq!(run["total"]["calls"][0]["intercepted"], 34);
    assert_eq!(run["total"]["warnings"], json!([{ "text": "something to know", "processes": 2 }]));
    assert_eq!(run["processes"], json!([record(41, 10, true), record(42, 20, false)]));
}

fn check_trace(trace: &Value) {
    let events = trace["traceEvents"].as_array().unwrap();
    let count = |ph: &str, name: &str| events.iter().filter(|e| e["ph"] == ph && e["name"] == name).count();
    assert_eq!((count("M", "process_name"), count("M", "thread_name"), count("C", "h2d semaphore 2")), (2, 2, 2));
    assert!(events.iter().any(|event| event["args"]["name"] == "client --fast" && event["pid"] == 42), "{events:?}");
}

#[test]
fn json_on_standard_output_follows_the_programs_own() {
    let folder = Folder::new("run-stdout");
    prepare(&folder);
    let output = run(&folder, &["--json", "-", "--", "sh", "-c", PROGRAM], &[]);
    let (own, json) = text(&output.stdout).split_once('\n').unwrap();
    assert!(own.starts_with('/'), "{own}");
    assert_eq!(serde_json::from_str::<Value>(json).unwrap()["total"]["processes"], 2);
    assert_eq!(text(&output.stderr), "", "no report was asked for");
}

#[test]
fn a_program_without_cuda_is_reported_as_that() {
    let folder = Folder::new("run-nothing");
    let output = run(&folder, &["--report", "--", "true"], &[]);
    assert!(text(&output.stderr).contains("no process used CUDA"), "{}", text(&output.stderr));
}

#[test]
fn a_folder_asked_for_from_outside_gets_the_files_too() {
    let folder = Folder::new("run-outside");
    prepare(&folder);
    let outside = folder.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    let environment = [("OVERTAKE_REPORT_DIR", outside.to_str().unwrap())];
    run(&folder, &["--json", "run.json", "--", "sh", "-c", PROGRAM], &environment);
    assert_eq!(read(&outside.join("42.json")), record(42, 20, false));
    assert_eq!(read(&folder.path().join("run.json"))["total"]["processes"], 2);
}

#[test]
fn nested_runs_both_report() {
    let folder = Folder::new("run-nested");
    prepare(&folder);
    let library = folder.path().join("dropin.so");
    let inner = format!(
        "{} run --library {} --json inner.json -- sh -c '{PROGRAM}'",
        env!("CARGO_BIN_EXE_overtake"),
        library.display()
    );
    run(&folder, &["--json", "outer.json", "--", "sh", "-c", &inner], &[]);
    for name in ["inner.json", "outer.json"] {
        assert_eq!(read(&folder.path().join(name))["total"]["processes"], 2, "{name}");
    }
}
