//! Ready nodes in the default order: by priority, within a priority by phase, then first in, first out; and in the
//! order of ranks.

use priority::Priority;

use crate::list::{NONE, Pair};
use crate::node::{Kind, Slot, Stage};
use crate::options::{Options, Order};
use crate::ranked::Ranked;

const LEVELS: usize = 32;

/// The ready nodes of one priority. Sizes are powers of two, so an index needs no check.
#[derive(Clone, Copy)]
#[repr(align(128))]
struct Level {
    /// The list of each phase, by its bit. It has a meaning while it has nodes.
    rings: [Pair; 8],
    /// The phases with ready nodes.
    filled: u8,
    /// The phase at hand. None before the first node of a round.
    phase: u8,
    /// The nodes taken since the phase began.
    taken: u32,
}

/// Ready nodes. Their links are in their slots.
pub(crate) struct Queue {
    levels: [Level; LEVELS],
    /// The only ready node, or none: in a chain each node is. It is in no ring.
    sole: u32,
    /// The levels with nodes in rings, a bit each.
    filled: u32,
    /// The levels with a phase at hand, a bit each.
    begun: u32,
    /// The nodes taken while one of a lower priority was ready, since one of those had its turn.
    passed: u32,
    /// The level that had the last such turn.
    favoured: u32,
    phase_max: u32,
    share: u32,
    /// The rounds begun, of all priorities.
    pub rounds: u64,
    /// Those in the order of ranks, if it is the order: then no ring has any.
    ranked: Option<Box<Ranked>>,
}

impl Queue {
    pub fn new(phase_max: u32, share: u32) -> Queue {
        let level = Level { rings: [Pair::EMPTY; 8], filled: 0, phase: 0, taken: 0 };
        let (sole, levels) = (NONE, [level; LEVELS]);
        let (filled, begun, passed, favoured, rounds, ranked) = (0, 0, 0, 0, 0, None);
        Queue { levels, sole, filled, begun, passed, favoured, phase_max, share, rounds, ranked }
    }

    /// An empty one for the order of a graph, other than that of PhysX.
    pub fn of(options: &Options) -> Queue {
        let ranked = (options.order == Order::Ranked).then(|| Box::new(Ranked::new(LEVELS)));
        Queue { ranked, ..Queue::new(options.phase_max, options.share) }
    }

    /// As [`Queue::push`], in either order.
    #[inline]
    pub fn enter(&mut self, slots: &mut [Slot], node: u32) {
        let Some(ranked) = &mut self.ranked else { return self.push(slots, node) };
        let slot = &mut slots[node as usize];
        let number = level_of(slot.effective);
        ranked.push(number, slot, node);
        self.filled |= 1 << number;
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.filled == 0 && self.sole == NONE
    }

    /// Whether no node is ready, and none was since the last round ended.
    #[inline]
    pub fn is_at_rest(&self) -> bool {
        self.filled | self.begun == 0 && self.sole == NONE
    }

    /// Whether a node of a higher priority is ready.
    pub fn has_above(&self, slots: &[Slot], priority: Priority) -> bool {
        let is_above = slots.get(self.sole as usize).is_some_and(|slot| slot.effective > priority);
        is_above || self.filled >> level_of(priority) > 1
    }

    /// A node of this phase has been taken, if none of its priority has been in this round.
    pub fn begin(&mut self, priority: Priority, phase: u8) {
        let number = level_of(priority);
        let level = &mut self.levels[number];
        if level.phase == 0 {
            (level.phase, level.taken) = (phase, 1);
            self.begun |= 1 << number;
        }
    }

    #[inline(always)] // as `pop`
    pub fn push(&mut self, slots: &mut [Slot], node: u32) {
        if self.is_empty() {
            self.sole = node;
        } else {
            self.push_behind(slots, node);
        }
    }

    /// As [`Queue::push`], where others are ready.
    #[inline(never)]
    fn push_behind(&mut self, slots: &mut [Slot], node: u32) {
        let sole = std::mem::replace(&mut self.sole, NONE);
        if sole != NONE {
            self.push_in_ring(slots, sole);
        }
        self.push_in_ring(slots, node);
    }

