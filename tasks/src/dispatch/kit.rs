//! The scratch space of a thread that takes steps.

use std::cell::Cell;

use copies::copy::CopyHandle;
use graph::{NodeId, Priority};
use hal::Event;

use crate::dispatch::marks::{Join, Joins, Mark};
use crate::work::function::{Function, Work};
use crate::work::lane::Call;

/// A launch that is to be made.
pub(crate) struct Launching {
    pub call: Call,
    /// Its function. None behind the launch: it is the node's again.
    pub work: Work,
}

impl Default for Launching {
    /// None.
    fn default() -> Launching {
        let (turn, priority, can_begin) = (Cell::new(0), Priority::LOWEST, Cell::new(None));
        Launching { call: Call { node: NodeId::NONE, turn, lane: 0, priority, can_begin }, work: Work::Nothing }
    }
}

/// So many launches of a batch come behind its first, at least and at most.
const AHEAD: (usize, usize) = (7, 31);

/// Launches that are made behind the one at hand before that is reported.
pub(crate) struct Ahead {
    pub launches: [Launching; AHEAD.1],
    /// So many come behind the first in the next batch.
    pub most: usize,
    /// How many there are.
    pub count: usize,
    /// They are a chain: each is launched behind the one before it because it comes after it.
    pub is_chain: bool,
}

impl Default for Ahead {
    /// None.
    fn default() -> Ahead {
        Ahead { launches: std::array::from_fn(|_| Launching::default()), most: AHEAD.0, count: 0, is_chain: false }
    }
}

impl Ahead {
    /// How many come behind the first in the next batch, if so many have been made in this one. A batch that other
    /// threads end has been handed out in vain, and is taken back.
    #[inline]
    pub fn most_behind(&self, made: usize) -> usize {
        if made < self.count {
            (made / 2).max(AHEAD.0)
        } else if made == self.most {
            (2 * made + 1).min(AHEAD.1)
        } else {
            self.most
        }
    }
}

/// The step at hand, and the things that a thread needs for steps. Their memory is used again.
#[derive(Default)]
pub(crate) struct Kit {
    /// The step at hand, if it is this. It stays in its place from one launch to the next.
    pub launching: Launching,
    /// Those behind it in a batch.
    pub ahead: Ahead,
    /// The step at hand, if it is another.
    pub other: Option<Step>,
    /// The joins before the launch: of its own lane, and of others.
    pub own_mark: Option<Mark>,
    pub joins: Vec<Join>,
    /// The copies of the launch.
    pub copies: Vec<CopyHandle>,
}

impl Kit {
    /// A kit in a place of its own. Made once: written out where it is asked for, it would be a third of the code of a
    /// submission.
    #[cold]
    #[inline(never)]
    pub fn boxed() -> Box<Kit> {
        Box::default()
    }

    /// The joins before the launch.
    #[inline]
    pub fn joins(&self) -> Joins<'_> {
        Joins { own: self.own_mark, others: &self.joins }
    }
}

/// A step that a thread takes without the lock, and that is no launch.
#[repr(u8)] // with a tag of its own: whether there is one is seen by that
pub(crate) enum Step {
    Record { lane: u8, value: u64, event: Event },
    Light(NodeId, Function),
    Lift(Vec<CopyHandle>, Priority),
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn batches_grow_while_they_are_launched_as_a_whole() {
        let mut ahead = Ahead::default();
        let mut seen = Vec::new();
        // So many are handed out, and so many are launched.
        for (count, made) in [(7, 7), (15, 15), (31, 31), (5, 5), (31, 30), (15, 15), (31, 3), (7, 0)] {
            ahead.count = count;
            ahead.most = ahead.most_behind(made);
            seen.push(ahead.most);
        }
        assert_eq!(seen, [15, 31, 31, 31, 15, 31, 7, 7]);
    }
}
