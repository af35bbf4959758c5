//! Bounds: of queues, of waits, of options.

use std::num::NonZeroU32;

use overtake_graph::{
    Cause, Direction, Graph, Kind, Mark, NodeId, Options, Order, Priorities, Priority, Refused, Runner, Spec, Stage,
};

const KERNEL: Spec<'static> = Spec { name: "K", ..Spec::of(Kind::Kernel) };

fn graph(options: Options) -> Graph {
    Graph::new(options).unwrap()
}

/// Launches one node of the device.
fn launch(graph: &mut Graph) -> Option<NodeId> {
    let node = graph.next(Runner::Device)?.node;
    graph.launched(node).unwrap();
    Some(node)
}

fn urgent() -> Priority {
    Priority::new(8).unwrap()
}

#[test]
fn a_full_graph_says_that_it_would_block_and_has_room_when_nodes_have_been_returned() {
    let mut graph = graph(Options { nodes_max: 2, edges_max: 2, ..Options::default() });
    let first = graph.append(&KERNEL).unwrap();
    let second = graph.append(&Spec { after: &[first], references: 1, ..KERNEL }).unwrap();
    assert_eq!(graph.append(&KERNEL), Err(Refused::WouldBlock));
    assert_eq!(graph.named("N"), Err(Refused::WouldBlock));
    assert_eq!(graph.before(first, second), Ok(()));
    assert_eq!(graph.before(first, second), Err(Refused::WouldBlock));
    launch(&mut graph).unwrap();
    let at = graph.point(first).unwrap();
    graph.complete(at.lane, at.value).unwrap();
    assert_eq!(graph.statistics().edges, 0);
    assert_eq!(graph.append(&KERNEL), Err(Refused::WouldBlock), "the first has not been returned");
    assert_eq!(graph.ended().map(|ended| ended.node), Some(first));
    assert!(graph.append(&KERNEL).is_ok());
    assert_eq!(Refused::WouldBlock.to_string(), "the graph is full: wait until tasks have ended, and try again");
}

#[test]
fn an_edge_that_is_made_without_room_takes_that_of_others_until_it_has_ended() {
    let mut graph = graph(Options { nodes_max: 5, edges_max: 2, ..Options::default() });
    let [first, second, third] = [0; 3].map(|_| graph.append(&Spec { references: 1, ..KERNEL }).unwrap());
    graph.before(first, third).unwrap();
    graph.before(second, third).unwrap();
    assert_eq!(graph.before(first, second), Err(Refused::WouldBlock));
    graph.before_without_room(first, second).unwrap();
    assert!(matches!(graph.before_without_room(third, first), Err(Refused::Cycle { .. })));
    assert_eq!(graph.statistics().edges, 3);
    assert!(graph.has_room(2, 0) && !graph.has_room(1, 1) && !graph.has_room(3, 0));
    let fourth = graph.append(&Spec { references: 1, ..KERNEL }).unwrap();
    assert_eq!(graph.before(third, fourth), Err(Refused::WouldBlock));
    for node in [first, second, third, fourth] {
        graph.release(node).unwrap();
    }
    while launch(&mut graph).is_some() {}
    for node in [first, second, third, fourth] {
        let at = graph.point(node).unwrap();
        graph.complete(at.lane, at.value).unwrap();
    }
    while graph.ended().is_some() {}
    assert_eq!((graph.statistics().nodes, graph.statistics().edges), (0, 0));
    assert!(graph.has_room(5, 2) && !graph.has_room(0, 3));
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let two = Priorities::new(2).unwrap();
    let wrong = [
        Options { groups: 3, lanes: 22, ..Options::default() },
        Options { groups: 0, ..Options::default() },
        Options { groups: 3, priorities: two, ..Options::default() },
        Options { nodes_max: 0, ..Options::default() },
        Options { nodes_max: u32::MAX, ..Options::default() },
        Options { edges_max: u32::MAX, ..Options::default() },
        Options { phase_max: 0, ..Options::default() },
        Options { share: 1, ..Options::default() },
        Options { devices: 2, order: Order::PhysX, ..Options::default() },
        Options { devices: 0, ..Options::default() },
        Options { devices: 9, lanes: 1, ..Options::default() },
        Options { devices: 10, lanes: 1, ..Options::default() },
    ];
    for options in wrong {
        let refused = Graph::new(options).err().unwrap();
        assert!(refused.to_string().starts_with("the options of the graph contradict each other: "), "{options:?}");
    }
    let right = [
        Options { groups: 2, lanes: 32, ..Options::default() },
        Options { groups: 2, priorities: two, ..Options::default() },
        Options { share: 2, phase_max: 1, nodes_max: 1, edges_max: 0, lanes: 0, ..Options::default() },
        Options { devices: 8, lanes: 1, ..Options::default() },
    ];
    assert!(right.into_iter().all(|options| Graph::new(options).is_ok()));
}

