//! Where two rules meet: failures, orders, streams, batches, several devices.

use std::num::NonZeroU32;

use overtake_graph::{Access, Cause, Direction, Graph, Kind, Mode, NodeId, Options, Runner, Spec, Stage};

use crate::accesses::{append, graph, writes};

const CAUSE: Cause = Cause(NonZeroU32::MIN);
const KERNEL: Spec<'static> = Spec::of(Kind::Kernel);

fn launch(graph: &mut Graph, node: NodeId) -> overtake_graph::Point {
    assert_eq!(graph.next(Runner::Device).map(|ready| ready.node), Some(node));
    graph.launched(node).unwrap().at.unwrap()
}

/// A kernel that was left out behind the launch of one makes a copy ready, which comes before the other kernels.
#[test]
fn a_kernel_that_fails_behind_a_launch_ends_the_batch() {
    let orders = [false, true].map(|is_batch| {
        let mut graph = Graph::new(Options { phase_max: 1, ..Options::default() }).unwrap();
        let x = graph.data(8);
        let failed = graph.append(&Spec { references: 1, ..KERNEL }).unwrap();
        assert!(graph.give_up(failed, CAUSE));
        let first = graph.append(&KERNEL).unwrap();
        let beside = graph.append(&KERNEL).unwrap();
        let fails = graph.append_using(&Spec { after: &[first, failed], ..KERNEL }, &[writes(x)]).unwrap();
        let copy = Spec::of(Kind::Copy(Direction::DeviceToHost));
        let copy = graph.append_using(&copy, &[Access::new(x, Mode::Discard)]).unwrap();
        let names = [(first, "first"), (beside, "beside"), (fails, "fails"), (copy, "copy")];
        let name = |node: NodeId| names.iter().find(|it| it.0 == node).unwrap().1;
        let mut order = Vec::new();
        while let Some(node) = graph.next(Runner::Device).map(|ready| ready.node) {
            let mut batch = vec![node];
            while let Some(ready) = is_batch.then(|| graph.next_beside(*batch.last().unwrap())).flatten() {
                batch.push(ready.node);
            }
            for node in batch {
                graph.launched(node).unwrap();
                order.push(name(node));
            }
        }
        order
    });
    assert_eq!(orders[0], orders[1]);
}

/// The points that a node of no lane stands for are those of one that was left out since.
#[test]
fn a_node_of_no_lane_stands_for_what_a_left_one_waits_for() {
    for is_empty in [false, true] {
        let mut graph = Graph::new(Options::default()).unwrap();
        let data = graph.data(64);
        let running = append(&mut graph, &[writes(data)]);
        let its = launch(&mut graph, running);
        let goes_on = graph.append(&Spec { after: &[running], ..KERNEL }).unwrap();
        launch(&mut graph, goes_on);
        let failing = append(&mut graph, &[writes(data)]);
        let at = launch(&mut graph, failing);
        assert_ne!(at.lane, its.lane);
        // One of no lane behind it, which has been launched.
        let then = if is_empty {
            graph.append_using(&Spec::of(Kind::Empty), &[writes(data)]).unwrap()
        } else {
            let then = append(&mut graph, &[writes(data)]);
            assert!(graph.give_up(then, CAUSE));
            then
        };
        assert!(is_empty != graph.is_left_out(then));
        graph.failed(failing, CAUSE).unwrap();
        graph.complete(at.lane, at.value).unwrap();
        assert!(graph.is_left_out(failing));
        // Its lane has joined that of the first one, and has another strand from now on.
        let other = append(&mut graph, &[]);
        assert_eq!(launch(&mut graph, other).lane, at.lane);
        let last = append(&mut graph, &[writes(data)]);
        let ready = graph.next(Runner::Device).map(|ready| (ready.node, ready.joins.to_vec()));
        assert_eq!(ready, Some((last, vec![its])), "the first one still runs");
    }
}

/// No node behind a failed one is launched any more: also behind one that was being launched when it failed.
#[test]
fn none_is_launched_behind_one_that_has_failed_while_it_was_launched() {
    let mut graph = graph();
    let first = graph.append(&KERNEL).unwrap();
    let second = graph.append(&Spec { after: &[first], ..KERNEL }).unwrap();
    let third = graph.append(&Spec { after: &[second], ..KERNEL }).unwrap();
    launch(&mut graph, first);
    assert_eq!(graph.next(Runner::Device).map(|ready| ready.node), Some(second));
    graph.failed(first, CAUSE).unwrap();
    graph.launched(second).unwrap();
    assert_eq!(graph.next(Runner::Device).map(|ready| ready.node), None, "{third}");
}

/// A named node that runs without having been submitted, and one that was left out, keep nothing back.
#[test]
fn a_named_node_that_was_released_holds_nothing() {
    for fails in [false, true] {
        let mut graph = graph();
        let running = graph.append(&KERNEL).unwrap();
        launch(&mut graph, running);
        let named = graph.named("n").unwrap();
        graph.before(running, named).unwrap();
        let behind = graph.append(&Spec { after: &[named], ..KERNEL }).unwrap();
        if fails {
            let other = graph.append(&Spec { references: 1, ..KERNEL }).unwrap();
            graph.before(other, named).unwrap();
            graph.give_up(other, CAUSE);
        }
        assert!(graph.is_held(behind));
        graph.release(named).unwrap();
        assert!(!graph.is_held(behind), "{fails}");
    }
}

/// One behind a node that has failed while it was launched does not end well, though its lane is reported first.
#[test]
fn none_ends_well_behind_one_that_has_failed_while_it_was_launched() {
    let mut graph = graph();
    let first = graph.append(&KERNEL).unwrap();
    let second = graph.append(&Spec { after: &[first], ..KERNEL }).unwrap();
    let behind = [(); 2].map(|()| graph.append(&Spec { after: &[second], ..KERNEL }).unwrap());
    launch(&mut graph, first);
    assert_eq!(graph.next(Runner::Device).map(|ready| ready.node), Some(second));
    graph.failed(first, CAUSE).unwrap();
    graph.launched(second).unwrap();
    let mut points = Vec::new();
    while let Some(node) = graph.next(Runner::Device).map(|ready| ready.node) {
        points.extend(graph.launched(node).unwrap().at);
    }
    points.reverse();
    points.iter().for_each(|at| graph.complete(at.lane, at.value).unwrap());
    let at = graph.point(second);
    at.iter().for_each(|at| graph.complete(at.lane, at.value).unwrap());
    let ended: Vec<_> = std::iter::from_fn(|| graph.ended()).map(|it| (it.node, it.outcome.is_ok())).collect();
    assert!(ended.iter().all(|(_, is_well)| !is_well) && ended.len() == 4, "{ended:?} {behind:?}");
}

/// A node that is known before it is described fails with one that has failed before it.
#[test]
fn a_reserved_node_keeps_the_failure_of_one_before_it() {
    let mut graph = graph();
    let fails = graph.append(&Spec { references: 1, ..KERNEL }).unwrap();
    let reserved = graph.reserve().unwrap();
    graph.before(fails, reserved).unwrap();
    assert!(graph.give_up(fails, CAUSE));
    graph.append_reserved(reserved, &KERNEL, None);
    assert_eq!(graph.next(Runner::Device).map(|ready| ready.node), None);
    assert_eq!(graph.stage(reserved), Stage::Ended);
}
