//! Ready nodes in the order of ranks: within a priority by rank, then first in, first out.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::node::Slot;

/// A ready node behind its rank and its place among those that have become ready.
type Entry = (Reverse<u32>, u64, u32);

/// The ready nodes of each priority.
pub(crate) struct Ranked {
    levels: Vec<BTreeSet<Entry>>,
    /// How many have come here.
    came: u64,
}

impl Ranked {
    pub fn new(levels: usize) -> Ranked {
        Ranked { levels: vec![BTreeSet::new(); levels], came: 0 }
    }

    /// The node keeps its place in the links that it has no other use for.
    pub fn push(&mut self, level: usize, slot: &mut Slot, node: u32) {
        self.came += 1;
        (slot.previous, slot.next) = ((self.came >> 32) as u32, self.came as u32);
        self.levels[level].insert(entry(slot, node));
    }

    /// Returns whether the level has no nodes any more.
    pub fn remove(&mut self, level: usize, slot: &Slot, node: u32) -> bool {
        self.levels[level].remove(&entry(slot, node));
        self.levels[level].is_empty()
    }

    /// The next node of this level, and whether the level has no nodes any more.
    pub fn pop(&mut self, level: usize) -> (Option<u32>, bool) {
        let first = self.levels[level].pop_first();
        (first.map(|(.., node)| node), self.levels[level].is_empty())
    }
}

fn entry(slot: &Slot, node: u32) -> Entry {
    (Reverse(slot.rank), u64::from(slot.previous) << 32 | u64::from(slot.next), node)
}
