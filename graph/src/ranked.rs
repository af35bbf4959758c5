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

#[cfg(test)]
mod tests {
    use super::*;

    /// The place of a node has 64 bits, in two links.
    #[test]
    fn the_order_is_kept_when_more_have_come_than_a_link_can_count() {
        let mut ranked = Ranked { came: u64::from(u32::MAX) - 2, ..Ranked::new(1) };
        let mut slots = vec![Slot::EMPTY; 4];
        (0..).zip(&mut slots).for_each(|(node, slot)| ranked.push(0, slot, node));
        assert!(!ranked.remove(0, &slots[2], 2));
        assert_eq!([(); 3].map(|()| ranked.pop(0)), [(Some(0), false), (Some(1), false), (Some(3), true)]);
    }
}
