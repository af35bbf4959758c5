//! The things that a thread has at hand while it takes steps.

use copies::copy::CopyHandle;
use graph::{NodeId, Priority};
use hal::Event;

use crate::dispatch::marks::Join;
use crate::work::function::{Function, Work};
use crate::work::lane::Call;

/// A launch that is to be made.
pub(crate) struct Launching {
    pub call: Call,
    /// Its function. None behind the launch: it is the node's again.
    pub work: Work,
}

/// The step at hand, and the things that a thread needs for steps. Their memory is used again.
#[derive(Default)]
pub(crate) struct Kit {
    pub step: Option<Step>,
    /// The joins before the launch.
    pub joins: Vec<Join>,
    /// The copies of the launch.
    pub copies: Vec<CopyHandle>,
}

/// A step that a thread takes without the lock.
pub(crate) enum Step {
    Launch(Launching),
    Record { lane: u8, value: u64, event: Event },
    Light(NodeId, Function),
    Lift(Vec<CopyHandle>, Priority),
}
