//! The engine that a copy needs.

/// The direction of a copy. Each direction is an engine of its own: H2D never contends with D2H (facts, section 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// Host to device.
    HostToDevice,
    /// Device to host.
    DeviceToHost,
    /// Device to the same device.
    DeviceToDevice,
    /// Device to another device.
    Peer,
}

impl Direction {
    /// The name used in options and results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Direction::HostToDevice => "h2d",
            Direction::DeviceToHost => "d2h",
            Direction::DeviceToDevice => "d2d",
            Direction::Peer => "p2p",
        }
    }
}
