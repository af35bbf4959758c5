//! The graph: its parts, and the steps that its calls share.

use std::collections::VecDeque;

use priority::Priority;

use crate::data::Records;
use crate::edges::Edges;
use crate::lanes::Lanes;
use crate::list::{NONE, Pair};
use crate::node::{Cause, Edge, Kind, Mark, NodeId, Point, Stage};
use crate::nodes::Nodes;
use crate::options::{Options, Order};
use crate::passes::Passes;
use crate::points::Points;
use crate::queue::Queue;
use crate::refused::{Label, Refused};

/// The counts of a graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Nodes that have not been returned by [`Graph::ended`].
    pub nodes: u32,
    /// Edges.
    pub edges: u32,
    /// Rounds begun: of copies to the device, kernels, copies to the host (PX-11).
    pub rounds: u64,
    /// Joins that nodes were handed out with.
    pub joins: u64,
    /// Joins left out, because the lane had joined that point or a later one already.
    pub joins_saved: u64,
    /// Points at which all later work waits for all earlier work.
    pub syncs: u64,
}

/// Nodes, the order between them, and the queues of those that are ready.
///
/// A graph has no lock, no thread and no clock: its owner calls it, takes the returned steps, and reports. The page of
/// the crate has an example; `graph/README.md` has the states.
pub struct Graph {
    pub(crate) options: Options,
    pub(crate) nodes: Nodes,
    pub(crate) edges: Edges,
    pub(crate) data: Records,
    pub(crate) lanes: Lanes,
    pub(crate) points: Points,
    /// Ready nodes of the device, in the default order or in that of ranks.
    pub(crate) device: Queue,
    /// Ready nodes of the device, in the order of PhysX.
    pub(crate) passes: Passes,
    pub(crate) host: Queue,
    pub(crate) light: Queue,
    /// Nodes without references that are handed out to no thread, and launched ones whose last predecessor has ended.
    pub(crate) todo: VecDeque<u32>,
    /// Nodes whose priority has changed since the caller was last told.
    pub(crate) changed: Vec<u32>,
    /// Work of walks: empty between calls.
    pub(crate) stack: Vec<u32>,
    /// The joins of the node that was handed out last.
    pub(crate) joins: Vec<Point>,
    /// Nodes that have ended, the oldest first.
    pub(crate) ended: Pair,
    /// Those that are left out, and have not been returned. Each is the next when no node that had ended before it is
    /// left to be returned: up to the second one.
    pub(crate) left: VecDeque<(NodeId, NodeId)>,
    /// How many are left out, and stay in the order or have not been looked at since.
    pub(crate) left_out: u32,
    /// Nodes that are kept for callers, and have not been described.
    pub(crate) reserved: u32,
    pub(crate) open_groups: u32,
    pub(crate) simulations: u32,
    /// Nodes of the device that are being launched.
    pub(crate) launching: u32,
    /// The path of a search for a circle, and the number of the search.
    pub(crate) walk: Vec<(u32, u32)>,
    pub(crate) visit: u64,
    /// The default order, and a device that works: the common case, in which calls have less to look at.
    pub(crate) is_usual: bool,
    /// The same, no group is open, and no barrier is set: a node that is ready and finds no other is the next.
    pub(crate) is_plain: bool,
    pub(crate) failure: Option<Cause>,
    /// Submitted work will not complete.
    pub(crate) is_device_lost: bool,
    pub(crate) syncs: u64,
}

impl Graph {
    /// An empty graph.
    ///
    /// # Errors
    ///
    /// [`Refused::Options`].
    pub fn new(options: Options) -> Result<Graph, Refused> {
        if let Some(fault) = options.fault() {
            return Err(Refused::Options(fault));
        }
        let options = options.within_numbers();
        let queue = || Queue::of(&options);
        let is_usual = options.order == Order::Default && options.lanes > 0;
        Ok(Graph {
            options,
            nodes: Nodes::new(options.nodes_max),
            edges: Edges::new(options.edges_max),
            data: Records::default(),
            lanes: Lanes::new(&options),
            points: Points::new(),
            device: queue(),
            passes: Passes::default(),
            host: queue(),
            light: queue(),
            todo: VecDeque::new(),
            changed: Vec::new(),
            stack: Vec::new(),
            joins: Vec::new(),
            ended: Pair::EMPTY,
            left: VecDeque::new(),
            left_out: 0,
            reserved: 0,
            open_groups: 0,
            simulations: 0,
            launching: 0,
            walk: Vec::new(),
            visit: 0,
            is_usual,
            is_plain: is_usual,
            failure: None,
            is_device_lost: false,
            syncs: 0,
        })
    }

