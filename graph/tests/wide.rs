//! Random programs of all that a graph has, against an oracle that knows every byte, edge and failure; and volleys
//! against single nodes.

use std::collections::{BTreeSet, VecDeque};
use std::num::NonZeroU32;
use std::panic::{AssertUnwindSafe, catch_unwind};

use overtake_graph::{
    Access, Besides, Cause, DataId, Direction, Ended, Graph, Inference, Kind, Mark, Mode, NodeId, Options, Order, Point,
    Priorities, Priority, Refused, Replay, Runner, Spec, Stage, Statistics, Template,
};

const MODES: [Mode; 6] = [Mode::Read, Mode::Write, Mode::ReadWrite, Mode::Discard, Mode::Reduce, Mode::Relaxed];

struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) as u32
    }
    fn below(&mut self, most: u32) -> u32 {
        self.next() % most
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dep {
    Stated(Option<Mark>),
    Stream,
    Data,
}

#[derive(Clone, Copy, Debug)]
struct Before {
    node: usize,
    dep: Dep,
    /// It had not ended, so it is an order.
    is_order: bool,
    /// It had been left out then.
    was_left: bool,
}

#[derive(Clone, Debug)]
struct Node {
    id: NodeId,
    kind: Kind,
    own: Priority,
    rank: u32,
    turns: u32,
    fails: bool,
    held: u32,
    is_absent: bool,
    is_reserved: bool,
    uses: Vec<(usize, Mode)>,
    before: Vec<Before>,
    launches: u32,
    is_launched: bool,
    is_done: bool,
    has_failed: bool,
    lane: Option<u8>,
    is_exempt: bool,
    told: Priority,
    ended: Option<Ended>,
}

struct Item {
    node: usize,
    joins: Vec<Point>,
    value: Option<u64>,
}

#[derive(Clone, Debug)]
enum Op {
    Append { kind: u32, bits: u32, after: Vec<u32>, launches: Vec<u32>, stream: Vec<u32>, uses: Vec<(u32, u32, u32, u32)> },
    Running { kind: u32, bits: u32, after: Vec<u32> },
    Named(u32),
    Fill { which: u32, kind: u32, bits: u32, after: Vec<u32>, launches: Vec<u32>, stream: Vec<u32> },
    Before(u32, u32, u32),
    Hold(u32),
    Release(u32),
    Priority(u32, u32),
    Rank(u32, u32),
    GiveUp(u32),
    Break(u32),
    Replay { bits: u32, more: u32, after: Vec<u32>, held: bool },
    Device { most: u32, launched: u32, inside: Vec<Op> },
    Host,
    Execute(u32),
    Report(u32),
    Collect,
    Lose,
    Reserve,
    Describe { which: u32, kind: u32, bits: u32, after: Vec<u32> },
    Group(bool),
    Sync,
    Early(u32),
}

fn kind_of(number: u32) -> Kind {
    match number % 10 {
        0 => Kind::Empty,
        1 => Kind::Host,
        2 => Kind::Light,
        3 => Kind::Copy(Direction::HostToDevice),
        4 => Kind::Copy(Direction::DeviceToHost),
        _ => Kind::Kernel,
    }
}

fn picks(random: &mut Random, most: u32) -> Vec<u32> {
    (0..random.below(most + 1)).map(|_| random.next()).collect()
}

fn op(random: &mut Random, depth: u32, flavour: &Flavour) -> Op {
    if random.below(14) == 0 {
        return match random.below(8) {
            0..=2 => Op::Reserve,
            3..=5 => Op::Describe { which: random.next(), kind: random.next(), bits: random.next(), after: picks(random, 1) },
            6 if flavour.groups => Op::Group(random.below(3) == 0),
            7 if flavour.groups => Op::Sync,
            6 | 7 if flavour.early && depth == 0 => Op::Early(random.next()),
            _ => Op::Collect,
        };
    }
    match random.below(64) {
        0..=17 => Op::Append {
            kind: if random.below(2) == 0 { 9 } else { random.next() },
            bits: random.next(),
            after: if random.below(3) == 0 { picks(random, 2) } else { vec![] },
            launches: if random.below(10) == 0 { picks(random, 2) } else { vec![] },
            stream: if random.below(6) == 0 { picks(random, 2) } else { vec![] },
            uses: match flavour.uses_data {
                true => (0..random.below(4)).map(|_| (random.next(), random.next(), random.next(), random.next())).collect(),
                false => vec![],
            },
        },
        18..=20 => Op::Running { kind: random.next(), bits: random.next(), after: picks(random, 1) },
        21 => Op::Named(random.next()),
        22 | 23 => Op::Fill {
            which: random.next(),
            kind: random.next(),
            bits: random.next(),
            after: picks(random, 2),
            launches: if random.below(4) == 0 { picks(random, 1) } else { vec![] },
            stream: if random.below(4) == 0 { picks(random, 1) } else { vec![] },
        },
        24 | 25 => Op::Before(random.next(), random.next(), random.next()),
        26 => Op::Hold(random.next()),
        27..=29 => Op::Release(random.next()),
        30 => Op::Priority(random.next(), random.next()),
        31 => Op::Rank(random.next(), random.next()),
        32..=35 => Op::GiveUp(random.next()),
        36 => Op::Break(random.next()),
        37 => Op::Replay { bits: random.next(), more: random.next(), after: picks(random, 1), held: random.below(4) == 0 },
        38..=46 if depth == 0 => Op::Device {
            most: random.below(8),
            launched: random.below(8),
            inside: if flavour.interferes && random.below(3) == 0 {
                (0..1 + random.below(3)).map(|_| op(random, 1, flavour)).collect()
            } else {
                vec![]
            },
        },
        47..=49 => Op::Host,
        50..=54 if depth == 0 => Op::Execute(random.next()),
        55..=58 => Op::Report(random.next()),
        59 if flavour.loses && random.below(8) == 0 => Op::Lose,
        _ => Op::Collect,
    }
}

#[derive(Clone, Debug)]
struct Flavour {
    options: Options,
    uses_data: bool,
    interferes: bool,
    loses: bool,
    groups: bool,
    early: bool,
}

fn flavour(random: &mut Random) -> Flavour {
    let order = match random.below(8) {
        0 => Order::Ranked,
        1 => Order::PhysX,
        _ => Order::Default,
    };
    let lane_max = if random.below(4) == 0 { 1 + random.below(3) } else { 0 };
    let devices = 1 + u8::from(random.below(5) == 0);
    let options = Options {
        order,
        priorities: Priorities::new(if random.below(2) == 0 { 2 } else { 4 }).unwrap(),
        devices,
        groups: 1 + random.below(2) as u8,
        lanes: 1 + random.below(3) as u8,
        lane_max,
        nodes_max: if random.below(4) == 0 { 8 + random.below(8) } else { 1 << 12 },
        edges_max: if random.below(4) == 0 { 12 + random.below(12) } else { 1 << 14 },
        phase_max: 1 + random.below(5),
        share: if random.below(2) == 0 { u32::MAX } else { 2 + random.below(3) },
        inference: Inference {
            sees_const: true,
            search_max: [0, 1, 3, 64, u32::MAX][random.below(5) as usize],
        },
        passes_failure: random.below(3) == 0,
    };
    let is_physx = order == Order::PhysX;
    let options = if is_physx { Options { devices: 1, lane_max: 0, ..options } } else { options };
    Flavour {
        options,
        groups: random.below(4) == 0,
        early: random.below(3) == 0,
        uses_data: random.below(4) != 0 && !is_physx,
        interferes: random.below(3) == 0,
        loses: random.below(6) == 0,
    }
}

#[derive(Debug, PartialEq)]
struct Seen {
    stage: Stage,
    point: Option<Point>,
    priority: Option<Priority>,
    lane: Option<u8>,
    launches: u32,
    ended: Option<Ended>,
}

struct Launch {
    node: usize,
    turn: u32,
    priority: Priority,
    place: Option<(u8, Vec<Point>)>,
}

struct Program {
    graph: Graph,
    options: Options,
    objects: Vec<DataId>,
    nodes: Vec<Node>,
    lanes: Vec<VecDeque<Item>>,
    done: Vec<u64>,
    is_lost: bool,
    groups: u32,
    /// Joins of lanes that have been reported early.
    rest: Vec<Vec<Point>>,
    has_broken: bool,
    /// The launches that have been made and not been reported.
    in_hand: usize,
    names: u32,
}

fn cause(node: usize) -> Cause {
    Cause(NonZeroU32::new(node as u32 + 1).unwrap())
}

impl Program {
    fn new(flavour: &Flavour) -> Program {
        let options = flavour.options;
        let mut graph = Graph::new(options).unwrap();
        let objects = vec![graph.data(4), graph.data(4), graph.data(4)];
        let lanes = usize::from(options.devices) * usize::from(options.groups) * usize::from(options.lanes);
        Program {
            graph,
            options,
            objects,
            nodes: vec![],
            lanes: (0..lanes).map(|_| VecDeque::new()).collect(),
            done: vec![0; lanes],
            is_lost: options.order == Order::PhysX,
            groups: 0,
            rest: vec![vec![]; lanes],
            has_broken: false,
            in_hand: 0,
            names: 0,
        }
    }

    fn priority(&self, bits: u32) -> Priority {
        Priority::new((bits % u32::from(self.options.priorities.count())) as u8 + 1).unwrap()
    }

    /// Newer nodes more often.
    fn pick(&self, number: u32) -> Option<usize> {
        let count = self.nodes.len() as u32;
        if count == 0 {
            return None;
        }
        let back = if number % 4 != 0 { (number / 4) % count.min(6) } else { (number / 4) % count };
        Some((count - 1 - back) as usize)
    }

    fn is_in_order(&self, node: usize) -> bool {
        let node = &self.nodes[node];
        self.graph.stage(node.id) != Stage::Ended || (node.ended.is_none_or(|_| true) && self.graph.is_left_out(node.id))
    }

    fn deps(&self, all: &[usize], dep: Dep) -> Vec<Before> {
        let to = |node: &usize| {
            let is_order = self.graph.stage(self.nodes[*node].id) != Stage::Ended;
            Before { node: *node, dep, is_order, was_left: !is_order && self.graph.is_left_out(self.nodes[*node].id) }
        };
        let is_known = |node: &&usize| self.nodes[**node].ended.is_none();
        all.iter().filter(is_known).map(to).filter(|it| it.dep != Dep::Stream || it.is_order).collect()
    }

    fn data_deps(&self, uses: &[(usize, Mode)]) -> Vec<Before> {
        let conflicts = |node: &Node| {
            node.uses.iter().any(|one| uses.iter().any(|other| one.0 == other.0 && one.1.conflicts(other.1)))
        };
        let is_told = |node: usize| self.nodes[node].ended.is_some();
        let found = (0..self.nodes.len())
            .filter(|node| conflicts(&self.nodes[*node]) && (self.is_in_order(*node) || !is_told(*node)));
        found
            .map(|node| Before {
                node,
                dep: Dep::Data,
                is_order: self.is_in_order(node),
                was_left: self.graph.is_left_out(self.nodes[node].id),
            })
            .collect()
    }

    fn wish(&self, kind: u32, bits: u32) -> (Kind, u8, Priority, u32, bool, u32, bool) {
        let kind = kind_of(kind);
        let turns = if kind.is_device() && bits & 7 == 0 { 2 + (bits >> 3 & 1) } else { 1 };
        let fails = bits >> 4 & 15 == 15 && kind != Kind::Empty;
        let held = u32::from(bits >> 8 & 3 == 3);
        let priority = if bits >> 10 & 3 == 0 { self.priority(bits >> 12) } else { Priority::LOWEST };
        let device = (bits >> 16) as u8 % self.options.devices;
        let convoy = matches!(kind, Kind::Copy(_)) && bits >> 24 & 3 == 0;
        (kind, device, priority, held, fails, turns, convoy)
    }

    fn add(&mut self, id: NodeId, kind: Kind, own: Priority, held: u32, fails: bool, turns: u32) -> &mut Node {
        assert!(self.nodes.iter().all(|node| node.id != id), "an id is given once");
        self.nodes.push(Node {
            id,
            kind,
            own,
            rank: 0,
            turns,
            fails,
            held,
            is_absent: false,
            is_reserved: false,
            uses: vec![],
            before: vec![],
            launches: 0,
            is_launched: kind == Kind::Empty,
            is_done: kind == Kind::Empty,
            has_failed: false,
            lane: None,
            is_exempt: false,
            told: own,
            ended: None,
        });
        self.nodes.last_mut().unwrap()
    }

    fn ids(&self, all: &[usize]) -> Vec<NodeId> {
        all.iter().map(|node| self.nodes[*node].id).collect()
    }

    fn chosen(&self, picks: &[u32]) -> Vec<usize> {
        picks.iter().filter_map(|pick| self.pick(*pick)).collect()
    }

    fn append(&mut self, kind: u32, bits: u32, lists: [&[u32]; 3], uses: &[(u32, u32, u32, u32)]) {
        let (kind, device, priority, held, fails, turns, in_convoy) = self.wish(kind, bits);
        let [after, launches, stream] = lists.map(|list| self.chosen(list));
        let mut accesses = vec![];
        let mut bytes = vec![];
        for (object, from, to, mode) in uses {
            let object = (*object % self.objects.len() as u32) as usize;
            let mode = MODES[*mode as usize % 6];
            let (from, to) = (from % 5, to % 5);
            let range = match (from + to) % 2 {
                0 => None,
                _ => Some(u64::from(from.min(to))..u64::from(from.max(to))),
            };
            let whole = range.clone().unwrap_or(0..4);
            bytes.extend(whole.map(|byte| (object * 4 + byte as usize, mode)));
            accesses.push(Access { data: self.objects[object], range, mode });
        }
        let mut before = self.deps(&after, Dep::Stated(None));
        before.extend(self.deps(&launches, Dep::Stated(Some(Mark::Launched))));
        // KNOWN: an edge that was asked for at a launch hides one of a stream.
        let hidden: Vec<usize> = before.iter().map(|it| it.node).collect();
        before.extend(self.deps(&stream, Dep::Stream).into_iter().filter(|it| !hidden.contains(&it.node)));
        before.extend(self.data_deps(&bytes));
        let [after, launches, stream] = [after, launches, stream].map(|all| self.ids(&all));
        let spec = Spec { kind, priority, name: "", after: &after, references: held, device, in_convoy };
        let told = if launches.is_empty() && stream.is_empty() {
            if accesses.is_empty() { self.graph.append(&spec) } else { self.graph.append_using(&spec, &accesses) }
        } else {
            self.graph.append_besides(&spec, &accesses, &Besides { launches: &launches, in_order: &stream })
        };
        match told {
            Err(Refused::WouldBlock | Refused::Edges { .. }) => {}
            Err(Refused::Finished { .. }) if self.options.order == Order::PhysX => {}
            told => {
                let node = self.add(told.unwrap(), kind, priority, held, fails, turns);
                (node.uses, node.before) = (bytes, before);
            }
        }
    }

    fn running(&mut self, kind: u32, bits: u32, after: &[u32]) {
        let (kind, device, priority, _, _, _, _) = self.wish(kind, bits);
        let after = self.chosen(after);
        let before = self.deps(&after, Dep::Stated(None));
        let ids = self.ids(&after);
        let spec = Spec { kind, priority, name: "", after: &ids, references: 0, device, in_convoy: false };
        if self.in_hand > 0 {
            return;
        }
        if let Some((id, lane)) = self.graph.append_running(&spec) {
            let node = self.add(id, kind, priority, 0, false, 1);
            node.before = before;
            let number = self.nodes.len() - 1;
            self.begin(Launch { node: number, turn: 0, priority, place: Some((lane, vec![])) });
        }
    }

    fn named(&mut self, which: u32) {
        let name = format!("n{}", which % 3);
        match self.graph.named(&name) {
            Err(Refused::WouldBlock) => {}
            told => {
                let id = told.unwrap();
                if !self.nodes.iter().any(|node| node.id == id) {
                    let node = self.add(id, Kind::Empty, Priority::LOWEST, 1, false, 1);
                    node.is_absent = true;
                    self.names += 1;
                }
            }
        }
    }

    fn fill(&mut self, which: u32, kind: u32, bits: u32, lists: [&[u32]; 3]) {
        let absent: Vec<usize> = (0..self.nodes.len())
            .filter(|node| self.nodes[*node].is_absent && !self.nodes[*node].is_reserved)
            .collect();
        if absent.is_empty() {
            return;
        }
        let number = absent[which as usize % absent.len()];
        let (kind, device, priority, held, fails, turns, _) = self.wish(kind, bits);
        let [after, launches, stream] = lists.map(|list| self.chosen(list));
        let mut before = self.deps(&after, Dep::Stated(None));
        before.extend(self.deps(&launches, Dep::Stated(Some(Mark::Launched))));
        // KNOWN: an edge that was asked for at a launch hides one of a stream.
        let hidden: Vec<usize> = before.iter().chain(&self.nodes[number].before).map(|it| it.node).collect();
        before.extend(self.deps(&stream, Dep::Stream).into_iter().filter(|it| !hidden.contains(&it.node)));
        let [after, launches, stream] = [after, launches, stream].map(|all| self.ids(&all));
        let spec = Spec { kind, priority, name: "", after: &after, references: held, device, in_convoy: false };
        let id = self.nodes[number].id;
        let told = self.graph.fill_besides(id, &spec, &Besides { launches: &launches, in_order: &stream });
        match told {
            Err(Refused::WouldBlock | Refused::Edges { .. } | Refused::Cycle { .. } | Refused::Finished { .. }) => {}
            Err(Refused::NameTaken { .. }) => {
                assert_ne!(self.graph.stage(id), Stage::Waiting);
            }
            told => {
                told.unwrap();
                let node = &mut self.nodes[number];
                (node.kind, node.own, node.held, node.fails, node.turns) = (kind, priority, node.held + held, fails, turns);
                (node.is_launched, node.is_done, node.is_absent) = (kind == Kind::Empty, kind == Kind::Empty, false);
                node.before.extend(before);
                // The reference that it has had.
                if bits >> 20 & 1 == 0 {
                    self.release(number);
                }
            }
        }
    }

    fn reserve(&mut self) {
        if let Some(id) = self.graph.reserve() {
            let node = self.add(id, Kind::Empty, Priority::LOWEST, 0, false, 1);
            (node.is_absent, node.is_reserved) = (true, true);
            (node.is_launched, node.is_done) = (false, false);
        }
    }

    fn describe(&mut self, which: u32, kind: u32, bits: u32, after: &[u32]) {
        let reserved: Vec<usize> = (0..self.nodes.len()).filter(|node| self.nodes[*node].is_reserved).collect();
        if reserved.is_empty() {
            return;
        }
        let number = reserved[which as usize % reserved.len()];
        let (kind, device, priority, _, fails, turns, _) = self.wish(kind, bits);
        if !kind.is_device() {
            return;
        }
        let mut after = self.chosen(after);
        after.retain(|it| *it != number && !self.closure(*it).contains(&number));
        let before = self.deps(&after, Dep::Stated(None));
        let ids = self.ids(&after);
        let spec = Spec { kind, priority, name: "", after: &ids, references: 0, device, in_convoy: false };
        let told = (bits >> 21 & 7 == 0).then(|| cause(number));
        let node = &mut self.nodes[number];
        (node.kind, node.own, node.fails, node.turns) = (kind, priority, fails, turns);
        (node.is_absent, node.is_reserved) = (false, false);
        node.before.extend(before);
        node.has_failed |= told.is_some();
        let id = node.id;
        self.graph.append_reserved(id, &spec, told);
    }

    fn release(&mut self, node: usize) {
        let is_held = self.nodes[node].held > 0;
        if is_held {
            self.nodes[node].held -= 1;
        }
        assert_eq!(self.graph.release(self.nodes[node].id).is_ok(), is_held, "{node} is held");
    }

    fn give_up(&mut self, node: usize) {
        let id = self.nodes[node].id;
        let has_not_started = match self.graph.stage(id) {
            Stage::Waiting => !self.nodes[node].is_absent,
            Stage::Ready => {
                let is_physx = self.options.order == Order::PhysX;
                self.nodes[node].launches == 0 && !(is_physx && self.nodes[node].kind.is_device())
            }
            _ => false,
        };
        assert_eq!(self.graph.give_up(id, cause(node)), has_not_started);
        if has_not_started {
            let node = &mut self.nodes[node];
            (node.has_failed, node.held) = (true, 0);
        }
    }

    fn break_down(&mut self, node: usize) {
        let has_ended_well = |it: &Node| it.ended.is_some_and(|ended| ended.outcome.is_ok());
        let is_over = |it: &usize| {
            let ended = self.graph.stage(self.nodes[*it].id) == Stage::Ended;
            has_ended_well(&self.nodes[*it]) || ended
        };
        if (0..self.nodes.len()).filter(is_over).any(|it| self.closure(it).contains(&node)) {
            return;
        }
        let is_launched = self.graph.point(self.nodes[node].id).is_some();
        if !is_launched {
            return;
        }
        self.graph.failed(self.nodes[node].id, cause(node)).unwrap();
        self.nodes[node].has_failed = true;
        self.has_broken = true;
    }

    fn replay(&mut self, bits: u32, more: u32, after: &[u32], held: bool) {
        let mut template = Template::new();
        let mut inner = vec![];
        let device = (bits >> 30) as u8 % self.options.devices;
        for number in 0..1 + more % 5 {
            let bits = bits.rotate_left(5 * number) ^ more.rotate_right(3 * number);
            let (kind, _, priority, _, fails, turns, _) = self.wish(bits >> 7, bits);
            let mut before: Vec<usize> = [bits >> 3, bits >> 6].iter().map(|it| (it % (number + 1)) as usize).collect();
            before.retain(|it| *it < number as usize);
            before.dedup();
            template.add(kind, priority, "", &before).unwrap();
            inner.push((kind, priority, fails, turns, before));
        }
        let after = self.chosen(after);
        let outer = self.deps(&after, Dep::Stated(None));
        let (ids, mut nodes) = (self.ids(&after), vec![]);
        let priority = self.priority(more >> 8);
        let held = u32::from(held);
        match self.graph.replay(&template, &Replay { priority, after: &ids, references: held, device }, &mut nodes) {
            Err(Refused::WouldBlock) => {}
            Err(Refused::Finished { .. }) if self.options.order == Order::PhysX => {}
            told => {
                told.unwrap();
                let first = self.nodes.len();
                for ((kind, own, fails, turns, before), id) in inner.into_iter().zip(nodes) {
                    let held = if before.is_empty() { held } else { 0 };
                    let node = self.add(id, kind, own.max(priority), held, fails, turns);
                    node.before = match before.is_empty() {
                        true => outer.clone(),
                        false => before
                            .iter()
                            .map(|it| Before { node: first + it, dep: Dep::Stated(None), is_order: true, was_left: false })
                            .collect(),
                    };
                }
            }
        }
    }

    fn order(&mut self, first: usize, then: usize, mark: Option<Mark>) {
        let (one, other) = (self.nodes[first].id, self.nodes[then].id);
        let stage = self.graph.stage(other);
        let told = match mark {
            None => self.graph.before(one, other),
            Some(mark) => self.graph.before_at(one, other, mark),
        };
        match told {
            Ok(()) => {
                assert_eq!(stage, Stage::Waiting);
                let before = Before { node: first, dep: Dep::Stated(mark), is_order: true, was_left: false };
                self.nodes[then].before.push(before);
            }
            Err(Refused::Cycle { .. } | Refused::Finished { .. } | Refused::Started { .. } | Refused::WouldBlock) => {}
            told => panic!("{told:?}"),
        }
    }

    /// All that come before, also through others.
    fn closure(&self, node: usize) -> BTreeSet<usize> {
        let (mut found, mut open) = (BTreeSet::new(), vec![node]);
        while let Some(node) = open.pop() {
            for before in self.nodes[node].before.iter().filter(|it| it.is_order) {
                let first = &self.nodes[before.node];
                let is_left = first.kind.is_host() && first.has_failed;
                let is_skipped = before.dep == Dep::Stream && (is_left || self.never_runs(first));
                if !is_skipped && found.insert(before.node) {
                    open.push(before.node);
                }
            }
        }
        found
    }

    fn never_runs(&self, node: &Node) -> bool {
        node.launches == 0 && self.graph.stage(node.id) == Stage::Ended && !(node.kind == Kind::Empty && !self.has_err(node))
    }

    fn has_err(&self, node: &Node) -> bool {
        node.has_failed || node.ended.is_none_or(|ended| ended.outcome.is_err())
    }

    fn is_over(&self, node: usize) -> bool {
        let node = &self.nodes[node];
        node.is_done || (node.launches == 0 && self.graph.stage(node.id) == Stage::Ended)
    }

    /// Work of the node is done now, on the device or by the host.
    fn check_begins(&self, node: usize) {
        let it = &self.nodes[node];
        if self.is_lost || it.is_exempt {
            return;
        }
        for before in &it.before {
            if before.dep == Dep::Data {
                let conflicts = self.is_over(before.node);
                assert!(conflicts, "{node} begins before {}, whose bytes it uses", before.node);
            }
        }
        if it.kind.is_device() {
            for first in self.closure(node) {
                assert!(self.is_over(first), "{node} begins before {first} is done");
            }
            return;
        }
        for before in it.before.iter().filter(|it| it.is_order) {
            let first = &self.nodes[before.node];
            if before.dep == Dep::Stream && self.never_runs(first) {
                continue;
            }
            let is_left = first.launches == 0 && self.graph.stage(first.id) == Stage::Ended;
            let needs_results = !first.kind.is_host() || is_left;
            let asked = if let Dep::Stated(asked) = before.dep { asked } else { None };
            match asked.unwrap_or(if needs_results { Mark::Complete } else { Mark::Launched }) {
                Mark::Launched => assert!(first.is_launched || is_left, "{node} before {} is launched", before.node),
                Mark::Complete => {
                    assert!(self.is_over(before.node), "{node} before {} is complete", before.node);
                    for first in self.closure(before.node) {
                        assert!(self.is_over(first), "{node} before {first} is complete");
                    }
                }
            }
        }
    }

    fn number(&self, id: NodeId) -> usize {
        self.nodes.iter().position(|node| node.id == id && node.ended.is_none()).expect("a node that has not ended")
    }

    fn check_handed_out(&self, launch: &Launch) {
        let node = &self.nodes[launch.node];
        assert_eq!((node.held, node.launches, node.is_launched), (0, launch.turn, false), "{}", launch.node);
        if self.is_lost {
            return;
        }
        assert_eq!(self.graph.priority(node.id), Some(launch.priority));
        if node.kind.is_device() {
            for before in node.before.iter().filter(|it| it.is_order) {
                let first = &self.nodes[before.node];
                let is_through = first.launches == 0 && self.graph.stage(first.id) == Stage::Ended;
                let is_running = first.launches > 0;
                assert!(is_through || is_running || first.kind == Kind::Empty, "{} is not launched", before.node);
            }
        }
    }

    /// The work of a launch is made.
    fn make(&mut self, launch: &Launch) {
        self.check_handed_out(launch);
        let kind = self.nodes[launch.node].kind;
        if !kind.is_device() {
            self.check_begins(launch.node);
        }
        let node = &mut self.nodes[launch.node];
        (node.launches, node.told) = (node.launches + 1, launch.priority);
        if let Some((lane, joins)) = &launch.place {
            node.lane = Some(*lane);
            let of_a_device = self.options.groups * self.options.lanes;
            assert!(lane / of_a_device < self.options.devices);
            self.lanes[usize::from(*lane)].push_back(Item { node: launch.node, joins: joins.clone(), value: None });
            if self.options.lane_max > 0 {
                let lane = Some(*lane);
                let is_there = |it: &&Node| it.lane == lane && self.graph.stage(it.id) != Stage::Ended && it.launches > 0;
                let count = self.nodes.iter().filter(is_there).count();
                assert!(count <= self.options.lane_max as usize, "{} is one too many", launch.node);
            }
        }
    }

    /// It is reported.
    fn report_launch(&mut self, launch: &Launch) {
        let node = &mut self.nodes[launch.node];
        let (id, kind) = (node.id, node.kind);
        let at = if node.fails && launch.turn + 1 == node.turns {
            node.has_failed = true;
            self.graph.failed(id, cause(launch.node)).unwrap()
        } else if kind.is_device() && launch.turn + 1 < node.turns {
            return self.graph.again(id).unwrap();
        } else {
            self.graph.launched_followed(id).or_else(|| self.graph.launched(id).unwrap().at)
        };
        self.set_launched(launch, at);
    }

    fn set_launched(&mut self, launch: &Launch, at: Option<Point>) {
        let node = &mut self.nodes[launch.node];
        node.is_launched = true;
        node.is_done |= !node.kind.is_device();
        if let (Some(at), Some((lane, _))) = (at, &launch.place) {
            assert_eq!(at.lane, *lane);
            let item = self.lanes[usize::from(at.lane)].iter_mut().rfind(|item| item.node == launch.node).unwrap();
            item.value = Some(at.value);
        }
    }

    fn begin(&mut self, launch: Launch) {
        self.make(&launch);
        self.report_launch(&launch);
    }

    fn next(&mut self, runner: Runner) -> Option<Launch> {
        let ready = self.graph.next(runner)?;
        let (id, turn, priority, kind) = (ready.node, ready.turn, ready.priority, ready.kind);
        let place = ready.place.map(|place| (place.lane, ready.joins.to_vec()));
        let node = self.number(id);
        assert_eq!(kind, self.nodes[node].kind);
        Some(Launch { node, turn, priority, place })
    }

    fn step(&mut self, runner: Runner) -> Option<(usize, u32)> {
        let launch = self.next(runner)?;
        let told = (launch.node, launch.turn);
        self.begin(launch);
        Some(told)
    }

    /// As in the dispatcher: some are handed out, some of these made; `inside` happens meanwhile.
    fn volley(&mut self, most: usize, launched: usize, inside: &[Op]) -> Vec<(usize, u32)> {
        let Some(first) = self.next(Runner::Device) else { return vec![] };
        let (priority, (lane, joins)) = (first.priority, first.place.clone().unwrap());
        let mut last = self.nodes[first.node].id;
        let may_follow = joins.is_empty() && most > 0;
        let mut launches = vec![first];
        let mut behind = vec![];
        if may_follow {
            self.graph.next_behind(last, |it| {
                behind.push((it.node, it.turn));
                behind.len() < most
            });
        }
        let is_chain = !behind.is_empty();
        for (id, turn) in behind {
            launches.push(Launch { node: self.number(id), turn, priority, place: Some((lane, vec![])) });
        }
        if may_follow && !is_chain {
            while launches.len() <= most {
                let Some(ready) = self.graph.next_beside(last) else { break };
                assert_eq!((ready.priority, ready.joins.len()), (priority, 0));
                let (id, turn, lane) = (ready.node, ready.turn, ready.place.unwrap().lane);
                launches.push(Launch { node: self.number(id), turn, priority, place: Some((lane, vec![])) });
                last = id;
            }
            let mut from = 0;
            while from < launches.len() && launches.len() <= most {
                let round: Vec<_> = launches[from..].iter().map(|it| self.nodes[it.node].id).collect();
                from = launches.len();
                let (mut behind, room) = (vec![], most + 1 - from);
                self.graph.next_abreast(round.into_iter(), |it| {
                    behind.push((it.node, it.turn, it.lane));
                    behind.len() < room
                });
                for (id, turn, lane) in behind {
                    launches.push(Launch { node: self.number(id), turn, priority, place: Some((lane, vec![])) });
                }
            }
        }
        let is_last = |it: &Launch| {
            let node = &self.nodes[it.node];
            it.turn + 1 < node.turns || node.fails
        };
        let count = launches.iter().position(is_last).unwrap_or(launches.len()).min(launched) + 1;
        let count = count.min(launches.len());
        for launch in &launches[..count] {
            self.make(launch);
        }
        self.in_hand = launches.len();
        for launch in &launches {
            self.nodes[launch.node].told = launch.priority;
        }
        for op in inside {
            self.act(op);
            self.tell_inherited();
        }
        self.in_hand = 0;
        for taken in launches.drain(count..).rev() {
            let id = self.nodes[taken.node].id;
            assert_eq!(self.graph.stage(id), Stage::Running);
            self.graph.take_back(id).unwrap();
        }
        let made: Vec<_> = launches.iter().map(|it| (it.node, it.turn)).collect();
        let last = launches.pop().unwrap();
        if is_chain && !launches.is_empty() && inside.is_empty() {
            let at = self.graph.launched_behind(self.nodes[launches[0].node].id, launches.len() as u32);
            for (it, value) in launches.iter().zip(at.value..) {
                let point = Point { lane: at.lane, value };
                assert_eq!(self.graph.point(self.nodes[it.node].id), Some(point));
                self.set_launched(it, Some(point));
            }
        } else {
            launches.iter().for_each(|it| self.report_launch(it));
        }
        self.report_launch(&last);
        made
    }

    fn execute(&mut self, lane: usize) -> bool {
        let is_free = |item: &Item| {
            item.joins.iter().chain(&self.rest[lane]).all(|at| self.done[usize::from(at.lane)] >= at.value)
        };
        if !self.lanes[lane].front().is_some_and(is_free) {
            return false;
        }
        let item = self.lanes[lane].pop_front().unwrap();
        if item.node == usize::MAX {
            self.done[lane] = self.done[lane].max(item.value.unwrap());
            return true;
        }
        self.check_begins(item.node);
        if let Some(value) = item.value {
            self.nodes[item.node].is_done = true;
            self.done[lane] = self.done[lane].max(value);
        }
        true
    }

    /// The lane fails, and is reported before those that it has joined.
    fn early(&mut self, lane: usize) {
        let is_whole = self.lanes[lane].iter().all(|item| item.value.is_some() && item.node != usize::MAX);
        if self.is_lost || self.in_hand > 0 || !is_whole {
            return;
        }
        let items: Vec<Item> = self.lanes[lane].drain(..).collect();
        for item in &items {
            self.graph.failed(self.nodes[item.node].id, cause(item.node)).unwrap();
            let node = &mut self.nodes[item.node];
            (node.has_failed, node.is_done) = (true, true);
            self.rest[lane].extend(item.joins.iter().copied());
            self.done[lane] = item.value.unwrap();
            self.has_broken = true;
        }
        if !items.is_empty() {
            for node in &mut self.nodes {
                node.is_exempt |= node.launches > 0;
            }
        }
        self.report(lane);
    }

    fn report(&mut self, lane: usize) {
        self.graph.complete(lane as u8, self.done[lane]).unwrap();
    }

    fn tell_inherited(&mut self) {
        let nodes = &mut self.nodes;
        self.graph.inherited(|id, priority| {
            let node = nodes.iter_mut().find(|node| node.id == id && node.ended.is_none()).expect("it is there");
            assert!(node.told != priority, "{priority} is no news");
            node.told = priority;
        });
    }

    fn collect(&mut self) {
        while let Some(ended) = self.graph.ended() {
            let number = self.number(ended.node);
            let node = &mut self.nodes[number];
            assert_eq!((node.held, ended.turns), (0, node.launches), "{number}");
            node.ended = Some(ended);
            node.is_absent = false;
        }
    }

    fn act(&mut self, op: &Op) {
        let pick = |program: &Program, number: u32| program.pick(number);
        match op {
            Op::Append { kind, bits, after, launches, stream, uses } => {
                self.append(*kind, *bits, [after, launches, stream], uses);
            }
            Op::Running { kind, bits, after } => self.running(*kind, *bits, after),
            Op::Named(which) => self.named(*which),
            Op::Fill { which, kind, bits, after, launches, stream } => {
                self.fill(*which, *kind, *bits, [after, launches, stream]);
            }
            Op::Before(one, other, mark) => {
                // KNOWN: nothing may come before one that is reserved and not described.
                let other = pick(self, *other).filter(|it| !self.nodes[*it].is_reserved);
                if let (Some(one), Some(other)) = (pick(self, *one), other) {
                    let mark = [None, Some(Mark::Launched), Some(Mark::Complete)][*mark as usize % 3];
                    self.order(one, other, mark);
                }
            }
            Op::Hold(node) => {
                if let Some(node) = pick(self, *node) {
                    let is_waiting = self.graph.stage(self.nodes[node].id) == Stage::Waiting;
                    assert_eq!(self.graph.hold(self.nodes[node].id).is_ok(), is_waiting);
                    self.nodes[node].held += u32::from(is_waiting);
                }
            }
            Op::Release(node) => {
                let held: Vec<usize> = (0..self.nodes.len()).filter(|it| self.nodes[*it].held > 0).collect();
                if !held.is_empty() {
                    self.release(held[*node as usize % held.len()]);
                }
            }
            Op::Priority(node, to) => {
                let to = self.priority(*to);
                if let Some(node) = pick(self, *node).filter(|node| !self.nodes[*node].is_absent) {
                    self.graph.set_priority(self.nodes[node].id, to).unwrap();
                    if self.graph.stage(self.nodes[node].id) != Stage::Ended {
                        self.nodes[node].own = to;
                    }
                }
            }
            Op::Rank(node, rank) => {
                if let Some(node) = pick(self, *node).filter(|node| self.nodes[*node].ended.is_none()) {
                    self.graph.set_rank(self.nodes[node].id, rank % 4);
                    self.nodes[node].rank = rank % 4;
                }
            }
            Op::GiveUp(node) => {
                if let Some(node) = pick(self, *node) {
                    self.give_up(node);
                }
            }
            Op::Break(node) => {
                if let Some(node) = pick(self, *node) {
                    self.break_down(node);
                }
            }
            Op::Replay { bits, more, after, held } => self.replay(*bits, *more, after, *held),
            Op::Device { most, launched, inside } => {
                self.volley(*most as usize, *launched as usize, inside);
            }
            Op::Host => {
                if self.step(Runner::Host).is_none() {
                    self.step(Runner::Light);
                }
            }
            Op::Execute(lane) => {
                let lanes = self.lanes.len();
                (0..lanes).any(|it| self.execute((*lane as usize + it) % lanes));
            }
            Op::Report(lane) => self.report(*lane as usize % self.lanes.len()),
            Op::Collect => self.collect(),
            Op::Early(lane) => self.early(*lane as usize % self.lanes.len()),
            Op::Reserve => self.reserve(),
            Op::Describe { which, kind, bits, after } => self.describe(*which, *kind, *bits, after),
            Op::Group(true) => {
                self.graph.begin_group();
                self.groups += 1;
            }
            Op::Group(false) => {
                if self.groups > 0 {
                    self.graph.end_group();
                    self.groups -= 1;
                }
            }
            Op::Sync => {
                let running = self.nodes.iter().find(|it| it.kind.is_device() && self.graph.stage(it.id) == Stage::Running);
                if let Some(id) = running.map(|it| it.id) {
                    let at = self.graph.sync_point(id).unwrap();
                    let item = Item { node: usize::MAX, joins: vec![], value: Some(at.value) };
                    self.lanes[usize::from(at.lane)].push_back(item);
                }
            }
            Op::Lose => {
                if self.in_hand == 0 || true {
                    self.graph.fail(cause(0));
                    self.lanes.iter_mut().for_each(VecDeque::clear);
                    self.is_lost = true;
                }
            }
        }
    }

    fn check(&self) {
        if self.is_lost {
            return;
        }
        let in_order: Vec<usize> = (0..self.nodes.len()).filter(|it| self.is_in_order(*it)).collect();
        let mut points: Vec<(Point, usize)> = vec![];
        for it in &in_order {
            points.extend(self.graph.point(self.nodes[*it].id).map(|point| (point, *it)));
        }
        points.sort_unstable();
        let mut of_slot: Vec<(NodeId, usize)> = in_order.iter().map(|it| (self.nodes[*it].id, *it)).collect();
        of_slot.sort_unstable();
        for &number in &in_order {
            let node = &self.nodes[number];
            let is_left = self.graph.is_left_out(node.id);
            let mut expected = if is_left { Priority::LOWEST } else { node.own };
            let mut is_exact = true;
            let mut text = format!("left {is_left}, own {}, behind:", node.own);
            self.graph.successors(node.id, |to| {
                let Ok(at) = of_slot.binary_search_by(|it| it.0.cmp(&to)) else {
                    panic!("{number} has an edge to one that is not there");
                };
                let to = of_slot[at].1;
                let priority = self.graph.priority(self.nodes[to].id).unwrap();
                let is_to_left = self.graph.is_left_out(self.nodes[to].id);
                let mut waits = !is_left || is_to_left;
                let before = expected;
                if !waits {
                    let deps: Vec<_> =
                        self.nodes[to].before.iter().filter(|it| it.node == number && it.is_order).collect();
                    let is_strong = |it: &&&Before| {
                        let is_data = it.dep == Dep::Data && self.options.passes_failure && !it.was_left;
                        is_data || matches!(it.dep, Dep::Stated(_))
                    };
                    let is_stated = deps.iter().any(|it| is_strong(&it));
                    let is_stream = |it: &&Before| it.dep == Dep::Stream;
                    let is_weak = deps.iter().any(is_stream) || deps.iter().any(|it| it.dep == Dep::Data && (!self.options.passes_failure || it.was_left));
                    waits = !is_stated && is_weak;
                    is_exact &= !(is_stated && is_weak);
                }
                if waits {
                    expected = expected.max(priority);
                }
                let _ = before;
                text.push_str(&format!(" {to}({priority}, left {is_to_left}, waits {waits})"));
            });
            if let Some(point) = self.graph.point(node.id) {
                let behind = points.iter().find(|(at, _)| at.lane == point.lane && at.value > point.value);
                if let Some((_, behind)) = behind {
                    expected = expected.max(self.graph.priority(self.nodes[*behind].id).unwrap());
                }
            }
            let priority = self.graph.priority(node.id).unwrap();
            let mut edges = 0;
            self.graph.successors(node.id, |_| edges += 1);
            self.graph.predecessors(node.id, |_| edges += 1);
            // It has ended, and has not been taken out.
            is_exact &= !is_left || edges > 0;
            assert!(priority == expected || !is_exact, "{number} has {priority}, not {expected}; {text}");
            if node.launches > 0 && node.kind.is_device() && !is_left && self.in_hand == 0 {
                assert_eq!(node.told, priority, "{number} has not been told");
            }
        }
    }

    fn trace(&self) -> (Vec<Seen>, Statistics) {
        let nodes = self.nodes.iter().map(|node| Seen {
            stage: self.graph.stage(node.id),
            point: self.graph.point(node.id),
            priority: self.graph.priority(node.id),
            lane: node.lane,
            launches: node.launches,
            ended: node.ended,
        });
        (nodes.collect(), self.graph.statistics())
    }

    fn fails(&self, number: usize, memo: &mut Vec<Option<bool>>) -> bool {
        if let Some(known) = memo[number] {
            return known;
        }
        let node = &self.nodes[number];
        let is_strong = |it: &&Before| matches!(it.dep, Dep::Stated(_));
        let told = node.has_failed || node.before.iter().filter(is_strong).any(|it| self.fails(it.node, memo));
        memo[number] = Some(told);
        told
    }

    fn finish(&mut self) {
        for _ in 0..self.groups {
            self.graph.end_group();
        }
        self.groups = 0;
        while self.nodes.iter().any(|node| node.is_reserved) {
            self.describe(0, 9, 0x20_3c01, &[]);
        }
        for node in 0..self.nodes.len() {
            while self.nodes[node].held > 0 {
                self.release(node);
            }
        }
        loop {
            (0..self.lanes.len()).for_each(|lane| self.report(lane));
            let mut has_moved = false;
            for runner in [Runner::Device, Runner::Light, Runner::Host] {
                has_moved |= self.step(runner).is_some();
            }
            for lane in 0..self.lanes.len() {
                has_moved |= self.execute(lane);
            }
            self.tell_inherited();
            self.collect();
            self.check();
            if !has_moved {
                break;
            }
        }
        for (number, node) in self.nodes.iter().enumerate() {
            assert!(node.ended.is_some(), "{number} never ended");
        }
        let left = self.graph.statistics();
        assert_eq!((left.nodes, left.edges), (0, 0));
        if self.is_lost {
            return;
        }
        let mut memo = vec![None; self.nodes.len()];
        for number in 0..self.nodes.len() {
            let (fails, ended) = (self.fails(number, &mut memo), self.nodes[number].ended.unwrap());
            let node = &self.nodes[number];
            assert!(!fails || ended.outcome.is_err(), "{number} does not fail");
            if !self.options.passes_failure {
                assert_eq!(ended.outcome.is_err(), fails, "{number}");
            }
            if let Err(told) = ended.outcome {
                let mut closure: BTreeSet<usize> = BTreeSet::from([number]);
                let mut open = vec![number];
                while let Some(it) = open.pop() {
                    for before in self.nodes[it].before.iter().filter(|it| it.dep != Dep::Stream) {
                        if closure.insert(before.node) {
                            open.push(before.node);
                        }
                    }
                }
                let is_its = closure.iter().any(|it| cause(*it) == told && self.nodes[*it].has_failed);
                assert!(is_its, "{number} fails by {told:?}");
                assert!(node.launches == 0 || self.has_broken || node.has_failed, "{number} has run");
            } else {
                assert!(node.launches == node.turns || node.kind == Kind::Empty, "{number} has not run");
            }
        }
    }
}

fn run(flavour: &Flavour, ops: &[Op]) {
    let is_compared = !flavour.interferes;
    let mut volleys = Program::new(flavour);
    let mut singles = Program::new(flavour);
    for op in ops {
        match op {
            Op::Device { most, launched, .. } if is_compared => {
                let launches = volleys.volley(*most as usize, *launched as usize, &[]);
                let same: Vec<_> =
                    (0..launches.len().max(1)).filter_map(|_| singles.step(Runner::Device)).collect();
                assert_eq!(launches, same, "the order of a volley");
            }
            op => {
                volleys.act(op);
                if is_compared {
                    singles.act(op);
                }
            }
        }
        volleys.tell_inherited();
        if std::env::var("WIDE_SHOW").is_ok() {
            println!("{op:?}");
            for (number, node) in volleys.nodes.iter().enumerate() {
                let mut behind = vec![];
                volleys.graph.successors(node.id, |to| behind.push(volleys.nodes.iter().position(|it| it.id == to)));
                println!(
                    "   {number} {:?} {:?} {:?} left {} behind {behind:?} own {} before {:?}",
                    node.kind,
                    volleys.graph.stage(node.id),
                    volleys.graph.priority(node.id).map(|it| it.get()),
                    volleys.graph.is_left_out(node.id),
                    node.own,
                    node.before.iter().map(|it| (it.node, it.dep, it.is_order)).collect::<Vec<_>>()
                );
            }
        }
        volleys.check();
        if is_compared {
            singles.tell_inherited();
            assert_eq!(volleys.trace(), singles.trace(), "volleys and single nodes");
        }
    }
    volleys.finish();
    if is_compared {
        singles.finish();
    }
}

fn message(flavour: &Flavour, ops: &[Op]) -> Option<String> {
    catch_unwind(AssertUnwindSafe(|| run(flavour, ops))).err().map(|error| {
        let text = error.downcast_ref::<String>().cloned();
        text.or_else(|| error.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
    })
}

fn shrink(flavour: &Flavour, mut ops: Vec<Op>) -> Vec<Op> {
    let mut size = ops.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at + size <= ops.len() {
            let mut fewer = ops.clone();
            fewer.drain(at..at + size);
            if message(flavour, &fewer).is_some() {
                ops = fewer;
            } else {
                at += size;
            }
        }
        size /= 2;
    }
    for at in 0..ops.len() {
        let mut simpler = vec![];
        if let Op::Append { kind, bits, after, launches, stream, uses } = &ops[at] {
            for cut in 0..uses.len() {
                let mut uses = uses.clone();
                uses.remove(cut);
                let (after, launches, stream) = (after.clone(), launches.clone(), stream.clone());
                simpler.push(Op::Append { kind: *kind, bits: *bits, after, launches, stream, uses });
            }
            let (launches, stream) = (launches.clone(), stream.clone());
            simpler.push(Op::Append { kind: *kind, bits: 0x3c01, after: after.clone(), launches, stream, uses: uses.clone() });
            simpler.push(Op::Append { kind: *kind, bits: *bits, after: vec![], launches: vec![], stream: vec![], uses: uses.clone() });
        }
        for one in simpler {
            let mut fewer = ops.clone();
            fewer[at] = one;
            if message(flavour, &fewer).is_some() {
                ops = fewer;
            }
        }
    }
    ops
}

#[test]
fn wide() {
    let get = |name: &str, or: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(or);
    let (from, cases, length) = (get("WIDE_FROM", 1), get("WIDE_CASES", 300), get("WIDE_LENGTH", 60));
    let quiet = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let mut failures: Vec<(u64, String)> = vec![];
    for seed in from..from + cases {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        (0..4).for_each(|_| _ = random.next());
        let flavour = flavour(&mut random);
        let length = 5 + random.below(length as u32);
        let ops: Vec<Op> = (0..length).map(|_| op(&mut random, 0, &flavour)).collect();
        if message(&flavour, &ops).is_some() {
            if std::env::var("WIDE_SHOW").is_ok() {
                println!("-------- shrunk:");
            }
            let ops = shrink(&flavour, ops);
            let text = message(&flavour, &ops).unwrap();
            println!("seed {seed}: {text}\n  {flavour:?}");
            ops.iter().for_each(|op| println!("    {op:?}"));
            failures.push((seed, text));
            if failures.len() >= get("WIDE_MOST", 5) as usize {
                break;
            }
        }
    }
    std::panic::set_hook(quiet);
    assert!(failures.is_empty(), "{failures:#?}");
}
