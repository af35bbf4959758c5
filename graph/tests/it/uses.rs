//! Data and its uses: the rules one by one. `graph/tests/it/data.rs` has random programs.

use overtake_graph::{
    Access, DataId, Graph, Inference, Kind, Mark, Mode, Options, Order, Refused, Runner, Spans, Spec, Stage,
};

use crate::accesses::{append, before, graph, reads, writes};

fn part(data: DataId, range: std::ops::Range<u64>, mode: Mode) -> Access {
    Access { data, range: Some(range), mode }
}

/// Runs everything that is ready, to its end.
fn run(graph: &mut Graph) {
    while let Some(node) = graph.next(Runner::Device).map(|ready| ready.node) {
        let at = graph.launched(node).unwrap().at.unwrap();
        graph.complete(at.lane, at.value).unwrap();
    }
    while graph.ended().is_some() {}
}

#[test]
fn modes_are_merged_as_one_node_uses_the_bytes() {
    assert_eq!(Mode::Read.and(Mode::Read), Mode::Read);
    assert_eq!(Mode::Read.and(Mode::Write), Mode::ReadWrite);
    assert_eq!(Mode::Write.and(Mode::Discard), Mode::Write);
    assert_eq!(Mode::Discard.and(Mode::Write), Mode::Write);
    assert_eq!(Mode::Discard.and(Mode::Read), Mode::ReadWrite);
    assert_eq!(Mode::Reduce.and(Mode::Reduce), Mode::Reduce);
    assert_eq!(Mode::Reduce.and(Mode::Relaxed), Mode::ReadWrite);
    assert!(Mode::Write.needs_bytes() && Mode::Reduce.needs_bytes() && !Mode::Discard.needs_bytes());
    assert!(Mode::Reduce.is_write() && Mode::Discard.is_write() && !Mode::Read.is_write());
}

/// SY-07: the same object twice in one node is one use, in both modes.
#[test]
fn an_object_used_twice_is_used_in_both_modes() {
    let mut graph = graph();
    let x = graph.data(8);
    let reader = append(&mut graph, &[reads(x)]);
    let both = append(&mut graph, &[reads(x), writes(x)]);
    assert_eq!(before(&graph, both), [reader]);
    let next = append(&mut graph, &[reads(x)]);
    assert_eq!(before(&graph, next), [both]);
    let other = append(&mut graph, &[writes(x), reads(x), writes(x)]);
    assert_eq!(before(&graph, other), [next]);
}

#[test]
fn stated_and_found_orders_are_one_edge_and_stated_ones_stay() {
    let mut graph = graph();
    let (x, y) = (graph.data(8), graph.data(8));
    let first = append(&mut graph, &[writes(x)]);
    let second = append(&mut graph, &[reads(x), writes(y)]);
    let spec = Spec { after: &[first, first, second], ..Spec::of(Kind::Kernel) };
    let third = graph.append_using(&spec, &[reads(y)]).unwrap();
    assert_eq!(before(&graph, third), [first, second], "the edge from the first is redundant, and was asked for");
    let fourth = append(&mut graph, &[reads(x), reads(y)]);
    assert_eq!(before(&graph, fourth), [second], "that from the first is redundant (GR-04)");
}

/// A dependency on finished work is no edge, and takes no room.
#[test]
fn finished_work_costs_nothing() {
    let mut graph = graph();
    let x = graph.data(8);
    append(&mut graph, &[writes(x)]);
    run(&mut graph);
    let reader = append(&mut graph, &[reads(x)]);
    assert_eq!((before(&graph, reader), graph.stage(reader)), (vec![], Stage::Ready));
    assert_eq!((graph.statistics().edges, graph.statistics().nodes), (0, 1));
    assert_eq!(graph.frontier(), [reader]);
}

#[test]
fn tokens_order_and_empty_ranges_do_not() {
    let mut graph = graph();
    let (token, empty, x) = (graph.token(), graph.data(0), graph.data(8));
    let first = append(&mut graph, &[writes(token), writes(empty), part(x, 4..4, Mode::Write)]);
    let second = append(&mut graph, &[writes(empty), part(x, 0..8, Mode::Write)]);
    assert_eq!(before(&graph, second), []);
    let third = append(&mut graph, &[reads(token)]);
    assert_eq!(before(&graph, third), [first]);
}

#[test]
fn reductions_and_relaxed_uses_are_free_among_each_other_only() {
    let mut graph = graph();
    let x = graph.data(8);
    let writer = append(&mut graph, &[writes(x)]);
    let [one, other] = [0, 1].map(|_| append(&mut graph, &[Access::new(x, Mode::Reduce)]));
    assert_eq!((before(&graph, one), before(&graph, other)), (vec![writer], vec![writer]));
    let [relaxed, another] = [0, 1].map(|_| append(&mut graph, &[Access::new(x, Mode::Relaxed)]));
    assert_eq!((before(&graph, relaxed), before(&graph, another)), (vec![one, other], vec![one, other]));
    let reader = append(&mut graph, &[reads(x)]);
    assert_eq!(before(&graph, reader), [relaxed, another]);
}

