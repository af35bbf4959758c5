//! The things that a thread has at hand while it takes steps.

use std::cell::Cell;

use copies::copy::CopyHandle;
use graph::{NodeId, Priority};
use hal::Event;

use crate::dispatch::marks::Joins;
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

/// So many launches of a volley come behind its first.
pub(crate) const AHEAD_MAX: usize = 31;

/// Launches that are made behind the one at hand before that is reported.
#[derive(Default)]
pub(crate) struct Ahead {
    pub launches: [Launching; AHEAD_MAX],
    /// How many there are.
    pub count: usize,
    /// They are a chain: each is launched behind the one before it because it comes after it.
    pub is_chain: bool,
}

/// The step at hand, and the things that a thread needs for steps. Their memory is used again.
#[derive(Default)]
pub(crate) struct Kit {
    /// The step at hand, if it is this. It stays in its place from one launch to the next.
    pub launching: Launching,
    /// Those behind it in a volley.
    pub ahead: Ahead,
    /// The step at hand, if it is another.
    pub other: Option<Step>,
    /// The joins before the launch.
    pub joins: Joins,
    /// The copies of the launch.
    pub copies: Vec<CopyHandle>,
}

/// A step that a thread takes without the lock, and that is no launch.
#[repr(u8)] // with a tag of its own: whether there is one is seen by that
pub(crate) enum Step {
    Record { lane: u8, value: u64, event: Event },
    Light(NodeId, Function),
    Lift(Vec<CopyHandle>, Priority),
}
