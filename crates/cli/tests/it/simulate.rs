//! `overtake simulate` as a user runs it: every shipped scenario, and mistakes in scenarios.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::common::{Folder, text};

const MODES: [&str; 4] = ["none", "bracket", "atomics", "hold"];

fn write(folder: &Folder, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/scenarios")
}

fn shipped(name: &str) -> String {
    std::fs::read_to_string(scenarios().join(name)).unwrap()
}

fn simulate(file: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_overtake")).arg("simulate").arg(file).args(arguments).output().unwrap()
}

/// Runs `scenario`, which must fail, and returns the message.
fn complaint(scenario: &str, arguments: &[&str]) -> String {
    let folder = Folder::new("simulate");
    let output = simulate(&write(&folder, "scenario.toml", scenario), arguments);
    let said = text(&output.stderr).to_owned();
    assert_eq!(output.status.code(), Some(1), "{scenario}\n{said}");
    said
}

fn replaced(name: &str, old: &str, new: &str) -> String {
    let scenario = shipped(name);
    assert!(scenario.contains(old), "{name} has no `{old}`");
    scenario.replacen(old, new, 1)
}

#[test]
fn every_shipped_scenario_meets_its_expectations() {
    let (mut files, mut met) = (0, 0);
    for entry in std::fs::read_dir(scenarios()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        files += 1;
        for mode in MODES {
            let output = simulate(&path, &["--mode", mode]);
            let (out, err) = (text(&output.stdout), text(&output.stderr));
            let expects = !out.contains("the file expects nothing");
            assert!(output.status.success() || !expects, "{} in {mode}:\n{out}{err}", path.display());
            met += usize::from(expects && out.contains("\nas expected\n"));
        }
        let own = simulate(&path, &[]);
        assert!(own.status.success() && text(&own.stdout).contains("\nas expected\n"), "{}", path.display());
    }
    assert!(files >= 17 && met >= 2 * files, "{met} expectations in {files} files: each has two modes at least");
}

