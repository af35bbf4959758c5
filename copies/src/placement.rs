//! Where the bytes of a copy are.

use hal::{DevicePtr, MemoryKind};
use terms::Direction;

use crate::cargo::Cargo;

/// Where the bytes of a copy are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placement {
    /// Which engine it needs; [`Direction::Peer`] where that is unknown, which lets the driver find out.
    pub(crate) direction: Direction,
    /// The kind of memory of the side that decides: the managed one if there is one, else the host's. `None` if the
    /// driver would not say.
    pub(crate) kind: Option<MemoryKind>,
    /// The host side's address as the device sees it, if it does.
    pub(crate) host_seen_by_device: Option<DevicePtr>,
}

impl Placement {
    /// The driver would not say.
    pub(crate) const UNKNOWN: Placement =
        Placement { direction: Direction::Peer, kind: None, host_seen_by_device: None };

    /// The direction, where it is known.
    pub(crate) fn known_direction(&self) -> Option<Direction> {
        self.kind.map(|_| self.direction)
    }

    /// Whether a copy of this cargo comes to a copy engine that others wait for.
    pub(crate) fn meets_engine(&self, cargo: Cargo<'_>) -> bool {
        let across = matches!(self.direction, Direction::HostToDevice | Direction::DeviceToHost);
        across && self.kind == Some(MemoryKind::Pinned) && !cargo.is_inlined(self.direction)
    }
}
