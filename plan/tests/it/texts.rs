//! Texts of programs, their faults, and the steps of plans: transfers, joins, pictures.

use graph::{Bandwidth, Location, Mode};
use overtake_plan::dag::{Moved, Plan, Policies, Program};

const HOST: Location = Location::Host;

fn on(device: u8) -> Location {
    Location::Device(device)
}

fn policies(names: &str) -> Policies {
    let mut policies = Policies::default();
    names.split_whitespace().for_each(|name| policies.choose(name).unwrap());
    policies
}

fn plan(text: &str, names: &str, devices: u8) -> Plan {
    Program::parse(text).unwrap().plan(&policies(names), devices).unwrap()
}

#[test]
fn a_text_is_read_with_names_ranges_sizes_and_repetitions() {
    let text = "name: # a comment\nsize 4K size x=16 y.1=2\nfirst(x const, y.0[1K..2K] discard, z reduce)\n\
                repeat 2 i { repeat 2 j { k.i.j(y.i relaxed) !x read } }\n!(x, z write) size q=3 \n";
    let program = Program::parse(text).unwrap();
    assert_eq!(program.name, "name");
    let arrays: Vec<_> = program.arrays.iter().map(|array| (array.name.as_str(), array.bytes)).collect();
    assert_eq!(arrays, [("x", 16), ("y.0", 4096), ("z", 4096), ("y.1", 2)]);
    let first = &program.computations[0];
    assert_eq!((first.label.as_str(), first.line, first.is_host), ("first", 3, false));
    let modes: Vec<Mode> = first.arguments.iter().map(|argument| argument.mode).collect();
    assert_eq!(modes, [Mode::Read, Mode::Discard, Mode::Reduce]);
    assert_eq!(program.arguments(0), "(x const, y.0[1024..2048] discard, z reduce)");
    let all: Vec<_> = (1..10).map(|number| program.arguments(number)).collect();
    let (zero, one) = ("(y.0 relaxed)", "(y.1 relaxed)");
    assert_eq!(all, [zero, "!x const", zero, "!x const", one, "!x const", one, "!x const", "!(x, z)"]);
    assert_eq!(program.computations[5].label, "k.1.0");
}

#[test]
fn priorities_are_read_and_inherited() {
    let text = "a(x) b(x const, y) c(x const, z) priority 3 d(y) priority(z const) priority 9 !y priority 2 !z e(w)";
    let program = Program::parse(text).unwrap();
    let own: Vec<u8> = program.computations.iter().map(|one| one.priority.get()).collect();
    assert_eq!(own, [1, 1, 3, 1, 9, 2, 1, 1], "the fifth is called so");
    let plan = program.plan(&Policies::default(), 1).unwrap();
    let all: Vec<u8> = plan.steps.iter().map(|step| step.priority.get()).collect();
    assert_eq!(all, [9, 2, 9, 2, 9, 2, 1, 1]);
    let told = [0, 3, 4, 7].map(|number| plan.priority(&program, number));
    assert_eq!(told[0].as_deref(), Some("priority 9 inherited"));
    assert_eq!(told[1].as_deref(), Some("priority 2 inherited"));
    assert_eq!((told[2].as_deref(), told[3].as_deref()), (Some("priority 9"), None));
    assert!(
        plan.dot(&program, usize::MAX).contains("0: a\\nstream 0\\npriority 9 inherited"),
        "{}",
        plan.dot(&program, usize::MAX)
    );
}

#[test]
fn a_repetition_of_nothing_and_of_no_times_is_none() {
    assert_eq!(Program::parse("repeat 0 { (a) (b) } (c)").unwrap().computations.len(), 1);
    assert_eq!(Program::parse("repeat 1000000000 { } (c)").unwrap().computations.len(), 1);
    assert_eq!(Program::parse("").unwrap(), Program::default());
    assert_eq!(plan("", "", 1), Plan::default());
}

#[test]
fn blocks_behind_each_other_are_not_in_each_other() {
    for block in ["repeat 1 { (a) } ", "section one { (a) } "] {
        assert_eq!(Program::parse(&block.repeat(40)).unwrap().computations.len(), 40, "{block}");
    }
}

#[test]
fn sizes_have_units() {
    let program = Program::parse("size 3M x=2G y=5K z=1073741823G (w, x, y, z)").unwrap();
    let bytes: Vec<u64> = program.arrays.iter().map(|array| array.bytes).collect();
    assert_eq!(bytes, [3 << 20, 2 << 30, 5 << 10, (1 << 60) - (1 << 30)]);
}

