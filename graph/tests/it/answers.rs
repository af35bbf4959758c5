//! Answers about nodes that are ready, that have ended, or whose priority has changed.

use overtake_graph::{Graph, Kind, Mark, NodeId, Options, Order, Point, Priority, Runner, Spec};

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

/// A chain, another one beside it, and a node after both: what has ended when a node after some of them can begin.
#[test]
fn those_before_have_ended_when_a_node_can_begin() {
    let mut graph = Graph::new(Options::default()).unwrap();
    let mut append = |after: &[NodeId]| graph.append(&Spec { after, references: 1, ..Spec::of(Kind::Kernel) }).unwrap();
    let (first, beside) = (append(&[]), append(&[]));
    let (second, other) = (append(&[first]), append(&[beside]));
    let both = append(&[second, other]);
    let all = [first, beside, second, other, both];
    assert_eq!(graph.ended_before(&[second], &all, 99), [first, second]);
    assert_eq!(graph.ended_before(&[both], &all, 99), all);
    assert_eq!(graph.ended_before(&[first, other], &[second, beside], 99), [beside]);
    assert_eq!(graph.ended_before(&[both], &[first], 1), [], "it was not come to");
    assert_eq!(graph.ended_before(&[], &all, 99), []);
    assert_eq!(graph.ended_before(&all, &[], 99), []);
    // A function that starts at a launch may run before that node is complete.
    let early = graph.append(&Spec { references: 1, ..Spec::of(Kind::Host) }).unwrap();
    graph.before_at(both, early, Mark::Launched).unwrap();
    assert_eq!(graph.ended_before(&[early], &[both, early], 99), [early]);
}