/// A completion task runs when the kernel is launched, so an order behind it is none behind the kernel's results.
#[test]
fn an_order_that_ends_at_the_launch_hides_no_dependency() {
    let mut graph = graph();
    let [x, y, z, w] = [0; 4].map(|_| graph.data(8));
    let kernel = append(&mut graph, &[writes(x)]);
    let held = Spec { references: 1, ..Spec::of(Kind::Host) };
    let completion = graph.append_using(&held, &[writes(y)]).unwrap();
    graph.before_at(kernel, completion, Mark::Launched).unwrap();
    let host = Spec::of(Kind::Host);
    let reader = graph.append_using(&host, &[reads(x), reads(y)]).unwrap();
    assert_eq!(before(&graph, reader), [kernel, completion]);
    // So among three, and an order that ends at the completion does hide one.
    let beside = append(&mut graph, &[writes(z)]);
    let reader = graph.append_using(&host, &[reads(x), reads(y), reads(z)]).unwrap();
    assert_eq!(before(&graph, reader), [kernel, completion, beside]);
    let complete = graph.append_using(&held, &[writes(w)]).unwrap();
    graph.before_at(kernel, complete, Mark::Complete).unwrap();
    let reader = graph.append_using(&host, &[reads(x), reads(w), reads(z)]).unwrap();
    assert_eq!(before(&graph, reader), [complete, beside]);
}

/// GR-04: the search for redundant dependencies ends after so many edges.
#[test]
fn a_dependency_beyond_the_search_stays() {
    for (search_max, is_found) in [(0, false), (4, false), (64, true)] {
        let inference = Inference { search_max, ..Inference::default() };
        let mut graph = Graph::new(Options { inference, ..Options::default() }).unwrap();
        let [x, y, z] = [0; 3].map(|_| graph.data(8));
        let first = append(&mut graph, &[writes(x)]);
        let mut last = first;
        for _ in 0..10 {
            last = graph.append(&Spec { after: &[last], ..Spec::of(Kind::Kernel) }).unwrap();
        }
        let kernel = Spec { after: &[last], ..Spec::of(Kind::Kernel) };
        let chain = graph.append_using(&kernel, &[writes(y)]).unwrap();
        let beside = append(&mut graph, &[writes(z)]);
        let all = append(&mut graph, &[writes(x), writes(y), writes(z)]);
        let expected = if is_found { vec![chain, beside] } else { vec![first, chain, beside] };
        assert_eq!(before(&graph, all), expected, "{search_max}");
    }
}

/// Each search has numbers of its own, in a graph that has seen a hundred of them too.
#[test]
fn many_searches_find_the_same() {
    let mut graph = graph();
    let [x, y, z, w] = [0; 4].map(|_| graph.data(8));
    for _ in 0..100 {
        let first = append(&mut graph, &[writes(x)]);
        let second = append(&mut graph, &[reads(x), writes(y)]);
        let [beside, apart] = [z, w].map(|data| append(&mut graph, &[writes(data)]));
        let all = append(&mut graph, &[x, y, z, w].map(writes));
        assert_eq!(before(&graph, all), [second, beside, apart], "after {first}");
        run(&mut graph);
    }
}

#[test]
fn bytes_that_are_written_together_are_one_part() {
    let mut graph = graph();
    let x = graph.data(64);
    for byte in 0..8 {
        append(&mut graph, &[part(x, byte * 2..byte * 2 + 1, Mode::Read)]);
    }
    assert_eq!(graph.parts(x), 16);
    append(&mut graph, &[part(x, 3..12, Mode::Discard)]);
    assert_eq!(graph.parts(x), 8);
    append(&mut graph, &[writes(x)]);
    assert_eq!(graph.parts(x), 1);
}

#[test]
fn every_use_writes_where_const_is_not_seen() {
    let inference = Inference { sees_const: false, search_max: 0 };
    let mut graph = Graph::new(Options { inference, ..Options::default() }).unwrap();
    let (x, y) = (graph.data(8), graph.data(8));
    let first = append(&mut graph, &[reads(x), reads(y)]);
    let second = append(&mut graph, &[reads(x)]);
    assert_eq!(before(&graph, second), [first]);
    let third = append(&mut graph, &[reads(x), reads(y)]);
    assert_eq!(before(&graph, third), [second, first], "redundant ones stay (GR-04)");
}

