//! Answers about nodes that are ready, that have ended, or whose priority has changed.

use overtake_graph::{Graph, Kind, NodeId, Options, Order, Point, Priority, Runner, Spec};

const KERNEL: Spec<'static> = Spec::of(Kind::Kernel);

fn graph() -> Graph {
    Graph::new(Options::default()).unwrap()
}

fn next(graph: &mut Graph, runner: Runner) -> Option<NodeId> {
    graph.next(runner).map(|ready| ready.node)
}

#[test]
fn a_function_is_there_from_when_it_is_ready_until_it_is_handed_out() {
    for (kind, runner) in [(Kind::Host, Runner::Host), (Kind::Light, Runner::Light)] {
        let mut graph = graph();
        let answers = |graph: &Graph| [graph.has_host_function(), graph.has_light_function()];
        let function = graph.append(&Spec { kind, references: 1, ..KERNEL }).unwrap();
        assert_eq!(answers(&graph), [false, false]);
        graph.release(function).unwrap();
        assert_eq!(answers(&graph), [kind == Kind::Host, kind == Kind::Light]);
        assert_eq!(next(&mut graph, runner), Some(function));
        assert_eq!(answers(&graph), [false, false]);
    }
}

/// An answer of no would leave a ready node unlaunched.
#[test]
fn a_node_of_the_device_may_be_there_until_no_more_is_found() {
    let mut graph = graph();
    assert!(!graph.has_device_node());
    let kernel = graph.append(&KERNEL).unwrap();
    assert!(graph.has_device_node());
    graph.begin_group();
    assert!(!graph.has_device_node(), "a group is open");
    graph.end_group();
    assert_eq!(next(&mut graph, Runner::Device), Some(kernel));
    graph.launched(kernel).unwrap();
    assert!(graph.has_device_node(), "its round has not ended");
    assert!(next(&mut graph, Runner::Device).is_none() && !graph.has_device_node());
    let physx = Graph::new(Options { order: Order::PhysX, ..Options::default() }).unwrap();
    assert!(physx.has_device_node(), "only a pass tells");
}

/// The nodes of the same priority and of lower ones do not count, whether one is ready or several are.
#[test]
fn a_node_is_more_urgent_only_with_a_higher_priority() {
    let mut graph = graph();
    let priority = |number| Priority::new(number).unwrap();
    let answers = |graph: &Graph| [1, 2, 3, 4].map(|number| graph.has_more_urgent(priority(number)));
    assert_eq!(answers(&graph), [false; 4]);
    for _ in 0..2 {
        graph.append(&Spec { priority: priority(3), ..KERNEL }).unwrap();
        assert_eq!(answers(&graph), [true, true, false, false]);
    }
}

/// Then its work in other lanes has to wait for those nodes.
#[test]
fn a_node_comes_after_others_until_they_have_ended_or_a_barrier_is_set() {
    let mut graph = graph();
    let first = graph.append(&KERNEL).unwrap();
    let then = graph.append(&Spec { after: &[first], ..KERNEL }).unwrap();
    assert_eq!(next(&mut graph, Runner::Device), Some(first));
    assert!(!graph.comes_after(first));
    let at = graph.launched(first).unwrap().at.unwrap();
    assert_eq!(next(&mut graph, Runner::Device), Some(then));
    assert!(graph.comes_after(then));
    graph.complete(at.lane, at.value).unwrap();
    assert!(!graph.comes_after(then));
    assert_eq!(graph.ended().map(|ended| ended.node), Some(first));
    assert!(graph.comes_after(first), "it is not known any more");
    graph.sync_point(then).unwrap();
    assert!(graph.comes_after(then));
}

/// A point that no node stands for is one of its lane.
#[test]
fn the_next_node_of_a_lane_that_was_advanced_has_a_later_point() {
    let mut graph = graph();
    let first = graph.append(&KERNEL).unwrap();
    let then = graph.append(&Spec { after: &[first], ..KERNEL }).unwrap();
    assert_eq!(next(&mut graph, Runner::Device), Some(first));
    let at = graph.launched(first).unwrap().at.unwrap();
    assert_eq!([(); 2].map(|()| graph.advance(at.lane)), [at.value + 1, at.value + 2]);
    assert_eq!(next(&mut graph, Runner::Device), Some(then));
    assert_eq!(graph.launched(then).unwrap().at, Some(Point { value: at.value + 3, ..at }));
}

#[test]
fn an_end_and_a_change_of_priority_are_there_until_they_are_told() {
    let mut graph = graph();
    let kernel = graph.append(&KERNEL).unwrap();
    assert_eq!(next(&mut graph, Runner::Device), Some(kernel));
    let at = graph.launched(kernel).unwrap().at.unwrap();
    assert!(!graph.has_inherited() && !graph.has_ended());
    graph.set_priority(kernel, Priority::new(8).unwrap()).unwrap();
    assert!(graph.has_inherited());
    graph.inherited(|_, _| ());
    assert!(!graph.has_inherited());
    graph.complete(at.lane, at.value).unwrap();
    assert!(graph.has_ended());
    assert_eq!(graph.ended().map(|ended| ended.node), Some(kernel));
    assert!(!graph.has_ended());
}

/// A hint that names another node would cost the misses that it is there to save.
#[test]
fn the_node_that_became_ready_and_the_one_behind_it_are_named_once() {
    let mut graph = graph();
    let mut chain = vec![graph.append(&KERNEL).unwrap()];
    for _ in 0..4 {
        let node = graph.append(&Spec { after: &chain[chain.len() - 1..], ..KERNEL }).unwrap();
        chain.push(node);
    }
    let mut hints = Vec::new();
    for node in &chain[..4] {
        assert_eq!(next(&mut graph, Runner::Device), Some(*node));
        graph.launched(*node).unwrap();
        hints.push(graph.ahead());
        assert_eq!(graph.ahead(), None);
    }
    let hint = |ready: usize| Some((chain[ready].index(), chain.get(ready + 1).map(|node| node.index())));
    assert_eq!(hints, [hint(1), hint(2), hint(3), hint(4)]);
    let places: Vec<usize> = hints.iter().flatten().map(|(slot, _)| graph.place(*slot) as usize).collect();
    assert!(places[1] > places[0] && places[2] - places[1] == places[1] - places[0], "{places:x?}");
}

/// Only the first edge into a node tells the node's slot.
#[test]
fn the_node_behind_a_later_edge_is_not_named() {
    let mut graph = graph();
    let [first, other] = [(); 2].map(|()| graph.append(&KERNEL).unwrap());
    let then = graph.append(&Spec { after: &[other], ..KERNEL }).unwrap();
    graph.append(&Spec { after: &[first, then], ..KERNEL }).unwrap();
    for node in [first, other] {
        assert_eq!(next(&mut graph, Runner::Device), Some(node));
        graph.launched(node).unwrap();
    }
    assert_eq!(graph.ahead(), Some((then.index(), None)));
}

/// The first of several, which is launched before the others.
#[test]
fn of_two_nodes_behind_it_the_first_is_named() {
    let mut graph = graph();
    let begin = graph.append(&KERNEL).unwrap();
    let node = graph.append(&Spec { after: &[begin], ..KERNEL }).unwrap();
    let [then, _] = [(); 2].map(|()| graph.append(&Spec { after: &[node], ..KERNEL }).unwrap());
    assert_eq!(next(&mut graph, Runner::Device), Some(begin));
    graph.launched(begin).unwrap();
    assert_eq!(graph.ahead(), Some((node.index(), Some(then.index()))));
}
