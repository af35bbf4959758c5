//! What the drop-in sees of programs whose copies wait for a known reason, or for none, and what it says of them.

use libtest_mimic::Trial;
use serde_json::Value;
use testkit::needs;

use crate::harness::build::PLACES;
use crate::harness::deployment::Deployment;
use crate::harness::list::Client;
use crate::harness::run::End;

/// Runs one of the programs of `stalls.c` for a test, and returns its report.
fn report(test: &str, scenario: &str, deployment: Deployment) -> Value {
    let flags = ["-lcuda", "-rdynamic"];
    let program = Client::program("stalls", "stalls.c", &flags);
    let client = Client {
        arguments: vec![scenario.to_owned()],
        // The reports of each run lie in a folder of its name, and tests run at once.
        name: format!("stalls_{test}_{scenario}"),
        ..program
    };
    let outcome = PLACES.run(&client, deployment).unwrap();
    assert_eq!((outcome.end, outcome.output()), (End::Status(0), format!("{scenario}: done\n").as_str()), "{outcome}");
    let reports = PLACES.reports(&client, deployment);
    let mut files = std::fs::read_dir(&reports).unwrap().map(|entry| entry.unwrap().path());
    let file = files.find(|path| path.extension().is_some_and(|ending| ending == "json")).unwrap();
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

/// The sum over all engines.
fn sum(report: &Value, figure: &str) -> u64 {
    let engines = report["observed"]["engines"].as_array().unwrap();
    engines.iter().map(|engine| engine[figure].as_u64().unwrap()).sum()
}

/// Every program, the answer, and a part of the sentence.
const PROGRAMS: [(&str, &str, &str); 14] = [
    ("contended", "helps", "would help this program: 6 of 13 urgent copies were issued while bulk"),
    ("small_pageable", "cannot", "small and of pageable memory"),
    ("one_stream", "cannot", "all its copies are in one stream"),
    ("one_stream_large", "perhaps", "6 large copies are of pageable memory"),
    ("captured", "cannot", "20 of its 21 copies are recorded into CUDA graphs"),
    ("kernels", "cannot", "were for kernels"),
    ("no_copies", "cannot", "no copy between host and device"),
    ("on_device", "cannot", "none of its 9 copies is between host and device"),
    ("alone", "cannot", "(10 of them have a priority of their own, which nothing had to yield to)"),
    ("apart", "cannot", "none of its 6 urgent copies stood behind any of its 6 bulk copies"),
    ("opposite", "cannot", "no two of its streams copy in the same direction"),
    ("small_bulk", "perhaps", "copies below 1 MiB"),
    ("bulk_only", "perhaps", "nothing says which"),
    ("stalled", "perhaps", "6 large copies are of pageable memory"),
];

fn each_program_gets_its_answer() {
    for (scenario, answer, part) in PROGRAMS {
        let report = report("answers", scenario, Deployment::Observed);
        let (help, state) = (&report["help"], &report["state"]);
        let says = help["what"].as_str().unwrap_or_default();
        assert!(help["answer"] == answer && says.contains(part), "{scenario}: {help:#}\n{:#}", report["observed"]);
        assert!(*state == "observed" && report["devices"] == serde_json::json!([]), "{scenario}: {state}");
        assert_eq!(report["verdict"][0]["what"], help["what"], "{scenario}: the first sentence of the verdict");
    }
}

/// The figures of the program that overtake helps: urgent copies behind bulk took as long as that, and those that met
/// nothing a fraction of it.
fn waits_are_told_apart_by_what_stood_before_them() {
    let report = report("waits", "contended", Deployment::Observed);
    let waits = &report["observed"]["waits"];
    assert_eq!((&waits["behind"]["count"], &waits["alone"]["count"]), (&6.into(), &6.into()), "{waits:#}");
    let median = |kind: &str| waits[kind]["p50_us"].as_f64().unwrap();
    assert!(median("behind") > 3.0 * median("alone"), "{waits:#}");
    assert_eq!((sum(&report, "bulk"), sum(&report, "urgent"), sum(&report, "behind")), (12, 13, 6));
}

/// Whoever counts: all calls that copy are in one of the two.
fn every_copy_is_seen_and_goes_natively() {
    let report = report("counts", "one_stream", Deployment::Observed);
    assert_eq!((sum(&report, "copies"), sum(&report, "bytes")), (100, 100 * 65536));
    assert_eq!(report["passed_on"], serde_json::json!([{ "reason": "observed", "copies": 100, "bytes": 100 * 65536 }]));
    assert!(sum(&report, "small_asked") >= 6 && sum(&report, "small_asked") == sum(&report, "small_pageable"));
}

fn a_call_that_blocks_for_long_is_told_with_its_place() {
    let report = report("sites", "stalled", Deployment::Observed);
    let sites = report["observed"]["sites"].as_array().unwrap();
    let site = sites.iter().find(|site| site["frames"][0].as_str().unwrap().contains(" stalls_here+"));
    let site = site.unwrap_or_else(|| panic!("{sites:#?}"));
    assert!(site["calls"].as_u64() > Some(0) && site["calls"] == site["pageable"], "{site:#}");
    assert!(site["blocking"] == site["calls"] && site["blocked_us"].as_u64() >= Some(1_000), "{site:#}");
}

/// Beside its work: the copies of the layer are seen too, and the answer is of the present.
fn a_drop_in_at_work_watches_as_well() {
    let report = report("beside", "contended", Deployment::AlsoObserved);
    assert!(report["observed"]["only"] == false && report["state"] == "open", "{:#}", report["observed"]);
    let passed = report["devices"][0]["copies"]["urgent"]["copies"].as_u64().unwrap();
    assert!(passed > 0 && sum(&report, "copies") == 25, "{:#}", report["devices"]);
    let says = report["help"]["what"].as_str().unwrap();
    assert!(!says.contains("would"), "{says}");
}

pub fn trials() -> Vec<Trial> {
    let trials: [(&str, fn()); 5] = [
        ("each_program_gets_its_answer", each_program_gets_its_answer),
        ("waits_are_told_apart_by_what_stood_before_them", waits_are_told_apart_by_what_stood_before_them),
        ("every_copy_is_seen_and_goes_natively", every_copy_is_seen_and_goes_natively),
        ("a_call_that_blocks_for_long_is_told_with_its_place", a_call_that_blocks_for_long_is_told_with_its_place),
        ("a_drop_in_at_work_watches_as_well", a_drop_in_at_work_watches_as_well),
    ];
    needs::checks("observed", trials)
}