#[test]
fn a_priority_that_there_is_not_is_refused_and_not_clamped() {
    let mut graph = graph(Options { priorities: Priorities::new(7).unwrap(), ..Options::default() });
    let told = graph.append(&Spec { priority: urgent(), ..KERNEL }).unwrap_err().to_string();
    assert_eq!(told, "task \"K\" has priority 8, and there are 1 to 7");
    let node = graph.append(&KERNEL).unwrap();
    assert_eq!(graph.set_priority(node, urgent()).unwrap_err().to_string(), told);
    assert_eq!(graph.priority(node), Some(Priority::LOWEST));
}

#[test]
fn a_device_that_there_is_not_is_refused() {
    let mut graph = graph(Options { devices: 2, groups: 1, ..Options::default() });
    let told = [0, 1, 2, 3].map(|device| graph.append(&Spec { device, ..KERNEL }).map(drop));
    let refused = Err(Refused::NoDispatcher { task: "K".to_owned() });
    assert_eq!(told, [Ok(()), Ok(()), refused.clone(), refused]);
}

#[test]
fn reports_on_what_does_not_run_are_refused() {
    let mut graph = graph(Options::default());
    let node = graph.append(&KERNEL).unwrap();
    let cause = Cause(NonZeroU32::MIN);
    let not_running = |told: Result<(), Refused>| {
        assert_eq!(told.unwrap_err().to_string(), "task \"K\" is not being run, and is reported to have been");
    };
    not_running(graph.launched(node).map(drop));
    not_running(graph.again(node));
    not_running(graph.failed(node, cause).map(drop));
    not_running(graph.sync_point(node).map(drop));
    assert_eq!(launch(&mut graph), Some(node));
    not_running(graph.launched(node).map(drop));
    let at = graph.point(node).unwrap();
    let told = graph.complete(at.lane, at.value + 1).unwrap_err().to_string();
    assert_eq!(told, format!("lane {} is reported to have come to 2, which was not given out", at.lane));
    assert!(graph.complete(64, 0).is_err());
    let host = graph.append(&Spec { kind: Kind::Host, ..KERNEL }).unwrap();
    assert_eq!(graph.next(Runner::Host).map(|ready| (ready.node, ready.place)), Some((host, None)));
    not_running(graph.again(host));
    not_running(graph.sync_point(host).map(drop));
    graph.launched(host).unwrap();
    not_running(graph.failed(host, cause).map(drop));
}

#[test]
fn a_report_on_an_earlier_node_of_a_slot_is_refused() {
    let mut graph = graph(Options::default());
    let empty = graph.append(&Spec { kind: Kind::Empty, ..KERNEL }).unwrap();
    assert_eq!(graph.ended().map(|ended| ended.node), Some(empty));
    let node = graph.append(&KERNEL).unwrap();
    assert_eq!((graph.next(Runner::Device).map(|ready| ready.node), node.index()), (Some(node), empty.index()));
    assert!(matches!(graph.launched(empty), Err(Refused::NotRunning { .. })));
    assert!(graph.launched(node).is_ok());
}

