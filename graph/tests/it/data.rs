//! Orders inferred from data: random programs against an oracle that looks at every byte, and single rules.

use std::num::NonZeroU32;
use std::ops::Range;

use overtake_graph::{
    Access, Cause, DataId, Graph, Inference, Kind, Mode, NodeId, Options, Point, Refused, Runner, Spec, Stage,
};
use proptest::collection::vec;
use proptest::prelude::*;

const MODES: [Mode; 6] = [Mode::Read, Mode::Write, Mode::ReadWrite, Mode::Discard, Mode::Reduce, Mode::Relaxed];
const CAUSE: Cause = Cause(NonZeroU32::MIN);
const KINDS: [Kind; 4] = [Kind::Kernel, Kind::Host, Kind::Empty, Kind::Kernel];

/// An object as the oracle sees it: bytes of one array of all bytes.
#[derive(Clone)]
struct Object {
    id: DataId,
    bytes: Range<usize>,
    is_token: bool,
}

/// A node, with every byte that it uses.
struct Node {
    id: NodeId,
    uses: Vec<(usize, Mode)>,
    /// The nodes that were stated, and had not ended.
    after: Vec<usize>,
    /// It has failed by itself.
    has_failed: bool,
    has_ended: bool,
}

/// Two objects of 12 bytes, a token, and an object without bytes.
fn objects(graph: &mut Graph) -> Vec<Object> {
    let (first, other) = (graph.data(12), graph.data(12));
    let (token, empty) = (graph.token(), graph.data(0));
    let object = |id, bytes| Object { id, bytes, is_token: false };
    let token = Object { is_token: true, ..object(token, 24..25) };
    vec![object(first, 0..12), object(other, 12..24), token, object(empty, 25..25)]
}

/// A graph whose nodes the test runs, and the oracle.
struct Program {
    graph: Graph,
    objects: Vec<Object>,
    nodes: Vec<Node>,
    /// Of launched nodes, the oldest first.
    points: Vec<Point>,
    sees_const: bool,
}

/// The numbers of one access: object, range, mode.
type Use = (u8, u8, u8, u8);

impl Program {
    fn new(inference: Inference) -> Program {
        let mut graph = Graph::new(Options { inference, ..Options::default() }).unwrap();
        let objects = objects(&mut graph);
        let (nodes, points, sees_const) = (Vec::new(), Vec::new(), inference.sees_const);
        Program { graph, objects, nodes, points, sees_const }
    }

    fn access(&self, (object, from, to, mode): Use) -> (Access, Vec<(usize, Mode)>) {
        let object = &self.objects[usize::from(object) % self.objects.len()];
        let mode = MODES[usize::from(mode) % MODES.len()];
        let bytes = object.bytes.len();
        let (from, to) = (usize::from(from) % (bytes + 1), usize::from(to) % (bytes + 1));
        // A third uses the whole object, some nothing.
        if object.is_token || (from + to) % 3 == 0 {
            return (Access::new(object.id, mode), object.bytes.clone().map(|byte| (byte, mode)).collect());
        }
        let (from, to) = (from.min(to), from.max(to));
        let bytes = object.bytes.start + from..object.bytes.start + to;
        let access = Access { data: object.id, range: Some(from as u64..to as u64), mode };
        (access, bytes.map(|byte| (byte, mode)).collect())
    }

    /// The live nodes before this one, by edges.
    fn ancestors(&self, id: NodeId) -> Vec<NodeId> {
        let (mut all, mut stack) = (Vec::new(), vec![id]);
        while let Some(id) = stack.pop() {
            self.graph.predecessors(id, |before| {
                if !all.contains(&before) {
                    all.push(before);
                    stack.push(before);
                }
            });
        }
        all
    }

    /// Those of the first nodes that have not ended, and have an order with one that uses these bytes.
    fn wanted(&self, bytes: &[(usize, Mode)], first: usize) -> Vec<NodeId> {
        let is_ordered = |one: Mode, other| !self.sees_const || one.conflicts(other);
        let conflicts = |node: &&Node| {
            let mut pairs = node.uses.iter().flat_map(|one| bytes.iter().map(move |other| (one, other)));
            pairs.any(|(one, other)| one.0 == other.0 && is_ordered(one.1, other.1))
        };
        let live = self.nodes[..first].iter().filter(|node| self.graph.stage(node.id) != Stage::Ended);
        live.filter(conflicts).map(|node| node.id).collect()
    }

    /// Whether the node comes after all that it must. One that will fail may not: it is never handed out.
    fn check_order(&self, id: NodeId) {
        let number = self.nodes.iter().position(|node| node.id == id).unwrap();
        let (wanted, ancestors) = (self.wanted(&self.nodes[number].uses, number), self.ancestors(id));
        let missing: Vec<_> = wanted.iter().filter(|id| !ancestors.contains(id)).collect();
        assert!(missing.is_empty(), "{id} has no order with {missing:?}");
    }

