//! `overtake pipeline plan` as a user runs it: every file of `plans`, and the example.
//!
//! A line `#= POINTER VALUE` names a place of the JSON and its value, `#= reason TEXT` a part of a reason why it cannot
//! hold, and `#= error TEXT` a part of the complaint about a file.

use std::path::Path;

use crate::common::{Folder, overtake, succeed, text};
use serde_json::Value;

/// The lines of a file about its plan: a word, and the rest.
fn expected(text: &str) -> Vec<(&str, &str)> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("#= "));
    lines.map(|line| line.split_once(' ').unwrap_or_else(|| panic!("{line:?} has no value"))).collect()
}

fn is_close(found: &Value, wanted: &Value) -> bool {
    match (found.as_f64(), wanted.as_f64()) {
        (Some(found), Some(wanted)) => (found - wanted).abs() <= 1e-3 * wanted.abs(),
        _ => found == wanted,
    }
}

fn check(here: &Folder, file: &Path) {
    let (name, program) = (file.file_name().unwrap().to_str().unwrap(), std::fs::read_to_string(file).unwrap());
    std::fs::write(here.path().join(name), &program).unwrap();
    let output = overtake(here, &["pipeline", "plan", "--json", name], &[]);
    let (out, said) = (text(&output.stdout), text(&output.stderr));
    let is_refused = expected(&program).iter().any(|(word, _)| ["reason", "error"].contains(word));
    assert_eq!(output.status.code(), Some(i32::from(is_refused)), "{name}: {said}");
    let is_read = !expected(&program).iter().any(|(word, _)| *word == "error");
    let json: Value = if is_read { serde_json::from_str(out).unwrap() } else { Value::Null };
    for (word, rest) in expected(&program) {
        match word {
            "error" => assert!(said.contains(rest), "{name}: {rest:?} is not in {said}"),
            "reason" => {
                assert!(said.contains(rest), "{name}: {rest:?} is not in {said}");
                let reasons = json["reasons"].as_array().unwrap();
                assert!(reasons.iter().any(|reason| reason.as_str().unwrap().contains(rest)), "{name}: {json}");
            }
            pointer => {
                let (found, wanted) = (json.pointer(pointer), serde_json::from_str(rest).unwrap());
                assert!(found.is_some_and(|found| is_close(found, &wanted)), "{name}: {pointer} is {found:?}: {json}");
            }
        }
    }
}

#[test]
fn every_plan_is_as_its_file_says() {
    let here = Folder::new("pipeline-plans");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plans");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 14, "{files:?}");
    files.iter().for_each(|file| check(&here, file));
}

#[test]
fn the_example_is_a_table() {
    let here = Folder::new("pipeline-table");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/pipelines/cameras.toml");
    let (out, _) = succeed(&here, &["pipeline", "plan", example.to_str().unwrap()], &[]);
    let out = out.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n").collect::<String>();
    for line in [
        "parameters of h100-sxm-pcie5; beside bulk copies",
        "camera 4 16666.7 3317760 32.5 3686400",
        "overview 1 33333.3 12441600 49.4 3686400",
        "\nit holds\n",
    ] {
        assert!(out.contains(line), "{line} is not in\n{out}");
    }
}

#[test]
fn measured_rates_take_the_place_of_the_presets() {
    let here = Folder::new("pipeline-rates");
    std::fs::write(here.path().join("camera.toml"), "[[stream]]\nname = \"camera\"\nfps = 60\nupload_bytes = 40_000\n")
        .unwrap();
    std::fs::write(here.path().join("rates.csv"), "From,To,Bandwidth\n-1,0,20.9\n0,-1,20.2\n0,0,1000\n").unwrap();
    let arguments = ["pipeline", "plan", "--json", "--bandwidth", "rates.csv", "camera.toml"];
    let json: Value = serde_json::from_str(&succeed(&here, &arguments, &[]).0).unwrap();
    assert_eq!((&json["machine"]["h2d_gbps"], &json["machine"]["d2h_gbps"]), (&20.0.into(), &20.0.into()), "{json}");
    assert_eq!(json["machine"]["origin"], "parameters of h100-sxm-pcie5; rates of rates.csv");
}
