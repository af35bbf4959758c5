//! The order of ranks: among nodes of one priority, and that of becoming ready among those of one rank.

use std::num::NonZeroU32;

use overtake_graph::{Cause, Direction, Graph, Kind, NodeId, Options, Order, Priority, Runner, Spec};

const BULK: Priority = Priority::LOWEST;

fn graph(options: Options) -> Graph {
    Graph::new(Options { order: Order::Ranked, groups: 1, ..options }).unwrap()
}

fn add(graph: &mut Graph, kind: Kind, priority: Priority, rank: u32) -> NodeId {
    let node = graph.append(&Spec { priority, ..Spec::of(kind) }).unwrap();
    graph.set_rank(node, rank);
    node
}

/// Launches, or runs, all that is ready, in the order of the graph.
fn run(graph: &mut Graph, runner: Runner) -> Vec<NodeId> {
    let mut order = Vec::new();
    while let Some(ready) = graph.next(runner) {
        let node = ready.node;
        graph.launched(node).unwrap();
        order.push(node);
    }
    order
}

#[test]
fn priority_is_first_then_rank_then_the_time_of_becoming_ready() {
    let (mut graph, urgent) = (graph(Options::default()), Priority::new(5).unwrap());
    let (down, kernel) = (Kind::Copy(Direction::DeviceToHost), Kind::Kernel);
    let low = add(&mut graph, kernel, BULK, 1);
    let first = add(&mut graph, down, BULK, 7);
    let second = add(&mut graph, kernel, BULK, 7);
    let third = add(&mut graph, Kind::Copy(Direction::HostToDevice), BULK, 7);
    let none = add(&mut graph, kernel, BULK, 0);
    let above = add(&mut graph, kernel, urgent, 2);
    assert_eq!(run(&mut graph, Runner::Device), [above, first, second, third, low, none]);
}

#[test]
fn functions_of_the_host_have_ranks_too() {
    for (kind, runner) in [(Kind::Host, Runner::Host), (Kind::Light, Runner::Light)] {
        let mut graph = graph(Options::default());
        let [low, high] = [3, 4].map(|rank| add(&mut graph, kind, BULK, rank));
        assert_eq!(run(&mut graph, runner), [high, low]);
    }
}

/// A rank may change while the node is ready, and as its priority does.
#[test]
fn a_ready_node_moves_to_its_new_rank() {
    let mut graph = graph(Options::default());
    let [one, two, three] = [1, 2, 3].map(|rank| add(&mut graph, Kind::Kernel, BULK, rank));
    graph.set_rank(one, 9);
    graph.set_priority(two, Priority::new(2).unwrap()).unwrap();
    graph.set_priority(two, BULK).unwrap();
    assert_eq!(run(&mut graph, Runner::Device), [one, three, two]);
}

/// The slot of a node that had a rank is one of a node without.
#[test]
fn a_rank_leaves_with_its_node() {
    let mut graph = graph(Options { nodes_max: 2, ..Options::default() });
    let old = add(&mut graph, Kind::Kernel, BULK, 9);
    assert_eq!(graph.rank(old), 9);
    run(&mut graph, Runner::Device);
    let at = graph.point(old).unwrap();
    graph.complete(at.lane, at.value).unwrap();
    while graph.ended().is_some() {}
    assert_eq!(graph.rank(old), 0);
    let low = graph.append(&Spec::of(Kind::Kernel)).unwrap();
    let high = add(&mut graph, Kind::Kernel, BULK, 5);
    assert_eq!(low.index(), old.index(), "the slot is used again");
    assert_eq!(run(&mut graph, Runner::Device), [high, low]);
}

/// A node of many launches goes behind the others of its rank, and not behind those below.
#[test]
fn a_node_with_more_to_launch_keeps_its_rank() {
    let mut graph = graph(Options::default());
    let [one, other, low] = [4, 4, 1].map(|rank| add(&mut graph, Kind::Kernel, BULK, rank));
    let first = graph.next(Runner::Device).unwrap().node;
    graph.again(first).unwrap();
    assert_eq!((first, run(&mut graph, Runner::Device)), (one, vec![other, one, low]));
}

/// One node in `share` is of a lower priority, the highest rank of it.
#[test]
fn lower_priorities_have_their_share_by_rank() {
    let mut graph = graph(Options { share: 2, ..Options::default() });
    let urgent = [(); 3].map(|()| add(&mut graph, Kind::Kernel, Priority::new(3).unwrap(), 0));
    let [low, high] = [1, 2].map(|rank| add(&mut graph, Kind::Kernel, BULK, rank));
    assert_eq!(run(&mut graph, Runner::Device), [urgent[0], high, urgent[1], low, urgent[2]]);
}

/// In the default order ranks change nothing.
#[test]
fn other_orders_do_not_look_at_ranks() {
    let mut graph = Graph::new(Options::default()).unwrap();
    let nodes = [1, 2, 3].map(|rank| add(&mut graph, Kind::Kernel, BULK, rank));
    assert_eq!(run(&mut graph, Runner::Device), nodes);
}

#[test]
fn ready_nodes_wait_for_ends_only_where_the_device_is_lost() {
    let mut lost = graph(Options::default());
    assert!(!lost.may_wait_for_ends());
    lost.fail(Cause(NonZeroU32::MIN));
    assert!(lost.may_wait_for_ends());
}
