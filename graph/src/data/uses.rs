//! The uses of one range of bytes: the nodes that a later use has to come after.
//!
//! Consecutive nodes that use the bytes in a shared mode form a *round*, and so does each node that uses them
//! exclusively. Every node of a round comes after every node of the previous round. So two rounds are enough: a node
//! that joins the newest round comes after the previous one, and a node that begins a round comes after the newest.

use super::access::Mode;
use crate::list::NONE;
use crate::node::NodeId;

/// An id of no node.
const NO_NODE: NodeId = NodeId { index: NONE, generation: 0 };

/// The nodes of a round. Most have one, so that one stands by itself; it may be no node.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Round {
    first: NodeId,
    others: Vec<NodeId>,
}

impl Round {
    const EMPTY: Round = Round { first: NO_NODE, others: Vec::new() };

    fn is_empty(&self) -> bool {
        self.first == NO_NODE && self.others.is_empty()
    }

    #[inline]
    fn each(&self, mut each: impl FnMut(NodeId)) {
        each(self.first);
        for other in &self.others {
            each(*other);
        }
    }

    /// The node is the only one.
    #[inline]
    fn begin(&mut self, node: NodeId) {
        self.first = node;
        self.others.clear();
    }

    /// The node is one more.
    #[inline]
    fn join(&mut self, node: NodeId, is_gone: impl Fn(NodeId) -> bool) {
        if self.others.len() == self.others.capacity() {
            self.make_room(is_gone);
        }
        self.others.push(node);
    }

    /// Those that need no mention make room for others, and there is room for twice as many as are left.
    #[inline(never)]
    fn make_room(&mut self, is_gone: impl Fn(NodeId) -> bool) {
        self.trim(is_gone);
        self.others.reserve(self.others.len() + 64);
    }

    fn trim(&mut self, is_gone: impl Fn(NodeId) -> bool) {
        self.others.retain(|id| !is_gone(*id));
        if is_gone(self.first) {
            self.first = NO_NODE;
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Uses {
    /// The mode of the newest round.
    mode: Mode,
    /// The newest node.
    last: NodeId,
    newest: Round,
    /// The round before the newest, while that is of a shared mode. Else it is not kept.
    before: Round,
}

impl Uses {
    pub fn new() -> Uses {
        Uses { mode: Mode::Write, last: NO_NODE, newest: Round::EMPTY, before: Round::EMPTY }
    }

    /// Calls `each` with the nodes that a use in this mode comes after. Some may have ended, and one may be no node.
    #[inline]
    pub fn before(&self, mode: Mode, each: impl FnMut(NodeId)) {
        let round = if self.mode.conflicts(mode) { &self.newest } else { &self.before };
        round.each(each);
    }

    /// The nodes that later uses may have to come after: GrCUDA's active ones (GR-01).
    pub fn active(&self, mut each: impl FnMut(NodeId)) {
        self.newest.each(&mut each);
        if self.mode.is_shared() {
            self.before.each(each);
        }
    }

    /// The node uses the bytes in this mode from now on. `is_gone` tells nodes that need no mention any more.
    #[inline(always)] // a call would cost as much again
    pub fn enter(&mut self, node: NodeId, mode: Mode, is_gone: impl Fn(NodeId) -> bool) {
        if self.last == node {
            return self.enter_again(node, mode);
        }
        self.last = node;
        if !self.mode.conflicts(mode) {
            return self.newest.join(node, is_gone);
        }
        if mode.is_shared() {
            std::mem::swap(&mut self.newest, &mut self.before);
        }
        self.newest.begin(node);
        self.mode = mode;
    }

    /// A node uses the bytes twice. In two modes it uses them alone: a round of its own, after all others.
    #[inline(never)]
    fn enter_again(&mut self, node: NodeId, mode: Mode) {
        let both = self.mode.and(mode);
        if both != self.mode && !both.is_shared() {
            self.newest.begin(node);
        }
        self.mode = both;
    }

    /// Forgets the nodes that need no mention any more.
    pub fn trim(&mut self, is_gone: impl Fn(NodeId) -> bool) {
        self.newest.trim(&is_gone);
        self.before.trim(&is_gone);
        if is_gone(self.last) {
            self.last = NO_NODE;
        }
        if !self.mode.is_shared() || self.newest.is_empty() {
            self.before = Round::EMPTY;
        }
        if self.newest.is_empty() {
            self.mode = Mode::Write;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(index: u32) -> NodeId {
        NodeId { index, generation: 0 }
    }

    fn uses(all: &[(u32, Mode)]) -> Uses {
        let mut uses = Uses::new();
        all.iter().for_each(|(index, mode)| uses.enter(node(*index), *mode, |_| false));
        uses
    }

    fn before(uses: &Uses, mode: Mode) -> Vec<u32> {
        let mut before = Vec::new();
        uses.before(mode, |id| before.push(id.index));
        before
    }

    #[test]
    fn a_round_that_has_nodes_is_kept_with_the_one_before_it() {
        for readers in [&[(2, Mode::Read)][..], &[(2, Mode::Read), (3, Mode::Read)]] {
            let mut all = vec![(1, Mode::Write)];
            all.extend(readers);
            let mut some = uses(&all);
            some.trim(|id| id == node(2) && readers.len() > 1);
            assert_eq!((before(&some, Mode::Read), some.mode), (vec![1], Mode::Read), "{readers:?}");
            some.trim(|_| true);
            assert_eq!(some, Uses::new(), "{readers:?}");
        }
        // The round before one of a node alone is no longer asked about.
        let mut alone = uses(&[(1, Mode::Write), (2, Mode::Read), (3, Mode::Write)]);
        alone.trim(|_| false);
        assert_eq!(alone, uses(&[(3, Mode::Write)]));
    }

    #[test]
    fn a_node_that_also_writes_is_a_round_of_its_own() {
        let readers = [(1, Mode::Read), (2, Mode::Read)];
        let mut both = uses(&readers);
        both.enter(node(2), Mode::Write, |_| false);
        assert_eq!((before(&both, Mode::Read), both.mode), (vec![2], Mode::ReadWrite));
        let mut again = uses(&readers);
        again.enter(node(2), Mode::Read, |_| false);
        assert_eq!((before(&again, Mode::Write), again.mode), (vec![1, 2], Mode::Read));
    }

    /// A round grows to twice the nodes that are left in it, and looks at each a few times.
    #[test]
    fn nodes_that_have_ended_make_room_for_others() {
        const NODES: u32 = 10_000;
        let (looks, kept) = (std::cell::Cell::new(0), 100);
        let mut some = uses(&[(0, Mode::Read)]);
        for index in 1..NODES {
            some.enter(node(index), Mode::Read, |id| {
                looks.set(looks.get() + 1);
                id.index.saturating_add(kept) < index
            });
        }
        assert!(some.newest.others.len() < 4 * kept as usize, "{} are mentioned", some.newest.others.len());
        assert!(some.newest.others.capacity() < 10 * kept as usize, "{} have room", some.newest.others.capacity());
        assert!(looks.get() < 4 * NODES, "{} looks", looks.get());
    }
}