#[test]
fn the_readme_lists_every_scenario() {
    let readme = shipped("README.md");
    for entry in std::fs::read_dir(scenarios()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(name == "README.md" || readme.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn the_worked_example_reads_as_in_the_patent() {
    let output = simulate(&scenarios().join("worked-example.toml"), &[]);
    let out = text(&output.stdout);
    assert!(out.contains("\norder: low1 high1 high2 low2 low3\nsemaphore 2: 0-1-0-1-0\n"), "{out}");
    assert!(out.contains("[low1") && out.contains("3 of 3"), "{out}");
    let output = simulate(&scenarios().join("worked-example.toml"), &["--mode", "none"]);
    let out = text(&output.stdout);
    assert!(out.contains("\norder: low1 low2 low3 high1 high2\n") && !out.contains("semaphore 2"), "{out}");
}

#[test]
fn wrong_expectations_fail() {
    let wrong = [
        (
            "worked-example.toml",
            "low1 high1 high2 low2 low3",
            "low1 low2 high1 high2 low3",
            "order: expected `low1 low2",
        ),
        ("worked-example.toml", "0-1-0-1-0", "0-1-2-1-0", "semaphore 2: expected 0-1-2-1-0, got 0-1-0-1-0"),
        ("five-queued.toml", "0-1-2-3-4-5-4-3-2-1-0", "0-1-0", "got 0-1-2-3-4-5-4-3-2-1-0"),
        ("starvation.toml", "bulk_share = 0.2", "bulk_share = 0.0", "`bulk20` had not completed when `high200` began"),
        ("urgent-later.toml", "done_by.y = 12", "done_by.y = 11", "`y` expected by 11 us, was done at 12 us"),
        ("deadlock.toml", "inc = \"submitted\"", "inc = \"schedulable\"", "expected, but everything was done"),
        (
            "inversion.toml",
            "priorities = 3",
            "priorities = 3\nboost = false",
            "got `running mid1 mid2 mid3 needed urgent`",
        ),
    ];
    for (name, old, new, said) in wrong {
        let complaint = complaint(&replaced(name, old, new), &[]);
        assert!(complaint.contains(said), "{name}: {complaint}");
    }
}

/// Each correction fails in the literal mode and holds by default.
#[test]
fn corrections_of_hold_fail_in_the_literal_sequence() {
    for name in ["five-queued.toml", "dependency.toml", "window.toml", "ascending-acquires.toml", "shared-channel.toml"]
    {
        let scenario = shipped(name);
        let (before, hold) = scenario.split_once("[expect.hold]").unwrap();
        let (head, _) = before.split_once("[expect.bracket]").unwrap();
        let complaint = complaint(&format!("{head}[expect.bracket]{hold}"), &["--mode", "bracket"]);
        assert!(complaint.contains("not as expected"), "{name}: {complaint}");
    }
}

#[test]
fn a_deadlock_is_reported_and_not_waited_for() {
    let scenario = shipped("deadlock.toml");
    let (head, _) = scenario.split_once("[expect.bracket]").unwrap();
    assert!(complaint(head, &[]).contains("nothing moves any more; try --mode hold"));
    let counted = replaced("deadlock.toml", "inc = \"submitted\"", "inc = \"submitted\"\nboost = false");
    let complaint = complaint(&counted, &["--mode", "hold"]);
    assert!(complaint.contains("deadlock: not expected"), "the boost lets the dependency pass: {complaint}");
}

#[test]
fn the_picture_and_the_numbers_are_written() {
    let folder = Folder::new("files");
    let (svg, json) = (folder.path().join("x.svg"), folder.path().join("x.json"));
    let file = scenarios().join("chunks.toml");
    let arguments = ["--svg", svg.to_str().unwrap(), "--json", json.to_str().unwrap()];
    assert!(simulate(&file, &arguments).status.success());
    let picture = std::fs::read_to_string(svg).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains("semaphore 2"));
    let run: Value = serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap();
    assert_eq!(run["order"], serde_json::json!(["bulk", "urgent", "bulk"]));
    assert_eq!(run["runs"].as_array().unwrap().len(), 9, "eight chunks of 2 MiB and the urgent copy");
    assert_eq!((&run["mode"], &run["unmet"]), (&Value::from("hold"), &serde_json::json!([])));
}

#[test]
fn the_chunk_size_can_be_overridden_and_then_nothing_is_expected() {
    let output = simulate(&scenarios().join("chunks.toml"), &["--chunk-bytes", "1048576", "--json", "-"]);
    assert!(output.status.success());
    let run: Value = serde_json::from_str(text(&output.stdout)).unwrap();
    assert_eq!((run["runs"].as_array().unwrap().len(), &run["unmet"]), (17, &Value::Null));
}

#[test]
fn nonsense_is_answered_with_its_cure() {
    let base = "name = \"x\"\nslice = 5\npriorities = 2\nstreams = [{ name = \"s\", priority = 1 }]\n";
    let with = |copies: &str| format!("{base}copies = [{copies}]\n");
    let copy = "{ name = \"a\", stream = \"s\", duration = 1 }";
    let cases = [
        (with("{ name = \"a\", stream = \"t\", duration = 1 }"), "there is no stream `t`; there is s"),
        (with("{ name = \"a\", stream = \"s\" }"), "either `bytes` or `duration`"),
        (with("{ name = \"a\", stream = \"s\", duration = 0 }"), "moves nothing"),
        (with(&format!("{copy}, {copy}")), "the copy `a` is there twice; rename one"),
        (with(""), "add a [[copies]] entry"),
        (
            with("{ name = \"a\", stream = \"s\", duration = 1, after = [\"b\"] }"),
            "copy `a`, after: there is no copy `b`",
        ),
        (
            with(
                "{ name = \"a\", stream = \"s\", duration = 1, after = [\"b\"] }, \
                 { name = \"b\", stream = \"s\", duration = 1, after = [\"a\"] }",
            ),
            "in a circle: a after b after a; drop one",
        ),
        (
            with(&format!("{{ name = \"b\", stream = \"s\", duration = 1, after = [\"a\"] }}, {copy}")),
            "let `a` arrive earlier, or list it above `b`",
        ),
        (with(copy).replace("priority = 1", "priority = 3"), "priorities go from 1 (the lowest) to 2"),
        (with(copy).replace("priorities = 2", "priorities = 99"), "there can be 1 to 32"),
        (with(copy).replace("slice = 5", "slice = 0"), "give it at least 1"),
        (with(copy).replace("slice = 5", "slice = 5\nchunk_bytes = 4"), "every copy gives its duration; give `bytes`"),
        (with(copy).replace("slice = 5", "slice = 5\nslise = 5"), "unknown field `slise`"),
        (format!("{}[expect]\nsemaphore.1 = \"0\"", with(copy)), "there is no 1; priorities 2 to 2 have one"),
        (format!("{}[expect]\norder = \"z\"", with(copy)), "expect: there is no copy `z`"),
        (
            format!("{}[expect]\norder = \"a\"\n[expect.hold]\norder = \"a\"", with(copy)),
            "move its keys into [expect.hold]",
        ),
    ];
    for (scenario, said) in cases {
        let complaint = complaint(&scenario, &[]);
        assert!(complaint.contains(said), "{scenario}\n{complaint}");
    }
}

#[test]
fn a_missing_file_is_named() {
    let output = simulate(Path::new("nowhere.toml"), &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("cannot read nowhere.toml"), "{}", text(&output.stderr));
}
