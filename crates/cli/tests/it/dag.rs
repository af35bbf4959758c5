//! `overtake dag plan` as a user runs it: every plan of `plan/tests/plans`, and mistakes.

use crate::common::{Folder, overtake, succeed, text};
use serde_json::Value;
use testkit::plans::{Line, Row, cases, folder};

fn json(file: &str, row: &Row) -> Value {
    let (policies, devices) = (row.policies.join(","), row.devices.to_string());
    let mut arguments = vec!["dag", "plan", "--json", "--policy", &policies, "--devices", &devices, file];
    let bandwidth = row.bandwidth.as_ref().map(|file| file.to_str().unwrap());
    arguments.extend(bandwidth.into_iter().flat_map(|file| ["--bandwidth", file]));
    let here = Folder::new("dag-json");
    serde_json::from_str(&succeed(&here, &arguments, &[]).0).unwrap()
}

/// The words of the plan for a line of a row.
fn found(json: &Value, line: &Line) -> Vec<String> {
    let of_all = |key: &str, none: &str| {
        let all = json["computations"].as_array().unwrap().iter().map(|one| one[key].clone());
        all.map(|value| value.as_u64().map_or(none.to_owned(), |value| value.to_string())).collect()
    };
    let total = |key: &str| json["totals"][key].to_string();
    match line.kind.as_str() {
        "devices" => of_all("device", "host"),
        "lanes" => of_all("stream", "-"),
        "shape" => ["nodes", "edges", "frontier"].map(total).to_vec(),
        kind => vec![total(kind)],
    }
}

/// Lines about a part of a program are left to the library's tests.
#[test]
fn every_plan_is_as_its_file_says() {
    let here = Folder::new("dag-plans");
    let mut count = 0;
    for case in cases() {
        let file = here.path().join(&case.name);
        std::fs::write(&file, &case.program).unwrap();
        for row in &case.rows {
            let json = json(file.to_str().unwrap(), row);
            for line in row.lines.iter().filter(|line| line.first.is_none()) {
                assert_eq!(found(&json, line), line.words, "{}: {row:?}", case.name);
                count += 1;
            }
        }
    }
    assert!(count >= 235, "{count}");
}

#[test]
fn sections_are_framed_to_a_chosen_depth_and_deeper_ones_are_boxes() {
    let here = Folder::new("dag-sections");
    let program = "size 1K\nstart(a)\nsection outer { one(a) section inner { two(a) three(a) priority 4 } four(b) }";
    std::fs::write(here.path().join("s.txt"), program).unwrap();
    let svg = |depth: &[&str]| {
        succeed(&here, &[&["dag", "plan", "s.txt", "--svg", "s.svg"], depth].concat(), &[]);
        std::fs::read_to_string(here.path().join("s.svg")).unwrap()
    };
    let holds = |svg: &str, texts: &[&str], others: &[&str]| {
        assert!(texts.iter().all(|text| svg.contains(&format!(">{text}<"))), "{texts:?} are not in\n{svg}");
        assert!(!others.iter().any(|text| svg.contains(text)), "one of {others:?} is in\n{svg}");
    };
    holds(&svg(&[]), &["outer", "inner", "2: two", "3: three"], &["computations"]);
    let one = svg(&["--depth", "1"]);
    holds(&one, &["outer", "inner: 2 computations", "priority 4", "1: one", "4: four"], &[">inner<", "2: two"]);
    assert_eq!(one.matches("<circle").count(), 2, "start to one, and one to the box: {one}");
    // The lane of `b` is another one.
    holds(&svg(&["--depth", "0"]), &["0: start", "outer: 3 computations", "4: four"], &[">outer<", "1: one"]);
    let refused = overtake(&here, &["dag", "plan", "s.txt", "--depth", "1"], &[]);
    let errors = text(&refused.stderr);
    assert!(errors.contains("--dot") && errors.contains("--svg"), "{errors}");
}

/// The last computation comes after one of another lane, which comes after the first one: in the same box as the first
/// it would come before and after that one.
#[test]
fn boxes_of_sections_come_after_each_other_in_one_order() {
    let here = Folder::new("dag-section-order");
    std::fs::write(here.path().join("s.txt"), "section all { one(a, b) two(a) three(b) four(a, b) }").unwrap();
    succeed(&here, &["dag", "plan", "s.txt", "--svg", "s.svg", "--depth", "0"], &[]);
    let svg = std::fs::read_to_string(here.path().join("s.svg")).unwrap();
    for text in [">all: 2 computations<", ">2: three<", ">3: four<"] {
        assert!(svg.contains(text), "{text} is not in\n{svg}");
    }
    assert_eq!(svg.matches("<circle").count(), 3, "{svg}");
}

