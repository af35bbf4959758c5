//! Files that users name: mistakes are reported with their place, and endless files are refused.

use std::path::Path;
use std::process::{Command, Output};

use crate::common::{Folder, overtake, succeed, text};

/// A limit far beyond the need of any command.
const SECONDS_MAX: &str = "180";
/// The status of `timeout` when it had to end the program.
const TIMED_OUT: i32 = 124;

fn pipe(folder: &Folder) -> String {
    let path = folder.path().join("pipe.toml");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path.to_str().unwrap().to_owned()
}

/// Runs the command under a time limit.
fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=1", SECONDS_MAX, env!("CARGO_BIN_EXE_overtake")]).args(arguments).current_dir(folder);
    command.output().unwrap()
}

#[test]
fn files_that_never_end_are_refused_at_once() {
    let folder = Folder::new("files-endless");
    let pipe = pipe(&folder);
    for file in [pipe.as_str(), "/dev/zero"] {
        for arguments in [
            &["check", file][..],
            &["simulate", file],
            &["trace", file, "picture.svg"],
            &["report", file],
            &["run", "--rules", file, "--", "true"],
            &["run", "--config", file, "--", "true"],
            &["run", "--library", file, "--", "true"],
        ] {
            let output = run(folder.path(), arguments);
            let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
            let status = output.status.code();
            assert!(status != Some(0) && status != Some(TIMED_OUT), "{arguments:?}: {status:?} {said}");
            assert!(said.contains(file) && said.contains("not a regular file"), "{arguments:?}: {said}");
        }
    }
}

#[test]
fn output_into_a_pipe_without_a_reader_is_refused_at_once() {
    let folder = Folder::new("files-output");
    let pipe = pipe(&folder);
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/scenarios/worked-example.toml");
    let run_arguments = ["run", "--library", "libx.so", "--json", &pipe, "--", "true"];
    std::fs::write(folder.path().join("libx.so"), b"\x7fELF and more").unwrap();
    for arguments in [&["simulate", scenario, "--svg", &pipe][..], &run_arguments] {
        let output = run(folder.path(), arguments);
        assert!(text(&output.stderr).contains("a pipe without a reader"), "{arguments:?}: {}", text(&output.stderr));
    }
}

#[test]
fn long_traces_are_drawn_and_names_command_no_terminal() {
    let folder = Folder::new("traces");
    let at = |name: &str| folder.path().join(name);
    let slice = |at_us: usize| format!(r#"{{"ph":"X","name":"copy","pid":1,"tid":1,"ts":{at_us},"dur":1}}"#);
    let slices: Vec<String> = (0..30_000).map(slice).collect();
    let long = format!("[{}]", slices.join(",\n"));
    assert!(long.len() > 1 << 20, "{} bytes", long.len());
    std::fs::write(at("long.json"), long).unwrap();
    let drawn = run(folder.path(), &["trace", "long.json", "long.svg"]);
    assert!(drawn.status.success(), "{}", text(&drawn.stderr));
    assert!(text(&drawn.stdout).contains("30000 slices on 1 tracks"), "{}", text(&drawn.stdout));

    std::fs::write(at("wild.json"), r#"[{"ph":"X","name":"\u001b[2Jgone","ts":1}]"#).unwrap();
    let refused = run(folder.path(), &["trace", "wild.json", "wild.svg"]);
    let said = text(&refused.stderr);
    assert!(said.contains("\u{fffd}[2Jgone` without `dur`") && !said.contains('\u{1b}'), "{said:?}");
}

#[test]
fn check_judges_and_its_status_says_so() {
    let folder = Folder::new("files-check");
    std::fs::write(folder.path().join("good.toml"), "wait_budget_us = 30\n").unwrap();
    std::fs::write(folder.path().join("bad.toml"), "[[rule]]\npriority = 1\nsize = 3\n").unwrap();
    succeed(&folder, &["check", "good.toml"], &[]);
    let output = overtake(&folder, &["check", "good.toml", "bad.toml"], &[]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stdout);
    assert!(said.contains("bad.toml:3:1: rule 1: unknown field `size`") && said.contains("3 | size = 3"), "{said}");
    let output = overtake(&folder, &["check", "--json", "good.toml", "bad.toml"], &[]);
    let judged: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&judged[0]["is_good"], &judged[1]["faults"][0]["line"]), (&true.into(), &3.into()));
}

#[test]
fn a_scenario_is_judged_with_the_same_words() {
    let folder = Folder::new("files-scenario");
    std::fs::write(folder.path().join("s.toml"), "priorities = 3\nnonsense = 4\n").unwrap();
    let output = overtake(&folder, &["simulate", "s.toml"], &[]);
    let said = text(&output.stderr);
    assert!(
        said.contains("s.toml:2:1: unknown field `nonsense`") && said.contains("  2 | nonsense = 4\n    | ^"),
        "{said}"
    );
}

#[test]
fn options_are_listed_for_people_and_scripts() {
    let folder = Folder::new("files-options");
    let (said, _) = succeed(&folder, &["options"], &[]);
    assert!(said.contains("wait_budget_us") && said.contains("OVERTAKE_LOG"), "{said}");
    let listed: serde_json::Value =
        serde_json::from_slice(&overtake(&folder, &["options", "--json"], &[]).stdout).unwrap();
    let first = &listed["options"][0];
    assert_eq!(
        (&first["name"], &first["default"], &first["variable"]),
        (&"enabled".into(), &"on".into(), &"OVERTAKE_ENABLED".into())
    );
}
