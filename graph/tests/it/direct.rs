//! A node that is handed out by the call that appends it: all else is as if it had been appended, and then handed out.

use std::num::NonZeroU32;

use overtake_graph::{Access, Cause, Direction, Graph, Kind, Mode, NodeId, Options, Point, Priority, Runner, Spec};

const KERNEL: Spec<'static> = Spec::of(Kind::Kernel);
const UPLOAD: Spec<'static> = Spec { kind: Kind::Copy(Direction::HostToDevice), ..KERNEL };

fn graph() -> Graph {
    Graph::new(Options::default()).unwrap()
}

/// A node with its lane and its joins.
type Told = (NodeId, u8, Vec<Point>);

/// Hands a node out behind those that its description names, if it can be handed out by the call that appends it.
fn run(graph: &mut Graph, spec: &Spec<'_>) -> Option<Told> {
    let (after, mut joins) = (spec.after, Vec::<Point>::new());
    let add = |point: Point| {
        let known = joins.iter_mut().find(|known| known.lane == point.lane);
        let is_first = known.is_none();
        match known {
            Some(known) => {
                assert!(known.value < point.value, "the lane waits for that point already");
                *known = point;
            }
            None => joins.push(point),
        }
        is_first
    };
    let (node, lane, own) = graph.append_running(spec, after.iter().copied().map(Some), add)?;
    assert!(joins.iter().all(|point| point.lane != lane), "its own lane is told apart");
    joins.extend(own);
    Some((node, lane, joins))
}

/// The same of one that joins no other lane.
fn run_alone(graph: &mut Graph, spec: &Spec<'_>) -> Option<(NodeId, u8)> {
    let (node, lane, joins) = run(graph, spec)?;
    assert_eq!(joins, []);
    Some((node, lane))
}

/// Appends a node, which is handed out, in one call or in two. Returns it with its lane.
fn begin(graph: &mut Graph, spec: &Spec<'_>, at_once: bool) -> (NodeId, u8) {
    if at_once {
        return run_alone(graph, spec).expect("it is the next");
    }
    let node = graph.append(spec).unwrap();
    let ready = graph.next(Runner::Device).unwrap();
    assert_eq!((ready.node, ready.joins.len()), (node, 0));
    (node, ready.place.unwrap().lane)
}

fn launch(graph: &mut Graph) -> Option<(NodeId, u8)> {
    let ready = graph.next(Runner::Device)?;
    let (node, lane) = (ready.node, ready.place.unwrap().lane);
    graph.launched(node).unwrap();
    Some((node, lane))
}

#[test]
fn the_nodes_behind_it_come_in_the_same_order_and_lanes() {
    let mut both = [false, true].map(|at_once| {
        let mut graph = graph();
        let mut seen = Vec::new();
        for (again, priority) in [(false, 1), (true, 1), (false, 3), (true, 3)] {
            let priority = Priority::new(priority).unwrap();
            let (kernel, upload) = (Spec { priority, ..KERNEL }, Spec { priority, ..UPLOAD });
            let first = begin(&mut graph, &kernel, at_once);
            assert_eq!(graph.priority(first.0), Some(priority));
            // Meanwhile others become ready, and the phase at hand is that of kernels.
            seen.extend([first, (graph.append(&upload).unwrap(), 0), (graph.append(&kernel).unwrap(), 0)]);
            if again {
                graph.again(first.0).unwrap();
            } else {
                graph.launched(first.0).unwrap();
            }
            seen.extend(std::iter::from_fn(|| launch(&mut graph)));
            let urgent = Spec { priority: Priority::new(8).unwrap(), after: &[first.0], ..KERNEL };
            seen.push((graph.append(&urgent).unwrap(), 0));
            seen.extend(std::iter::from_fn(|| launch(&mut graph)));
            assert_eq!(graph.priority(first.0), Priority::new(8));
        }
        (seen, graph.statistics())
    });
    assert!(both[0].0.len() > 12);
    both[1].1.joins_saved = both[0].1.joins_saved;
    assert_eq!(both[0], both[1]);
}