#[test]
fn every_fault_has_its_line_and_its_cure() {
    for (text, line, told) in [
        ("(a)\n(b ;", 2, "\";\" has no meaning"),
        ("(a)\n(b", 2, "stands where ) has to"),
        ("(a)\n[b]", 2, "\"[\" stands where ( has to"),
        ("\n\n(a cosnt)", 3, "there is no mode \"cosnt\": write one of const, read"),
        ("(a[1..])", 1, "the range is none of a, which has 1 bytes"),
        ("size 8\n(a)\n(a[4..9])", 3, "which has 8 bytes"),
        ("size 8 (a[5..4])", 1, "the range is none"),
        ("(a[5])", 1, "a range has two ends"),
        ("(a) priority 0", 1, "a priority is missing: write priority NUMBER"),
        ("(a)\n!b priority 33", 2, "a priority is missing"),
        ("(a))", 1, "\")\" stands where ( has to"),
        ("(a) }", 1, "a block ends here"),
        ("repeat 2 {\n(a)", 2, "the end stands where } has to"),
        ("repeat x { (a) }", 1, "a number is missing: write repeat COUNT"),
        ("repeat 2 ( (a) }", 1, "a name is missing"),
        ("size", 1, "a number is missing: write size BYTES"),
        ("size a=", 1, "a number is missing"),
        ("size 99999999999999G", 1, "a number is missing"),
        ("size 1073741824G", 1, "a number is missing"),
        ("!", 1, "a name is missing"),
        ("(a, (b)", 1, "a name is missing"),
        ("repeat 1000 { repeat 1001 { (a) } }", 1, "more than 1000000 computations"),
    ] {
        let fault = Program::parse(text).unwrap_err();
        assert!(fault.line == line && fault.message.contains(told), "{text}: {fault}");
    }
    let deep = "repeat 1 { ".repeat(17);
    assert!(Program::parse(&deep).unwrap_err().to_string().contains("line 1: there are more than 16 blocks"));
}

#[test]
fn policies_are_chosen_once_of_each_kind() {
    let mut policies = policies("no-const disjoint no-const");
    assert_eq!(policies.names(), ["no-const", "disjoint", "reuse", "min-transfer-size"]);
    assert!(policies.choose("with-const").unwrap_err().contains("contradicts an earlier choice"));
    assert!(policies.choose("fastest").unwrap_err().contains("name some of with-const, no-const,"));
    let grcuda = self::policies("grcuda-compat");
    assert_eq!(grcuda.names(), ["no-const", "same-as-parent", "reuse", "single-gpu", "grcuda-compat"]);
    let bandwidth = Some(Bandwidth::read("-1,0,1", 1).unwrap());
    let names = Policies { bandwidth, ..Policies::default() }.names();
    assert_eq!(names, ["with-const", "multigpu-disjoint", "reuse", "minmin-transfer-time"]);
}

#[test]
fn plans_that_cannot_be_are_told() {
    let program = Program::parse("(a)").unwrap();
    let fault = |names, devices| program.plan(&policies(names), devices).unwrap_err().message;
    assert!(fault("", 0).contains("0 devices are not between 1 and 63"));
    assert!(fault("", 64).contains("64 devices"));
    assert!(fault("minmax-transfer-time", 1).contains("needs bandwidths"));
    let mut beyond = Program::parse("up(a)").unwrap();
    beyond.computations[0].arguments[0].range = 0..2;
    let fault = beyond.plan(&Policies::default(), 1).unwrap_err().message;
    assert!(fault.starts_with("task \"up\" is refused: it uses bytes beyond"), "{fault}");
}

/// Bytes go where they are not, once: two readers on one device share a transfer.
#[test]
fn transfers_bring_the_bytes_that_are_missing() {
    let text = "size 8\n(a, b)(a const, c discard)(a[2..4])\n!a[0..6] const\n!a[4..8]\n(a const)";
    let plan = plan(text, "single-gpu", 1);
    let moved = |array, range, from, to| Moved { array, range, from, to };
    let transfers: Vec<_> = plan.steps.iter().map(|step| step.transfers.clone()).collect();
    assert_eq!(transfers[0], [moved(0, 0..8, HOST, on(0)), moved(1, 0..8, HOST, on(0))]);
    assert_eq!(transfers[1..3], [vec![], vec![]], "c is discarded, and a is there");
    assert_eq!(transfers[3], [moved(0, 0..6, on(0), HOST)]);
    assert_eq!(transfers[4], [moved(0, 6..8, on(0), HOST)]);
    assert_eq!(transfers[5], [moved(0, 4..8, HOST, on(0))]);
    let totals = plan.totals;
    assert_eq!((totals.to_devices_bytes, totals.to_host_bytes, totals.between_devices_bytes), (20, 8, 0));
}

