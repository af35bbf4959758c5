//! Batches: the kernels that are handed out behind and beside another one, and those that are not.

use std::num::NonZeroU32;

use overtake_graph::{
    Behind, Cause, Direction, Graph, Kind, Mark, NodeId, Options, Order, Point, Priority, Runner, Spec, Stage,
};

const KERNEL: Spec<'static> = Spec::of(Kind::Kernel);
const CAUSE: Cause = Cause(NonZeroU32::MIN);
const COPY: Spec<'static> = Spec::of(Kind::Copy(Direction::HostToDevice));

fn graph() -> Graph {
    Graph::new(Options { lanes: 4, groups: 2, ..Options::default() }).unwrap()
}

fn urgent() -> Priority {
    Priority::new(8).unwrap()
}

/// The node whose turn it is: without joins.
fn next(graph: &mut Graph) -> NodeId {
    let ready = graph.next(Runner::Device).unwrap();
    assert_eq!(ready.joins, []);
    ready.node
}

fn launch(graph: &mut Graph, node: NodeId) -> Point {
    assert_eq!(next(graph), node);
    graph.launched(node).unwrap().at.unwrap()
}

/// Hands a node out by the call that appends it, if it is the next: without joins.
fn at_once(graph: &mut Graph, spec: &Spec<'_>) -> Option<NodeId> {
    graph.append_running(spec, std::iter::empty(), |_| true).map(|(node, ..)| node)
}

/// All that may be handed out behind the node.
fn all_behind(graph: &mut Graph, node: NodeId) -> Vec<Behind> {
    let mut all = Vec::new();
    graph.next_behind(node, |it| {
        all.push(it);
        true
    });
    all
}

fn behind(graph: &mut Graph, node: NodeId) -> Vec<NodeId> {
    all_behind(graph, node).iter().map(|it| it.node).collect()
}

/// All that may be handed out beside the node.
fn beside(graph: &mut Graph, mut last: NodeId) -> Vec<NodeId> {
    let mut all = Vec::new();
    while let Some(ready) = graph.next_beside(last) {
        assert_eq!((ready.turn, ready.joins), (0, &[][..]));
        last = ready.node;
        all.push(last);
    }
    all
}

/// A node of this kind, and one after it.
fn pair(graph: &mut Graph, first: &Spec<'_>, then: &Spec<'_>) -> [NodeId; 2] {
    let first = graph.append(first).unwrap();
    [first, graph.append(&Spec { after: &[first], ..*then }).unwrap()]
}

fn chain(graph: &mut Graph, spec: &Spec<'_>, count: usize) -> Vec<NodeId> {
    let mut nodes = vec![graph.append(spec).unwrap()];
    while nodes.len() < count {
        let after = &[nodes[nodes.len() - 1]];
        nodes.push(graph.append(&Spec { after, ..*spec }).unwrap());
    }
    nodes
}

#[test]
fn a_chain_of_kernels_is_handed_out_at_once() {
    let mut graph = graph();
    let spec = Spec { priority: urgent(), ..KERNEL };
    let nodes = chain(&mut graph, &spec, 5);
    assert_eq!(next(&mut graph), nodes[0]);
    let all = all_behind(&mut graph, nodes[0]);
    assert_eq!(all.iter().map(|it| (it.node, it.turn)).collect::<Vec<_>>(), [1, 2, 3, 4].map(|it| (nodes[it], 0)));
    assert_eq!([0, 1, 2].map(|it| all[it].next), [2, 3, 4].map(|it| nodes[it].index()));
    assert!(all[3].next > usize::from(u16::MAX), "none is behind the last");
    let places = [0, 1, 2].map(|it| all[it].place.addr());
    assert_eq!(places[1] - places[0], places[2] - places[1]);
    assert!(nodes.iter().all(|&node| graph.stage(node) == Stage::Running));
    // They are told that priority: no other one is news.
    graph.inherited(|node, priority| panic!("{node} has {priority}"));

    let lane = 4;
    assert_eq!(graph.launched_behind(nodes[0], 4), Point { lane, value: 1 });
    let last = graph.launched(nodes[4]).unwrap();
    assert_eq!((last.at, last.is_waited_for), (Some(Point { lane, value: 5 }), false));
    let points = [0, 1, 2, 3, 4].map(|it: usize| graph.point(nodes[it]).unwrap().value);
    assert_eq!(points, [1, 2, 3, 4, 5]);
    // The next goes on there.
    let then = graph.append(&Spec { after: &[nodes[4]], ..spec }).unwrap();
    assert_eq!(launch(&mut graph, then), Point { lane, value: 6 });
    graph.complete(lane, 6).unwrap();
    assert_eq!(std::iter::from_fn(|| graph.ended()).count(), 6);
    assert_eq!(graph.statistics().nodes, 0);
    // None is being launched: the round ends.
    assert!(graph.next(Runner::Device).is_none());
    assert!(at_once(&mut graph, &KERNEL).is_some());
}

