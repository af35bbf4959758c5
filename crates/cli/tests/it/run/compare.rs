//! `--observe` and `--compare`, with the drop-in, the software GPU and programs of `crates/preload/tests/c/stalls.c`;
//! and the causes for a run without a report.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::real::{alone, put_driver, really, really_with};
use super::stand_ins::{compile, run};
use crate::common::{Folder, text};

/// Puts a program of `crates/preload/tests/c` and the software GPU's library into the folder. Returns the program.
pub fn program(folder: &Folder, name: &str, flags: &[&str]) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    put_driver(folder);
    let source = std::fs::read_to_string(root.join(format!("crates/preload/tests/c/{name}.c"))).unwrap();
    let kernels = format!("-DKERNELS_PTX=\"{}\"", root.join("crates/softgpu/src/builtin.ptx").display());
    let folders = ["crates/preload/tests/c", "tests/c"].map(|path| format!("-I{}", root.join(path).display()));
    let here = format!("-L{}", folder.path().display());
    let own = ["-std=c11", "-pthread", &kernels, &folders[0], &folders[1], &here, "-lcuda"];
    compile(folder, name, &source, &[&own[..], flags].concat())
}

fn stalls(folder: &Folder, flags: &[&str]) -> PathBuf {
    program(folder, "stalls", flags)
}

fn read(folder: &Folder, name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder.path().join(name)).unwrap()).unwrap()
}

#[test]
fn a_program_is_observed() {
    let folder = Folder::new("run-observe");
    let program = stalls(&folder, &[]);
    let program = program.to_str().unwrap();
    let output = really(&folder, &["--observe", "--", program, "contended"]);
    let said = text(&output.stderr);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "contended: done\n"), "{said}");
    for part in ["state: observed", "while bulk was in flight", "* overtake would help this program: 6 of 13"] {
        assert!(said.contains(part), "{part} is not in:\n{said}");
    }
    let output = really(&folder, &["--observe", "--json", "run.json", "--", program, "one_stream"]);
    assert_eq!(text(&output.stderr), "", "the JSON alone was asked for");
    let total = &read(&folder, "run.json")["total"];
    assert!(total["help"]["answer"] == "cannot" && total["observed"]["engines"][0]["copies"] == 100, "{total:#}");
}

/// The report of a normal run has the same right answer.
#[test]
fn a_report_says_what_overtake_can_do_for_the_program() {
    let folder = Folder::new("run-report-help");
    let program = stalls(&folder, &[]);
    for (scenario, part) in [
        ("one_stream", "all its copies are in one stream"),
        ("alone", "(10 of them have a priority of their own, which nothing had to yield to)"),
    ] {
        let output = really(&folder, &["--report", "--", program.to_str().unwrap(), scenario]);
        let said = text(&output.stderr);
        assert!(said.contains("state: open") && said.contains(part), "{scenario}:\n{said}");
        assert!(!said.contains("give urgent streams a CUDA priority") && !said.contains("--rules"), "{said}");
    }
}

#[test]
fn a_program_is_compared() {
    let folder = Folder::new("run-compare");
    let program = stalls(&folder, &[]);
    let arguments = ["--compare", "2", "--json", "both.json", "--", program.to_str().unwrap(), "contended"];
    let output = really(&folder, &arguments);
    let said = text(&output.stderr);
    assert_eq!(
        (output.status.code(), text(&output.stdout)),
        (Some(0), "contended: done\n".repeat(4).as_str()),
        "{said}"
    );
    let rounds: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("overtake run: round ")).collect();
    let turns = ["1 of 2, natively", "1 of 2, with overtake; ", "2 of 2, with overtake; ", "2 of 2, natively; "];
    assert!(rounds.len() == 4 && rounds.iter().zip(turns).all(|(round, turn)| round.starts_with(turn)), "{rounds:?}");
    assert!(rounds[0] == turns[0] && rounds[1..].iter().all(|round| round.ends_with("s to go")), "{rounds:?}");
    for part in [
        "(compared by 4 runs, ",
        "time of the program",
        "urgent copies beside bulk, p50",
        "rate of bulk",
        "\nverdict\n* overtake ",
    ] {
        assert!(said.contains(part), "{part} is not in:\n{said}");
    }
    let both = read(&folder, "both.json");
    assert_eq!((&both["native"]["only"], &both["overtake"]["only"]), (&json!(true), &json!(false)));
    assert_eq!(both["rounds"].as_array().unwrap().len(), 2);
    assert!(both["rounds"][1]["native"]["behind"]["count"].as_u64() > Some(0), "{both:#}");
    assert!(said.contains(both["help"]["what"].as_str().unwrap()), "{both:#}\n{said}");
}

#[test]
fn output_can_be_hidden_and_progress_too() {
    let folder = Folder::new("run-compare-hidden");
    let program = stalls(&folder, &[]);
    let program = program.to_str().unwrap();
    let output = really(&folder, &["-q", "--compare", "1", "--hide-output", "--", program, "one_stream"]);
    let said = text(&output.stderr);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), ""), "{said}");
    assert!(!said.contains("round 1 of 1") && said.contains("(one round, which is little to go by)"), "{said}");
    assert!(said.contains("all its copies are in one stream"), "{said}");
}

/// A program that leaves a report of its own, and ends with 4 in one mode.
fn fails_where(mode: &str) -> String {
    format!("cp 41.json $OVERTAKE_REPORT_DIR; echo $OVERTAKE_OBSERVE; [ $OVERTAKE_OBSERVE != {mode} ] || exit 4")
}