#[test]
fn a_name_is_one_task_until_that_has_ended() {
    let mut graph = graph(Options::default());
    let named = graph.named("N").unwrap();
    assert_eq!((graph.named("N").unwrap(), graph.stage(named)), (named, Stage::Waiting));
    assert_ne!(graph.named("M").unwrap(), named);
    graph.fill(named, &KERNEL).unwrap();
    let told = graph.fill(named, &KERNEL).unwrap_err().to_string();
    assert_eq!(told, "there is a task \"N\" already: choose another name");
    graph.release(named).unwrap();
    assert_eq!(launch(&mut graph), Some(named));
    let at = graph.point(named).unwrap();
    graph.complete(at.lane, at.value).unwrap();
    assert_eq!(graph.label(named).to_string(), "\"N\"");
    assert_eq!(graph.ended().map(|ended| ended.node), Some(named));
    assert_eq!((graph.label(named).to_string(), graph.stage(named)), ("\"N\"".to_owned(), Stage::Ended));
    let again = graph.named("N").unwrap();
    assert_ne!(again, named);
    assert_eq!((graph.label(named).name.as_str(), graph.priority(named)), ("", None));
    assert_eq!((graph.label(named).to_string(), named.to_string()), ("0.0".to_owned(), "node 0.0".to_owned()));
}

/// Also in the slot of another node, which was of another kind.
#[test]
fn a_named_node_that_nothing_fills_is_empty() {
    let mut graph = graph(Options::default());
    let kernel = graph.append(&KERNEL).unwrap();
    launch(&mut graph).unwrap();
    let at = graph.point(kernel).unwrap();
    graph.complete(at.lane, at.value).unwrap();
    assert_eq!(graph.ended().map(|ended| ended.node), Some(kernel));
    let named = graph.named("N").unwrap();
    assert_eq!(named.index(), kernel.index());
    graph.release(named).unwrap();
    assert!(graph.next(Runner::Device).is_none(), "it has no work");
    assert_eq!(graph.ended().map(|ended| (ended.node, ended.turns)), Some((named, 0)));
}

#[test]
fn a_name_is_not_that_of_an_earlier_node_of_its_slot() {
    let mut graph = graph(Options::default());
    let end = |graph: &mut Graph, spec: &Spec<'_>| {
        let node = graph.append(&Spec { kind: Kind::Empty, ..*spec }).unwrap();
        assert_eq!((graph.ended().map(|ended| ended.node), node.index()), (Some(node), 0));
        node
    };
    let first = end(&mut graph, &Spec { name: "N", ..KERNEL });
    assert_eq!(graph.label(first).name, "N");
    let second = end(&mut graph, &Spec { name: "", ..KERNEL });
    assert_eq!((graph.label(first).name.as_str(), graph.label(second).name.as_str()), ("", ""));
    end(&mut graph, &Spec { name: "M", ..KERNEL });
    let nameless = graph.named("").unwrap();
    assert_eq!((graph.named(""), graph.label(nameless).name.as_str()), (Ok(nameless), ""));
}

#[test]
fn a_node_that_is_filled_waits_for_what_its_kind_waits_for() {
    let mut graph = graph(Options::default());
    let named = graph.named("N").unwrap();
    let kernel = graph.append(&KERNEL).unwrap();
    graph.before(kernel, named).unwrap();
    launch(&mut graph).unwrap();
    graph.fill(named, &Spec { kind: Kind::Host, priority: urgent(), ..KERNEL }).unwrap();
    assert_eq!(graph.priority(kernel), Some(urgent()));
    graph.release(named).unwrap();
    assert!(graph.next(Runner::Host).is_none(), "the results are not there");
    let at = graph.point(kernel).unwrap();
    graph.complete(at.lane, at.value).unwrap();
    assert!(graph.next(Runner::Host).is_some());
    let (first, last) = (graph.named("first").unwrap(), graph.named("last").unwrap());
    graph.before(first, last).unwrap();
    let told = graph.fill(first, &Spec { after: &[last], ..KERNEL }).unwrap_err().to_string();
    assert_eq!(told, "the tasks would wait for each other: \"first\" -> \"last\" -> \"first\"");
}

