//! Redundant dependencies: on a node that already comes before another dependency (GR-04).

use crate::graph::Graph;
use crate::list::NONE;
use crate::node::{Edge, Mark, NodeId, Slot};

impl Graph {
    /// Leaves out those found that come before others of them, and of the first `stated` those alone that fail others
    /// with them too. The search goes back along edges and ends after so many as the
    /// options allow: a dependency that it has not come to stays. Returns how many of the first are left.
    #[inline]
    pub(crate) fn drop_redundant(&mut self, found: &mut Vec<NodeId>, stated: usize) -> usize {
        match found[..] {
            [] | [_] => return stated,
            [first, second] if stated != 1 => {
                if let Some(is_redundant) = self.is_behind(first.index, second.index, stated == 0) {
                    if is_redundant {
                        found[0] = self.later(first, second);
                        found.truncate(1);
                    }
                    return stated.min(found.len());
                }
            }
            _ => {}
        }
        self.drop_redundant_of_many(found, stated)
    }

    /// The later made of two nodes.
    fn later(&self, one: NodeId, other: NodeId) -> NodeId {
        if self.nodes[one.index].number > self.nodes[other.index].number { one } else { other }
    }

    /// As [`Graph::drop_redundant`], for any number of them.
    #[inline(never)]
    fn drop_redundant_of_many(&mut self, found: &mut Vec<NodeId>, stated: usize) -> usize {
        let mut search = Search::new(self.visit, self.options.inference.search_max);
        self.visit = search.last();
        // Orders found lead from earlier nodes to later ones. Beyond the earliest of these none is left out.
        let mut weak = found.len();
        for (place, id) in found.iter().enumerate() {
            let slot = &mut self.nodes[id.index];
            search.earliest = search.earliest.min(slot.number);
            if place < stated {
                slot.visit = search.strong();
                self.stack.extend((!slot.is_left).then_some(id.index));
                weak -= 1;
            }
        }
        self.search(&mut search, true);
        if weak > 0 {
            // One that is stated, and left out, is no edge.
            let is_edge = |(place, id): &(usize, &NodeId)| *place >= stated || !self.nodes[id.index].is_left;
            self.stack.extend(found.iter().enumerate().filter(is_edge).map(|(_, id)| id.index));
            self.search(&mut search, false);
        }
        if !search.has_redundant {
            return stated;
        }
        let (mut place, mut left) = (0, 0);
        found.retain(|id| {
            place += 1;
            let stays = self.nodes[id.index].visit != search.redundant();
            left += usize::from(stays && place <= stated);
            stays
        });
        left
    }

    /// Goes back from the nodes in the stack, by edges that pass failures on or by all.
    fn search(&mut self, search: &mut Search, passes_failure: bool) {
        while let Some(node) = self.stack.pop() {
            let slot = &self.nodes[node];
            let mut edge = if passes_failure && slot.is_left { NONE } else { slot.into };
            while edge != NONE && search.left > 0 {
                search.left -= 1;
                let it = *self.edge(edge);
                edge = it.into_next;
                // Such a host function may run before that node is complete.
                let is_early = it.is_asked && it.mark == Mark::Launched && self.nodes[it.to].kind.is_host();
                if is_early || (it.passes_no_failure && passes_failure) {
                    continue;
                }
                let slot = &mut self.nodes[it.from];
                let is_candidate = slot.visit == search.weak() || (passes_failure && slot.visit == search.strong());
                let is_new = slot.visit < search.weak() || (!passes_failure && slot.visit == search.seen(true));
                if is_candidate {
                    // One that passes failures on is in the stack, or was.
                    self.stack.extend((slot.visit == search.weak() && passes_failure).then_some(it.from));
                    slot.visit = search.redundant();
                    search.has_redundant = true;
                } else if is_new && slot.number > search.earliest {
                    slot.visit = search.seen(passes_failure);
                    self.stack.push(it.from);
                }
            }
        }
    }

    /// Whether the later made of two nodes comes after the other one, if that can be told from its edges alone: by one
    /// that passes failures on, or by any that data asks for if they are an order alone.
    #[inline]
    fn is_behind(&self, one: u32, other: u32, is_weak: bool) -> Option<bool> {
        let slots = self.nodes.all();
        let (before, after) = (&slots[one as usize], &slots[other as usize]);
        let is_ordered = before.number < after.number;
        let (earlier, before, after) = if is_ordered { (one, before, after) } else { (other, after, before) };
        let number = before.number;
        let mut edge = after.into;
        while edge != NONE {
            let it = self.edges.get(slots, edge);
            if it.from == earlier && orders(it, after, is_weak) {
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

/// Whether this edge into a node is the order of both: by one that passes failures on, or by any that data asks for if
/// they are an order alone.
#[inline]
fn orders(it: &Edge, after: &Slot, is_weak: bool) -> bool {
    if is_weak && !it.is_asked {
        return true;
    }
    // A host function may run before a node is complete of whose launch it was asked to wait for.
    !(it.passes_no_failure || (it.is_asked && after.kind.is_host()) || (after.is_left && !is_weak))
}

/// A search for nodes that come before others, and the numbers of its visits: they tell what a slot is to it.
struct Search {
    /// That of nodes that were found. Those before are of earlier searches.
    first: u64,
    /// So many edges may still be looked at.
    left: u32,
    /// The number of the earliest node found.
    earliest: u64,
    has_redundant: bool,
}

impl Search {
    fn new(first: u64, left: u32) -> Search {
        Search { first, left, earliest: u64::MAX, has_redundant: false }
    }

    /// The node was found, and is an order alone.
    fn weak(&self) -> u64 {
        self.first
    }

    /// It was found, and passes its failure on.
    fn strong(&self) -> u64 {
        self.first + 1
    }

    fn redundant(&self) -> u64 {
        self.first + 2
    }

    /// It was not found, and comes before one that was: by edges that pass failures on, or by others.
    fn seen(&self, passes_failure: bool) -> u64 {
        self.first + if passes_failure { 3 } else { 4 }
    }

    fn last(&self) -> u64 {
        self.first + 4
    }
}
