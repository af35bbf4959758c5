//! The command as a user runs it, on the software GPU.

use crate::common::{Folder, overtake, succeed, text};
use serde_json::Value;

fn info(environment: &[(&str, &str)]) -> Value {
    let folder = Folder::new(&format!("info-{}", environment.len()));
    let (out, _) = succeed(&folder, &["--backend", "soft", "info", "--json"], environment);
    serde_json::from_str(&out).unwrap()
}

#[test]
fn info_as_json_has_the_backend() {
    let report = info(&[]);
    assert_eq!((&report["backend"]["name"], &report["warnings"]), (&"soft".into(), &serde_json::json!([])));
}

/// The link of this device is not the one that its age suggests.
#[test]
fn a_calibration_finds_the_link() {
    let folder = Folder::new("calibrate");
    let parameters = "[engine]\nh2d_gbps = 12.4\nd2h_gbps = 13.0\n\
                      [kernel]\nh2d_contended_gbps = 6.0\nd2h_contended_gbps = 6.0\n";
    std::fs::write(folder.path().join("slow.toml"), parameters).unwrap();
    let variables = [("OVERTAKE_SOFT_PRESET", "slow.toml")];
    let arguments = ["--quiet", "--backend", "soft", "info", "--calibrate"];
    let (text, _) = succeed(&folder, &arguments, &variables);
    assert!(text.contains("link: 12 GB/s, and 55 are assumed: set OVERTAKE_LINK_GBPS=12"), "{text}");
    let (json, _) = succeed(&folder, &[&arguments[..], &["--json"]].concat(), &variables);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert!(json[0]["assumed_gbps"] == 55 && json[0]["measured"]["engine_gbps"][0].as_f64() < Some(13.0), "{json}");
    let (text, _) = succeed(&folder, &arguments, &[]);
    assert!(text.contains("nothing changes"), "{text}");
}

#[test]
fn a_driver_that_refuses_the_kernel_is_a_warning() {
    let report = info(&[("OVERTAKE_SOFT_PRESET", "l4@525")]);
    let what = report["warnings"][0]["what"].as_str().unwrap_or_default();
    assert!(what.contains("driver 530") && what.contains("CUDA 12.0"), "{report}");
    assert_eq!((&report["driver"], &report["devices"][0]["link_gbps"]), (&"12.0".into(), &25.into()));
}

#[test]
fn one_connection_is_warned_of_and_cured() {
    let sick = info(&[("CUDA_DEVICE_MAX_CONNECTIONS", "1")]);
    assert_eq!(sick["connections"]["CUDA_DEVICE_MAX_CONNECTIONS"], "1");
    let cure = sick["warnings"][0]["cure"].as_str().unwrap();
    assert!(cure.contains("CUDA_DEVICE_MAX_COPY_CONNECTIONS=8"), "{cure}");
    let cured = info(&[("CUDA_DEVICE_MAX_CONNECTIONS", "1"), ("CUDA_DEVICE_MAX_COPY_CONNECTIONS", "8")]);
    assert_eq!(cured["warnings"], serde_json::json!([]));
}

#[test]
fn info_for_people_names_the_backend_once() {
    let folder = Folder::new("people");
    let (out, err) = succeed(&folder, &["info"], &[("OVERTAKE_BACKEND", "soft")]);
    assert!(out.contains("copy engines") && out.contains("no warnings"), "{out}");
    assert_eq!(err.matches("soft").count(), 1, "{err}");
    let (_, err) = succeed(&folder, &["--quiet", "info"], &[("OVERTAKE_BACKEND", "soft")]);
    assert_eq!(err, "");
}

#[test]
fn demo_prints_the_table_and_writes_the_requested_files() {
    let folder = Folder::new("demo");
    let arguments =
        ["--backend", "soft", "demo", "--seconds", "1", "--json", "run.json", "--svg", "x.svg", "--html", "x.html"];
    let (out, _) = succeed(&folder, &arguments, &[]);
    assert!(out.contains("p99 (us)") && out.contains("behind bulk, stream priorities"), "{out}");
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(read("x.svg").starts_with("<svg") && read("x.html").contains("<table>"));
    let run: Value = serde_json::from_str(&read("run.json")).unwrap();
    assert_eq!(run["header"]["backend"], "soft");
    assert_eq!(run["rows"].as_array().unwrap().len(), 14, "{out}");
    assert_the_problem_and_the_cure_show(&run);
}