/// px-j: more prerequisites than the ring of PhysX holds: none is lost, and they come in their order.
#[test]
fn eleven_hundred_prerequisites_are_resolved_in_their_order() {
    let count = if cfg!(miri) { 50 } else { 1100 };
    for order in [Order::Default, Order::PhysX] {
        let mut graph = graph(Options { order, ..Options::default() });
        let copy = graph.append(&Spec { kind: Kind::Copy(Direction::DeviceToHost), ..KERNEL }).unwrap();
        let host = Spec { kind: Kind::Host, references: 1, ..KERNEL };
        let tasks: Vec<NodeId> = (0..count).map(|_| graph.append(&host).unwrap()).collect();
        assert_eq!(graph.next(Runner::Device).map(|ready| ready.node), Some(copy));
        for task in &tasks {
            graph.before_at(copy, *task, Mark::Complete).unwrap();
            graph.release(*task).unwrap();
        }
        let launched = graph.launched(copy).unwrap();
        assert!(launched.is_waited_for && graph.next(Runner::Host).is_none());
        let at = launched.at.unwrap();
        graph.complete(at.lane, at.value).unwrap();
        let run: Vec<NodeId> = std::iter::from_fn(|| graph.next(Runner::Host).map(|ready| ready.node)).collect();
        assert_eq!(run, tasks);
    }
}

#[test]
fn an_event_is_worth_its_price_only_where_another_lane_or_the_host_waits() {
    let mut graph = graph(Options::default());
    let first = graph.append(&KERNEL).unwrap();
    let second = graph.append(&Spec { after: &[first, first], ..KERNEL }).unwrap();
    graph.append(&Spec { after: &[second], ..KERNEL }).unwrap();
    graph.append(&Spec { after: &[second], ..KERNEL }).unwrap();
    let is_waited_for = |graph: &mut Graph| {
        let node = graph.next(Runner::Device).unwrap().node;
        graph.launched(node).unwrap().is_waited_for
    };
    assert!(!is_waited_for(&mut graph), "the second goes on in its lane");
    assert!(is_waited_for(&mut graph), "the fourth has another lane");
    assert!(!is_waited_for(&mut graph), "none comes after");
}

#[test]
fn all_priorities_that_there_can_be_are_kept_apart() {
    let priorities = Priorities::new(Priorities::MAX).unwrap();
    let mut graph = graph(Options { priorities, groups: 4, ..Options::default() });
    for priority in priorities.iter() {
        graph.append(&Spec { priority, ..KERNEL }).unwrap();
    }
    let mut launched = Vec::new();
    while let Some(ready) = graph.next(Runner::Device) {
        let (node, place) = (ready.node, ready.place.unwrap());
        launched.push((ready.priority.get(), place.lane / 8));
        graph.launched(node).unwrap();
    }
    let expected: Vec<(u8, u8)> = (1..=32).rev().map(|priority| (priority, (priority - 1) / 8)).collect();
    assert_eq!(launched, expected);
}

/// T6: of the nodes of a lower priority one is handed out in each `share`, under any load above, and the lower
/// priorities have these turns one after the other.
#[test]
fn no_priority_starves() {
    let mut graph = graph(Options { share: 4, ..Options::default() });
    for level in [1, 1, 3, 3, 5] {
        graph.append(&Spec { priority: Priority::new(level).unwrap(), ..KERNEL }).unwrap();
    }
    let mut levels = Vec::new();
    for _ in 0..24 {
        graph.append(&Spec { priority: urgent(), ..KERNEL }).unwrap();
        let ready = graph.next(Runner::Device).unwrap();
        levels.push(ready.priority.get());
        let node = ready.node;
        graph.launched(node).unwrap();
    }
    assert_eq!(levels, [8, 8, 8, 5, 8, 8, 8, 3, 8, 8, 8, 1, 8, 8, 8, 3, 8, 8, 8, 1, 8, 8, 8, 8]);
}

