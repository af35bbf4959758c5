//! Ready nodes in the default order: by priority, within a priority by phase, then first in, first out.

use terms::Priority;

use crate::list::{NONE, Pair};
use crate::nodes::Nodes;

const LEVELS: usize = 32;
const PHASES: usize = 3;

/// The ready nodes of one priority.
#[derive(Clone, Copy)]
struct Level {
    rings: [Pair; PHASES],
    /// The phases with ready nodes, a bit each.
    filled: u8,
    phase: u8,
    /// The nodes taken since the phase began.
    taken: u32,
    /// The round in which the phase is meant.
    round: u64,
}

/// Ready nodes. Their links are in their slots.
pub(crate) struct Queue {
    levels: [Level; LEVELS],
    /// The levels with ready nodes, a bit each.
    filled: u32,
    /// The nodes taken while one of a lower priority was ready, since one of those had its turn.
    passed: u32,
    /// The level that had the last such turn.
    favoured: u32,
    /// It moves on when no node is ready or being launched: then each priority begins with its first phase.
    round: u64,
    phase_max: u32,
    share: u32,
    /// The rounds begun, of all priorities.
    pub rounds: u64,
}

impl Queue {
    pub fn new(phase_max: u32, share: u32) -> Queue {
        let level = Level { rings: [Pair::EMPTY; PHASES], filled: 0, phase: 0, taken: 0, round: 0 };
        Queue { levels: [level; LEVELS], filled: 0, passed: 0, favoured: 0, round: 1, phase_max, share, rounds: 0 }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.filled == 0
    }

    #[inline]
    pub fn push(&mut self, nodes: &mut Nodes, node: u32) {
        let slot = &nodes[node];
        let (level, phase) = (level_of(slot.effective), slot.kind.phase());
        let ring = &mut self.levels[level].rings[phase];
        let last = ring.last;
        ring.last = node;
        match last {
            NONE => ring.first = node,
            last => nodes[last].next = node,
        }
        let slot = &mut nodes[node];
        (slot.previous, slot.next) = (last, NONE);
        self.levels[level].filled |= 1 << phase;
        self.filled |= 1 << level;
    }

    #[inline]
    pub fn remove(&mut self, nodes: &mut Nodes, node: u32) {
        let slot = &nodes[node];
        let (level, phase, previous, next) = (level_of(slot.effective), slot.kind.phase(), slot.previous, slot.next);
        let level_number = level;
        let level = &mut self.levels[level];
        match previous {
            NONE => level.rings[phase].first = next,
            previous => nodes[previous].next = next,
        }
        match next {
            NONE => level.rings[phase].last = previous,
            next => nodes[next].previous = previous,
        }
        if level.rings[phase].first == NONE {
            level.filled &= !(1 << phase);
            if level.filled == 0 {
                self.filled &= !(1 << level_number);
            }
        }
    }

    /// As [`Queue::pop`], where that would make the caller too long.
    pub fn pop_one(&mut self, nodes: &mut Nodes) -> Option<u32> {
        self.pop(nodes)
    }

    /// The node whose turn it is. It leaves the queue.
    #[inline]
    pub fn pop(&mut self, nodes: &mut Nodes) -> Option<u32> {
        let level_number = self.level()?;
        let level = &mut self.levels[level_number];
        let begins = level.round != self.round;
        if begins {
            (level.round, level.phase, level.taken) = (self.round, 0, 0);
        }
        let others = level.filled & !(1 << level.phase);
        let is_over = level.filled & (1 << level.phase) == 0 || (level.taken >= self.phase_max && others != 0);
        if is_over {
            let above = others & !((2 << level.phase) - 1);
            let next = if above == 0 { others } else { above }.trailing_zeros() as u8;
            self.rounds += u64::from(next < level.phase);
            (level.phase, level.taken) = (next, 0);
        }
        self.rounds += u64::from(begins);
        level.taken += 1;
        let (phase, ring) = (level.phase, &mut level.rings[usize::from(level.phase)]);
        let node = ring.first;
        ring.first = nodes[node].next;
        match ring.first {
            NONE => {
                ring.last = NONE;
                level.filled &= !(1 << phase);
                if level.filled == 0 {
                    self.filled &= !(1 << level_number);
                }
            }
            next => nodes[next].previous = NONE,
        }
        Some(node)
    }

    /// No node is ready or being launched.
    pub fn end_round(&mut self) {
        self.round += 1;
    }

    /// The level whose turn it is: the highest, but for a share of the turns.
    #[inline]
    fn level(&mut self) -> Option<usize> {
        let highest = self.filled.checked_ilog2()?;
        let below = self.filled & !(1 << highest);
        if below == 0 {
            return Some(highest as usize);
        }
        self.passed += 1;
        if self.passed < self.share {
            return Some(highest as usize);
        }
        self.passed = 0;
        let under = below & ((1 << self.favoured) - 1);
        self.favoured = if under == 0 { below } else { under }.ilog2();
        Some(self.favoured as usize)
    }
}

fn level_of(priority: Priority) -> usize {
    // There are at most 32 priorities.
    usize::from(priority.get() - 1) % LEVELS
}
