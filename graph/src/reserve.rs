//! Nodes that are known before they are described, for callers that describe them later.

use priority::Priority;

use crate::graph::Graph;
use crate::node::{Cause, Kind, NodeId, Spec};

impl Graph {
    /// A node for a task that is to come, of which [`Graph::append_reserved`] tells. Until then it waits; others may be
    /// ordered after it. None if less than half of the graph is free, and in the order of PhysX.
    pub fn reserve(&mut self) -> Option<NodeId> {
        let has_room =
            self.nodes.room() > self.options.nodes_max / 2 && self.edges.room() > i64::from(self.options.edges_max / 2);
        if !has_room || self.is_physx() {
            return None;
        }
        let node = self.nodes.take(&Spec { references: 1, ..Spec::of(Kind::Empty) }, Priority::LOWEST);
        // Its reference is the graph's: callers that have a handle already cannot release it.
        (self.nodes[node].is_absent, self.nodes[node].held) = (true, 0);
        self.edges.reserve();
        self.reserved += 1;
        Some(self.nodes.id(node))
    }

    /// As [`Graph::append`], of a node of the device that has been reserved. It comes after one other node at most, and
    /// has no references. Its priority is one of the graph's. With a cause it fails: a task before it has failed, and
    /// has left.
    pub fn append_reserved(&mut self, node: NodeId, spec: &Spec<'_>, cause: Option<Cause>) {
        // The edges to those after it have marks by then: the same as from work of the device.
        debug_assert!(spec.kind.is_device(), "{spec:?}");
        debug_assert!(spec.after.len() <= 1 && spec.references == 0, "there is room for no more: {spec:?}");
        let Some(node) = self.nodes.find(node).filter(|&node| self.nodes[node].is_absent) else { return };
        self.reserved -= 1;
        self.edges.give_back_room();
        self.nodes.describe(node, spec);
        self.raise(node, spec.priority);
        self.lower(node);
        self.nodes[node].poison = self.nodes[node].poison.or(cause);
        self.follow(node, spec.after, spec.kind);
        self.drop_reference(node, self.is_usual);
        self.settle();
    }
}
