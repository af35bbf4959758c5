//! Nodes that come after others in other ways than those of their specs: behind launches.

use overtake_graph::{Graph, Kind, NodeId, Options, Priorities, Refused, Runner, Spec};

fn graph(nodes_max: u32, edges_max: u32) -> Graph {
    let priorities = Priorities::new(8).unwrap();
    Graph::new(Options { nodes_max, edges_max, priorities, ..Options::default() }).unwrap()
}

fn kernel(graph: &mut Graph) -> NodeId {
    graph.append(&Spec::of(Kind::Kernel)).unwrap()
}

/// Without room for all of its edges nothing is appended.
#[test]
fn a_node_that_is_refused_leaves_nothing() {
    let mut graph = graph(64, 4);
    let first = kernel(&mut graph);
    let before = graph.statistics();
    let launches = [first; 5];
    let named = graph.named("named").unwrap();
    let appended = graph.append_besides(&Spec::of(Kind::Kernel), &[], &launches);
    let too_many = Err(Refused::Edges { task: String::new(), edges: 5, edges_max: 4 });
    assert_eq!(appended.map(drop), too_many);
    assert_eq!(graph.fill_besides(named, &Spec::of(Kind::Kernel), &launches), too_many);
    assert_eq!((graph.statistics().nodes, graph.statistics().edges), (before.nodes + 1, before.edges));
    let then = graph.append_besides(&Spec::of(Kind::Light), &[], &[named]).unwrap();
    let filled = graph.fill_besides(named, &Spec::of(Kind::Light), &[then]);
    assert!(matches!(filled, Err(Refused::Cycle { .. })), "{filled:?}");
    graph.fill(named, &Spec::of(Kind::Light)).unwrap();
    graph.release(named).unwrap();
    for node in [named, then] {
        assert_eq!(graph.next(Runner::Light).map(|ready| ready.node), Some(node));
        graph.launched(node).unwrap();
    }
}

/// All nodes run, end and are returned.
fn at_rest(graph: &mut Graph) {
    while let Some(node) = graph.next(Runner::Device).map(|ready| ready.node) {
        let at = graph.launched(node).unwrap().at.unwrap();
        graph.complete(at.lane, at.value).unwrap();
    }
    while graph.ended().is_some() {}
}

/// Room is for edges that there are: those of nodes that have ended are none, and for too many none will come.
#[test]
fn room_is_asked_for_edges_from_nodes_that_have_not_ended() {
    const KERNEL: Spec<'static> = Spec { name: "K", ..Spec::of(Kind::Kernel) };
    let mut graph = graph(4, 2);
    let ended = kernel(&mut graph);
    at_rest(&mut graph);
    let first = kernel(&mut graph);
    let second = graph.append(&Spec { after: &[ended, ended, ended, first], ..KERNEL }).unwrap();
    graph.append_besides(&KERNEL, &[], &[ended, ended, ended, first]).unwrap();
    assert_eq!(graph.statistics().edges, 2);
    assert_eq!(graph.append(&Spec { after: &[first, second], ..KERNEL }), Err(Refused::WouldBlock));
    let too_many = Refused::Edges { task: "K".to_owned(), edges: 3, edges_max: 2 };
    assert_eq!(graph.append(&Spec { after: &[first, first, second], ..KERNEL }), Err(too_many.clone()));
    let text = "task \"K\" needs 3 edges, and the graph has 2: name each task before it once, or have it come after \
                joins of them";
    assert_eq!(too_many.to_string(), text);
    at_rest(&mut graph);
    let [first, second] = [(); 2].map(|()| graph.append(&Spec { references: 1, ..KERNEL }).unwrap());
    let spec = Spec { after: &[first, second], ..KERNEL };
    assert_eq!(graph.append_besides(&spec, &[], &[first]), Err(too_many));
}