    /// Appends a node, and compares its edges with the oracle's. Without failures these are all of the right edges.
    fn append(&mut self, kind: Kind, uses: &[Use], after: &[usize], is_exact: bool) {
        let (accesses, bytes): (Vec<_>, Vec<_>) = uses.iter().map(|one| self.access(*one)).unzip();
        let bytes: Vec<_> = bytes.into_iter().flatten().collect();
        let mut stated: Vec<NodeId> = after.iter().map(|first| self.nodes[*first].id).collect();
        let wanted = self.wanted(&bytes, self.nodes.len());

        let spec = Spec { after: &stated, ..Spec::of(kind) };
        let id = self.graph.append_using(&spec, &accesses).unwrap();
        let mut edges = Vec::new();
        self.graph.predecessors(id, |before| edges.push(before));
        if is_exact {
            stated.retain(|id| edges.contains(id));
            let candidates: Vec<NodeId> = wanted.iter().chain(&stated).copied().collect();
            let is_redundant = |id: &NodeId| candidates.iter().any(|other| self.ancestors(*other).contains(id));
            let mut right = stated;
            right.extend(wanted.iter().filter(|id| !is_redundant(id)));
            right.sort_unstable();
            right.dedup();
            edges.sort_unstable();
            assert_eq!(edges, right, "of {candidates:?}");
        }
        let after = after.iter().copied().filter(|first| !self.nodes[*first].has_ended).collect();
        self.nodes.push(Node { id, uses: bytes, after, has_failed: false, has_ended: false });
        if is_exact {
            self.check_order(id);
        }
    }

    /// Launches or runs one node; it fails if asked to.
    fn step(&mut self, fails: bool) {
        let device = self.graph.next(Runner::Device).map(|ready| ready.node);
        let Some(node) = device.or_else(|| self.graph.next(Runner::Host).map(|ready| ready.node)) else { return };
        self.check_order(node);
        let number = self.nodes.iter().position(|other| other.id == node && !other.has_ended).unwrap();
        for first in self.wanted(&self.nodes[number].uses, number) {
            assert_eq!(self.graph.stage(first), Stage::Launched, "{first} before {node}");
        }
        let at = match fails {
            true => self.fail(node).unwrap(),
            false => self.graph.launched(node).unwrap().at,
        };
        self.points.extend(at);
    }

    /// The node, if it has not ended, fails by itself.
    fn fail(&mut self, id: NodeId) -> Result<Option<Point>, Refused> {
        let told = self.graph.failed(id, CAUSE);
        let node = self.nodes.iter_mut().find(|node| node.id == id && !node.has_ended);
        node.expect("it has not been returned").has_failed |= told.is_ok();
        told
    }

    /// Whether a node has failed by itself, or one that was stated to be before it.
    fn is_to_fail(&self, number: usize) -> bool {
        let node = &self.nodes[number];
        node.has_failed || node.after.iter().any(|first| self.is_to_fail(*first))
    }

    /// Takes the nodes that have ended.
    fn collect(&mut self) {
        while let Some(ended) = self.graph.ended() {
            let is_it = |node: &Node| node.id == ended.node && !node.has_ended;
            let number = self.nodes.iter().position(is_it).expect("it is returned once");
            self.nodes[number].has_ended = true;
            assert_eq!(ended.outcome.is_err(), self.is_to_fail(number), "{number}: {ended:?}");
        }
    }

    /// The device comes to a point, and so to all that were launched before it.
    fn complete(&mut self, number: usize) {
        let count = if self.points.is_empty() { 0 } else { number % self.points.len() + 1 };
        for at in self.points.drain(..count) {
            self.graph.complete(at.lane, at.value).unwrap();
        }
    }

    /// Lets all that is left happen.
    fn end(&mut self) {
        for _ in 0..2 * self.nodes.len() + 1 {
            self.step(false);
            self.complete(self.points.len().saturating_sub(1));
            self.collect();
        }
        assert!(self.nodes.iter().all(|node| node.has_ended), "a node never ended");
        assert_eq!((self.graph.statistics().nodes, self.graph.statistics().edges), (0, 0));
    }

    fn act(&mut self, (what, one, other, uses): &Move, may_fail: bool) {
        let number = usize::from(*one);
        match what % 18 {
            0..=8 => {
                let count = self.nodes.len();
                let after: Vec<usize> = if other % 4 == 0 && count > 0 { vec![number % count] } else { vec![] };
                self.append(KINDS[usize::from(*other) % 4], uses, &after, !may_fail);
            }
            9..=11 => self.step(may_fail && other % 3 == 0),
            12 | 13 => self.complete(number),
            14 if may_fail && !self.nodes.is_empty() => {
                // Work on the device fails.
                let node = &self.nodes[number % self.nodes.len()];
                if !node.has_ended {
                    let _is_not_on_the_device = self.fail(node.id);
                }
            }
            16 | 17 if may_fail && !self.nodes.is_empty() => {
                // Callers cancel a node, and may do so in any order.
                let number = self.nodes.len() - 1 - number % self.nodes.len();
                let is_given_up = self.graph.give_up(self.nodes[number].id, CAUSE);
                self.nodes[number].has_failed |= is_given_up;
            }
            _ => self.collect(),
        }
    }
}

