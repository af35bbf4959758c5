//! A node as the oracle knows it.

use overtake_graph::{Ended, Kind, Mark, Mode, NodeId, Priority};

/// Why one node comes before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    Stated(Option<Mark>),
    Data,
}

#[derive(Clone, Copy, Debug)]
pub struct Before {
    pub node: usize,
    pub why: Why,
    /// It had not ended when the other one was added, so this is an order.
    pub is_order: bool,
}

impl Before {
    pub fn is_stated(&self) -> bool {
        matches!(self.why, Why::Stated(_))
    }
}

/// What the numbers of a task stand for.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    pub kind: Kind,
    pub device: u8,
    pub priority: Priority,
    pub held: u32,
    pub fails: bool,
    pub turns: u32,
    pub in_copy_strand: bool,
}

#[derive(Clone, Debug)]
pub struct Node {
    pub id: NodeId,
    pub kind: Kind,
    pub own: Priority,
    pub turns: u32,
    /// Its last launch fails.
    pub fails: bool,
    pub held: u32,
    /// It has a name or is reserved, and has not been described.
    pub is_absent: bool,
    pub is_reserved: bool,
    /// The bytes that it uses.
    pub uses: Vec<(usize, Mode)>,
    pub before: Vec<Before>,
    pub launches: u32,
    pub is_launched: bool,
    pub is_done: bool,
    pub has_failed: bool,
    pub lane: Option<u8>,
    /// A lane has been reported before one that it has joined since the launch: it may begin before others are done.
    pub may_begin_early: bool,
    pub began_early: bool,
    /// The priority that the caller knows.
    pub told: Priority,
    /// As the graph returned it.
    pub ended: Option<Ended>,
}

impl Node {
    pub fn new(id: NodeId, wish: &Wish) -> Node {
        let is_empty = wish.kind == Kind::Empty;
        Node {
            id,
            kind: wish.kind,
            own: wish.priority,
            turns: wish.turns,
            fails: wish.fails,
            held: wish.held,
            is_absent: false,
            is_reserved: false,
            uses: vec![],
            before: vec![],
            launches: 0,
            is_launched: is_empty,
            is_done: is_empty,
            has_failed: false,
            lane: None,
            may_begin_early: false,
            began_early: false,
            told: wish.priority,
            ended: None,
        }
    }

    /// It was known by a name or a handle, and is submitted now.
    pub fn describe(&mut self, wish: &Wish) {
        (self.kind, self.own, self.fails, self.turns) = (wish.kind, wish.priority, wish.fails, wish.turns);
        self.held += wish.held;
        let is_empty = wish.kind == Kind::Empty;
        (self.is_launched, self.is_done) = (is_empty, is_empty);
        (self.is_absent, self.is_reserved) = (false, false);
    }
}