    /// How far a node has come.
    #[must_use]
    pub fn stage(&self, node: NodeId) -> Stage {
        let slot = self.nodes.slot(node).filter(|slot| !slot.is_left);
        slot.map_or(Stage::Ended, |slot| slot.stage)
    }

    /// The priority of a node, the inherited one included. A node that has been returned by [`Graph::ended`] has none.
    #[must_use]
    pub fn priority(&self, node: NodeId) -> Option<Priority> {
        self.nodes.find(node).map(|node| self.nodes[node].effective)
    }

    /// A node as errors name it. Its name is forgotten when [`Graph::ended`] has returned it and its slot is used
    /// again.
    #[must_use]
    pub fn label(&self, node: NodeId) -> Label {
        Label { id: node, name: self.name(node).to_owned() }
    }

    /// The name of a node, or nothing, until its slot is another node's.
    #[must_use]
    pub fn name(&self, node: NodeId) -> &str {
        self.nodes.name_of(node)
    }

    /// The place in its lane of a node that has been launched and has not ended. Other streams wait for that point.
    #[must_use]
    pub fn point(&self, node: NodeId) -> Option<Point> {
        self.point_in_flight(self.nodes.find(node)?)
    }

    /// The points that have to be complete before a launched node ends: its own, or those that a node of no lane stands
    /// for. None of a node that is not launched, or that has ended.
    pub fn points(&self, node: NodeId, mut each: impl FnMut(Point)) {
        let Some(node) = self.nodes.find(node) else { return };
        if let Some(point) = self.point_in_flight(node) {
            return each(point);
        }
        let mut list = self.nodes[node].points;
        while let Some((point, rest)) = self.points.split(list) {
            each(point);
            list = rest;
        }
    }

    /// Whether a host function is ready for a thread to run.
    #[inline]
    #[must_use]
    pub fn has_host_function(&self) -> bool {
        !self.host.is_empty()
    }

    /// Whether a node of the device may be ready for a thread to launch.
    #[inline]
    #[must_use]
    pub fn has_device_node(&self) -> bool {
        (self.open_groups == 0 && !self.device.is_at_rest()) || self.is_physx()
    }

    /// Whether ready nodes may have to wait until others are complete: by the order of PhysX, or as the device is lost.
    #[must_use]
    pub fn may_wait_for_ends(&self) -> bool {
        self.is_physx() || self.failure.is_some()
    }

    /// Whether a node of the device is in the queue of the default order, or of that of ranks.
    #[inline]
    #[must_use]
    pub fn has_ready_node(&self) -> bool {
        !self.device.is_empty()
    }

    /// Whether a node of the device that is ready now is the next one.
    #[inline]
    #[must_use]
    pub fn is_plain_and_at_rest(&self) -> bool {
        self.is_plain && self.device.is_at_rest()
    }

    /// Whether a node of the device with a higher priority is in the queue of the default order.
    #[must_use]
    pub fn has_more_urgent(&self, priority: Priority) -> bool {
        self.device.has_above(self.nodes.all(), priority)
    }

    /// Whether a light function is ready for a thread to run.
    #[inline]
    #[must_use]
    pub fn has_light_function(&self) -> bool {
        !self.light.is_empty()
    }

    /// The place in memory of the slot of this number, if there is one, for hints to the processor's cache.
    #[inline]
    #[must_use]
    pub fn place(&self, slot: usize) -> *const u8 {
        self.nodes.place(slot)
    }

