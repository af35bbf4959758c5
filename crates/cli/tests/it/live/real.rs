//! The drop-in writes the files, and the command reads them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::program::Program;
use super::written::{Place, Sleeper, now_ms};
use crate::common::Folder;

/// Those of the programs here. There are some once the first one has written.
fn rows(place: &Place) -> Vec<Value> {
    let patience = Instant::now() + Duration::from_secs(30);
    loop {
        let rows = rows_now(place);
        if !rows.is_empty() {
            return rows;
        }
        assert!(Instant::now() < patience, "no process is seen");
    }
}

fn rows_now(place: &Place) -> Vec<Value> {
    let output = place.overtake(&["top", "--json", "--every", "1.5"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let ours = |row: &Value| row["program"] == "copier" || row["program"] == "sleeper";
    document["rows"].as_array().unwrap().iter().filter(|row| ours(row)).cloned().collect()
}

/// Waits for the file of a process.
fn await_file(place: &Place) -> String {
    let patience = Instant::now() + Duration::from_secs(30);
    loop {
        if let [name] = &*place.names() {
            return name.clone();
        }
        assert!(Instant::now() < patience, "no file");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_program_is_seen_while_it_runs_and_leaves_nothing_behind() {
    let (folder, place) = (Folder::new("live-seen"), Place::new());
    let mut program = Program::new(&folder, &place, &[]);
    let name = await_file(&place);
    assert!(name.starts_with(&format!("{}.", program.pid())), "{name}");
    let mode = |path: &str| fs::metadata(place.path().join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("overtake"), mode(&format!("overtake/{name}"))), (0o700, 0o400));
    let rows = rows(&place);
    assert_eq!(rows.len(), 1, "{rows:?}");
    let row = &rows[0];
    assert_eq!((&row["pid"], &row["state"], &row["gpu"]), (&program.pid().into(), &"open".into(), &0.into()));
    // It copies 1 MiB a millisecond at most, and a busy machine lets it copy less.
    let rate = row["h2d"]["bytes_per_s"].as_f64().unwrap();
    assert!((1e6..2e9).contains(&rate) && row["h2d"]["peak_bytes_per_s"].as_f64() == Some(rate), "{row}");
    assert_eq!((row["d2h"]["bytes_per_s"].as_f64(), row["ways"]["native"].as_f64()), (Some(0.0), Some(1.0)), "{row}");
    program.end();
    assert_eq!(place.names(), [""; 0], "it has removed its file");
}

/// The thread that writes is one that the layer has anyhow.
#[test]
fn nothing_is_written_where_it_is_not_wanted_and_no_thread_is_made_where_it_is() {
    let (folder, places) = (Folder::new("live-off"), [Place::new(), Place::new()]);
    let with = Program::new(&folder, &places[0], &[]);
    let without = Program::new(&folder, &places[1], &[("OVERTAKE_LIVE", "off")]);
    await_file(&places[0]);
    std::thread::sleep(Duration::from_millis(700));
    assert_eq!(places[1].names(), [""; 0]);
    assert_eq!(with.threads(), without.threads());
}

#[test]
fn what_a_killed_program_leaves_is_removed_by_the_next_reader() {
    let (folder, place) = (Folder::new("live-killed"), Place::new());
    let mut program = Program::new(&folder, &place, &[]);
    let name = await_file(&place);
    program.kill();
    assert!(matches!(&*place.names(), [its] if *its == name));
    // A file of a process with the same number that has begun at another time.
    let mut sleeper = Sleeper::new(&place);
    sleeper.write("sleeper", 1, 1);
    let its = place.names().into_iter().find(|its| *its != name).unwrap();
    let reused = format!("{its}9");
    fs::copy(place.path().join("overtake").join(&its), place.path().join("overtake").join(reused)).unwrap();
    let rows = rows(&place);
    assert_eq!((rows.len(), &rows[0]["pid"]), (1, &sleeper.pid().into()));
    assert_eq!(place.names(), [its], "the others are gone");
}

/// Nobody outside can tell whether a process of a container still runs.
#[test]
fn a_file_of_another_namespace_is_read_while_it_is_fresh_and_removed_after_an_hour() {
    let place = Place::new();
    let mut sleeper = Sleeper::new(&place);
    sleeper.write("sleeper", 1, 1);
    let folder = place.path().join("overtake");
    let its = place.names().remove(0);
    fs::rename(folder.join(&its), folder.join("1.77.88")).unwrap();
    assert_eq!(rows(&place).len(), 1);
    sleeper.put("sleeper", now_ms() - 60_000, serde_json::json!([{"device": 0}]));
    assert_eq!((rows_now(&place).len(), place.names()), (0, vec!["1.77.88".to_owned()]));
    sleeper.put("sleeper", now_ms() - 2 * 3_600_000, serde_json::json!([{"device": 0}]));
    assert_eq!((rows_now(&place).len(), place.names()), (0, Vec::new()));
}

#[test]
fn a_process_that_writes_no_more_is_silent() {
    let place = Place::new();
    let mut sleeper = Sleeper::new(&place);
    sleeper.put("sleeper", now_ms() - 60_000, serde_json::json!([{"device": 0}]));
    let rows = rows(&place);
    assert!(rows[0]["state"] == "silent" && rows[0]["silent_s"].as_f64().unwrap() > 50.0, "{rows:?}");
}
