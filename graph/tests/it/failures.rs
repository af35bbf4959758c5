//! Failures: the nodes that end by them, and those that are not launched any more.

use std::num::NonZeroU32;

use overtake_graph::{Cause, Graph, Kind, NodeId, Options, Priority, Runner, Spec, Stage};

const KERNEL: Spec<'static> = Spec::of(Kind::Kernel);

fn cause() -> Cause {
    Cause(NonZeroU32::new(7).unwrap())
}

fn launch(graph: &mut Graph, node: NodeId) {
    assert_eq!(graph.next(Runner::Device).map(|ready| ready.node), Some(node));
    graph.launched(node).unwrap();
}

/// The nodes that have ended since the last call: with their outcomes, and how often each was handed out.
fn ended(graph: &mut Graph) -> Vec<(NodeId, Result<(), Cause>, u32)> {
    std::iter::from_fn(|| graph.ended().map(|ended| (ended.node, ended.outcome, ended.turns))).collect()
}

/// The first of a chain of four fails on the device when this many have been launched.
#[test]
fn no_node_behind_a_failed_one_is_launched_any_more() {
    for launched in 1..4 {
        let mut graph = Graph::new(Options::default()).unwrap();
        let mut nodes: Vec<NodeId> = Vec::new();
        for _ in 0..4 {
            let after = nodes.last().copied();
            nodes.push(graph.append(&Spec { after: after.as_slice(), ..KERNEL }).unwrap());
        }
        nodes[..launched].iter().for_each(|node| launch(&mut graph, *node));
        let beside = graph.append(&KERNEL).unwrap();
        assert_eq!(graph.failed(nodes[0], cause()), Ok(graph.point(nodes[0])));
        let early: Vec<_> = nodes[launched..].iter().map(|node| (*node, Err(cause()), 0)).collect();
        assert_eq!(ended(&mut graph), early, "at once, because {launched} were launched and this one was ready");
        launch(&mut graph, beside);
        assert!(graph.next(Runner::Device).is_none());
        let last = graph.point(nodes[launched - 1]).unwrap();
        graph.complete(last.lane, last.value).unwrap();
        let late: Vec<_> = nodes[..launched].iter().map(|node| (*node, Err(cause()), 1)).collect();
        assert_eq!(ended(&mut graph), late);
        assert_eq!(graph.stage(beside), Stage::Launched);
    }
}

#[test]
fn a_node_that_comes_behind_a_failed_one_fails_with_it() {
    let mut graph = Graph::new(Options::default()).unwrap();
    let first = graph.append(&KERNEL).unwrap();
    launch(&mut graph, first);
    graph.failed(first, cause()).unwrap();
    let second = graph.append(&Spec { after: &[first], ..KERNEL }).unwrap();
    assert_eq!(ended(&mut graph), [(second, Err(cause()), 0)], "the first is launched, and not complete");
    let at = graph.point(first).unwrap();
    graph.complete(at.lane, at.value).unwrap();
    let third = graph.append(&Spec { after: &[first], ..KERNEL }).unwrap();
    assert_eq!(ended(&mut graph), [(first, Err(cause()), 1), (third, Err(cause()), 0)], "it had not been returned");
    let fourth = graph.append(&Spec { after: &[first], ..KERNEL }).unwrap();
    launch(&mut graph, fourth);
}

#[test]
fn a_lost_device_has_a_cause_and_the_first_one_stays() {
    let mut graph = Graph::new(Options::default()).unwrap();
    assert_eq!(graph.failure(), None);
    graph.fail(cause());
    graph.fail(Cause(NonZeroU32::MIN));
    assert_eq!(graph.failure(), Some(cause()));
    let node = graph.append(&KERNEL).unwrap();
    assert_eq!(ended(&mut graph), [(node, Err(cause()), 0)]);
}

#[test]
fn a_failed_node_is_as_urgent_as_those_that_wait_for_its_end() {
    let mut graph = Graph::new(Options::default()).unwrap();
    let first = graph.append(&KERNEL).unwrap();
    launch(&mut graph, first);
    graph.failed(first, cause()).unwrap();
    let urgent = Spec { priority: Priority::new(8).unwrap(), references: 1, ..KERNEL };
    let held = graph.append(&Spec { after: &[first], ..urgent }).unwrap();
    assert_eq!((graph.stage(held), graph.priority(first)), (Stage::Waiting, Some(urgent.priority)));
}