/// An endless chain has its turn once in two, and kernels keep a copy to the host waiting for `phase_max` launches.
#[test]
fn no_chain_keeps_its_neighbours_waiting() {
    let mut graph = graph(Options { phase_max: 6, ..Options::default() });
    let mut chain = graph.append(&KERNEL).unwrap();
    let neighbours: Vec<NodeId> = (0..3).map(|_| graph.append(&KERNEL).unwrap()).collect();
    let copy = graph.append(&Spec { kind: Kind::Copy(Direction::DeviceToHost), ..KERNEL }).unwrap();
    let mut launched = Vec::new();
    for _ in 0..9 {
        chain = graph.append(&Spec { after: &[chain], ..KERNEL }).unwrap();
        launched.push(launch(&mut graph).unwrap());
    }
    let place = |node| launched.iter().position(|launched| *launched == node).unwrap();
    assert!(neighbours.iter().all(|node| place(*node) < 5), "{launched:?}");
    assert_eq!(place(copy), 6);
}

/// A round ends when nothing is ready or being launched, also if the last launch was one of several, or has failed.
#[test]
fn a_round_ends_after_every_kind_of_report() {
    let reports: [fn(&mut Graph, NodeId); 3] = [
        |graph, node| assert!(graph.launched(node).is_ok()),
        |graph, node| {
            graph.again(node).unwrap();
            assert_eq!(launch(graph), Some(node));
        },
        |graph, node| assert!(graph.failed(node, Cause(NonZeroU32::MIN)).is_ok()),
    ];
    for (report, priority) in reports.into_iter().flat_map(|report| [(report, Priority::LOWEST), (report, urgent())]) {
        let mut graph = graph(Options::default());
        let copy = |direction| Spec { kind: Kind::Copy(direction), priority, ..KERNEL };
        let kernel = graph.append(&Spec { priority, ..KERNEL }).unwrap();
        assert_eq!(graph.next(Runner::Device).map(|ready| ready.node), Some(kernel));
        assert!(graph.next(Runner::Device).is_none(), "the kernel is being launched");
        report(&mut graph, kernel);
        assert!(graph.next(Runner::Device).is_none());
        let last = graph.append(&copy(Direction::DeviceToHost)).unwrap();
        let first = graph.append(&copy(Direction::HostToDevice)).unwrap();
        assert_eq!((launch(&mut graph), launch(&mut graph)), (Some(first), Some(last)));
    }
}

#[test]
fn a_node_that_is_filled_keeps_its_name_and_gets_more_references() {
    let mut graph = graph(Options { priorities: Priorities::new(7).unwrap(), ..Options::default() });
    let named = graph.named("N").unwrap();
    let told = graph.fill(named, &Spec { priority: urgent(), name: "M", ..KERNEL }).unwrap_err().to_string();
    assert_eq!(told, "task \"N\" has priority 8, and there are 1 to 7");
    graph.fill(named, &Spec { references: 2, ..KERNEL }).unwrap();
    for left in [2, 1] {
        graph.release(named).unwrap();
        assert_eq!(graph.held(named), left);
        assert_eq!(graph.stage(named), Stage::Waiting, "{left} references are left");
    }
    graph.release(named).unwrap();
    assert_eq!(graph.stage(named), Stage::Ready);
    assert!(matches!(graph.release(named), Err(Refused::NotHeld { .. })));
}