#[test]
fn a_node_that_is_not_the_next_is_not_handed_out_and_nothing_has_changed() {
    let mut graph = graph();
    let (first, lane) = begin(&mut graph, &KERNEL, true);
    let before = graph.statistics();
    let urgent = Priority::new(8).unwrap();
    for refused in [
        Spec { kind: Kind::Host, ..KERNEL },
        Spec { references: 1, ..KERNEL },
        Spec { in_copy_strand: true, ..UPLOAD },
        Spec { priority: Priority::new(9).unwrap(), ..KERNEL },
        Spec { after: &[first], ..KERNEL },
        Spec { after: &[first, first], ..KERNEL },
    ] {
        assert_eq!(run_alone(&mut graph, &refused), None, "{refused:?}");
    }
    graph.launched(first).unwrap();
    assert_eq!(run_alone(&mut graph, &Spec { after: &[first], priority: urgent, ..KERNEL }), None, "another group");
    assert_eq!(graph.statistics(), before);
    let (second, its_lane) = run_alone(&mut graph, &Spec { after: &[first], ..KERNEL }).unwrap();
    assert_eq!(its_lane, lane, "it goes on in the strand");
    graph.launched(second).unwrap();
    graph.begin_group();
    assert_eq!(run_alone(&mut graph, &KERNEL), None, "a group is open");
    graph.end_group();
    let (third, _) = run_alone(&mut graph, &KERNEL).expect("no group is open");
    graph.launched(third).unwrap();
    let waiting = [(); 2].map(|()| graph.append(&KERNEL).unwrap());
    for waits in waiting {
        assert_eq!(run_alone(&mut graph, &KERNEL), None, "another one is ready, in a round that has begun or not");
        assert_eq!(launch(&mut graph).map(|(node, _)| node), Some(waits));
    }
}

#[test]
fn it_comes_after_the_other_one_as_long_as_both_are_there() {
    let mut graph = graph();
    let (first, _) = run_alone(&mut graph, &KERNEL).unwrap();
    graph.launched(first).unwrap();
    let (second, lane) = run_alone(&mut graph, &Spec { after: &[first], ..KERNEL }).unwrap();
    assert_eq!(graph.statistics().edges, 1);
    graph.set_priority(second, Priority::new(3).unwrap()).unwrap();
    assert_eq!(graph.priority(first), Priority::new(3), "it inherits at once");
    let at = graph.launched(second).unwrap().at.unwrap();
    let cause = Cause(NonZeroU32::MIN);
    graph.failed(first, cause).unwrap();
    graph.complete(lane, at.value).unwrap();
    let ends: Vec<_> = std::iter::from_fn(|| graph.ended()).map(|ended| (ended.node, ended.outcome)).collect();
    assert_eq!(ends, [(first, Err(cause)), (second, Err(cause))]);
    assert_eq!((graph.statistics().nodes, graph.statistics().edges), (0, 0));
}

/// In each case the task would start beside work that it has to wait for, or not be told of.
#[test]
fn it_is_not_handed_out_behind_one_that_is_no_place_for_it() {
    let behind = |prepare: &dyn Fn(&mut Graph, NodeId), priority: u8| {
        let mut graph = graph();
        let (first, _) = begin(&mut graph, &KERNEL, true);
        graph.launched(first).unwrap();
        prepare(&mut graph, first);
        let before = graph.statistics();
        let told =
            run_alone(&mut graph, &Spec { after: &[first], priority: Priority::new(priority).unwrap(), ..KERNEL });
        assert_eq!(told.is_none(), graph.statistics() == before);
        told.is_some()
    };
    let cause = Cause(NonZeroU32::MIN);
    assert!(behind(&|_, _| {}, 1));
    assert!(!behind(&|_, _| {}, 2), "the one before has to be lifted");
    let fails = |graph: &mut Graph, first| assert!(graph.failed(first, cause).is_ok());
    assert!(!behind(&fails, 1), "it fails with it");
    let is_lost = |graph: &mut Graph, _| {
        graph.fail(cause);
        assert_eq!(run_alone(graph, &KERNEL), None);
    };
    assert!(!behind(&is_lost, 1), "the device is lost");
    let ends = |graph: &mut Graph, first| {
        let at = graph.point(first).unwrap();
        graph.complete(at.lane, at.value).unwrap();
    };
    assert!(!behind(&ends, 1), "its strand is free, and perhaps another one's");
    let has_barrier = |graph: &mut Graph, first| {
        let (other, _) = begin(graph, &KERNEL, true);
        graph.sync_point(other).unwrap();
        graph.launched(other).unwrap();
        assert!(graph.point(first).is_some());
    };
    assert!(!behind(&has_barrier, 1), "its lane has to join the others");
}

