//! The places of a copy's bytes.

use hal::{DevicePtr, MemoryKind};
use terms::Direction;

use crate::cargo::Cargo;

/// The places of a copy's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placement {
    /// The direction; [`Direction::Peer`] where it is unknown, so that the driver finds it.
    pub(crate) direction: Direction,
    /// The kind of memory that decides: managed if one side is, else that of the host's side. `None` if the driver gave
    /// an error.
    pub(crate) kind: Option<MemoryKind>,
    /// The host side's address for the device, if the device sees that memory.
    pub(crate) host_seen_by_device: Option<DevicePtr>,
}

impl Placement {
    /// The driver gave an error.
    pub(crate) const UNKNOWN: Placement =
        Placement { direction: Direction::Peer, kind: None, host_seen_by_device: None };

    /// The direction, where it is known.
    pub(crate) fn known_direction(&self) -> Option<Direction> {
        self.kind.map(|_| self.direction)
    }

    /// Whether a copy of this cargo uses a copy engine that other copies wait for.
    pub(crate) fn meets_engine(&self, cargo: Cargo<'_>) -> bool {
        let across = matches!(self.direction, Direction::HostToDevice | Direction::DeviceToHost);
        across && self.kind == Some(MemoryKind::Pinned) && !cargo.is_inlined(self.direction)
    }
}
