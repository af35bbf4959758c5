//! The uses of one stretch of bytes: the nodes that a later use has to come after.
//!
//! Nodes that use the bytes one after another in a shared mode form a *round*, and so does each node that uses them
//! alone. Every node of a round comes after every node of the round before it. So two rounds are enough: a node that
//! joins the newest round comes after the round before it, and a node that begins a round comes after the newest.

use smallvec::SmallVec;

use super::access::Mode;
use crate::node::NodeId;

/// Nodes of one round. Most rounds have one or two.
pub(crate) type Ids = SmallVec<[NodeId; 2]>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Uses {
    /// The mode of the newest round.
    mode: Mode,
    /// The newest round.
    newest: Ids,
    /// The round before it.
    before: Ids,
}

impl Uses {
    pub fn new() -> Uses {
        Uses { mode: Mode::Write, newest: Ids::new(), before: Ids::new() }
    }

    /// A node that uses the bytes in this mode is one of the newest round.
    #[inline]
    fn is_of_newest(&self, mode: Mode) -> bool {
        !self.mode.conflicts(mode) && !self.newest.is_empty()
    }

    /// The nodes that a use in this mode comes after. Some may have ended.
    #[inline]
    pub fn before(&self, mode: Mode) -> &[NodeId] {
        if self.is_of_newest(mode) { &self.before } else { &self.newest }
    }

    /// The nodes that later uses may have to come after: GrCUDA's active ones (GR-01).
    pub fn active(&self) -> impl Iterator<Item = NodeId> {
        let before = if self.mode.is_shared() { &self.before[..] } else { &[] };
        self.newest.iter().chain(before).copied()
    }

    /// The node uses the bytes in this mode from now on. `is_gone` tells nodes that need no mention any more.
    #[inline]
    pub fn enter(&mut self, node: NodeId, mode: Mode, is_gone: impl Fn(NodeId) -> bool) {
        if self.newest.last() == Some(&node) {
            self.enter_again(node, mode);
        } else if self.is_of_newest(mode) {
            if self.newest.len() == self.newest.capacity() {
                self.newest.retain(|id| !is_gone(*id));
            }
            self.newest.push(node);
        } else {
            std::mem::swap(&mut self.newest, &mut self.before);
            self.newest.clear();
            self.newest.push(node);
            self.mode = mode;
        }
    }

    /// A node uses the bytes twice. In two modes it uses them alone: a round of its own, after all others.
    #[inline(never)]
    fn enter_again(&mut self, node: NodeId, mode: Mode) {
        let both = self.mode.and(mode);
        if both != self.mode && !both.is_shared() {
            self.newest.pop();
            if !self.newest.is_empty() {
                std::mem::swap(&mut self.newest, &mut self.before);
                self.newest.clear();
            }
            self.newest.push(node);
        }
        self.mode = both;
    }

    /// The bytes of other uses become part of these bytes. The newest round is the same.
    pub fn unite(&mut self, other: &Uses) {
        let others = other.before.iter().filter(|id| !self.before.contains(id)).copied();
        let others: Ids = others.collect();
        self.before.extend(others);
    }

    /// Forgets the nodes that need no mention any more.
    pub fn trim(&mut self, is_gone: impl Fn(NodeId) -> bool) {
        self.newest.retain(|id| !is_gone(*id));
        self.before.retain(|id| !is_gone(*id));
        if self.newest.is_empty() && self.before.is_empty() {
            self.mode = Mode::Write;
        }
    }
}
