//! Dispatch with bounded lanes, so that a long chain fills neither its lane nor the stream behind it.

use crate::graph::Graph;
use crate::list::NONE;

impl Graph {
    /// The first ready node whose lane has room. Those before it are held back. A node that has begun to launch had its
    /// room with its first turn.
    pub(crate) fn next_with_room(&mut self) -> Option<u32> {
        while let Some(node) = self.device.pop_one(self.nodes.slots()) {
            let slots = self.nodes.slots();
            let slot = &mut slots[node as usize];
            if slot.turns > 0 {
                return Some(node);
            }
            if slot.strand == NONE {
                self.lanes.new_strand(slot);
            } else if !self.lanes.is_of_group(slot) {
                self.lanes.change_strand(slot);
            }
            if self.lanes.room(slot.lane) > 0 {
                self.lanes.begin(slot.lane);
                return Some(node);
            }
            self.held_back.push(slots, node);
        }
        self.go_on_with_round(None)
    }

    /// Work of the lane has completed: as many nodes as have room there are ready again, the most urgent first.
    pub(crate) fn give_room(&mut self, lane: u8) {
        for _ in 0..self.lanes.room(lane) {
            let slots = self.nodes.slots();
            let Some(node) = self.held_back.pop(slots, lane) else { return };
            self.device.enter(slots, node);
        }
    }
}