#[test]
fn it_has_its_name_and_its_own_priority() {
    let own = Spec { priority: Priority::new(3).unwrap(), ..KERNEL };
    for (count, is_slot_free) in [(1, false), (2, false), (2, true)] {
        let mut graph = graph();
        if is_slot_free {
            (0..2).for_each(|_| assert!(graph.append(&Spec { kind: Kind::Empty, ..KERNEL }).is_ok()));
            assert_eq!(std::iter::from_fn(|| graph.ended()).count(), 2);
        }
        let mut last: Option<NodeId> = None;
        for name in ["first", "second"].into_iter().take(count) {
            let (node, _) = run_alone(&mut graph, &Spec { name, after: last.as_slice(), ..own }).unwrap();
            graph.launched(node).unwrap();
            assert_eq!((graph.label(node).name.as_str(), graph.priority(node)), (name, Some(own.priority)));
            last = Some(node);
        }
        let urgent = Spec { kind: Kind::Host, priority: Priority::new(8).unwrap(), after: last.as_slice(), ..KERNEL };
        let waits = graph.append(&urgent).unwrap();
        assert_eq!(graph.priority(last.unwrap()), Some(urgent.priority));
        graph.set_priority(waits, Priority::LOWEST).unwrap();
        assert_eq!(graph.priority(last.unwrap()), Some(own.priority), "of {count}, in a free slot: {is_slot_free}");
    }
}

#[test]
fn the_rounds_of_a_chain_are_counted() {
    for at_once in [false, true] {
        let mut graph = graph();
        let mut last: Option<NodeId> = None;
        for _ in 0..3 {
            let (node, _) = begin(&mut graph, &Spec { after: last.as_slice(), ..KERNEL }, at_once);
            graph.launched(node).unwrap();
            assert!(graph.next(Runner::Device).is_none(), "the round ends");
            last = Some(node);
        }
        assert_eq!(graph.statistics().rounds, 3);
    }
}

#[test]
fn it_is_of_a_device_that_there_is() {
    let mut graph = Graph::new(Options { devices: 2, groups: 1, ..Options::default() }).unwrap();
    assert_eq!(run_alone(&mut graph, &Spec { device: 2, ..KERNEL }), None);
    let (first, _) = run_alone(&mut graph, &Spec { device: 1, ..KERNEL }).unwrap();
    let at = graph.launched(first).unwrap().at.unwrap();
    let (second, lane) = run_alone(&mut graph, &Spec { device: 1, after: &[first], ..KERNEL }).unwrap();
    graph.launched(second).unwrap();
    assert_eq!(lane, at.lane);
    let (_, lane, joins) = run(&mut graph, &Spec { after: &[first], ..KERNEL }).unwrap();
    assert_eq!((lane, joins), (0, vec![at]), "another device");
}

#[test]
fn it_needs_room_for_its_edge() {
    let mut graph = Graph::new(Options { edges_max: 1, ..Options::default() }).unwrap();
    let (first, _) = run_alone(&mut graph, &KERNEL).unwrap();
    graph.launched(first).unwrap();
    let (second, _) = run_alone(&mut graph, &Spec { after: &[first], ..KERNEL }).unwrap();
    graph.launched(second).unwrap();
    assert_eq!(run_alone(&mut graph, &Spec { after: &[second], ..KERNEL }), None);
}

#[test]
fn behind_joins_it_needs_room_for_itself_and_its_edges() {
    for (nodes_max, edges_max) in [(2, 8), (8, 1)] {
        let mut graph = Graph::new(Options { nodes_max, edges_max, ..Options::default() }).unwrap();
        let after = [(); 2].map(|()| run_alone(&mut graph, &KERNEL).unwrap().0);
        for node in after {
            graph.launched(node).unwrap();
        }
        assert_eq!(run(&mut graph, &Spec { after: &after, ..KERNEL }), None);
    }
}

