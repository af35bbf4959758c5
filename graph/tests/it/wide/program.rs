//! A random program under way: the graph, its caller, the device, and beside them all that the oracle knows.

use std::collections::{BTreeSet, VecDeque};

use overtake_graph::{DataId, Graph, Kind, NodeId, Options, Order, Point, Priority, Stage, Statistics};

use super::node::{Before, Node, Why, Wish};
use super::setting::Setting;
use crate::model::launches::Seen;
use crate::model::numbers::kind;

/// Work in a lane of the device.
pub struct Item {
    /// None: it is a point of the caller.
    pub node: Option<usize>,
    pub joins: Vec<Point>,
    /// The timeline's value when it is done, if it is the last of its node.
    pub value: Option<u64>,
}

pub struct Program {
    pub graph: Graph,
    pub options: Options,
    pub objects: Vec<DataId>,
    pub nodes: Vec<Node>,
    pub lanes: Vec<VecDeque<Item>>,
    /// How far the lanes have come in truth.
    pub done: Vec<u64>,
    /// The order is not that of PhysX, and the device is there: all orders hold.
    pub is_strict: bool,
    pub groups: u32,
    /// The joins of each lane that has been reported early: its next work waits for them.
    pub skipped: Vec<Vec<Point>>,
    /// Work has failed on the device, so nodes may have started that fail with it.
    pub has_broken: bool,
    /// The nodes that have been handed out and not been reported.
    pub in_hand: usize,
}

impl Program {
    pub fn new(setting: &Setting) -> Program {
        let options = setting.options;
        let mut graph = Graph::new(options).unwrap();
        let objects = [(); 3].map(|()| graph.data(4)).to_vec();
        let lanes = usize::from(options.devices) * usize::from(options.groups) * usize::from(options.lanes);
        Program {
            graph,
            options,
            objects,
            nodes: vec![],
            lanes: (0..lanes).map(|_| VecDeque::new()).collect(),
            done: vec![0; lanes],
            is_strict: options.order != Order::PhysX,
            groups: 0,
            skipped: vec![vec![]; lanes],
            has_broken: false,
            in_hand: 0,
        }
    }

    pub fn is_physx(&self) -> bool {
        self.options.order == Order::PhysX
    }

    pub fn priority(&self, bits: u32) -> Priority {
        Priority::new((bits % u32::from(self.options.priorities.count())) as u8 + 1).unwrap()
    }

    /// A node, of the newest more often.
    pub fn pick(&self, number: u32) -> Option<usize> {
        let count = self.nodes.len() as u32;
        let most = if number.is_multiple_of(4) { count } else { count.min(6) };
        (count > 0).then(|| (count - 1 - (number / 4) % most) as usize)
    }

    pub fn picks(&self, numbers: &[u32]) -> Vec<usize> {
        numbers.iter().filter_map(|number| self.pick(*number)).collect()
    }

    /// Of the nodes with this property.
    pub fn pick_of(&self, number: u32, has: impl Fn(&Node) -> bool) -> Option<usize> {
        let all: Vec<usize> = (0..self.nodes.len()).filter(|node| has(&self.nodes[*node])).collect();
        (!all.is_empty()).then(|| all[number as usize % all.len()])
    }

    pub fn ids(&self, nodes: &[usize]) -> Vec<NodeId> {
        nodes.iter().map(|node| self.nodes[*node].id).collect()
    }

    pub fn number(&self, id: NodeId) -> usize {
        self.nodes.iter().position(|node| node.id == id && node.ended.is_none()).expect("a node that has not ended")
    }

    pub fn stage(&self, node: usize) -> Stage {
        self.graph.stage(self.nodes[node].id)
    }

    pub fn is_left_out(&self, node: usize) -> bool {
        self.graph.is_left_out(self.nodes[node].id)
    }

    pub fn is_in_order(&self, node: usize) -> bool {
        self.stage(node) != Stage::Ended || self.is_left_out(node)
    }

    pub fn wish(&self, number: u32, bits: u32) -> Wish {
        let kind = kind(number as u8);
        Wish {
            kind,
            device: (bits >> 16) as u8 % self.options.devices,
            priority: if bits >> 10 & 3 == 0 { self.priority(bits >> 12) } else { Priority::LOWEST },
            held: u32::from(bits >> 8 & 3 == 3),
            fails: bits >> 4 & 15 == 15 && kind != Kind::Empty,
            turns: if kind.is_device() && bits & 7 == 0 { 2 + (bits >> 3 & 1) } else { 1 },
            in_copy_strand: matches!(kind, Kind::Copy(_)) && bits >> 24 & 3 == 0,
        }
    }

    pub fn add(&mut self, id: NodeId, wish: &Wish) -> &mut Node {
        assert!(self.nodes.iter().all(|node| node.id != id), "an id is given once");
        self.nodes.push(Node::new(id, wish));
        self.nodes.last_mut().unwrap()
    }

    /// A node that comes after these, for this reason. One whose end the caller knows is none of them.
    pub fn orders(&self, after: &[usize], why: Why) -> Vec<Before> {
        let order = |node: &usize| Before { node: *node, why, is_order: self.stage(*node) != Stage::Ended };
        let is_known = |node: &&usize| self.nodes[**node].ended.is_none();
        after.iter().filter(is_known).map(order).collect()
    }

    /// A node that uses these bytes comes after all whose uses of them conflict.
    pub fn orders_of_data(&self, uses: &[(usize, overtake_graph::Mode)]) -> Vec<Before> {
        let conflicts = |node: &Node| {
            node.uses.iter().any(|one| uses.iter().any(|other| one.0 == other.0 && one.1.conflicts(other.1)))
        };
        let is_there = |node: &usize| self.is_in_order(*node) || self.nodes[*node].ended.is_none();
        let all = (0..self.nodes.len()).filter(|node| conflicts(&self.nodes[*node]) && is_there(node));
        let order = |node| Before { node, why: Why::Data, is_order: self.is_in_order(node) };
        all.map(order).collect()
    }

    /// All that come before, also through others.
    pub fn closure(&self, node: usize) -> BTreeSet<usize> {
        let (mut found, mut open) = (BTreeSet::new(), vec![node]);
        while let Some(node) = open.pop() {
            for before in self.nodes[node].before.iter().filter(|it| it.is_order) {
                if found.insert(before.node) {
                    open.push(before.node);
                }
            }
        }
        found
    }

    /// The news of inherited priorities.
    pub fn settle(&mut self) {
        let nodes = &mut self.nodes;
        self.graph.inherited(|id, priority| {
            let node = nodes.iter_mut().find(|node| node.id == id && node.ended.is_none()).expect("it is there");
            assert!(node.told != priority, "{priority} is no news");
            node.told = priority;
        });
    }

    pub fn collect(&mut self) {
        while let Some(ended) = self.graph.ended() {
            let number = self.number(ended.node);
            let node = &mut self.nodes[number];
            assert_eq!((node.held, ended.turns), (0, node.launches), "{number}");
            (node.ended, node.is_absent) = (Some(ended), false);
        }
    }

    /// All that can be seen of the nodes, and the counts of the graph.
    pub fn trace(&self) -> (Vec<Seen>, Statistics) {
        let nodes = self.nodes.iter().map(|it| Seen::of(&self.graph, it.id, it.lane, it.launches, it.ended));
        (nodes.collect(), self.graph.statistics())
    }
}