#[test]
fn nothing_is_handed_out_behind_a_kernel_beside_others_or_in_another_order() {
    let mut beside_others = graph();
    let [first, _] = pair(&mut beside_others, &KERNEL, &KERNEL);
    beside_others.append(&KERNEL).unwrap();
    assert_eq!(next(&mut beside_others), first);
    assert_eq!(behind(&mut beside_others, first), []);

    let in_physx = || Graph::new(Options { order: Order::PhysX, ..Options::default() }).unwrap();
    let mut graph = in_physx();
    assert!((0..2).all(|_| graph.append(&KERNEL).is_ok()));
    let first = next(&mut graph);
    assert_eq!(beside(&mut graph, first), []);

    let mut graph = in_physx();
    let [first, _] = pair(&mut graph, &KERNEL, &KERNEL);
    assert_eq!(next(&mut graph), first);
    assert_eq!(behind(&mut graph, first), []);
}

#[test]
fn nothing_is_handed_out_behind_a_node_that_is_no_usual_kernel() {
    for first in [COPY, Spec { in_copy_strand: true, ..KERNEL }] {
        let mut graph = graph();
        let [first, _] = pair(&mut graph, &first, &KERNEL);
        assert_eq!(next(&mut graph), first);
        assert_eq!(behind(&mut graph, first), []);
    }

    // It is in no lane.
    let mut host = graph();
    let [function, _] = pair(&mut host, &Spec::of(Kind::Host), &KERNEL);
    assert_eq!(host.next(Runner::Host).unwrap().node, function);
    assert_eq!(behind(&mut host, function), []);

    // Its priority has changed.
    let mut raised = graph();
    let [first, _] = pair(&mut raised, &KERNEL, &KERNEL);
    assert_eq!(next(&mut raised), first);
    raised.set_priority(first, urgent()).unwrap();
    assert_eq!(behind(&mut raised, first), []);

    // It has begun in a lane of another group.
    let mut moved = graph();
    let [first, then] = pair(&mut moved, &KERNEL, &KERNEL);
    assert_eq!(next(&mut moved), first);
    moved.again(first).unwrap();
    moved.set_priority(then, urgent()).unwrap();
    assert_eq!(next(&mut moved), first);
    assert_eq!(behind(&mut moved, first), []);

    // It fails with the one before it.
    let mut broken = graph();
    let nodes = chain(&mut broken, &KERNEL, 3);
    launch(&mut broken, nodes[0]);
    assert_eq!(next(&mut broken), nodes[1]);
    broken.failed(nodes[0], CAUSE).unwrap();
    assert_eq!(behind(&mut broken, nodes[1]), []);

    // It was handed out without the queue.
    let mut alone = graph();
    let first = at_once(&mut alone, &KERNEL).unwrap();
    alone.append(&Spec { after: &[first], ..KERNEL }).unwrap();
    assert_eq!(behind(&mut alone, first), []);
}