/// The search for redundant dependencies goes by the order in which nodes were made.
#[test]
fn it_is_made_behind_those_before_it() {
    let mut graph = graph();
    graph.append(&Spec { references: 1, ..KERNEL }).unwrap();
    let [one, other] = [(); 2].map(|()| graph.data(8));
    let writes = |data, after: &[NodeId], graph: &mut Graph| {
        graph.append_using(&Spec { after, ..KERNEL }, &[Access::new(data, Mode::Write)]).unwrap()
    };
    let first = writes(one, &[], &mut graph);
    assert_eq!(launch(&mut graph).map(|(node, _)| node), Some(first));
    assert!(graph.next(Runner::Device).is_none(), "the round ends");
    let (between, _) = run_alone(&mut graph, &Spec { after: &[first], ..KERNEL }).unwrap();
    let last = writes(other, &[between], &mut graph);
    let reads = [one, other].map(|data| Access::new(data, Mode::Read));
    let both = graph.append_using(&KERNEL, &reads).unwrap();
    let mut before = Vec::new();
    graph.predecessors(both, |node| before.push(node));
    assert_eq!(before, [last]);
}

/// Hands a node out, in one call where that may be, else in two. Tells whether it was in one.
fn behind_joins(graph: &mut Graph, spec: &Spec<'_>, at_once: bool) -> (Told, bool) {
    let sorted = |joins: &[Point]| {
        let mut joins = joins.to_vec();
        joins.sort_unstable_by_key(|point| point.lane);
        joins
    };
    if let Some((node, lane, joins)) = at_once.then(|| run(graph, spec)).flatten() {
        return ((node, lane, sorted(&joins)), true);
    }
    let node = graph.append(spec).unwrap();
    let ready = graph.next(Runner::Device).unwrap();
    assert_eq!(ready.node, node);
    let (lane, joins) = (ready.place.unwrap().lane, ready.joins.to_vec());
    if !joins.is_empty() {
        assert_eq!(graph.joins(), joins);
    }
    ((node, lane, sorted(&joins)), false)
}

/// Rows of nodes, each of which comes after two of the row before.
fn rows(at_once: bool, urgent: u8, lanes: u8) -> (Vec<Told>, overtake_graph::Statistics) {
    let mut graph = Graph::new(Options { lanes, ..Options::default() }).unwrap();
    let (mut told, mut refused) = (Vec::new(), 0);
    let mut before: Vec<NodeId> = Vec::new();
    for row in 0..6_usize {
        let mut of_row = Vec::new();
        for column in 0..5_usize {
            let after: Vec<NodeId> = [column, column * 3 + row]
                .iter()
                .filter_map(|at| before.get(at % before.len().max(1)))
                .copied()
                .collect();
            let priority = Priority::new(if row == 3 { urgent } else { 1 }).unwrap();
            let kind = if column == 4 { UPLOAD.kind } else { Kind::Kernel };
            let spec = Spec { after: &after, priority, kind, ..KERNEL };
            let (node, handed_out) = behind_joins(&mut graph, &spec, at_once);
            refused += usize::from(!handed_out);
            assert_eq!(graph.next(Runner::Device), None);
            assert_eq!(graph.priority(node.0), Some(priority));
            let launched = graph.launched(node.0).unwrap();
            assert_eq!((launched.at.unwrap().lane, launched.is_waited_for), (node.1, false));
            assert_eq!(graph.next(Runner::Device), None);
            of_row.push(node.0);
            told.push(node);
        }
        if row == 1 {
            // Some of them have ended when others come after them.
            let at = graph.point(of_row[2]).unwrap();
            graph.complete(at.lane, at.value).unwrap();
            while graph.ended().is_some() {}
        }
        // At last two nodes are followed by more than their two strands.
        of_row.truncate(if row < 4 { 5 } else { 2 });
        before = of_row;
    }
    // Those that have to lift others are not handed out by the call. Where strands share lanes, more of those have
    // ended.
    let few = [[0, 0], [3, 2]][usize::from(urgent > 1)][usize::from(lanes < 8)];
    assert_eq!(refused, if at_once { few } else { 30 });
    (told, graph.statistics())
}

#[test]
fn nodes_behind_joins_have_the_same_lanes_and_joins() {
    // With three lanes strands share them.
    for (urgent, lanes) in [(1, 8), (3, 8), (1, 3), (3, 3)] {
        let [two_calls, one_call] = [false, true].map(|at_once| rows(at_once, urgent, lanes));
        assert!(two_calls.0.iter().filter(|(.., joins)| !joins.is_empty()).count() > 10);
        assert_eq!(two_calls, one_call);
    }
}

