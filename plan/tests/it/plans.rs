//! The plans of `plan/tests/plans`: devices, streams, edges of each computation, by each policy.

use graph::Bandwidth;
use overtake_plan::dag::{Plan, Policies, Program};
use testkit::plans::{Line, Row, cases};

fn plan(program: &Program, row: &Row, is_grcuda: bool) -> Plan {
    let mut policies = Policies::default();
    row.policies.iter().for_each(|name| policies.choose(name).unwrap());
    policies.is_grcuda |= is_grcuda;
    let read = |file| Bandwidth::read(&std::fs::read_to_string(file).unwrap(), row.devices).unwrap();
    policies.bandwidth = row.bandwidth.as_ref().map(read);
    program.plan(&policies, row.devices).unwrap()
}

/// The words of the plan for a line of a row.
fn found(program: &Program, row: &Row, line: &Line, is_grcuda: bool) -> Vec<String> {
    let mut part = program.clone();
    part.computations.truncate(line.first.unwrap_or(usize::MAX));
    let plan = plan(&part, row, is_grcuda);
    let (steps, totals) = (&plan.steps, plan.totals);
    match line.kind.as_str() {
        "devices" => steps.iter().map(|step| step.at.to_string()).collect(),
        "lanes" => steps.iter().map(|step| step.stream.map_or("-".to_owned(), |it| it.to_string())).collect(),
        "streams" => vec![totals.streams.to_string()],
        "frontier" => vec![totals.frontier.to_string()],
        "shape" => [totals.nodes, totals.edges, totals.frontier].map(|count| count.to_string()).to_vec(),
        kind => panic!("no line of a plan: {kind}"),
    }
}

#[test]
fn every_plan_is_as_its_file_says() {
    let (mut wrong, mut count) = (String::new(), 0);
    for case in cases() {
        let program = Program::parse(&case.program).unwrap();
        for (row, line) in case.rows.iter().flat_map(|row| row.lines.iter().map(move |line| (row, line))) {
            let found = found(&program, row, line, false);
            count += u32::from(row.policies.iter().any(|name| name == "grcuda-compat"));
            if found != line.words {
                wrong += &format!("{}: {row:?}\n{line:?}\nfound {}\n", case.name, found.join(" "));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(count >= 235, "{count}");
}

#[test]
fn each_correction_fails_as_grcuda_does_it() {
    let mut count = 0;
    for case in cases() {
        let program = Program::parse(&case.program).unwrap();
        for row in case.rows.iter().filter(|row| row.is_correction) {
            let differs = row.lines.iter().any(|line| found(&program, row, line, true) != line.words);
            assert!(differs, "{}: {row:?}", case.name);
            count += 1;
        }
    }
    assert!(count >= 4, "{count}");
}
