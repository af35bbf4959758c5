//! Inherited priority: a node has the highest priority of itself and of all nodes that wait for it (T1).
//!
//! The nodes that wait for a node are those that its edges lead to and, once it has been launched, the next node of its
//! lane. Both relations end when the node ends, and the inheritance with them.

use priority::Priority;

use crate::graph::Graph;
use crate::list::NONE;
use crate::node::{Edge, NodeId, Point, Stage};

impl Graph {
    /// Calls `each` with every node of the device that is launched or being launched, and whose priority is another
    /// than the caller knows: from [`Graph::next`], or from the last call.
    pub fn inherited(&mut self, mut each: impl FnMut(NodeId, Priority)) {
        for node in self.changed.drain(..) {
            let id = self.nodes.id(node);
            let slot = &mut self.nodes[node];
            slot.is_changed = false;
            if slot.is_under_way() && slot.stage != Stage::Ended && slot.told != slot.effective {
                slot.told = slot.effective;
                each(id, slot.effective);
            }
        }
    }

    /// The node has at least this priority.
    #[inline]
    pub(crate) fn raise(&mut self, node: u32, to: Priority) {
        if self.nodes[node].effective < to {
            self.raise_others(node, to);
        }
    }

    #[cold]
    #[inline(never)]
    fn raise_others(&mut self, node: u32, to: Priority) {
        if self.is_physx() {
            return;
        }
        self.stack.push(node);
        while let Some(node) = self.stack.pop() {
            if self.nodes[node].effective < to {
                self.change(node, to);
                self.push_those_waited_for(node);
            }
        }
    }

    /// A node that waited for this one, or its own priority, may have changed.
    pub(crate) fn lower(&mut self, node: u32) {
        if self.is_physx() {
            return;
        }
        self.stack.push(node);
        while let Some(node) = self.stack.pop() {
            let wanted = self.wanted(node);
            if wanted < self.nodes[node].effective {
                self.change(node, wanted);
                self.push_those_waited_for(node);
            }
        }
    }

    fn push_those_waited_for(&mut self, node: u32) {
        let mut edge = self.nodes[node].into;
        while edge != NONE {
            let it = *self.edge(edge);
            if self.waits(&it) {
                self.stack.push(it.from);
            }
            edge = it.into_next;
        }
        if self.point_in_flight(node).is_some() {
            self.stack.extend(self.lanes.before(&self.nodes[node], node));
        }
    }

    /// Whether the later node of an edge waits for the earlier one. Those that fail with one that is left out do not,
    /// unless they are left out too.
    fn waits(&self, edge: &Edge) -> bool {
        edge.passes_no_failure || !self.nodes[edge.from].is_left || self.nodes[edge.to].is_left
    }

    fn wanted(&self, node: u32) -> Priority {
        let mut wanted = self.nodes[node].own;
        let mut edge = self.nodes[node].out.first;
        while edge != NONE {
            let it = self.edge(edge);
            if self.waits(it) {
                wanted = wanted.max(self.nodes[it.to].effective);
            }
            edge = it.out_next;
        }
        let in_flight = self.point_in_flight(node);
        let behind = in_flight.and_then(|_| self.lanes.behind(&self.nodes[node], node));
        behind.map_or(wanted, |behind| wanted.max(self.nodes[behind].effective))
    }

    /// The point of a node of the device that has been launched.
    pub(crate) fn point_in_flight(&self, node: u32) -> Option<Point> {
        let slot = &self.nodes[node];
        let is_in_flight = slot.stage == Stage::Launched && slot.kind.is_device();
        is_in_flight.then_some(Point { lane: slot.lane, value: slot.value })
    }

    fn change(&mut self, node: u32, to: Priority) {
        let is_queued = self.nodes[node].stage == Stage::Ready;
        if is_queued {
            self.dequeue(node);
        }
        let slot = &mut self.nodes[node];
        slot.effective = to;
        // Its strand may be of another group now: that is looked at with its joins.
        slot.has_joins |= slot.strand != NONE;
        if slot.is_under_way() && !slot.is_changed {
            slot.is_changed = true;
            self.changed.push(node);
        }
        if is_queued {
            self.enqueue(node);
        }
    }
}
