//! Templates: a replay is as if its tasks had been submitted one by one, and nothing has changed where it is refused.

use overtake_graph::{
    Cause, Direction, Ended, Graph, Kind, NodeId, Options, Order, Planned, Point, Priorities, Priority, Refused,
    Replay, Runner, Spec, Template,
};
use proptest::collection::vec;
use proptest::prelude::*;

const KINDS: [Kind; 6] = [
    Kind::Kernel,
    Kind::Copy(Direction::HostToDevice),
    Kind::Copy(Direction::DeviceToHost),
    Kind::Host,
    Kind::Light,
    Kind::Empty,
];

fn priority(number: u8) -> Priority {
    Priority::new(number % 8 + 1).unwrap()
}

/// One task of a stretch: its work, its priority, and those before it.
type Step = (Kind, Priority, Vec<usize>);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (0_usize..6, 0_u8..8, vec(any::<u16>(), 0..3));
    vec(step, 1..12).prop_map(|all| {
        let step = |(number, (kind, level, after)): (usize, (usize, u8, Vec<u16>))| {
            let mut after: Vec<usize> = after.into_iter().map(|one| usize::from(one) % (number + 1)).collect();
            after.retain(|first| *first < number);
            after.sort_unstable();
            after.dedup();
            (KINDS[kind], priority(level), after)
        };
        all.into_iter().enumerate().map(step).collect()
    })
}

#[test]
fn a_template_knows_its_nodes_and_those_before_each() {
    let afters: [&[usize]; 6] = [&[], &[0], &[0], &[1, 2], &[], &[0, 3]];
    let template = template(&afters.map(|after| (Kind::Kernel, priority(0), after.to_vec())));
    assert_eq!(template.depths(), [0, 1, 1, 2, 0, 3]);
    assert_eq!([0, 5, 6].map(|number| template.name(number)), ["step 0", "step 5", ""]);
    assert_eq!(Template::new().depths(), []);
    let before = [0, 1, 2, 3, 4, 5].map(|number| template.before(number).collect::<Vec<_>>());
    assert_eq!(before, afters);
}

fn template(steps: &[Step]) -> Template {
    let mut template = Template::new();
    for (number, (kind, priority, after)) in steps.iter().enumerate() {
        assert_eq!(template.add(*kind, *priority, &format!("step {number}"), after), Ok(number));
    }
    template
}

/// An event that a caller of the graph sees.
#[derive(Debug, PartialEq)]
enum Seen {
    Handed(NodeId, u8, Option<(u8, u32)>, Vec<Point>, String),
    Ended(Ended),
    Inherited(Vec<(NodeId, Priority)>),
}

/// A caller that launches ready tasks, one at a time, and lets lanes complete now and then.
struct Caller {
    graph: Graph,
    seen: Vec<Seen>,
    values: [u64; 64],
}

impl Caller {
    fn new() -> Caller {
        let priorities = Priorities::new(8).unwrap();
        let options = Options { priorities, groups: 1, lanes: 3, ..Options::default() };
        Caller { graph: Graph::new(options).unwrap(), seen: Vec::new(), values: [0; 64] }
    }

    fn step(&mut self, fails: Option<usize>) -> bool {
        for runner in [Runner::Light, Runner::Device, Runner::Host] {
            let Some(ready) = self.graph.next(runner) else { continue };
            let (node, level, joins) = (ready.node, ready.priority.get(), ready.joins.to_vec());
            let place = ready.place.map(|place| (place.lane, place.strand));
            let label = self.graph.label(node).to_string();
            self.seen.push(Seen::Handed(node, level, place, joins, label));
            let at = if fails == Some(self.seen.len() % 16) {
                self.graph.failed(node, Cause(std::num::NonZeroU32::MIN)).unwrap()
            } else {
                self.graph.launched(node).unwrap().at
            };
            if let Some(at) = at {
                self.values[usize::from(at.lane)] = at.value;
            }
            self.settle();
            return true;
        }
        false
    }

    fn complete(&mut self) {
        for lane in 0..3 {
            self.graph.complete(lane, self.values[usize::from(lane)]).unwrap();
            self.settle();
        }
    }

    fn settle(&mut self) {
        let mut inherited = Vec::new();
        self.graph.inherited(|node, priority| inherited.push((node, priority)));
        inherited.sort_unstable();
        if !inherited.is_empty() {
            self.seen.push(Seen::Inherited(inherited));
        }
        self.seen.extend(std::iter::from_fn(|| self.graph.ended()).map(Seen::Ended));
    }

