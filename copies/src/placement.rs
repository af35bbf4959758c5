//! Where the bytes of a copy are.

use hal::{DevicePtr, MemoryKind};
use options::Options;
use priority::Direction;

use crate::cargo::Cargo;

/// The places of a copy's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placement {
    /// The direction; [`Direction::Peer`] where it is unknown, so that the driver finds it.
    pub(crate) direction: Direction,
    /// The kind of memory that decides: managed if one side is, else that of the host's side. `None` if the driver gave
    /// an error.
    pub(crate) kind: Option<MemoryKind>,
    /// The address for kernels of the side that may have another one, if kernels reach both sides: of the host's side,
    /// or of the target of a copy between device memories.
    pub(crate) seen_by_device: Option<DevicePtr>,
}

impl Placement {
    /// The driver gave an error.
    pub(crate) const UNKNOWN: Placement = Placement { direction: Direction::Peer, kind: None, seen_by_device: None };

    /// The direction, where it is known.
    pub(crate) fn known_direction(&self) -> Option<Direction> {
        self.kind.map(|_| self.direction)
    }

    /// Whether a copy of this cargo uses a copy engine at which other copies wait. A pageable one does too, by the
    /// driver or staged.
    pub(crate) fn meets_engine(&self, options: &Options, cargo: Cargo<'_>) -> bool {
        let is_on_host = matches!(self.kind, Some(MemoryKind::Pinned | MemoryKind::Pageable));
        match self.direction.has_host_side() {
            true => is_on_host && !cargo.is_inlined(self.direction),
            false => self.kind == Some(MemoryKind::Device) && options.manages(self.direction),
        }
    }
}