/// The bounds are wide: the fidelity test checks exact figures.
fn assert_the_problem_and_the_cure_show(run: &Value) {
    for row in run["rows"].as_array().unwrap() {
        let number = |name: &str| row[name].as_f64().unwrap_or_else(|| panic!("{name} is not measured in {row}"));
        let times = || number("p50_us") / number("idle_p50_us");
        match row["method"].as_str().unwrap() {
            "idle" => assert!((4.0..25.0).contains(&number("p50_us")), "{row}"),
            "raw" => assert!((45.0..60.0).contains(&number("bulk_gbps")) && row["p50_us"].is_null(), "{row}"),
            "native+priority" | "native+queue" => {
                assert!(times() > 100.0 && number("bulk_gbps") > 0.9 * number("raw_gbps"), "{row}");
            }
            "kernel/hold" => assert!(times() < 2.0 && number("bulk_gbps") > 0.8 * number("raw_gbps"), "{row}"),
            _ => assert!(times() < 10.0 && number("bulk_gbps") > 0.8 * number("raw_gbps"), "{row}"),
        }
    }
}

#[test]
fn demo_to_standard_output_is_json_alone_and_repeats_exactly() {
    let folder = Folder::new("stdout");
    let arguments = ["--backend", "soft", "demo", "--seconds", "0.5", "--json", "-"];
    let (first, _) = succeed(&folder, &arguments, &[]);
    let (second, _) = succeed(&folder, &arguments, &[]);
    let first: Value = serde_json::from_str(&first).unwrap();
    assert_eq!(first["header"]["command"], "overtake --backend soft demo --seconds 0.5 --json -");
    assert_eq!(first, serde_json::from_str::<Value>(&second).unwrap(), "virtual time knows no noise");
    assert!(folder.path().join("overtake-demo.svg").exists());
}

#[test]
fn nonsense_on_the_command_line_exits_with_2() {
    let folder = Folder::new("nonsense");
    for arguments in [&["--nonsense"][..], &["demo", "--seconds", "-3"], &["--backend", "rocm", "info"], &["dance"]] {
        let output = overtake(&folder, arguments, &[]);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains("Usage") || text(&output.stderr).contains("--help"), "{arguments:?}");
    }
}

/// A machine without a driver.
const ABSENT: [(&str, &str); 1] = [("OVERTAKE_LIBCUDA", "/nonexistent/libcuda.so.1")];

#[test]
fn a_software_gpu_in_place_of_a_real_one_is_a_warning() {
    let folder = Folder::new("absent");
    let (fallen_back, _) = succeed(&folder, &["--quiet", "info"], &ABSENT);
    assert!(!fallen_back.contains("no warnings"), "{fallen_back}");
    let warning = fallen_back.lines().find(|line| line.starts_with("warning: no GPU was found (dlopen failed"));
    assert!(warning.is_some_and(|line| line.ends_with("are those of the software GPU")), "{fallen_back}");
    let cure = fallen_back.lines().find(|line| line.starts_with("   cure: install the NVIDIA driver"));
    assert!(cure.is_some_and(|line| line.contains("docker run --gpus all")), "{fallen_back}");
    let (json, _) = succeed(&folder, &["--quiet", "info", "--json"], &ABSENT);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert!(json["warnings"][0]["what"].as_str().unwrap().starts_with("no GPU was found"), "{json}");
    let (asked_for, _) = succeed(&folder, &["--quiet", "--backend", "soft", "info"], &ABSENT);
    assert!(!asked_for.contains("no GPU was found"), "{asked_for}");
}

#[test]
fn failures_exit_with_1_and_name_the_cure() {
    let folder = Folder::new("failures");
    let output = overtake(&folder, &["--backend", "cuda", "info"], &ABSENT);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("OVERTAKE_BACKEND=soft"), "{}", text(&output.stderr));
    let output = overtake(&folder, &["--backend", "soft", "demo", "--device", "7", "--seconds", "0.1"], &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("there is no device 7"), "{}", text(&output.stderr));
    let output =
        overtake(&folder, &["--backend", "soft", "demo", "--seconds", "0.1", "--svg", "/nonexistent/x.svg"], &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("/nonexistent/x.svg"), "{}", text(&output.stderr));
}

#[test]
fn help_names_every_command() {
    let folder = Folder::new("help");
    let (out, _) = succeed(&folder, &["--help"], &[]);
    assert!(["info", "demo", "bench", "--backend", "Exit codes"].iter().all(|word| out.contains(word)), "{out}");
    let (out, _) = succeed(&folder, &["--version"], &[]);
    assert!(out.starts_with("overtake 0.") && out.contains("commit"), "{out}");
}
