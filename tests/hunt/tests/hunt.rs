//! The hunt on the software GPU: it finds nothing without a bug, and each planted one.

use std::process::{Command, Output};

use serde_json::Value;

const SMALL: [&str; 6] = ["--threads", "4", "--streams", "24", "--bulk-bytes", "1M"];

fn hunt(arguments: &[&str]) -> (Option<i32>, Value) {
    hunt_with(arguments, &[])
}

fn hunt_with(arguments: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, Value) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_overtake-hunt"));
    command.args(["--backend", "soft", "--quiet", "--json", "-"]).args(arguments).envs(variables.iter().copied());
    let Output { status, stdout, stderr } = command.output().unwrap();
    let record = serde_json::from_slice(&stdout);
    (status.code(), record.unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&stderr))))
}

#[test]
fn a_hunt_finds_nothing_and_reports_its_work() {
    let (code, record) = hunt(&[&SMALL[..], &["--seconds", "1"]].concat());
    assert_eq!(code, Some(0), "{record}");
    let hunt = &record["hunt"];
    assert_eq!(hunt["verdict"], "ok");
    assert!(hunt["verified_bytes"].as_u64() > Some(100_000), "{hunt}");
    for kind in ["h2d", "d2h", "d2d", "2d", "3d", "batches", "pageable", "kernels", "waits", "events"] {
        assert!(hunt["kinds"][kind].as_u64() > Some(0), "{kind} did not come up: {hunt}");
    }
    let run: report::Run = serde_json::from_value(record).expect("it is a run, as `overtake report` reads it");
    assert!(!run.rows.is_empty() && run.header.command.starts_with("overtake-hunt --backend soft"), "{run:?}");
}

/// Copies wait in the only queue, which is taken for one of many, and there is no watchdog.
#[test]
fn a_planted_deadlock_is_proven() {
    for threads in ["1", "4"] {
        let field = ["--streams", "64", "--bulk-bytes", "8M", "--patience", "1", "--seconds", "60"];
        let bug = ["--without-watchdog", "--assumed-queues", "8", "--threads", threads];
        let (code, record) = hunt_with(&[&field[..], &bug].concat(), &[("CUDA_DEVICE_MAX_COPY_CONNECTIONS", "1")]);
        assert_eq!((code, &record["hunt"]["verdict"]), (Some(1), &"HUNG".into()), "{record}");
        let finding = record["hunt"]["finding"].as_str().unwrap();
        assert!(finding.contains("deadlock, proven at") && finding.contains("the word reads 1"), "{finding}");
    }
}

#[test]
fn planted_bugs_are_found_by_their_bytes() {
    for bug in ["event-wait-ignored", "row-tail-dropped"] {
        let (code, record) = hunt(&[&SMALL[..], &["--seconds", "20", "--plant", bug]].concat());
        assert_eq!((code, &record["hunt"]["verdict"]), (Some(1), &"WRONG BYTES".into()), "{bug}: {record}");
    }
}