    /// The node has no references. It is ready and comes here, if it is one of the device that has not failed. Returns
    /// whether it is.
    #[inline(always)] // as `pop`
    pub fn take_in(&mut self, slots: &mut [Slot], node: u32) -> bool {
        let slot = &mut slots[node as usize];
        let is_ready = slot.kind.is_device() && slot.poison.is_none();
        if is_ready {
            slot.stage = Stage::Ready;
            self.push(slots, node);
        }
        is_ready
    }

    #[inline]
    fn push_in_ring(&mut self, slots: &mut [Slot], node: u32) {
        let slot = &mut slots[node as usize];
        let (number, phase) = (level_of(slot.effective), slot.kind.phase());
        let level = &mut self.levels[number];
        let ring = &mut level.rings[usize::from(phase) % 8];
        let last = std::mem::replace(&mut ring.last, node);
        if level.filled & phase == 0 {
            ring.first = node;
            level.filled |= phase;
            self.filled |= 1 << number;
            return;
        }
        slot.previous = last;
        slots[last as usize].next = node;
    }

    pub fn remove(&mut self, slots: &mut [Slot], node: u32) {
        if self.sole == node {
            self.sole = NONE;
            return;
        }
        if let Some(ranked) = &mut self.ranked {
            let slot = &slots[node as usize];
            let number = level_of(slot.effective);
            if ranked.remove(number, slot, node) {
                self.filled &= !(1 << number);
            }
            return;
        }
        let slot = &slots[node as usize];
        let (number, phase, previous, next) = (level_of(slot.effective), slot.kind.phase(), slot.previous, slot.next);
        let ring = &mut self.levels[number].rings[usize::from(phase) % 8];
        match (ring.first == node, ring.last == node) {
            (true, true) => self.empty(number, phase),
            (true, false) => ring.first = next,
            (false, true) => ring.last = previous,
            (false, false) => {
                slots[previous as usize].next = next;
                slots[next as usize].previous = previous;
            }
        }
    }

    /// The node whose turn it is, in either order. It leaves the queue.
    pub fn pop_one(&mut self, slots: &mut [Slot]) -> Option<u32> {
        if self.ranked.is_some() {
            return self.pop_ranked();
        }
        self.pop(slots).map(|(node, _)| node)
    }

    #[inline(never)]
    fn pop_ranked(&mut self) -> Option<u32> {
        let number = self.next_level()?;
        let (node, is_empty) = self.ranked.as_mut()?.pop(number);
        self.filled &= !(u32::from(is_empty) << number);
        node
    }

    /// The level whose turn it is.
    #[inline(always)] // as `pop`
    fn next_level(&mut self) -> Option<usize> {
        let highest = self.filled.checked_ilog2()?;
        let is_alone = self.filled & (self.filled - 1) == 0;
        let number = if is_alone { highest } else { self.shared(highest) };
        Some(number as usize % LEVELS)
    }