#[test]
fn no_order_is_stated_behind_a_node_that_has_ended_and_not_been_returned() {
    let mut graph = graph(Options::default());
    let first = graph.append(&Spec { kind: Kind::Empty, ..KERNEL }).unwrap();
    let then = graph.append(&Spec { references: 1, ..KERNEL }).unwrap();
    assert_eq!(graph.stage(first), Stage::Ended);
    assert!(matches!(graph.before(first, then), Err(Refused::Finished { .. })));
    assert!(matches!(graph.before(then, first), Err(Refused::Finished { .. })));
    graph.release(then).unwrap();
    assert_eq!(launch(&mut graph), Some(then));
}

/// An edge is a reference once, of both kinds of node that is filled, and before and after the launch of the first.
#[test]
fn a_filled_node_waits_once_for_each_node_before_it() {
    for (kind, runner) in [(Kind::Host, Runner::Host), (Kind::Kernel, Runner::Device)] {
        for is_launched in [false, true] {
            let mut graph = graph(Options::default());
            let first = graph.append(&Spec { references: 1, ..KERNEL }).unwrap();
            let named = graph.named("N").unwrap();
            if is_launched {
                graph.release(first).unwrap();
                launch(&mut graph).unwrap();
            }
            graph.before(first, named).unwrap();
            graph.fill(named, &Spec { kind, ..KERNEL }).unwrap();
            graph.release(named).unwrap();
            if !is_launched {
                assert_eq!(graph.stage(named), Stage::Waiting);
                graph.release(first).unwrap();
                launch(&mut graph).unwrap();
            }
            let is_waiting = graph.stage(named) == Stage::Waiting;
            assert_eq!(is_waiting, kind == Kind::Host, "{kind:?} needs the results, or not");
            let at = graph.point(first).unwrap();
            graph.complete(at.lane, at.value).unwrap();
            assert_eq!(graph.next(runner).map(|ready| ready.node), Some(named));
        }
    }
}

#[test]
fn a_priority_that_is_as_it_was_told_is_not_told_again() {
    let mut graph = graph(Options::default());
    let first = graph.append(&KERNEL).unwrap();
    launch(&mut graph).unwrap();
    let then = graph.append(&Spec { kind: Kind::Host, priority: urgent(), after: &[first], ..KERNEL }).unwrap();
    assert_eq!((first.index(), then.index()), (0, 1));
    assert_eq!(graph.priority(first), Some(urgent()));
    graph.set_priority(then, Priority::LOWEST).unwrap();
    graph.inherited(|node, priority| panic!("{node} has {priority}, as it was told"));
    graph.set_priority(then, urgent()).unwrap();
    let mut told = Vec::new();
    graph.inherited(|node, priority| told.push((node, priority)));
    assert_eq!(told, [(first, urgent())]);
}

/// One that is as urgent as it was keeps its place, when those behind it become more or less urgent.
#[test]
fn a_node_whose_priority_stays_keeps_its_place() {
    let of = |number: u8| Priority::new(number).unwrap();
    for (before, now) in [(1, 5), (5, 1), (2, 4), (4, 2)] {
        let mut graph = graph(Options::default());
        let spec = Spec { priority: of(5), ..KERNEL };
        let nodes = [(); 3].map(|()| graph.append(&spec).unwrap());
        let then = graph.append(&Spec { priority: of(before), after: &nodes[..1], ..KERNEL }).unwrap();
        graph.set_priority(then, of(now)).unwrap();
        assert_eq!([(); 3].map(|()| launch(&mut graph).unwrap()), nodes);
    }
}

/// On the device too, where the launch would do.
#[test]
fn a_kernel_waits_for_the_mark_that_it_has_asked_for() {
    let mut graph = graph(Options::default());
    let first = graph.append(&KERNEL).unwrap();
    let then = graph.append(&Spec { references: 1, ..KERNEL }).unwrap();
    graph.before_at(first, then, Mark::Complete).unwrap();
    graph.release(then).unwrap();
    assert_eq!((launch(&mut graph), launch(&mut graph)), (Some(first), None));
    let at = graph.point(first).unwrap();
    graph.complete(at.lane, at.value).unwrap();
    assert_eq!(launch(&mut graph), Some(then));
}
