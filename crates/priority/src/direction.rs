//! The engine that a copy needs.

/// The direction of a copy. Each direction is an engine of its own: H2D never contends with D2H (facts, section 1).
///
/// A direction names the engine, and so the words, the traffic and the statistics of a copy. The pair of devices of a
/// peer copy is no part of it: a context has one engine for all its peers, as long as no measurement tells them apart.
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
    /// The number of directions, and so of engines.
    pub const COUNT: usize = 4;

    /// All directions, in the order of [`Direction::index`].
    pub const ALL: [Direction; Direction::COUNT] =
        [Direction::HostToDevice, Direction::DeviceToHost, Direction::DeviceToDevice, Direction::Peer];

    /// Its place in lists that have an entry for each direction.
    #[inline]
    #[must_use]
    pub fn index(self) -> usize {
        self as usize
    }

    /// Whether the copy goes between host and device.
    #[inline]
    #[must_use]
    pub fn has_host_side(self) -> bool {
        matches!(self, Direction::HostToDevice | Direction::DeviceToHost)
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_direction_is_in_its_place() {
        for (place, direction) in Direction::ALL.into_iter().enumerate() {
            assert_eq!(direction.index(), place);
            assert_eq!(direction.has_host_side(), direction.name() != "d2d" && direction.name() != "p2p");
        }
    }
}