#[test]
fn uses_tell_what_a_host_has_to_wait_for() {
    let mut graph = graph();
    let x = graph.data(8);
    let writer = append(&mut graph, &[part(x, 0..4, Mode::Write)]);
    let reader = append(&mut graph, &[part(x, 0..2, Mode::Read)]);
    let mut users = |access: Access| graph.would_follow(&[], &[access]).unwrap();
    assert_eq!(users(part(x, 4..8, Mode::Write)), []);
    assert_eq!(users(part(x, 0..1, Mode::Read)), [writer]);
    assert_eq!(users(writes(x)), [reader], "which comes after the writer");
}

#[test]
fn impossible_uses_are_refused_and_change_nothing() {
    let mut graph = graph();
    let (x, token) = (graph.data(8), graph.token());
    let gone = graph.data(8);
    graph.forget(gone).unwrap();
    let spec = Spec { name: "k", ..Spec::of(Kind::Kernel) };
    let mut refused = |access: Access| graph.append_using(&spec, &[writes(x), access]).unwrap_err().to_string();
    let told = "task \"k\" is refused: it uses";
    assert_eq!(refused(reads(gone)).split(" data").next().unwrap(), told);
    assert!(refused(part(x, 4..9, Mode::Read)).contains("beyond the end"));
    #[expect(clippy::reversed_empty_ranges, reason = "it is refused")]
    let backwards = 4..3;
    assert!(refused(part(x, backwards, Mode::Read)).contains("beyond the end"));
    assert!(refused(part(token, 0..1, Mode::Read)).contains("of a token"));
    assert!(graph.forget(gone).unwrap_err().to_string().starts_with("the use of data is refused"));
    let first = append(&mut graph, &[writes(x)]);
    assert_eq!(before(&graph, first), []);
    let again = graph.data(4);
    assert!(again != gone && again.index() == gone.index(), "its number is used again, under another id");
    let physx = Options { order: Order::PhysX, ..Options::default() };
    let mut physx = Graph::new(physx).unwrap();
    let x = physx.data(8);
    assert!(physx.append_using(&spec, &[reads(x)]).unwrap_err().to_string().contains("PhysX knows no data"));
}

/// A full graph refuses, and the refused node has used nothing.
#[test]
fn a_refused_node_has_used_nothing() {
    let mut graph = Graph::new(Options { nodes_max: 1, ..Options::default() }).unwrap();
    let x = graph.data(8);
    let first = append(&mut graph, &[reads(x)]);
    let spec = Spec::of(Kind::Kernel);
    assert_eq!(graph.append_using(&spec, &[writes(x)]), Err(Refused::WouldBlock));
    assert_eq!(graph.frontier(), [first]);
}

/// The parts of an object, and the nodes that they mention, stay few.
#[cfg_attr(miri, ignore = "it takes long")]
#[test]
fn a_hundred_thousand_uses_of_parts_leave_few() {
    let mut graph = graph();
    let x = graph.data(1 << 20);
    for number in 0..100_000_u64 {
        let start = number * 7919 % ((1 << 20) - 64);
        let mode = if number % 3 == 0 { Mode::Write } else { Mode::Read };
        append(&mut graph, &[part(x, start..start + 64, mode), reads(x)]);
        run(&mut graph);
    }
    let last = append(&mut graph, &[reads(x)]);
    assert_eq!(graph.frontier(), [last]);
    assert!(graph.parts(x) < 64, "{}", graph.parts(x));
}

#[test]
fn spans_have_a_value_for_each_byte() {
    let mut spans = Spans::new(10, 0);
    let all = |spans: &Spans<i32>| {
        let mut all = Vec::new();
        spans.each(&(1..9), |range, value| all.push((range.start, range.end, *value)));
        all
    };
    assert_eq!(all(&spans), [(1, 9, 0)]);
    spans.change(&(2..4), |value| *value = 1);
    spans.change(&(3..7), |value| *value += 2);
    spans.change(&(5..5), |value| *value = 9);
    assert_eq!(all(&spans), [(1, 2, 0), (2, 3, 1), (3, 4, 3), (4, 7, 2), (7, 9, 0)]);
    assert_eq!(spans.count(), 5);
    spans.unite(&(2..7));
    assert_eq!(all(&spans), [(1, 2, 0), (2, 7, 2), (7, 9, 0)]);
    spans.unite(&(0..9));
    assert_eq!((all(&spans), spans.count()), (vec![(1, 9, 0)], 2));
    spans.unite(&(0..10));
    assert_eq!((all(&spans), spans.count()), (vec![(1, 9, 0)], 1));
    spans.change(&(0..10), |value| *value = 8);
    assert_eq!((all(&spans), spans.count()), (vec![(1, 9, 8)], 1));
}