    /// The same as [`Queue::pop_one`] in the default order, with its slot.
    #[inline(always)] // it is a third of the call of the graph that it is a part of
    pub fn pop<'s>(&mut self, slots: &'s mut [Slot]) -> Option<(u32, &'s mut Slot)> {
        // The only node: its slot is looked up once.
        let node = self.sole;
        if let Some(slot) = slots.get_mut(node as usize) {
            let level = &mut self.levels[level_of(slot.effective)];
            if level.phase == slot.kind.phase() {
                self.sole = NONE;
                level.taken += 1;
                return Some((node, &mut slots[node as usize]));
            }
            if level.phase == 0 {
                self.begin_alone(&slots[node as usize]);
                return Some((node, &mut slots[node as usize]));
            }
        }
        let node = self.pop_of_ring(slots)?;
        Some((node, &mut slots[node as usize]))
    }

    /// The only node is taken, and begins the round of its priority: with its phase, as no other one has a node.
    #[inline(never)]
    fn begin_alone(&mut self, slot: &Slot) {
        let number = level_of(slot.effective);
        let level = &mut self.levels[number];
        (level.phase, level.taken) = (slot.kind.phase(), 1);
        self.begun |= 1 << number;
        self.rounds += 1;
        self.sole = NONE;
    }

    #[inline(never)]
    fn pop_of_ring(&mut self, slots: &mut [Slot]) -> Option<u32> {
        let sole = std::mem::replace(&mut self.sole, NONE);
        if sole != NONE {
            self.push_in_ring(slots, sole);
        }
        let number = self.next_level()?;
        if self.levels[number].filled != self.levels[number].phase {
            self.choose_phase(number);
        }
        let level = &mut self.levels[number];
        level.taken += 1;
        let phase = level.phase;
        let ring = &mut level.rings[usize::from(phase) % 8];
        let node = ring.first;
        if node == ring.last {
            self.empty(number, phase);
        } else {
            ring.first = slots[node as usize].next;
        }
        Some(node)
    }

    /// Whether the phase of this node is the one at hand for its priority.
    #[inline]
    pub fn is_at_hand(&self, slot: &Slot) -> bool {
        self.levels[level_of(slot.told)].phase == slot.kind.phase()
    }

    /// So many nodes of the phase at hand for this priority have been taken that were not in the queue.
    #[inline]
    pub fn count(&mut self, priority: Priority, count: u32) {
        self.levels[level_of(priority)].taken += count;
    }

    /// A node that has been taken, or counted, is not taken now: while its phase is at hand that has had one less.
    pub fn discount(&mut self, slot: &Slot) {
        if self.is_at_hand(slot) {
            let level = &mut self.levels[level_of(slot.told)];
            level.taken = level.taken.saturating_sub(1);
        }
    }

    /// The node whose turn it is, if it is a kernel of this priority without joins, and all ready nodes are such, but
    /// for their joins. It leaves the queue.
    #[inline]
    pub fn pop_alike(&mut self, slots: &[Slot], priority: Priority) -> Option<u32> {
        let number = level_of(priority);
        let level = &mut self.levels[number];
        let is_fit = |slot: &Slot| matches!(slot.kind, Kind::Kernel) && !slot.has_joins && slot.effective == priority;
        let phase = Kind::Kernel.phase();
        if level.phase != phase {
            return None;
        }
        if let Some(slot) = slots.get(self.sole as usize) {
            level.taken += u32::from(is_fit(slot));
            return is_fit(slot).then(|| std::mem::replace(&mut self.sole, NONE));
        }
        if self.filled != 1 << number || level.filled != phase {
            return None;
        }
        let ring = &mut level.rings[usize::from(phase) % 8];
        let node = ring.first;
        let slot = &slots[node as usize];
        if !is_fit(slot) {
            return None;
        }
        level.taken += 1;
        if node == ring.last {
            self.empty(number, phase);
        } else {
            ring.first = slot.next;
        }
        Some(node)
    }

    /// A node that was taken as the next one is the next again.
    #[inline(never)]
    pub fn put_back(&mut self, slots: &mut [Slot], node: u32) {
        let (number, phase) = (level_of(slots[node as usize].effective), slots[node as usize].kind.phase());
        let sole = std::mem::replace(&mut self.sole, NONE);
        if sole != NONE {
            self.push_in_ring(slots, sole);
        }
        let level = &self.levels[number];
        let (is_filled, first) = (level.filled & phase != 0, level.rings[usize::from(phase) % 8].first);
        if !is_filled {
            return self.push(slots, node);
        }
        slots[node as usize].next = first;
        slots[first as usize].previous = node;
        self.levels[number].rings[usize::from(phase) % 8].first = node;
    }

    /// The phase has no nodes any more.
    #[inline]
    fn empty(&mut self, number: usize, phase: u8) {
        let level = &mut self.levels[number];
        level.filled ^= phase;
        if level.filled == 0 {
            self.filled ^= 1 << number;
        }
    }

    /// The phase of the next node: the one at hand, unless it has no nodes, or has had enough while another has some.
    #[inline(never)]
    fn choose_phase(&mut self, number: usize) {
        let level = &mut self.levels[number];
        if level.phase == 0 {
            (level.phase, level.taken) = (1, 0);
            self.begun |= 1 << number;
            self.rounds += 1;
        }
        let others = level.filled & !level.phase;
        let is_over = level.filled & level.phase == 0 || (level.taken >= self.phase_max && others != 0);
        if is_over {
            let above = others & !(2 * level.phase - 1);
            let next = lowest(if above == 0 { others } else { above });
            self.rounds += u64::from(next < level.phase);
            (level.phase, level.taken) = (next, 0);
        }
    }

    /// No node is ready or being launched: each priority begins with its first phase again.
    #[inline(never)]
    pub fn end_round(&mut self) {
        while self.begun != 0 {
            self.levels[self.begun.trailing_zeros() as usize].phase = 0;
            self.begun &= self.begun - 1;
        }
    }

    /// The level whose turn it is while several have nodes: the highest, but for a share of the turns.
    #[inline(never)]
    fn shared(&mut self, highest: u32) -> u32 {
        self.passed += 1;
        if self.passed < self.share {
            return highest;
        }
        self.passed = 0;
        let below = self.filled & !(1 << highest);
        let under = below & ((1 << self.favoured) - 1);
        self.favoured = if under == 0 { below } else { under }.ilog2();
        self.favoured
    }
}