#[test]
fn only_a_kernel_that_waits_for_no_other_is_handed_out_behind() {
    for then in [COPY, Spec { references: 1, ..KERNEL }, Spec::of(Kind::Empty), Spec { device: 1, ..KERNEL }] {
        let mut graph = Graph::new(Options { devices: 2, ..Options::default() }).unwrap();
        let [first, _] = pair(&mut graph, &KERNEL, &then);
        assert_eq!(next(&mut graph), first);
        assert_eq!(behind(&mut graph, first), [], "{then:?}");
    }

    let mut less_urgent = graph();
    let [first, _] = pair(&mut less_urgent, &Spec { priority: urgent(), ..KERNEL }, &KERNEL);
    assert_eq!(next(&mut less_urgent), first);
    assert_eq!(behind(&mut less_urgent, first), []);

    let mut complete = graph();
    let first = complete.append(&KERNEL).unwrap();
    let then = complete.append(&Spec { references: 1, ..KERNEL }).unwrap();
    complete.before_at(first, then, Mark::Complete).unwrap();
    complete.release(then).unwrap();
    assert_eq!(next(&mut complete), first);
    assert_eq!(behind(&mut complete, first), []);

    let mut two = graph();
    let [first, _] = pair(&mut two, &KERNEL, &KERNEL);
    two.append(&Spec { after: &[first], ..KERNEL }).unwrap();
    assert_eq!(next(&mut two), first);
    assert_eq!(behind(&mut two, first), []);

    let mut given_up = graph();
    let [first, then] = pair(&mut given_up, &KERNEL, &KERNEL);
    assert!(given_up.give_up(then, CAUSE));
    assert_eq!(next(&mut given_up), first);
    assert_eq!(behind(&mut given_up, first), []);

    // It fails with a function that it comes after.
    let mut broken = graph();
    let [first, function] = [KERNEL, Spec::of(Kind::Host)].map(|spec| broken.append(&spec).unwrap());
    broken.append(&Spec { after: &[first, function], ..KERNEL }).unwrap();
    assert_eq!(broken.next(Runner::Host).unwrap().node, function);
    broken.failed(function, CAUSE).unwrap();
    assert_eq!(next(&mut broken), first);
    assert_eq!(behind(&mut broken, first), []);
}

/// A kernel after another one that has been launched, and after one that has not been.
fn with_one_launched(has_strand: bool) -> (Graph, NodeId) {
    let mut graph = graph();
    let held = Spec { references: 1, ..KERNEL };
    let (other, first) = (graph.append(&KERNEL).unwrap(), graph.append(&held).unwrap());
    if !has_strand {
        graph.append(&Spec { after: &[other], ..held }).unwrap();
    }
    graph.append(&Spec { after: &[first, other], ..KERNEL }).unwrap();
    launch(&mut graph, other);
    graph.release(first).unwrap();
    assert_eq!(next(&mut graph), first);
    (graph, first)
}

#[test]
fn a_kernel_that_another_lane_waits_for_is_the_last() {
    for has_strand in [false, true] {
        let (mut graph, first) = with_one_launched(has_strand);
        assert_eq!(behind(&mut graph, first), []);
    }
    let (mut graph, first) = with_one_launched(true);
    graph.append(&KERNEL).unwrap();
    assert_eq!(beside(&mut graph, first), []);
}

#[test]
fn ready_kernels_are_handed_out_at_once() {
    for (priority, lane) in [(Priority::LOWEST, 0), (urgent(), 4)] {
        let (mut graph, spec) = (graph(), Spec { priority, ..KERNEL });
        let nodes = [(); 5].map(|()| graph.append(&spec).unwrap());
        // Behind them is nothing, or one kernel.
        for after in &nodes[..3] {
            graph.append(&Spec { after: &[*after], ..spec }).unwrap();
        }
        assert_eq!(next(&mut graph), nodes[0]);
        assert!(graph.has_ready_node() && !graph.may_wait_for_ends());
        assert_eq!(beside(&mut graph, nodes[0]), nodes[1..]);
        assert!(!graph.has_ready_node());
        let values = nodes.map(|node| graph.launched(node).unwrap().at.unwrap());
        let expected = [(0, 1), (1, 1), (2, 1), (3, 1), (0, 2)];
        assert_eq!(values.map(|at| (at.lane - lane, at.value)), expected);
    }
}

#[test]
fn nothing_is_handed_out_beside_a_node_that_is_waited_for() {
    for then in [Spec::of(Kind::Host), Spec::of(Kind::Empty), Spec::of(Kind::Light)] {
        let mut graph = graph();
        let [first, _] = pair(&mut graph, &KERNEL, &then);
        graph.append(&KERNEL).unwrap();
        assert_eq!(next(&mut graph), first);
        assert_eq!(beside(&mut graph, first), [], "{then:?}");
    }
    let mut two = graph();
    let [first, _] = pair(&mut two, &KERNEL, &KERNEL);
    two.append(&Spec { after: &[first], ..KERNEL }).unwrap();
    two.append(&KERNEL).unwrap();
    assert_eq!(next(&mut two), first);
    assert_eq!(beside(&mut two, first), []);

    let mut complete = graph();
    let first = complete.append(&KERNEL).unwrap();
    let then = complete.append(&Spec { references: 1, ..KERNEL }).unwrap();
    complete.before_at(first, then, Mark::Complete).unwrap();
    complete.release(then).unwrap();
    complete.append(&KERNEL).unwrap();
    assert_eq!(next(&mut complete), first);
    assert_eq!(beside(&mut complete, first), []);
}