/// Not the first of those that are free.
#[test]
fn the_stream_that_has_been_free_for_longest_is_used_again() {
    for names in ["", "grcuda-compat"] {
        let plan = plan("size 8 (a)(b) !b !a (c)(d)", names, 1);
        let streams: Vec<_> = plan.steps.iter().map(|step| step.stream).collect();
        assert_eq!(streams, [Some(0), Some(1), None, None, Some(1), Some(0)], "{names}");
    }
}

#[test]
fn bytes_of_an_array_come_from_all_memories_that_have_some() {
    let plan = plan("size 8 (a[0..4])(a const)", "round-robin multigpu-early-disjoint", 2);
    let moved = |range, from| Moved { array: 0, range, from, to: on(1) };
    assert_eq!(plan.steps[1].transfers, [moved(0..4, on(0)), moved(4..8, HOST)]);
}

/// More parts than are kept apart without a look at which are alike.
#[test]
fn each_byte_is_moved_once_however_many_parts_there_are() {
    let bytes: String = (0..400).step_by(2).map(|byte| format!("(a[{byte}..{}])", byte + 1)).collect();
    let plan = plan(&format!("size 400 {bytes} (a const)"), "single-gpu", 1);
    assert_eq!((plan.totals.to_devices_bytes, plan.steps[200].transfers.len()), (400, 200));
}

#[test]
fn a_device_has_as_many_bytes_as_its_ranges() {
    let plan = plan("size 8 (b)(a[6..8])(b, a[6..8])", "", 2);
    assert_eq!(plan.steps.iter().map(|step| step.at).collect::<Vec<_>>(), [on(0), on(1), on(0)]);
}

#[test]
fn bytes_come_from_the_nearest_memory() {
    let text = "size 8 (a)(b)(b const)(a, b)";
    let bandwidth = |host| Bandwidth::read(&format!("-1,0,{host}\n-1,1,{host}\n0,1,10"), 2).unwrap();
    for (host, from) in [(5, on(1)), (20, HOST)] {
        let mut policies = policies("round-robin multigpu-early-disjoint");
        policies.bandwidth = Some(bandwidth(host));
        let program = Program::parse("size 8 (a)(b const)(a, b const)").unwrap();
        let plan = program.plan(&policies, 2).unwrap();
        assert_eq!(plan.steps[2].transfers, [Moved { array: 1, range: 0..8, from, to: on(0) }], "host at {host}");
    }
    let plan = plan(text, "round-robin multigpu-early-disjoint", 2);
    assert_eq!(plan.totals.between_devices_bytes, 16, "b goes to device 0 to be read, and a to device 1: {plan:?}");
}

/// GR-09: a stream waits for each parent in another stream, and the host for all by itself.
#[test]
fn joins_are_counted_where_streams_differ() {
    let plan = plan("(a)(b)(c)(a, b, c) !(a, b, c)", "single-gpu", 1);
    let joins: Vec<u32> = plan.steps.iter().map(|step| step.joins).collect();
    assert_eq!((joins, plan.totals.joins), (vec![0, 0, 0, 2, 0], 2));
    assert_eq!(plan.steps[4].parents, [3]);
}

/// GR-07: the host needs no node for bytes that it has.
#[test]
fn accesses_that_need_nothing_are_skipped() {
    let skipped = |names| {
        let plan = plan("!a !a const (a const) !a const !a !a", names, 1);
        plan.steps.iter().map(|step| step.is_skipped).collect::<Vec<_>>()
    };
    assert_eq!(skipped(""), [true, true, false, true, false, true]);
    assert_eq!(skipped("no-const grcuda-compat"), [true, true, false, false, true, true], "const uses count as writes");
}

#[test]
fn a_picture_has_boxes_for_devices_and_lines_for_edges() {
    let program = Program::parse("fork: size 8 up(a)(b)(a, b const) !b[0..4] const !c const").unwrap();
    let plan = program.plan(&policies("stream-aware disjoint"), 2).unwrap();
    let dot = plan.dot(&program, usize::MAX);
    let expected = "digraph \"fork\" {\n  node [shape=box, style=filled, colorscheme=set312];\n  \
                    subgraph \"cluster host\" {\n    label=\"host\";\n    \
                    3 [label=\"3: !b[0..4] const\\nb: 0 -> host, 4 bytes\", fillcolor=9];\n  }\n  \
                    subgraph \"cluster 0\" {\n    label=\"device 0\";\n    \
                    0 [label=\"0: up\\nstream 0\\na: host -> 0, 8 bytes\", fillcolor=1];\n    \
                    2 [label=\"2: (a, b const)\\nstream 0\\nb: 1 -> 0, 8 bytes\", fillcolor=1];\n  }\n  \
                    subgraph \"cluster 1\" {\n    label=\"device 1\";\n    \
                    1 [label=\"1: (b)\\nstream 1\\nb: host -> 1, 8 bytes\", fillcolor=2];\n  }\n  \
                    0 -> 2;\n  1 -> 2 [style=dashed];\n  1 -> 3 [style=dashed];\n}\n";
    assert_eq!(dot, expected);
}