/// The lowest bit.
fn lowest(bits: u8) -> u8 {
    bits & bits.wrapping_neg()
}

#[inline]
fn level_of(priority: Priority) -> usize {
    // There are at most 32 priorities.
    usize::from(priority.get() - 1) % LEVELS
}

#[cfg(test)]
mod tests {
    use super::*;
    use priority::Direction;

    /// Slots of so many kernels, and a copy behind them.
    fn slots(kernels: usize) -> Vec<Slot> {
        let mut slots = vec![Slot { kind: Kind::Kernel, ..Slot::EMPTY }; kernels];
        slots.push(Slot { kind: Kind::Copy(Direction::DeviceToHost), ..Slot::EMPTY });
        slots
    }

    /// A chain counts as much of its phase as nodes that are ready at once.
    #[test]
    fn a_node_that_is_alone_counts_in_its_phase() {
        let (mut queue, mut slots) = (Queue::new(3, 8), slots(4));
        for node in 0..3 {
            queue.push(&mut slots, node);
            assert_eq!(queue.pop_one(&mut slots), Some(node));
        }
        (3..=4).for_each(|node| queue.push(&mut slots, node));
        let rest = [(); 3].map(|()| queue.pop_one(&mut slots));
        assert_eq!(rest, [Some(4), Some(3), None], "the phase of kernels has had its share");
    }

    /// A node that is alone and of another phase begins that, as others would.
    #[test]
    fn a_node_that_is_alone_may_begin_a_phase() {
        let (mut queue, mut slots) = (Queue::new(8, 8), slots(2));
        queue.push(&mut slots, 0);
        assert_eq!(queue.pop_one(&mut slots), Some(0));
        queue.push(&mut slots, 2);
        assert_eq!(queue.pop_one(&mut slots), Some(2));
        (1..=2).for_each(|node| queue.push(&mut slots, node));
        assert_eq!([(); 2].map(|()| queue.pop_one(&mut slots)), [Some(2), Some(1)], "the phase at hand goes on");
        assert!(queue.is_empty());
        assert_eq!(queue.rounds, 2, "only an earlier phase begins another round");
    }

    #[test]
    fn nodes_that_are_ready_together_begin_a_round_that_ends() {
        let (mut queue, mut slots) = (Queue::new(8, 8), slots(2));
        slots.iter_mut().for_each(|slot| slot.effective = Priority::new(3).unwrap());
        (0..2).for_each(|node| queue.push(&mut slots, node));
        assert_eq!([(); 2].map(|()| queue.pop_one(&mut slots)), [Some(0), Some(1)]);
        assert!(!queue.is_at_rest());
        queue.end_round();
        assert!(queue.is_at_rest());
    }
}
