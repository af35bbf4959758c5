//! Lanes with a bound: the nodes that are handed out, and those that wait for room.

use std::num::NonZeroU32;

use overtake_graph::{Cause, Graph, Kind, NodeId, Options, Priority, Runner, Spec, Stage};

const KERNEL: Spec<'static> = Spec::of(Kind::Kernel);

fn graph(lanes: u8, groups: u8, lane_max: u32) -> Graph {
    Graph::new(Options { lanes, groups, lane_max, ..Options::default() }).unwrap()
}

fn urgent(priority: u8) -> Spec<'static> {
    Spec { priority: Priority::new(priority).unwrap(), ..KERNEL }
}

fn append(graph: &mut Graph, count: usize) -> Vec<NodeId> {
    (0..count).map(|_| graph.append(&KERNEL).unwrap()).collect()
}

/// Launches the node whose turn it is, and returns it with its lane.
fn launch(graph: &mut Graph) -> Option<(NodeId, u8)> {
    let ready = graph.next(Runner::Device)?;
    let (node, lane) = (ready.node, ready.place.unwrap().lane);
    graph.launched(node).unwrap();
    Some((node, lane))
}

fn launch_all(graph: &mut Graph) -> Vec<(NodeId, u8)> {
    std::iter::from_fn(|| launch(graph)).collect()
}

#[test]
fn a_lane_has_no_more_nodes_than_its_bound_and_the_next_when_one_is_complete() {
    let mut graph = graph(1, 1, 3);
    let nodes = append(&mut graph, 5);
    // A node that has been handed out takes room before it is launched, and with each of its turns the same.
    let first = graph.next(Runner::Device).unwrap().node;
    graph.again(first).unwrap();
    let second = graph.next(Runner::Device).unwrap().node;
    let again = graph.next(Runner::Device).unwrap();
    assert_eq!((first, second, again.node, again.turn), (nodes[0], nodes[1], nodes[2], 0));
    assert_eq!(graph.next(Runner::Device).map(|ready| (ready.node, ready.turn)), Some((first, 1)));
    assert!(graph.next(Runner::Device).is_none());
    assert_eq!(graph.statistics().held_back, 2);
    for node in [nodes[0], nodes[1], nodes[2]] {
        graph.launched(node).unwrap();
        assert!(graph.next(Runner::Device).is_none(), "a launched node has its room until it is complete");
    }
    graph.complete(0, 1).unwrap();
    assert_eq!(launch_all(&mut graph), [(nodes[3], 0)]);
    graph.complete(0, 4).unwrap();
    assert_eq!((launch_all(&mut graph), graph.statistics().held_back), (vec![(nodes[4], 0)], 2));
}

#[test]
fn a_long_chain_takes_its_bound_and_leaves_the_other_lanes_to_others() {
    for (lane_max, in_flight) in [(4, 4), (0, 100)] {
        let mut graph = graph(2, 1, lane_max);
        let mut chain: Vec<NodeId> = Vec::new();
        for _ in 0..100 {
            let after = chain.last().copied();
            chain.push(graph.append(&Spec { after: after.as_slice(), ..KERNEL }).unwrap());
        }
        let launched = launch_all(&mut graph);
        assert_eq!(launched, chain[..in_flight].iter().map(|node| (*node, 0)).collect::<Vec<_>>());
        // Lane 1 has two strands and lane 0 has one: without a bound the third node would go behind the chain.
        let lanes: Vec<u8> = (0..3)
            .map(|_| {
                append(&mut graph, 1);
                launch(&mut graph).unwrap().1
            })
            .collect();
        assert_eq!(lanes, if lane_max > 0 { [1, 1, 1] } else { [1, 0, 1] });
        if lane_max > 0 {
            graph.complete(0, 3).unwrap();
            let more: Vec<(NodeId, u8)> = chain[4..7].iter().map(|node| (*node, 0)).collect();
            assert_eq!(launch_all(&mut graph), more);
        }
    }
}

#[test]
fn the_most_urgent_node_has_the_room_first() {
    let mut graph = graph(1, 1, 1);
    let nodes = append(&mut graph, 4);
    assert_eq!(launch_all(&mut graph), [(nodes[0], 0)]);
    let urgent = graph.append(&urgent(5)).unwrap();
    assert!(graph.next(Runner::Device).is_none());
    graph.set_priority(nodes[3], Priority::new(3).unwrap()).unwrap();
    assert!(graph.next(Runner::Device).is_none(), "a more urgent node needs room too");
    for (value, next) in (1..).zip([urgent, nodes[3], nodes[1], nodes[2]]) {
        graph.complete(0, value).unwrap();
        assert_eq!(launch_all(&mut graph), [(next, 0)]);
    }
}

#[test]
fn a_node_that_becomes_urgent_takes_room_in_a_lane_of_its_own_group() {
    let mut graph = graph(1, 2, 1);
    let nodes = append(&mut graph, 2);
    assert_eq!(launch_all(&mut graph), [(nodes[0], 0)]);
    graph.set_priority(nodes[1], Priority::new(8).unwrap()).unwrap();
    assert_eq!(launch_all(&mut graph), [(nodes[1], 1)]);
}

#[test]
fn nodes_that_wait_for_room_fail_at_once_with_those_before_them_and_with_the_device() {
    let cause = Cause(NonZeroU32::MIN);
    let mut graph = graph(1, 1, 1);
    let first = graph.append(&KERNEL).unwrap();
    let behind = graph.append(&Spec { after: &[first], ..KERNEL }).unwrap();
    let beside = graph.append(&KERNEL).unwrap();
    assert_eq!(launch_all(&mut graph), [(first, 0)]);
    assert_eq!((graph.stage(behind), graph.stage(beside)), (Stage::Ready, Stage::Ready));
    graph.failed(first, cause).unwrap();
    let ended = graph.ended().unwrap();
    assert_eq!((ended.node, ended.outcome, ended.turns), (behind, Err(cause), 0));
    assert_eq!((graph.ended(), graph.stage(beside)), (None, Stage::Ready));
    graph.fail(cause);
    let ended: Vec<_> = std::iter::from_fn(|| graph.ended()).map(|ended| (ended.node, ended.outcome)).collect();
    assert_eq!(ended, [(first, Err(cause)), (beside, Err(cause))]);
    assert_eq!(graph.statistics().nodes, 0);
}
