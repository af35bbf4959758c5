//! Nodes that are left out, because they were given up or others have failed: they stay in the order.

use std::num::NonZeroU32;

use overtake_graph::{Access, Cause, Graph, Kind, Mode, NodeId, Options, Priority, Runner, Spec, Stage};

use crate::accesses::{append, before, graph, reads, writes};

const CAUSE: Cause = Cause(NonZeroU32::MIN);

/// The same, with those that are left out replaced by those before them.
fn before_at_last(graph: &Graph, node: NodeId) -> Vec<NodeId> {
    let (mut all, mut open) = (Vec::new(), before(graph, node));
    while let Some(node) = open.pop() {
        match graph.is_left_out(node) {
            true => open.extend(before(graph, node)),
            false => all.push(node),
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// Nodes that fail end before those that they came after, and hide none of them from later nodes.
#[test]
fn failed_nodes_hide_nothing_that_still_runs() {
    let mut graph = graph();
    let (x, y, z) = (graph.data(8), graph.data(8), graph.data(8));
    let running = append(&mut graph, &[reads(x)]);
    assert_eq!(graph.next(Runner::Device).map(|ready| ready.node), Some(running));
    graph.launched(running).unwrap();
    let host = Spec::of(Kind::Host);
    let failing = graph.append_using(&host, &[writes(z)]).unwrap();
    assert_eq!(graph.next(Runner::Host).map(|ready| ready.node), Some(failing));
    let held = Spec { references: 1, ..Spec::of(Kind::Kernel) };
    let other = graph.append_using(&held, &[writes(y)]).unwrap();
    let kernel = Spec::of(Kind::Kernel);
    let behind = graph.append_using(&Spec { after: &[failing], ..kernel }, &[writes(x), reads(z)]).unwrap();
    let behind_both = graph.append_using(&Spec { after: &[behind], ..kernel }, &[reads(x), reads(y)]).unwrap();
    assert_eq!(before(&graph, behind_both), [behind, other]);
    graph.failed(failing, CAUSE).unwrap();
    assert_eq!((graph.stage(behind), graph.stage(behind_both)), (Stage::Ended, Stage::Waiting));
    graph.release(other).unwrap();
    graph.next(Runner::Device).unwrap();
    graph.launched(other).unwrap();
    assert_eq!((graph.stage(behind_both), graph.stage(running)), (Stage::Ended, Stage::Launched));
    while graph.ended().is_some() {}
    let last = append(&mut graph, &[writes(x)]);
    assert_eq!(before_at_last(&graph, last), [running, other], "the order with the other one is not needed");
}

/// A lane may be reported before another one that it has joined: a device that fails may do so. Each node stays in the
/// order until those before it have ended.
#[test]
fn nodes_that_fail_in_a_lane_hide_nothing_that_still_runs_in_another() {
    let mut graph = graph();
    let data = graph.data(64);
    let launch = |graph: &mut Graph, node| {
        assert_eq!(graph.next(Runner::Device).map(|ready| ready.node), Some(node));
        graph.launched(node).unwrap().at.unwrap()
    };
    let running = append(&mut graph, &[writes(data)]);
    let its = launch(&mut graph, running);
    let goes_on = graph.append(&Spec { after: &[running], ..Spec::of(Kind::Kernel) }).unwrap();
    launch(&mut graph, goes_on);
    let mut before = None;
    let failing = [(); 3].map(|()| {
        let spec = Spec { after: before.as_slice(), ..Spec::of(Kind::Kernel) };
        let node = graph.append_using(&spec, &[writes(data)]).unwrap();
        before = Some(node);
        (node, launch(&mut graph, node))
    });
    let [(first, _), _, (_, at)] = failing;
    assert_ne!(at.lane, its.lane);
    graph.failed(first, CAUSE).unwrap();
    graph.complete(at.lane, at.value).unwrap();
    let ended: Vec<_> =
        std::iter::from_fn(|| graph.ended()).map(|ended| (ended.node, ended.outcome.is_err())).collect();
    assert_eq!(ended, failing.map(|(node, _)| (node, true)));
    let last = append(&mut graph, &[reads(data)]);
    assert_eq!(before_at_last(&graph, last), [running]);
}

/// Of a chain of nodes that fail at once each leaves those behind it the node that still runs, and no other one.
#[test]
fn the_last_of_several_failed_nodes_stands_for_the_one_that_runs() {
    let mut graph = graph();
    let [x, y, v, z, other] = [0; 5].map(|_| graph.data(8));
    let running = append(&mut graph, &[writes(x)]);
    let beside = append(&mut graph, &[writes(other)]);
    for node in [running, beside] {
        assert_eq!(graph.next(Runner::Device).map(|ready| ready.node), Some(node));
        graph.launched(node).unwrap();
    }
    let host = Spec::of(Kind::Host);
    let (failing, apart) = (graph.append_using(&host, &[]).unwrap(), graph.append_using(&host, &[]).unwrap());
    let kernel = Spec::of(Kind::Kernel);
    let reader = graph.append_using(&Spec { after: &[failing], ..kernel }, &[reads(x), writes(y)]).unwrap();
    let held = Spec { after: &[reader], references: 1, ..kernel };
    let held = graph.append_using(&held, &[reads(y), writes(v)]).unwrap();
    let last = graph.append_using(&Spec { after: &[held], ..kernel }, &[reads(v), reads(z)]).unwrap();
    let far = graph.append_using(&Spec { after: &[apart], ..kernel }, &[reads(other)]).unwrap();
    for node in [failing, apart] {
        assert_eq!(graph.next(Runner::Host).map(|ready| ready.node), Some(node));
        graph.failed(node, CAUSE).unwrap();
    }
    // The one between leaves when no node is left in it that still runs.
    assert_eq!([reader, held, far].map(|node| graph.stage(node)), [Stage::Ended, Stage::Waiting, Stage::Ended]);
    graph.release(held).unwrap();
    while graph.ended().is_some() {}
    assert_eq!(graph.stage(last), Stage::Ended);
    // One more reader makes the round forget the nodes that need no mention.
    let again = append(&mut graph, &[reads(z)]);
    let writer = append(&mut graph, &[writes(z)]);
    assert_eq!(before_at_last(&graph, writer), [running, again]);
}

/// A round that grows forgets nodes that have ended, but none that stays in the order.
#[test]
fn a_failed_reader_stays_in_the_order_while_those_before_it_run() {
    let mut graph = graph();
    let (x, z) = (graph.data(8), graph.data(8));
    let running = append(&mut graph, &[writes(x)]);
    graph.next(Runner::Device).unwrap();
    graph.launched(running).unwrap();
    let failing = graph.append_using(&Spec::of(Kind::Host), &[]).unwrap();
    let reader = Spec { after: &[failing], ..Spec::of(Kind::Kernel) };
    graph.append_using(&reader, &[reads(x), reads(z)]).unwrap();
    graph.next(Runner::Host).unwrap();
    graph.failed(failing, CAUSE).unwrap();
    while graph.ended().is_some() {}
    let again = append(&mut graph, &[reads(z)]);
    let writer = append(&mut graph, &[writes(z)]);
    assert_eq!(before_at_last(&graph, writer), [running, again]);
}

/// Where data is an order alone, a node fails with those that are stated: not with a reader that it comes after.
#[test]
fn a_failure_goes_along_stated_orders_alone() {
    let mut graph = Graph::new(Options::default()).unwrap();
    let data = graph.data(8);
    let first = append(&mut graph, &[writes(data)]);
    let reader = append(&mut graph, &[reads(data)]);
    let overwrites = append(&mut graph, &[Access::new(data, Mode::Discard)]);
    let needs = Spec { after: &[overwrites], ..Spec::of(Kind::Kernel) };
    let needs = graph.append_using(&needs, &[reads(data)]).unwrap();
    assert!(graph.give_up(reader, CAUSE) && graph.is_left_out(reader));
    assert_eq!((graph.stage(reader), graph.stage(overwrites)), (Stage::Ended, Stage::Waiting));
    let run = |graph: &mut Graph, node| {
        assert_eq!(graph.next(Runner::Device).map(|ready| ready.node), Some(node));
        graph.launched(node).unwrap().at.unwrap()
    };
    let at = run(&mut graph, first);
    run(&mut graph, overwrites);
    graph.failed(first, CAUSE).unwrap();
    graph.complete(at.lane, at.value).unwrap();
    run(&mut graph, needs);
    let ended: Vec<_> = std::iter::from_fn(|| graph.ended()).map(|it| (it.node, it.outcome.is_ok())).collect();
    assert_eq!(ended[..2], [(reader, false), (first, false)]);
    assert!(!graph.is_left_out(reader), "nothing is before it");
}

/// Its name is that of no task any more: another one may have it.
#[test]
fn a_name_goes_with_its_node() {
    let mut graph = graph();
    let running = graph.append(&Spec::of(Kind::Kernel)).unwrap();
    let named = graph.named("x").unwrap();
    graph.fill(named, &Spec { after: &[running], ..Spec::of(Kind::Host) }).unwrap();
    graph.release(named).unwrap();
    assert!(graph.give_up(named, CAUSE) && graph.is_left_out(named));
    assert_eq!(graph.label(named).to_string(), "\"x\"");
    let again = graph.named("x").unwrap();
    assert_ne!(again, named);
    graph.fill(again, &Spec::of(Kind::Kernel)).unwrap();
    graph.release(again).unwrap();
    for node in [running, again] {
        assert_eq!(graph.next(Runner::Device).map(|ready| ready.node), Some(node));
        let at = graph.launched(node).unwrap().at.unwrap();
        graph.complete(at.lane, at.value).unwrap();
    }
    let ended: Vec<_> = std::iter::from_fn(|| graph.ended()).map(|it| it.node).collect();
    assert_eq!((ended.len(), graph.statistics().nodes), (3, 0), "{ended:?}");
    assert_ne!(graph.named("x").unwrap(), again);
}

/// One that waits for several that were left out raises those before them.
#[test]
fn priorities_go_through_nodes_that_are_left_out() {
    let options = || Options::default();
    let urgent = Priority::new(2).unwrap();
    // The second fails with the first, before the urgent one is there or behind it.
    for is_late in [false, true] {
        let mut graph = Graph::new(options()).unwrap();
        let x = graph.data(8);
        let running = append(&mut graph, &[writes(x)]);
        let first = append(&mut graph, &[writes(x)]);
        let second = Spec { after: &[first], references: u32::from(is_late), ..Spec::of(Kind::Kernel) };
        let second = graph.append_using(&second, &[writes(x)]).unwrap();
        assert!(graph.give_up(first, CAUSE));
        let last = Spec { priority: urgent, ..Spec::of(Kind::Kernel) };
        let last = graph.append_using(&last, &[Access::new(x, Mode::Discard)]).unwrap();
        if is_late {
            assert_eq!(graph.priority(running), Some(Priority::LOWEST), "that one does not wait");
            graph.release(second).unwrap();
        }
        assert_eq!([running, last].map(|node| graph.priority(node)), [Some(urgent); 2], "{is_late}");
        assert!(graph.give_up(last, CAUSE));
        assert_eq!(graph.priority(running), Some(Priority::LOWEST));
    }
}