#[test]
fn a_node_behind_one_that_is_not_launched_is_not_handed_out() {
    let mut graph = graph();
    let (first, _) = begin(&mut graph, &KERNEL, true);
    let before = graph.statistics();
    let after = [first];
    assert_eq!(run(&mut graph, &Spec { after: &after, ..KERNEL }), None, "it is being launched");
    assert_eq!(graph.statistics(), before);
    graph.launched(first).unwrap();
    let host = graph.append(&Spec { after: &after, ..Spec::of(Kind::Host) }).unwrap();
    for (after, spec) in [
        ([first, host], KERNEL),
        ([first, first], Spec { references: 1, ..KERNEL }),
        ([first, first], Spec { in_copy_strand: true, ..UPLOAD }),
        ([first, first], Spec { priority: Priority::new(2).unwrap(), ..KERNEL }),
    ] {
        assert_eq!(run(&mut graph, &Spec { after: &after, ..spec }), None);
    }
    graph.failed(first, Cause(NonZeroU32::MIN)).ok();
    assert_eq!(run(&mut graph, &Spec { after: &after, ..KERNEL }), None, "it fails with it");
}

#[test]
fn of_the_nodes_before_it_four_at_most_have_not_left() {
    for launched in [4, 5] {
        let mut graph = graph();
        let mut after: Vec<NodeId> = (0..launched + 2).map(|_| run_alone(&mut graph, &KERNEL).unwrap().0).collect();
        for node in &after {
            graph.launched(*node).unwrap();
        }
        // The first two leave.
        for node in &after[..2] {
            let at = graph.point(*node).unwrap();
            graph.complete(at.lane, at.value).unwrap();
            assert_eq!(graph.ended().map(|ended| ended.node), Some(*node));
        }
        let before = graph.statistics();
        let told = run(&mut graph, &Spec { after: &after, ..KERNEL });
        assert_eq!(told.is_some(), launched == 4);
        let edges = graph.statistics().edges - before.edges;
        assert_eq!(edges, if launched == 4 { 4 } else { 0 });
        if let Some((node, lane, joins)) = told {
            after.drain(..2);
            let points: Vec<Point> = after.iter().filter_map(|first| graph.point(*first)).collect();
            assert_eq!(points[0].lane, lane, "it goes on in the strand of the first");
            assert_eq!(joins, points[1..]);
            let mut first = Vec::new();
            graph.predecessors(node, |node| first.push(node));
            assert!(after.iter().all(|node| first.contains(node)));
        }
    }
}

#[test]
fn a_caller_that_finds_a_reason_against_it_changes_nothing() {
    let mut graph = graph();
    let after = [(); 2].map(|()| run_alone(&mut graph, &KERNEL).unwrap().0);
    for node in after {
        graph.launched(node).unwrap();
    }
    let before = graph.statistics();
    let told = graph.append_running(&KERNEL, [Some(after[0]), None].into_iter(), |_| true);
    assert_eq!((told, graph.statistics()), (None, before));
    assert!(run(&mut graph, &Spec { after: &after, ..KERNEL }).is_some());
}

#[test]
fn behind_joins_a_node_that_has_more_to_launch_is_launched_beside_none() {
    for count in 1..=3 {
        let beside = [false, true].map(|at_once| {
            let mut graph = graph();
            let after: Vec<NodeId> = (0..count).map(|_| run_alone(&mut graph, &KERNEL).unwrap().0).collect();
            for node in &after {
                graph.launched(*node).unwrap();
            }
            let ((node, ..), is_at_once) = behind_joins(&mut graph, &Spec { after: &after, ..KERNEL }, at_once);
            assert_eq!(is_at_once, at_once);
            let other = graph.append(&KERNEL).unwrap();
            graph.again(node).unwrap();
            assert_eq!(graph.next(Runner::Device).map(|ready| ready.node), Some(other));
            graph.next_beside(other).map(|ready| ready.node == node)
        });
        assert_eq!(beside, [(count == 1).then_some(true); 2], "behind {count}");
    }
}
