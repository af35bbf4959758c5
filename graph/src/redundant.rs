//! Redundant dependencies: on a node that comes before another one of them anyway (GR-04); and which nodes have ended
//! when a new one can begin.

use crate::graph::Graph;
use crate::list::NONE;
use crate::node::{Mark, NodeId};

impl Graph {
    /// Leaves out those found that come before others of them, but none of the first `stated`. The search goes back
    /// along edges and ends after so many as the options allow: a dependency that it has not come to stays.
    #[inline]
    pub(crate) fn drop_redundant(&mut self, found: &mut Vec<NodeId>, stated: usize) {
        match found[..] {
            [first, second] if stated == 0 => {
                if let Some(is_redundant) = self.is_behind(first.index, second.index) {
                    found.truncate(2 - usize::from(is_redundant));
                    if is_redundant {
                        found[0] = self.later(first, second);
                    }
                    return;
                }
            }
            _ => {}
        }
        self.drop_redundant_of_many(found, stated);
    }

    /// The later made of two nodes.
    fn later(&self, one: NodeId, other: NodeId) -> NodeId {
        if self.nodes[one.index].number > self.nodes[other.index].number { one } else { other }
    }

    /// As [`Graph::drop_redundant`], for any number of them.
    #[inline(never)]
    fn drop_redundant_of_many(&mut self, found: &mut Vec<NodeId>, stated: usize) {
        // Slots of those found bear the first number, those that are redundant the second, others seen the third.
        let candidate = self.visit;
        let (redundant, seen) = (candidate + 1, candidate + 2);
        self.visit = seen;
        let mut left = self.options.inference.search_max;
        let mut has_redundant = false;
        // Orders found lead from earlier nodes to later ones. Beyond the earliest of these none is left out.
        let mut earliest = u64::MAX;
        for id in &*found {
            earliest = earliest.min(self.nodes[id.index].number);
            self.stack.push(id.index);
        }
        while let Some(node) = self.stack.pop() {
            let mut edge = self.nodes[node].into;
            while edge != NONE && left > 0 {
                left -= 1;
                let it = *self.edge(edge);
                edge = it.into_next;
                // Such a host function may run before that node is complete, and such a node although that one fails.
                let is_early = it.is_asked && it.mark == Mark::Launched && self.nodes[it.to].kind.is_host();
                if is_early || it.passes_no_failure {
                    continue;
                }
                let slot = &mut self.nodes[it.from];
                if slot.visit == candidate {
                    slot.visit = redundant;
                    has_redundant = true;
                } else if slot.visit < candidate && slot.number > earliest {
                    slot.visit = seen;
                    self.stack.push(it.from);
                }
            }
        }
        if has_redundant {
            let mut place = 0;
            found.retain(|id| {
                place += 1;
                place <= stated || self.nodes[id.index].visit != redundant
            });
        }
    }

    /// Of the nodes `asked`, those that have ended when a node after `before` can begin: they are among these, or come
    /// before one of them. The search ends after so many edges: what it has not come to may not have ended.
    #[must_use]
    pub fn ended_before(&mut self, before: &[NodeId], asked: &[NodeId], edges_max: u32) -> Vec<NodeId> {
        self.visit += 1;
        let (seen, mut left) = (self.visit, edges_max);
        let earliest = asked.iter().filter_map(|id| self.nodes.find(*id)).map(|node| self.nodes[node].number).min();
        let Some(earliest) = earliest else { return Vec::new() };
        for id in before {
            if let Some(node) = self.nodes.find(*id) {
                self.nodes[node].visit = seen;
                self.stack.push(node);
            }
        }
        while let Some(node) = self.stack.pop() {
            let mut edge = self.nodes[node].into;
            while edge != NONE && left > 0 {
                left -= 1;
                let it = *self.edge(edge);
                edge = it.into_next;
                let is_early = it.is_asked && it.mark == Mark::Launched && self.nodes[it.to].kind.is_host();
                let slot = &mut self.nodes[it.from];
                if !is_early && slot.visit != seen && slot.number >= earliest {
                    slot.visit = seen;
                    self.stack.push(it.from);
                }
            }
        }
        let is_seen = |id: &NodeId| self.nodes.find(*id).is_some_and(|node| self.nodes[node].visit == seen);
        asked.iter().copied().filter(is_seen).collect()
    }

    /// Whether the later made of two nodes comes after the other one, if that can be told from its edges alone.
    #[inline]
    fn is_behind(&self, one: u32, other: u32) -> Option<bool> {
        let slots = self.nodes.all();
        let (before, after) = (&slots[one as usize], &slots[other as usize]);
        let is_ordered = before.number < after.number;
        let (earlier, before, after) = if is_ordered { (one, before, after) } else { (other, after, before) };
        let (number, is_host) = (before.number, after.kind.is_host());
        let mut edge = after.into;
        while edge != NONE {
            let it = self.edges.get(slots, edge);
            if it.from == earlier && !((it.is_asked && is_host) || it.passes_no_failure) {
                return Some(true);
            }
            if slots[it.from as usize].number > number {
                return None;
            }
            edge = it.into_next;
        }
        Some(false)
    }
}
