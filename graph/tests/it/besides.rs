//! Nodes that come after others in other ways than those of their specs: behind launches, and in an order alone.

use std::num::NonZeroU32;

use overtake_graph::{
    Access, Besides, Cause, Graph, Kind, Mode, NodeId, Options, Priorities, Priority, Refused, Runner, Spec, Stage,
};

fn graph(nodes_max: u32, edges_max: u32) -> Graph {
    let priorities = Priorities::new(8).unwrap();
    Graph::new(Options { nodes_max, edges_max, priorities, ..Options::default() }).unwrap()
}

fn kernel(graph: &mut Graph) -> NodeId {
    graph.append(&Spec::of(Kind::Kernel)).unwrap()
}

const CAUSE: Cause = Cause(NonZeroU32::MIN);

/// Hands out the next node of the device, which is this one.
fn run(graph: &mut Graph, node: NodeId) {
    assert_eq!(graph.next(Runner::Device).map(|ready| ready.node), Some(node));
}

fn outcomes(graph: &mut Graph) -> Vec<(NodeId, bool)> {
    std::iter::from_fn(|| graph.ended()).map(|ended| (ended.node, ended.outcome.is_ok())).collect()
}

/// Whether the one before fails in its launch, behind it, or before the other is appended: it is an order, no more.
#[test]
fn a_failure_does_not_go_along_an_order() {
    for is_late in [false, true] {
        for is_launched in [false, true] {
            let mut graph = graph(64, 64);
            let first = kernel(&mut graph);
            run(&mut graph, first);
            let in_order = [first];
            let besides = Besides { in_order: &in_order, ..Besides::default() };
            let then = |graph: &mut Graph| graph.append_besides(&Spec::of(Kind::Kernel), &[], &besides).unwrap();
            let early = (!is_late).then(|| then(&mut graph));
            if is_launched {
                graph.launched(first).unwrap();
            }
            graph.failed(first, CAUSE).unwrap();
            let other = early.unwrap_or_else(|| then(&mut graph));
            graph.complete(0, 1).unwrap();
            assert_eq!(outcomes(&mut graph), [(first, false)]);
            assert_eq!(graph.stage(other), Stage::Ready, "{is_late} {is_launched}");
            run(&mut graph, other);
            let at = graph.launched(other).unwrap().at.unwrap();
            graph.complete(at.lane, at.value).unwrap();
            assert_eq!(outcomes(&mut graph), [(other, true)]);
        }
    }
}

/// It goes on in the lane of the one before, and that one inherits its priority.
#[test]
fn an_order_is_that_of_a_lane() {
    let mut graph = graph(64, 64);
    let (first, beside) = (kernel(&mut graph), kernel(&mut graph));
    let in_order = [first];
    let spec = Spec { priority: Priority::new(3).unwrap(), ..Spec::of(Kind::Kernel) };
    let besides = Besides { in_order: &in_order, ..Besides::default() };
    let then = graph.append_besides(&spec, &[], &besides).unwrap();
    assert_eq!((graph.priority(first), graph.stage(then)), (Some(spec.priority), Stage::Waiting));
    run(&mut graph, first);
    let lane = graph.launched(first).unwrap().at.unwrap().lane;
    let ready = graph.next(Runner::Device).unwrap();
    assert_eq!((ready.node, ready.place.unwrap().lane, ready.joins.len()), (then, lane, 0));
    run(&mut graph, beside);
}

/// An order is none that another edge would be redundant for: a failure goes along that one.
#[test]
fn an_order_makes_no_use_redundant() {
    let mut graph = graph(64, 64);
    let data = [(); 2].map(|()| graph.data(8));
    let writes = |data| [Access { data, range: None, mode: Mode::Write }];
    let first = graph.append_using(&Spec::of(Kind::Kernel), &writes(data[0])).unwrap();
    let in_order = [first];
    let besides = Besides { in_order: &in_order, ..Besides::default() };
    let second = graph.append_besides(&Spec::of(Kind::Kernel), &writes(data[1]), &besides).unwrap();
    let reads = data.map(|data| Access { data, range: None, mode: Mode::Read });
    let third = graph.append_using(&Spec::of(Kind::Kernel), &reads).unwrap();
    run(&mut graph, first);
    graph.failed(first, CAUSE).unwrap();
    graph.complete(0, 1).unwrap();
    run(&mut graph, second);
    let at = graph.launched(second).unwrap().at.unwrap();
    graph.complete(at.lane, at.value).unwrap();
    assert_eq!(outcomes(&mut graph), [(first, false), (third, false), (second, true)]);
}

/// Without room for all of its edges nothing is appended.
#[test]
fn a_node_that_is_refused_leaves_nothing() {
    let mut graph = graph(64, 4);
    let first = kernel(&mut graph);
    let before = graph.statistics();
    let launches = [first; 5];
    let besides = Besides { launches: &launches, ..Besides::default() };
    let named = graph.named("named").unwrap();
    let appended = graph.append_besides(&Spec::of(Kind::Kernel), &[], &besides);
    let too_many = Err(Refused::Edges { task: String::new(), edges: 5, edges_max: 4 });
    assert_eq!(appended.map(drop), too_many);
    assert_eq!(graph.fill_besides(named, &Spec::of(Kind::Kernel), &besides), too_many);
    assert_eq!((graph.statistics().nodes, graph.statistics().edges), (before.nodes + 1, before.edges));
    let in_a_circle = Besides { launches: &[named], ..Besides::default() };
    let then = graph.append_besides(&Spec::of(Kind::Light), &[], &in_a_circle).unwrap();
    let circle = Besides { launches: &[then], ..Besides::default() };
    let filled = graph.fill_besides(named, &Spec::of(Kind::Light), &circle);
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
    let none = [ended; 3];
    let besides = Besides { launches: &none, in_order: &[first] };
    graph.append_besides(&KERNEL, &[], &besides).unwrap();
    assert_eq!(graph.statistics().edges, 2);
    assert_eq!(graph.append(&Spec { after: &[first, second], ..KERNEL }), Err(Refused::WouldBlock));
    let too_many = Refused::Edges { task: "K".to_owned(), edges: 3, edges_max: 2 };
    assert_eq!(graph.append(&Spec { after: &[first, first, second], ..KERNEL }), Err(too_many.clone()));
    let text = "task \"K\" needs 3 edges, and the graph has 2: name each task before it once, or have it come after \
                joins of them";
    assert_eq!(too_many.to_string(), text);
    at_rest(&mut graph);
    let [first, second] = [(); 2].map(|()| graph.append(&Spec { references: 1, ..KERNEL }).unwrap());
    let besides = Besides { launches: &[first], in_order: &[] };
    let spec = Spec { after: &[first, second], ..KERNEL };
    assert_eq!(graph.append_besides(&spec, &[], &besides), Err(too_many));
}