#[test]
fn a_program_that_fails_stops_the_comparison() {
    let folder = Folder::new("run-compare-fails");
    let record = json!({ "format": 1, "pid": 41, "observed": { "only": true } });
    std::fs::write(folder.path().join("41.json"), record.to_string()).unwrap();
    for (mode, ran, part) in [
        ("only", "only\n", "the program ended with 4 natively in round 1, so there is nothing to compare"),
        ("also", "only\nalso\n", "the program ended with 4 with overtake in round 1, so nothing is compared"),
    ] {
        let output = run(&folder, &["--compare", "3", "--", "sh", "-c", &fails_where(mode)], &[]);
        let said = text(&output.stderr);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(4), ran), "{said}");
        assert!(said.contains(part) && !said.contains("verdict"), "{said}");
    }
}

#[test]
fn ways_that_exclude_each_other_are_refused() {
    let folder = Folder::new("run-compare-refused");
    for arguments in [
        &["--observe", "--off"][..],
        &["--compare", "2", "--observe"],
        &["--compare", "2", "--off"],
        &["--compare", "0"],
        &["--hide-output"],
    ] {
        let output = run(&folder, &[arguments, &["--", "true"]].concat(), &[]);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output.stderr));
    }
}

/// Of a folder that the user named. One of `overtake run` itself is gone for processes that outlive it.
#[test]
fn a_folder_for_reports_that_is_not_there_is_told_once() {
    let folder = Folder::new("run-no-folder");
    let program = stalls(&folder, &[]);
    for (name, times) in [("/nonexistent/seen", 1), ("/nonexistent/overtake-run-seen", 0)] {
        let arguments = ["--", program.to_str().unwrap(), "contended"];
        let output = really_with(&folder, &arguments, &[("OVERTAKE_REPORT_DIR", name)]);
        let said = text(&output.stderr);
        let told = said.matches(&format!("because OVERTAKE_REPORT_DIR={name} is no folder")).count();
        assert!(output.status.success() && told == times, "{said}");
    }
}

/// By the command, which is there first, or by the process where the command says nothing.
#[test]
fn a_misspelt_variable_is_told_once() {
    let folder = Folder::new("run-misspelt");
    let program = stalls(&folder, &[]);
    let program = program.to_str().unwrap();
    let inside = format!("OVERTAKE_WAIT_BUGET=60us exec {program} one_stream");
    let (outside, other) = ([("OVERTAKE_WAIT_BUGET", "60us")], [("OVERTAKE_FLY", "")]);
    for (arguments, variables) in [
        (&["--", program, "one_stream"][..], &outside),
        (&["-q", "--", program, "one_stream"], &outside),
        (&["--", "sh", "-c", &inside], &other),
    ] {
        let output = really_with(&folder, arguments, variables);
        let said = text(&output.stderr);
        let told = said.matches("OVERTAKE_WAIT_BUGET means nothing to overtake").count();
        assert!(output.status.success() && told == 1 && said.contains("is it OVERTAKE_WAIT_BUDGET_US?"), "{said}");
    }
}

/// The causes for a run without a report, each with what to try.
#[test]
fn a_run_without_a_report_says_why() {
    let folder = Folder::new("run-unseen");
    let program = stalls(&folder, &[&format!("-Wl,-rpath,{}", folder.path().display())]);
    let program = program.to_str().unwrap();
    let fixed = compile(&folder, "fixed", "int main(void) { return 0; }", &["-static"]);
    let cases: [(&[&str], &str); 5] = [
        (&["--off", "--report", "--", program, "one_stream"], "switched off (--off)"),
        (
            &["--report", "--", "env", "OVERTAKE=off", program, "kernels"],
            "the environment of stalls switches overtake off (OVERTAKE=off)",
        ),
        (&["--report", "--", "env", "-u", "LD_PRELOAD", program, "kernels"], "its environment lacks the variable"),
        (&["--report", "--", fixed.to_str().unwrap()], "the program is statically linked, and loads no library"),
        (&["--report", "--", "sleep", "0.3"], "no process has loaded the driver: the program did not use CUDA"),
    ];
    let audited = ["--report", "--deployment", "audit", "--", program, "kernels"];
    let outputs = cases.map(|(arguments, part)| (really(&folder, arguments), part));
    // Without a folder of the linker's that comes first.
    let past_audit = (alone(&folder, &audited), "names the folder of its driver itself (RUNPATH ");
    let switched = really_with(&folder, &["--report", "--", program, "kernels"], &[("OVERTAKE", "off")]);
    let switched = (switched, "overtake is switched off (OVERTAKE=off)");
    let without_driver = (alone(&folder, &["--report", "--", "sleep", "0.3"]), "finds no libcuda.so.1 here");
    for (output, part) in outputs.into_iter().chain([past_audit, switched, without_driver]) {
        let said = text(&output.stderr);
        let line = said.lines().find(|line| line.starts_with("no process used CUDA through the drop-in: "));
        assert!(line.is_some_and(|line| line.contains(part)) && said.contains("\ntry: "), "{part}:\n{said}");
    }
    let output = really(&folder, &["--json", "-", "--off", "--", "true"]);
    let document: Value = serde_json::from_str(text(&output.stdout)).unwrap();
    assert_eq!(document["unseen"], "overtake is switched off (--off)");
}