#[test]
fn nothing_is_handed_out_beside_others_than_kernels_of_one_priority() {
    let raised = Spec { priority: Priority::new(2).unwrap(), ..KERNEL };
    for (first, others) in [
        (&COPY, &[&COPY, &COPY][..]),
        (&COPY, &[&KERNEL]),
        (&KERNEL, &[&Spec::of(Kind::Copy(Direction::DeviceToHost))]),
        (&KERNEL, &[&KERNEL, &Spec::of(Kind::Copy(Direction::DeviceToHost))]),
        (&KERNEL, &[&Spec::of(Kind::Copy(Direction::DeviceToDevice)), &KERNEL]),
        (&KERNEL, &[&Spec::of(Kind::Copy(Direction::DeviceToDevice))]),
        (&raised, &[&KERNEL]),
        (&raised, &[&raised, &KERNEL]),
        (&raised, &[&KERNEL, &KERNEL]),
    ] {
        let mut graph = graph();
        let first = graph.append(first).unwrap();
        others.iter().for_each(|other| assert!(graph.append(other).is_ok()));
        assert_eq!(next(&mut graph), first);
        assert_eq!(beside(&mut graph, first), [], "{others:?}");
    }
}

/// Takes the nodes back, the last first.
fn take_back(graph: &mut Graph, nodes: &[NodeId]) {
    nodes.iter().rev().for_each(|node| graph.take_back(*node).unwrap());
}

/// Five ready kernels, of which the first is handed out, and the others beside it.
fn five(graph: &mut Graph) -> [NodeId; 5] {
    let nodes = [(); 5].map(|()| graph.append(&KERNEL).unwrap());
    assert_eq!(next(graph), nodes[0]);
    assert_eq!(beside(graph, nodes[0]), nodes[1..]);
    nodes
}

#[test]
fn nodes_that_are_taken_back_are_the_next_again() {
    // The last of them is the only one that is ready, or others are.
    for count in 1..5 {
        let mut graph = graph();
        let nodes = five(&mut graph);
        take_back(&mut graph, &nodes[5 - count..]);
        assert!(nodes[5 - count..].iter().all(|node| graph.stage(*node) == Stage::Ready));
        nodes[..5 - count].iter().for_each(|node| assert!(graph.launched(*node).is_ok()));
        let newest = graph.append(&KERNEL).unwrap();
        let lanes = nodes[5 - count..].iter().map(|node| launch(&mut graph, *node).lane).collect::<Vec<_>>();
        assert_eq!(lanes, [1, 2, 3, 0][4 - count..]);
        launch(&mut graph, newest);
        // None is being launched: the round ends.
        assert!(graph.next(Runner::Device).is_none());
        assert!(at_once(&mut graph, &KERNEL).is_some());
    }
    let mut behind_one = graph();
    let nodes = chain(&mut behind_one, &KERNEL, 4);
    assert_eq!(next(&mut behind_one), nodes[0]);
    assert_eq!(behind(&mut behind_one, nodes[0]), nodes[1..]);
    take_back(&mut behind_one, &nodes[2..]);
    assert_eq!(nodes[2..].iter().map(|it| behind_one.stage(*it)).collect::<Vec<_>>(), [Stage::Waiting; 2]);
    let at = [0, 1].map(|it: usize| behind_one.launched(nodes[it]).unwrap().at.unwrap().value);
    assert_eq!((at, launch(&mut behind_one, nodes[2]).value, launch(&mut behind_one, nodes[3]).value), ([1, 2], 3, 4));
    assert!(behind_one.next(Runner::Device).is_none());
    assert!(at_once(&mut behind_one, &KERNEL).is_some());
}

#[test]
fn a_node_that_is_taken_back_with_a_new_priority_has_its_place_in_that() {
    let mut graph = graph();
    let nodes = five(&mut graph);
    graph.set_priority(nodes[3], urgent()).unwrap();
    take_back(&mut graph, &nodes[1..]);
    graph.launched(nodes[0]).unwrap();
    let order = [(); 4].map(|()| graph.next(Runner::Device).map(|it| (it.node, it.place.unwrap().lane)).unwrap());
    // It has given up its lane, which is one of the other group.
    assert_eq!(order, [(3, 4), (1, 1), (2, 2), (4, 3)].map(|(it, lane): (usize, u8)| (nodes[it], lane)));
}

