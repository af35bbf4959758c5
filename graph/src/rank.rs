//! The ranks of nodes, which callers set.

use crate::graph::Graph;
use crate::node::{NodeId, Stage};
use crate::options::Order;

impl Graph {
    /// The rank of a node that has not ended, else 0.
    #[must_use]
    pub fn rank(&self, node: NodeId) -> u32 {
        self.nodes.find(node).map_or(0, |node| self.nodes[node].rank)
    }

    /// Gives a node a rank: with [`crate::Order::Ranked`] ready nodes of one priority are handed out by rank, the
    /// highest first. It is 0 at first. The other orders do not look at it.
    ///
    /// No node inherits a rank: a caller that wants those before an important one first gives them a higher one.
    pub fn set_rank(&mut self, node: NodeId, rank: u32) {
        let Some(node) = self.nodes.find(node).filter(|&node| self.nodes[node].rank != rank) else { return };
        let is_queued = self.nodes[node].stage == Stage::Ready && self.options.order == Order::Ranked;
        if is_queued {
            self.dequeue(node);
        }
        let slot = &mut self.nodes[node];
        (slot.rank, slot.is_kept) = (rank, true);
        if is_queued {
            self.enqueue(node);
        }
    }
}
