//! Strands: which lane a new one is folded onto, and when it ends.

use super::{LANES, Lanes, Strand};
use crate::copy_strands::has_two;
use crate::list::NONE;
use crate::node::Slot;

impl Lanes {
    /// A strand for a node: a copy strand, or a new one in the lane of its group that has the fewest.
    #[inline(never)]
    pub fn new_strand(&mut self, slot: &mut Slot) {
        if slot.in_copy_strand {
            return self.join_copy_strand(slot);
        }
        self.begin_strand(slot, false);
        // Its points come behind those of others, which are marked first: nodes that join those do not wait for these.
        slot.is_folded = slot.has_joins && self.is_shared(slot.lane);
    }

    /// The node goes in the copy strand of its kind, which begins with it if there is none. One that has to wait for
    /// other lanes would hold up those behind it, so it has a strand of its own while there is a lane for that.
    #[inline(never)]
    fn join_copy_strand(&mut self, slot: &mut Slot) {
        let group = self.group_of(slot.device, slot.effective);
        if slot.has_joins && has_two(self.empty, group * self.per_group, self.per_group) {
            return self.begin_strand(slot, false);
        }
        slot.is_copy_strand = true;
        let Some(strand) = self.copy_strands.find(slot) else {
            self.begin_strand(slot, true);
            return self.copy_strands.begin(slot);
        };
        self.hold(strand, 1);
        (slot.strand, slot.lane, slot.group) = (strand, self.strands[strand as usize].lane, group);
    }

    #[inline(never)]
    fn begin_strand(&mut self, slot: &mut Slot, is_copy_strand: bool) {
        let group = self.group_of(slot.device, slot.effective);
        let lane = self.least(group, is_copy_strand);
        self.folded[usize::from(lane) % LANES] += 1;
        self.empty &= !(1 << lane);
        let strand = Strand { lane, is_copy_strand, holders: 1, next_free: NONE };
        let index = match self.strands.get_mut(self.free as usize) {
            Some(free) => {
                let index = self.free;
                self.free = free.next_free;
                *free = strand;
                index
            }
            None => {
                self.strands.push(strand);
                self.strands.len() as u32 - 1
            }
        };
        (slot.strand, slot.lane, slot.group) = (index, lane, group);
    }

    /// The first lane of the group that has the fewest strands: one without a copy strand, if it can be.
    /// The last lane without strands is a copy strand's, where there are copy strands.
    fn least(&self, group: u8, is_copy_strand: bool) -> u8 {
        let first = group * self.per_group;
        let empty = (self.empty >> first).trailing_zeros() as u8;
        if empty < self.per_group && (is_copy_strand || self.copy_strands.leave(self.empty, first, self.per_group)) {
            return first + empty;
        }
        self.least_of_all(first)
    }

    #[inline(never)]
    fn least_of_all(&self, first: u8) -> u8 {
        let order = |&lane: &u8| self.copy_strands.order(lane, self.folded[usize::from(lane) % LANES]);
        (first..first + self.per_group).min_by_key(order).unwrap_or(first)
    }

    /// The node goes to a strand of its priority's group, and has to join those before it.
    pub fn change_strand(&mut self, slot: &mut Slot) {
        if self.leave(slot.strand) {
            self.free_strand(slot.strand, true);
        }
        self.new_strand(slot);
        slot.has_joins = true;
    }

    /// One node less. Returns whether the strand has none.
    #[inline]
    pub fn leave(&mut self, strand: u32) -> bool {
        let left = &mut self.strands[strand as usize];
        left.holders -= 1;
        left.holders == 0
    }

    /// A strand without nodes is free, so never before its last work is complete.
    #[inline(never)]
    pub fn free_strand(&mut self, strand: u32, may_be_freed: bool) {
        let left = &mut self.strands[strand as usize];
        let (lane, folded) = (left.lane, &mut self.folded[usize::from(left.lane) % LANES]);
        *folded -= 1;
        self.empty |= u64::from(*folded == 0) << lane;
        if std::mem::take(&mut left.is_copy_strand) {
            self.copy_strands.end(strand);
        }
        if may_be_freed {
            left.next_free = self.free;
            self.free = strand;
        } else {
            self.retired.push(strand);
        }
    }

    /// No simulation runs any more.
    pub fn free_retired(&mut self) {
        while let Some(strand) = self.retired.pop() {
            self.strands[strand as usize].next_free = self.free;
            self.free = strand;
        }
    }
}