#[test]
fn a_node_that_has_failed_meanwhile_ends_when_it_is_taken_back() {
    let mut lost = graph();
    let nodes = five(&mut lost);
    lost.fail(CAUSE);
    take_back(&mut lost, &nodes[1..]);
    lost.launched(nodes[0]).unwrap();
    let ended: Vec<_> = std::iter::from_fn(|| lost.ended()).map(|it| (it.outcome, it.turns)).collect();
    assert_eq!(ended, [(Err(CAUSE), 0), (Err(CAUSE), 0), (Err(CAUSE), 0), (Err(CAUSE), 0), (Err(CAUSE), 1)]);

    // It goes on behind one that fails.
    let mut broken = graph();
    let [first, then] = pair(&mut broken, &KERNEL, &KERNEL);
    let other = broken.append(&KERNEL).unwrap();
    launch(&mut broken, first);
    assert_eq!(next(&mut broken), other);
    assert_eq!(beside(&mut broken, other), [then]);
    broken.failed(first, CAUSE).unwrap();
    broken.take_back(then).unwrap();
    assert!(broken.next(Runner::Device).is_none());
    broken.complete(0, 1).unwrap();
    let ended: Vec<_> = std::iter::from_fn(|| broken.ended()).map(|it| (it.node, it.outcome, it.turns)).collect();
    assert_eq!(ended, [(then, Err(CAUSE), 0), (first, Err(CAUSE), 1)]);
}

/// Kernels of a batch count as others do when the phase has had enough.
#[test]
fn a_phase_counts_the_kernels_of_batches() {
    for is_chain in [true, false] {
        for (taken_back, phase_max) in [(0, 4), (1, 4), (2, 4), (0, 5), (1, 5), (2, 5)] {
            let mut graph = Graph::new(Options { phase_max, ..Options::default() }).unwrap();
            let nodes = if is_chain {
                chain(&mut graph, &KERNEL, 4)
            } else {
                [(); 4].map(|()| graph.append(&KERNEL).unwrap()).to_vec()
            };
            assert_eq!(next(&mut graph), nodes[0]);
            let more = if is_chain { behind(&mut graph, nodes[0]) } else { beside(&mut graph, nodes[0]) };
            assert_eq!(more, nodes[1..]);
            take_back(&mut graph, &nodes[4 - taken_back..]);
            nodes[..4 - taken_back].iter().for_each(|node| assert!(graph.launched(*node).is_ok()));
            nodes[4 - taken_back..].iter().for_each(|node| assert!(launch(&mut graph, *node).value > 0));
            let kernel = graph.append(&KERNEL).unwrap();
            let copy = graph.append(&Spec::of(Kind::Copy(Direction::DeviceToHost))).unwrap();
            let order = [(); 2].map(|()| next(&mut graph));
            let expected = if phase_max == 4 { [copy, kernel] } else { [kernel, copy] };
            assert_eq!(order, expected, "{is_chain} {taken_back} {phase_max}");
        }
    }
}

/// Nothing is ready when the first is handed out.
#[test]
fn a_kernel_that_is_ready_alone_counts_in_its_phase() {
    let mut graph = Graph::new(Options { phase_max: 2, ..Options::default() }).unwrap();
    let first = graph.append(&KERNEL).unwrap();
    assert_eq!(next(&mut graph), first);
    let second = graph.append(&KERNEL).unwrap();
    assert_eq!(beside(&mut graph, first), [second]);
    [first, second].iter().for_each(|node| assert!(graph.launched(*node).is_ok()));
    let [kernel, copy] = [KERNEL, Spec::of(Kind::Copy(Direction::DeviceToHost))].map(|it| graph.append(&it).unwrap());
    assert_eq!([(); 2].map(|()| next(&mut graph)), [copy, kernel]);
}

#[test]
fn nothing_is_handed_out_beside_a_kernel_in_the_phase_of_copies() {
    let mut graph = graph();
    let [kernel, copy] = [KERNEL, COPY].map(|spec| at_once(&mut graph, &spec).unwrap());
    let then = graph.append(&KERNEL).unwrap();
    graph.launched(copy).unwrap();
    assert_eq!(beside(&mut graph, kernel), []);
    assert_eq!(next(&mut graph), then);
}