    fn finish(&mut self, fails: Option<usize>) {
        loop {
            let mut has_moved = self.step(fails);
            has_moved |= self.step(fails);
            if !has_moved {
                let before = self.seen.len();
                self.complete();
                if self.seen.len() == before && !self.step(fails) {
                    break;
                }
            }
        }
        let left = self.graph.statistics();
        assert_eq!((left.nodes, left.edges), (0, 0), "{:?}", self.seen);
    }

    /// The stretch as tasks of their own. None may begin before all are there.
    fn one_by_one(&mut self, steps: &[Step], replay: &Replay<'_>) -> Vec<NodeId> {
        let (mut nodes, mut held): (Vec<NodeId>, Vec<NodeId>) = (Vec::new(), Vec::new());
        for (number, (kind, priority, after)) in steps.iter().enumerate() {
            let inner: Vec<NodeId> = after.iter().map(|step| nodes[*step]).collect();
            let (is_first, name) = (inner.is_empty(), format!("step {number}"));
            let after = if is_first { replay.after } else { &inner };
            let references = u32::from(is_first);
            let priority = (*priority).max(replay.priority);
            let spec = Spec { kind: *kind, priority, name: &name, after, references, device: 0, in_copy_strand: false };
            let node = self.graph.append(&spec).unwrap();
            held.extend(is_first.then_some(node));
            nodes.push(node);
        }
        held.into_iter().for_each(|node| self.graph.release(node).unwrap());
        nodes
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Ids, lanes, joins, priorities, the order in which tasks are handed out and in which they end: all are the same,
    /// behind tasks that wait, run or have failed, and however often the template is replayed.
    #[test]
    fn a_replay_is_as_its_tasks_one_by_one(
        steps in steps(),
        before in vec((0_usize..6, 0_u8..8), 0..4),
        launched in 0_usize..4,
        times in 1_usize..4,
        raised in 0_u8..8,
        fails in prop::option::of(0_usize..32),
    ) {
        let template = template(&steps);
        let both = [false, true].map(|is_replayed| {
            let mut caller = Caller::new();
            let spec = |(kind, level): &(usize, u8)| {
                Spec { priority: priority(*level), ..Spec::of(KINDS[*kind]) }
            };
            let mut after: Vec<NodeId> = before.iter().map(|it| caller.graph.append(&spec(it)).unwrap()).collect();
            for _ in 0..launched {
                caller.step(fails);
            }
            for time in 0..times {
                let replay = Replay { priority: priority(raised + time as u8), after: &after, ..Replay::default() };
                let mut nodes = Vec::new();
                if is_replayed {
                    caller.graph.replay(&template, &replay, &mut nodes).unwrap();
                } else {
                    nodes = caller.one_by_one(&steps, &replay);
                }
                after = template.last().map(|number| nodes[number]).collect();
                caller.step(fails);
            }
            let statistics = caller.graph.statistics();
            caller.finish(fails);
            (caller.seen, statistics)
        });
        prop_assert_eq!(&both[0], &both[1]);
    }
}

#[test]
fn to_physx_a_function_of_a_template_begins_when_the_kernel_before_it_is_launched() {
    let mut pair = Template::new();
    pair.add(Kind::Kernel, priority(3), "kernel", &[]).unwrap();
    pair.add(Kind::Host, priority(5), "function", &[0]).unwrap();
    for (order, begins) in [(Order::Default, false), (Order::PhysX, true)] {
        let mut graph = Graph::new(Options { order, ..Options::default() }).unwrap();
        let mut nodes = Vec::new();
        graph.replay(&pair, &Replay::default(), &mut nodes).unwrap();
        let kernel = graph.next(Runner::Device).unwrap();
        assert_eq!(kernel.priority, if begins { Priority::LOWEST } else { priority(5) }, "{order:?}");
        let kernel = kernel.node;
        graph.launched(kernel).unwrap();
        assert_eq!(graph.next(Runner::Host).is_some(), begins, "{order:?}");
    }
}

#[test]
fn a_template_begins_on_the_host_if_one_of_its_first_tasks_does() {
    let first = |kinds: [Kind; 2], after: Vec<usize>| {
        template(&[(kinds[0], Priority::LOWEST, vec![]), (kinds[1], Priority::LOWEST, after)])
    };
    assert!(!first([Kind::Kernel; 2], vec![]).begins_on_host());
    assert!(!first([Kind::Kernel, Kind::Host], vec![0]).begins_on_host(), "the function comes behind a kernel");
    assert!(first([Kind::Kernel, Kind::Host], vec![]).begins_on_host());
    assert!(first([Kind::Host, Kind::Kernel], vec![0]).begins_on_host());
}

#[test]
fn a_replay_that_is_refused_changes_nothing() {
    let mut graph = Graph::new(Options { nodes_max: 4, edges_max: 3, ..Options::default() }).unwrap();
    let mut pair = Template::new();
    pair.add(Kind::Kernel, Priority::LOWEST, "one", &[]).unwrap();
    pair.add(Kind::Kernel, Priority::LOWEST, "other", &[0]).unwrap();
    let before = graph.statistics();
    let mut nodes = Vec::new();
    let urgent = Replay { priority: Priority::new(9).unwrap(), ..Replay::default() };
    let told = graph.replay(&pair, &urgent, &mut nodes).unwrap_err();
    assert_eq!(told.to_string(), "task \"one\" has priority 9, and there are 1 to 8");
    graph.replay(&pair, &Replay::default(), &mut nodes).unwrap();
    let after = [nodes[1]; 2];
    let replay = Replay { after: &after, ..Replay::default() };
    assert_eq!(graph.replay(&pair, &replay, &mut Vec::new()), Err(Refused::WouldBlock), "an edge too many");
    graph.replay(&pair, &Replay { after: &after[..1], ..replay }, &mut Vec::new()).unwrap();
    assert_eq!(graph.replay(&pair, &Replay::default(), &mut nodes), Err(Refused::WouldBlock), "a node too many");
    assert_eq!((graph.statistics().nodes, graph.statistics().edges, before.nodes), (4, 3, 0));
    assert!(nodes.is_empty());
    let mut hosts = Graph::new(Options { lanes: 0, ..Options::default() }).unwrap();
    let told = hosts.replay(&pair, &Replay::default(), &mut nodes).unwrap_err();
    assert!(matches!(&told, Refused::NoDispatcher { task } if task == "one"), "{told}");
    assert_eq!(hosts.replay(&Template::new(), &Replay::default(), &mut nodes), Ok(()), "a template without nodes");
}

#[test]
fn the_first_of_the_most_urgent_steps_is_named_where_there_is_no_such_priority() {
    let mut template = Template::new();
    for (level, name) in [(1, "one"), (9, "two"), (9, "three"), (2, "four")] {
        template.add(Kind::Host, Priority::new(level).unwrap(), name, &[]).unwrap();
    }
    let mut graph = Graph::new(Options::default()).unwrap();
    let told = graph.replay(&template, &Replay::default(), &mut Vec::new()).unwrap_err();
    assert_eq!(told.to_string(), "task \"two\" has priority 9, and there are 1 to 8");
}

#[test]
fn a_step_comes_after_steps_that_are_there() {
    let mut template = Template::new();
    let told = template.add(Kind::Kernel, Priority::LOWEST, "early", &[0]).unwrap_err().to_string();
    assert_eq!(told, "task \"early\" of a template comes after step 0, which is none: add that one first");
    assert!(template.is_empty() && template.last().next().is_none());
    template.add(Kind::Host, Priority::LOWEST, "", &[]).unwrap();
    template.add(Kind::Light, priority(4), "", &[0, 0]).unwrap();
    assert!(!template.is_empty());
    assert_eq!((template.len(), template.last().collect::<Vec<_>>()), (2, vec![1]));
    let planned: Vec<Planned> = template.nodes().collect();
    let host = Planned { kind: Kind::Host, priority: Priority::LOWEST, is_wanted: true };
    assert_eq!(planned, [host, Planned { kind: Kind::Light, priority: priority(4), is_wanted: false }]);
    assert_eq!(template.first().collect::<Vec<_>>(), [0]);
    template.add(Kind::Light, Priority::LOWEST, "", &[]).unwrap();
    assert_eq!([template.first().collect::<Vec<_>>(), template.last().collect()], [[0, 2], [1, 2]]);
    let mut graph = Graph::new(Options::default()).unwrap();
    let mut nodes = Vec::new();
    graph.replay(&template, &Replay::default(), &mut nodes).unwrap();
    assert_eq!(graph.statistics().edges, 1, "the second mention of a step is none");
    assert_eq!(graph.priority(nodes[0]), Some(priority(4)), "it is inherited from the beginning");
}
