//! Redundant dependencies: on a node that comes before another one of them anyway (GR-04).

use crate::graph::Graph;
use crate::list::NONE;
use crate::node::{Mark, NodeId};

impl Graph {
    /// Leaves out those found that come before others of them, but none of the first `stated`. The search goes back
    /// along edges and ends after so many as the options allow: a dependency that it has not come to stays.
    #[inline(never)]
    pub(crate) fn drop_redundant(&mut self, found: &mut Vec<NodeId>, stated: usize) {
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
                let it = self.edges[edge];
                edge = it.into_next;
                // Such a host function may run before that node is complete.
                if it.is_asked && it.mark == Mark::Launched && self.nodes[it.to].kind.is_host() {
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
}