/// The kind of the step, two numbers, and the uses of a new node.
type Move = (u8, u8, u8, Vec<Use>);

fn moves() -> impl Strategy<Value = Vec<Move>> {
    vec((any::<u8>(), any::<u8>(), any::<u8>(), vec(any::<Use>(), 0..4)), 1..if cfg!(miri) { 12 } else { 40 })
}

const ALL_SEARCHED: Inference = Inference { sees_const: true, search_max: u32::MAX };

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// SY-06: no dependency is missing, and none is there that the bytes do not ask for.
    #[test]
    fn edges_are_those_that_the_bytes_ask_for(moves in moves()) {
        let mut program = Program::new(ALL_SEARCHED);
        moves.iter().for_each(|one| program.act(one, false));
    }

    /// A node that fails ends at once. Its order with others does not go with it. No node fails but with those that are
    /// stated to be before it.
    #[test]
    fn no_order_is_lost_with_a_node_that_fails(moves in moves()) {
        let mut program = Program::new(ALL_SEARCHED);
        moves.iter().for_each(|one| program.act(one, true));
        program.end();
    }

    /// The search for redundant dependencies may end early, or be left out, and const may be unseen (GR-02).
    #[test]
    fn no_dependency_is_missing_by_any_rule(
        moves in moves(),
        sees_const in any::<bool>(),
        search_max in 0_u32..6,
    ) {
        let mut program = Program::new(Inference { sees_const, search_max });
        moves.iter().for_each(|one| program.act(one, true));
        program.end();
    }
}

/// The last of a chain is given up first. Its order with the first goes by one that is given up later.
#[test]
fn nodes_that_are_given_up_from_the_last_on_leave_their_order() {
    let mut graph = Graph::new(Options::default()).unwrap();
    let (used, kernel) = (graph.data(8), Spec::of(Kind::Kernel));
    let writes = [Access::new(used, Mode::Write)];
    let first = graph.append_using(&kernel, &writes).unwrap();
    assert_eq!(graph.next(Runner::Device).map(|ready| ready.node), Some(first));
    let [then, last] = [(); 2].map(|()| graph.append_using(&kernel, &writes).unwrap());
    for node in [last, then] {
        assert!(graph.give_up(node, CAUSE));
        assert!(graph.ended().is_some_and(|ended| ended.node == node));
    }
    // By way of the two.
    assert_eq!(graph.would_follow(&[], &writes), Ok(vec![last]));
    let next = graph.append_using(&kernel, &writes).unwrap();
    assert!(graph.next(Runner::Device).is_none(), "the first is not launched");
    let at = graph.launched(first).unwrap().at.unwrap();
    let ready = graph.next(Runner::Device).map(|ready| (ready.node, ready.joins.to_vec()));
    assert_eq!(ready, Some((next, vec![at])), "on the device");
    graph.launched(next).unwrap();
    graph.complete(at.lane, at.value).unwrap();
    assert!(graph.ended().is_some_and(|ended| ended.node == first) && graph.ended().is_none());
    assert_eq!(graph.statistics().nodes, 1, "those that were left out have gone with the first");
}

#[test]
fn the_nodes_behind_a_node_are_named_in_the_order_of_their_edges() {
    let mut graph = Graph::new(Options::default()).unwrap();
    let kernel = Spec::of(Kind::Kernel);
    let first = graph.append(&kernel).unwrap();
    let then = [(); 2].map(|()| graph.append(&Spec { after: &[first], ..kernel }).unwrap());
    let last = graph.append(&Spec { after: &then, ..kernel }).unwrap();
    let behind = |node| {
        let mut behind = Vec::new();
        graph.successors(node, |next| behind.push(next));
        behind
    };
    assert_eq!([first, then[0], last].map(behind), [then.to_vec(), vec![last], vec![]]);
}

#[test]
fn the_nodes_that_a_use_would_come_after_are_those_that_have_not_ended() {
    let mut graph = Graph::new(Options::default()).unwrap();
    let kernel = Spec::of(Kind::Kernel);
    let (used, other) = (graph.data(8), graph.data(8));
    let writer = graph.append_using(&kernel, &[Access::new(used, Mode::Write)]).unwrap();
    let beside = graph.append_using(&kernel, &[Access::new(other, Mode::Write)]).unwrap();
    let reads = [Access::new(used, Mode::Read)];
    assert_eq!(graph.would_follow(&[beside], &reads), Ok(vec![beside, writer]));
    assert_eq!(graph.next(Runner::Device).map(|ready| ready.node), Some(writer));
    let at = graph.launched(writer).unwrap().at.unwrap();
    graph.complete(at.lane, at.value).unwrap();
    assert_eq!(graph.would_follow(&[beside], &reads), Ok(vec![beside]));
    let _ = graph.forget(used);
    assert!(graph.would_follow(&[], &reads).is_err());
}