#[test]
fn a_figure_shows_lanes_order_transfers_and_priorities() {
    let here = Folder::new("dag-figure");
    let text = "fork: size 8K\nup(a) b(b)\nsum(a, b[0..4K] const) priority 5\n!b const !a const !a const";
    std::fs::write(here.path().join("fork.txt"), text).unwrap();
    let arguments = ["fork.txt", "--policy", "round-robin,disjoint", "--devices", "2", "--svg", "p.svg"];
    succeed(&here, &[&["dag", "plan"], &arguments[..]].concat(), &[]);
    let svg = std::fs::read_to_string(here.path().join("p.svg")).unwrap();
    for text in [
        ">The plan of fork<",
        ">host<",
        ">device 0, stream 0<",
        ">device 1, stream 1<",
        ">0: up<",
        ">priority 5 inherited<",
        ">priority 5<",
        ">b: 1 to 0, 4 KiB<",
        ">a: host to 0, 8 KiB<",
        ">4: !a const<",
    ] {
        assert!(svg.contains(text), "{text} is not in\n{svg}");
    }
    assert!(!svg.contains(">5: "), "an access of bytes that the host has is no node: {svg}");
    assert_eq!(svg.matches("<circle").count(), 4, "an end of each edge: {svg}");
    let told: Value = serde_json::from_str(&succeed(&here, &["dag", "plan", "--json", "fork.txt"], &[]).0).unwrap();
    let of =
        |key: &str| told["computations"].as_array().unwrap().iter().map(|one| one[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("priority"), [5, 5, 5, 1, 1, 1]);
    assert_eq!(of("is_priority_inherited"), [true, true, false, false, false, false]);
}

fn complaint(here: &Folder, arguments: &[&str]) -> String {
    let output = overtake(here, &[&["dag", "plan"], arguments].concat(), &[]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    text(&output.stderr).to_owned()
}

#[test]
fn a_plan_is_a_table_and_a_picture() {
    let here = Folder::new("dag-table");
    std::fs::write(here.path().join("fork.txt"), "fork: size 8\nup(a)(b)(a, b[0..4] const)\n!b const !b const")
        .unwrap();
    let arguments = ["dag", "plan", "fork.txt", "--policy", "round-robin,disjoint", "--devices", "2", "--dot", "p.dot"];
    let (out, _) = succeed(&here, &arguments, &[]);
    let out = out.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    let out = out.map(|line| format!(" {line}\n")).collect::<String>();
    for line in [
        "fork; devices: 2; policies: with-const, disjoint, reuse, round-robin",
        " 0 up(a) 0 0 a host -> 0 8",
        " 2 (a, b[0..4] const) 0 0 0 1 b[0..4] 1 -> 0 4",
        " 4 !b const host nothing: no node",
        "nodes 4, edges 3, frontier at the end 1; streams 2, joins 1",
        "computations by device: 2 1",
        "bytes: host to devices 16, devices to host 8, between devices 4",
    ] {
        assert!(out.contains(line), "{line} is not in\n{out}");
    }
    let dot = std::fs::read_to_string(here.path().join("p.dot")).unwrap();
    assert!(dot.starts_with("digraph \"fork\" {"), "{dot}");
}

#[test]
fn mistakes_are_told_with_line_and_cure() {
    let here = Folder::new("dag-mistakes");
    let write = |name: &str, text: &str| std::fs::write(here.path().join(name), text).unwrap();
    write("bad.txt", "(a)\n(b cosnt)\n");
    write("good.txt", "(a)");
    write("bad.csv", "From,To,Bandwidth\n-1,0,10\n0,1\n");
    let told = |arguments: &[&str], expected: &str| {
        let said = complaint(&here, arguments);
        assert!(said.contains(expected), "{arguments:?}: {said}");
    };
    told(&["bad.txt"], "bad.txt:2: there is no mode \"cosnt\": write one of const");
    told(&["none.txt"], "cannot read none.txt");
    told(&["good.txt", "--policy", "fast"], "--policy: there is no policy \"fast\": name some of");
    told(&["good.txt", "--bandwidth", "bad.csv"], "bad.csv:3: \"0,1\" is not two devices");
    told(&["good.txt", "--bandwidth", "none.csv"], "cannot read none.csv");
    told(&["good.txt", "--policy", "minmin-transfer-time"], "needs bandwidths: state a file");
    told(&["good.txt", "--devices", "64"], "64 devices are not between 1 and 63");
    let output = overtake(&here, &["dag", "plan", "good.txt", "--threshold", "2"], &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(folder().join("two-quads.csv").exists());
}
