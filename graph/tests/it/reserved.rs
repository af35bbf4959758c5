//! Nodes that are known before they are described: all else is as if they had been appended then.

use std::num::NonZeroU32;

use overtake_graph::{
    Access, Cause, Graph, Kind, Mode, NodeId, Options, Order, Priority, Refused, Runner, Spec, Stage,
};

const KERNEL: Spec<'static> = Spec::of(Kind::Kernel);

fn graph() -> Graph {
    Graph::new(Options::default()).unwrap()
}

/// Hands out the next node of the device, launches it and completes it.
fn run(graph: &mut Graph) -> Option<NodeId> {
    let node = graph.next(Runner::Device)?.node;
    let at = graph.launched(node).unwrap().at.unwrap();
    graph.complete(at.lane, at.value).unwrap();
    Some(node)
}

#[test]
fn a_reserved_node_waits_for_its_description() {
    let mut graph = graph();
    let [late, early] = [(); 2].map(|()| graph.reserve().unwrap());
    assert_eq!((graph.statistics().nodes, graph.statistics().edges), (0, 0), "they are no tasks yet");
    let urgent = Priority::new(3).unwrap();
    // Others come after it, on the device and on the host, before it is described.
    let behind = graph.append(&Spec { after: &[late], priority: urgent, ..KERNEL }).unwrap();
    let host = graph.append(&Spec { kind: Kind::Host, after: &[late], ..KERNEL }).unwrap();
    assert!(run(&mut graph).is_none() && graph.next(Runner::Host).is_none());
    graph.append_reserved(early, &Spec { name: "early", ..KERNEL }, None);
    graph.append_reserved(late, &Spec { name: "late", after: &[early], ..KERNEL }, None);
    assert_eq!(graph.label(late).name, "late");
    assert_eq!(graph.priority(late), Some(urgent), "it has inherited that");
    assert_eq!(graph.priority(early), Some(urgent), "and passes it on");
    let order: Vec<NodeId> = std::iter::from_fn(|| run(&mut graph)).collect();
    assert_eq!(order, [early, late, behind]);
    assert_eq!(graph.next(Runner::Host).map(|ready| ready.node), Some(host), "it is complete for the host");
}

/// It is as urgent as its description says, and so are those that have been ordered before it.
#[test]
fn nodes_before_a_reserved_one_inherit_its_priority() {
    let mut graph = graph();
    let [first, then] = [(); 2].map(|()| graph.append(&Spec { references: 1, ..KERNEL }).unwrap());
    graph.before(first, then).unwrap();
    let reserved = graph.reserve().unwrap();
    graph.before(then, reserved).unwrap();
    let urgent = Priority::new(3).unwrap();
    graph.append_reserved(reserved, &Spec { priority: urgent, ..KERNEL }, None);
    assert_eq!([first, then, reserved].map(|node| graph.priority(node)), [Some(urgent); 3]);
}

/// Its handle may be with other threads before it is described, and afterwards.
#[test]
fn callers_release_their_own_references_of_a_reserved_node_only() {
    let mut graph = graph();
    let node = graph.reserve().unwrap();
    assert!(matches!(graph.release(node), Err(Refused::NotHeld { .. })), "that is the graph's");
    graph.hold(node).unwrap();
    graph.append_reserved(node, &KERNEL, None);
    assert!(run(&mut graph).is_none(), "it is held");
    graph.release(node).unwrap();
    assert!(matches!(graph.release(node), Err(Refused::NotHeld { .. })));
    assert_eq!(run(&mut graph), Some(node));
}

#[test]
fn a_reserved_node_fails_with_its_cause_and_those_behind_it() {
    let mut graph = graph();
    let (node, cause) = (graph.reserve().unwrap(), Cause(NonZeroU32::MIN));
    let behind = graph.append(&Spec { after: &[node], ..KERNEL }).unwrap();
    graph.append_reserved(node, &KERNEL, Some(cause));
    assert!(run(&mut graph).is_none());
    let ends: Vec<_> = std::iter::from_fn(|| graph.ended()).map(|end| (end.node, end.outcome)).collect();
    assert_eq!(ends, [(node, Err(cause)), (behind, Err(cause))]);
    assert_eq!((graph.statistics().nodes, graph.statistics().edges), (0, 0));
}

#[test]
fn half_of_the_graph_stays_free_of_them() {
    let reserve = |nodes_max, edges_max| {
        let mut graph = Graph::new(Options { nodes_max, edges_max, ..Options::default() }).unwrap();
        let reserved: Vec<NodeId> = std::iter::from_fn(|| graph.reserve()).collect();
        assert_eq!(reserved.len(), 4);
        (graph, reserved)
    };
    // Half of its nodes, and half of its edges.
    reserve(8, 100);
    reserve(100, 8);
    let (mut graph, reserved) = reserve(8, 8);
    let others = (0..8).map_while(|_| graph.append(&KERNEL).ok()).count();
    assert_eq!((others, graph.statistics().nodes), (4, 4));
    // Each has room for its edge.
    for pair in reserved.windows(2) {
        graph.append_reserved(pair[1], &Spec { after: &pair[..1], ..KERNEL }, None);
    }
    assert_eq!((graph.statistics().nodes, graph.statistics().edges), (7, 3));
    assert!(graph.reserve().is_none());
    assert_eq!(graph.stage(reserved[1]), Stage::Waiting);
    let physx = Options { order: Order::PhysX, ..Options::default() };
    assert!(Graph::new(physx).unwrap().reserve().is_none());
}

/// The search for redundant dependencies goes by the order in which nodes were described.
#[test]
fn a_reserved_node_is_made_when_it_is_described() {
    let mut graph = graph();
    let [one, other] = [(); 2].map(|()| graph.data(8));
    let reserved = graph.reserve().unwrap();
    graph.append_reserved(reserved, &KERNEL, None);
    let last = Spec { after: &[reserved], ..KERNEL };
    let last = graph.append_using(&last, &[Access::new(other, Mode::Write)]).unwrap();
    assert_eq!(graph.next(Runner::Device).map(|ready| ready.node), Some(reserved));
    graph.launched(reserved).unwrap();
    // A node after it ends early, by another failure, and stays in the order behind the reserved one.
    let fails = graph.append(&Spec { kind: Kind::Host, ..KERNEL }).unwrap();
    let early = Spec { after: &[reserved, fails], ..KERNEL };
    let early = graph.append_using(&early, &[Access::new(one, Mode::Write)]).unwrap();
    assert_eq!(graph.next(Runner::Host).map(|ready| ready.node), Some(fails));
    graph.failed(fails, Cause(NonZeroU32::MIN)).unwrap();
    assert_eq!(std::iter::from_fn(|| graph.ended()).count(), 2);
    let reads = [one, other].map(|data| Access::new(data, Mode::Read));
    let both = graph.append_using(&KERNEL, &reads).unwrap();
    let mut before = Vec::new();
    graph.predecessors(both, |node| before.push(node));
    assert_eq!(before, [early, last]);
    let mut stays_behind = Vec::new();
    graph.predecessors(early, |node| stays_behind.push(node));
    assert_eq!((graph.is_left_out(early), stays_behind), (true, vec![reserved]));
}
