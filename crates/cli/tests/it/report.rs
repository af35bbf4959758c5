//! `overtake report` as a user runs it.

use std::path::Path;

use crate::common::{Folder, overtake, succeed, text};
use serde_json::Value;

const LATENCY: &str = "reports/latency/soft/2026-11-22-4fb0651.json";
const OVERHEAD: &str = "reports/overhead/soft/2026-11-22-4fb0651.json";

/// A stored run as a file of the folder.
fn stored(folder: &Folder, name: &str) -> String {
    let texts = pages::stored::texts(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    let file = name.replace('/', "-");
    std::fs::write(folder.path().join(&file), &texts[name]).unwrap();
    file
}

#[test]
fn runs_become_one_page() {
    let folder = Folder::new("report-page");
    let files = [stored(&folder, LATENCY), stored(&folder, OVERHEAD)];
    let (out, _) = succeed(&folder, &["report", &files[0], &files[1]], &[]);
    assert_eq!(out, "overtake-report.html: 2 runs, 62 rows\n");
    let page = std::fs::read_to_string(folder.path().join("overtake-report.html")).unwrap();
    assert!(page.contains("<h2>Run 1: ") && page.contains("<h2>Run 2: ") && page.contains("<h2>Side by side</h2>"));
    let (printed, _) = succeed(&folder, &["report", &files[0], &files[1], "--output", "-"], &[]);
    assert_eq!(printed, page);
    succeed(&folder, &["report", &files[0], "-o", "one.html", "--title", "A & B"], &[]);
    let page = std::fs::read_to_string(folder.path().join("one.html")).unwrap();
    assert!(page.contains("<title>A &amp; B</title>") && !page.contains("Side by side"));
}

#[test]
fn its_json_tells_runs_and_ratios() {
    let folder = Folder::new("report-json");
    let files = [stored(&folder, LATENCY), stored(&folder, OVERHEAD)];
    let (out, _) = succeed(&folder, &["report", &files[0], &files[1], "--json"], &[]);
    let told: Value = serde_json::from_str(&out).unwrap();
    let text = std::fs::read_to_string(folder.path().join(&files[0])).unwrap();
    let run: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(told[0]["rows"], run["rows"].as_array().unwrap().len());
    assert_eq!(told[0]["device"], run["header"]["device"]);
    let headline = &told[0]["headlines"][0];
    let p50 = |side: &str| {
        let is_its = |row: &&Value| {
            row["method"] == headline[side]["method"] && row["direction"] == "h2d" && row["high_bytes"] == 65_536
        };
        run["rows"].as_array().unwrap().iter().find(is_its).unwrap()["p50_us"].as_f64().unwrap()
    };
    let ratio = headline["ratio"].as_f64().unwrap();
    assert!((ratio - p50("native") / p50("ours")).abs() < 1e-9 && ratio > 100.0, "{headline}");
    assert_eq!(told[1]["headlines"], Value::Array(Vec::new()), "no bulk runs beside the calls of `overhead`");
}

#[test]
fn files_that_are_no_runs_are_named_with_a_cure() {
    let folder = Folder::new("report-refused");
    std::fs::write(folder.path().join("notes.txt"), "p50 was fine").unwrap();
    std::fs::write(folder.path().join("cut.json"), r#"{"header":{"version":"0.1.0"},"rows":[]}"#).unwrap();
    for (file, reason) in
        [("notes.txt", "it is no JSON"), ("cut.json", "missing field `commit`"), ("gone.json", "No such file")]
    {
        let output = overtake(&folder, &["report", &stored(&folder, LATENCY), file], &[]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(&format!("cannot report on {file}: ")) && said.contains(reason), "{said}");
        assert!(
            said.contains("name a file that `overtake bench … --json FILE`, `overtake run --json FILE` or"),
            "{said}"
        );
        assert!(!folder.path().join("overtake-report.html").exists(), "no page of a part of the runs");
    }
}