const NESTED: &str = "size 8 a(x) section outer { b(x) section inner { c(x, y) d(y) } e(y const, x) } !x const";

/// Sections change no plan; in a picture they are boxes.
#[test]
fn sections_are_boxes_in_each_other() {
    let program = Program::parse(NESTED).unwrap();
    let flat = Program::parse(&NESTED.replace("section outer {", "").replace("section inner {", "").replace('}', ""));
    let plans = [&program, &flat.unwrap()].map(|program| program.plan(&policies(""), 1).unwrap());
    assert_eq!(plans[0], plans[1]);
    let dot = plans[0].dot(&program, usize::MAX);
    let boxes = "    subgraph \"cluster 0 s0\" {\n      label=\"outer\";\n      1 [";
    assert!(dot.contains(boxes), "{dot}");
    let inner = "      subgraph \"cluster 0 s1\" {\n        label=\"inner\";\n        2 [";
    assert!(dot.contains(inner) && dot.contains("  2 -> 3;"), "{dot}");
    assert_eq!((dot.matches("s1\" {").count(), dot.matches('{').count()), (1, dot.matches('}').count()), "{dot}");
}

/// Deeper ones than asked for are a node each, with the edges of all that is in them, once.
#[test]
fn deeper_sections_are_single_nodes() {
    let program = Program::parse(NESTED).unwrap();
    let plan = program.plan(&policies(""), 1).unwrap();
    let (one, none) = (plan.dot(&program, 1), plan.dot(&program, 0));
    assert!(one.contains("s1 [label=\"inner\\n2 computations\\n8 bytes transferred\", fillcolor=9];"), "{one}");
    assert!(one.contains("  1 -> s1;\n") && one.contains("  s1 -> 4;\n") && !one.contains("2 ["), "{one}");
    assert!(none.contains("s0 [label=\"outer\\n4 computations") && !none.contains("s1"), "{none}");
    let edges: Vec<&str> = none.lines().filter(|line| line.contains("->") && !line.contains("label")).collect();
    assert_eq!(edges, ["  0 -> s0;", "  s0 -> 5;"]);
}

/// It is in the box of a place that all of it is at, and in none otherwise.
#[test]
fn a_section_that_is_one_node_has_a_priority_bytes_and_a_place() {
    let text = "section one { (x) priority 3 (y) } section two { (x const) (x const) } section three { (y) !y const }";
    let program = Program::parse(text).unwrap();
    let dot = program.plan(&policies(""), 1).unwrap().dot(&program, 0);
    for line in [
        "\n    s0 [label=\"one\\n2 computations\\npriority 3\\n2 bytes transferred\", fillcolor=9];\n",
        "\n    s1 [label=\"two\\n2 computations\", fillcolor=9];\n",
        "\n  s2 [label=\"three\\n2 computations\\n1 bytes transferred\", fillcolor=9];\n",
    ] {
        assert!(dot.contains(line), "{dot}");
    }
}

#[test]
fn sections_end_and_have_names() {
    let fault = |text| Program::parse(text).unwrap_err().message;
    assert!(fault("section { (a) }").contains("write section NAME { ... }"));
    assert!(fault("section one { (a)").contains("end the block that section has begun"));
    let program = Program::parse("section(a) repeat 2 i { section s.i { (a) } }").unwrap();
    let names: Vec<&str> = program.sections.iter().map(|section| section.name.as_str()).collect();
    assert_eq!((program.computations[0].label.as_str(), names), ("section", vec!["s.0", "s.1"]));
}

/// An array that stands twice in a call is one array.
#[test]
fn bytes_that_stand_twice_in_a_call_move_once_and_count_once() {
    for uses in ["(a discard, a const)", "(a const, a discard)", "(a const, a const)"] {
        let plan = plan(&format!("size 8 {uses}"), "single-gpu", 1);
        assert_eq!(plan.steps[0].transfers, [Moved { array: 0, range: 0..8, from: HOST, to: on(0) }], "{uses}");
    }
    let text = "size a=10 size b=15 (a) (b) (a const, a const, b const)";
    let places: Vec<Location> = plan(text, "min-transfer-size", 2).steps.iter().map(|step| step.at).collect();
    assert_eq!(places, [on(0), on(1), on(1)], "where the most of the bytes are");
    let as_grcuda = plan(text, "grcuda-compat multigpu-disjoint min-transfer-size", 2);
    assert_eq!(as_grcuda.steps[2].at, on(0), "GrCUDA counts each argument");
}