    /// Whether a node has ended, and [`Graph::ended`] has not returned it.
    #[inline]
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ended.first != NONE || !self.left.is_empty()
    }

    /// Whether [`Graph::inherited`] may have something to tell.
    #[inline]
    #[must_use]
    pub fn has_inherited(&self) -> bool {
        !self.changed.is_empty()
    }

    /// The cause of the failure that keeps the device from further work (PX-22).
    #[must_use]
    pub fn failure(&self) -> Option<Cause> {
        self.failure
    }

    /// The counts so far.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        Statistics {
            nodes: self.options.nodes_max - self.nodes.room() - self.reserved,
            edges: (i64::from(self.options.edges_max) - self.edges.room()) as u32 - self.reserved,
            rounds: self.device.rounds + self.passes.rounds,
            joins: self.lanes.joins,
            joins_saved: self.lanes.joins_saved,
            syncs: self.syncs,
        }
    }

    #[inline]
    pub(crate) fn is_physx(&self) -> bool {
        self.options.order == Order::PhysX
    }

    #[inline]
    pub(crate) fn edge(&self, edge: u32) -> &Edge {
        self.edges.get(self.nodes.all(), edge)
    }

    #[inline]
    pub(crate) fn edge_mut(&mut self, edge: u32) -> &mut Edge {
        self.edges.get_mut(self.nodes.slots(), edge)
    }

    pub(crate) fn label_of(&self, node: u32) -> Label {
        self.label(self.nodes.id(node))
    }

    /// The mark of `from` that `to` starts at.
    ///
    /// A host function that comes after work of the device needs its results. PhysX starts it when that work has been
    /// submitted.
    #[inline(never)]
    pub(crate) fn mark(&self, from: u32, to: u32, asked: Option<Mark>) -> Mark {
        let (from, to) = (self.nodes[from].kind, self.nodes[to].kind);
        let needs_results = to.is_host() && !from.is_host() && !self.is_physx();
        asked.unwrap_or(if needs_results { Mark::Complete } else { Mark::Launched })
    }

    /// One reference less. At none the node is ready.
    #[inline]
    pub(crate) fn drop_reference(&mut self, node: u32, is_usual: bool) {
        let slots = self.nodes.slots();
        let slot = &mut slots[node as usize];
        slot.references -= 1;
        if slot.references == 0 && !(is_usual && self.device.take_in(slots, node)) {
            self.schedule_other(node);
        }
    }

    /// The node has no references. `is_usual` is the graph's, for callers that know it.
    #[inline]
    pub(crate) fn schedule(&mut self, node: u32, is_usual: bool) {
        if !(is_usual && self.device.take_in(self.nodes.slots(), node)) {
            self.schedule_other(node);
        }
    }

    /// As [`Graph::schedule`], for all nodes.
    #[inline(never)]
    pub(crate) fn schedule_other(&mut self, node: u32) {
        let slot = &mut self.nodes[node];
        let is_lost = slot.kind.is_device() && self.failure.is_some();
        if slot.kind == Kind::Empty || slot.poison.is_some() || is_lost {
            self.todo.push_back(node);
        } else {
            slot.stage = Stage::Ready;
            self.enqueue(node);
        }
    }

    pub(crate) fn enqueue(&mut self, node: u32) {
        let slots = self.nodes.slots();
        match slots[node as usize].kind {
            Kind::Host => self.host.enter(slots, node),
            Kind::Light => self.light.enter(slots, node),
            _ if self.options.order == Order::PhysX => self.passes.push(node),
            _ => self.device.enter(slots, node),
        }
    }

    /// Takes a ready node out of its queue. The bins of PhysX are only ever emptied as a whole.
    pub(crate) fn dequeue(&mut self, node: u32) {
        let slots = self.nodes.slots();
        match slots[node as usize].kind {
            Kind::Host => self.host.remove(slots, node),
            Kind::Light => self.light.remove(slots, node),
            _ => self.device.remove(slots, node),
        }
    }

    /// Takes the steps that calls have left over, in their order.
    #[inline]
    pub(crate) fn settle(&mut self) {
        if !self.todo.is_empty() {
            self.settle_all();
        }
    }

    #[inline(never)]
    fn settle_all(&mut self) {
        while let Some(node) = self.todo.pop_front() {
            let slot = &mut self.nodes[node];
            let failure = self.failure.filter(|_| slot.kind.is_device());
            slot.poison = slot.poison.or(failure);
            match slot.stage {
                Stage::Launched => self.end(node),
                _ if slot.poison.is_some() && !slot.is_left => self.leave_out(node),
                _ => self.pass(node),
            }
        }
    }

    /// A node that is none of the device has been launched: its function has run, or it has none.
    pub(crate) fn pass(&mut self, node: u32) {
        self.nodes[node].stage = Stage::Launched;
        let has_history = self.nodes[node].into != NONE && !self.is_physx();
        if has_history {
            self.collect_points(node);
            if self.nodes[node].is_left {
                self.hand_points_on(node);
            }
        }
        // Those behind a function that has failed while it ran fail with its end.
        let slot = &self.nodes[node];
        if slot.poison.is_none() || slot.is_left || self.is_physx() {
            self.resolve_launched(node);
        }
        if !has_history {
            self.end(node);
        }
    }
}
