//! Locations of data.

use std::fmt;

/// The most devices of a context.
pub const DEVICES_MAX: u8 = 63;

/// A memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Location {
    /// That of the host.
    Host,
    /// That of a device, by its number in the context.
    Device(u8),
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::Host => write!(f, "host"),
            Location::Device(device) => write!(f, "{device}"),
        }
    }
}

/// The memories in which bytes are up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Locations(u64);

impl Locations {
    /// Nowhere.
    pub const NONE: Locations = Locations(0);

    /// Only there.
    #[must_use]
    pub fn only(location: Location) -> Locations {
        match location {
            Location::Host => Locations(1),
            Location::Device(device) => Locations(2 << (device % DEVICES_MAX)),
        }
    }

    /// There too.
    #[must_use]
    pub fn and(self, location: Location) -> Locations {
        Locations(self.0 | Locations::only(location).0)
    }

    /// There no more.
    #[must_use]
    pub fn without(self, location: Location) -> Locations {
        Locations(self.0 & !Locations::only(location).0)
    }

    /// Whether the bytes are up to date there.
    #[must_use]
    pub fn has(self, location: Location) -> bool {
        self.0 & Locations::only(location).0 != 0
    }

    /// Whether the bytes are up to date on a device.
    #[must_use]
    pub fn is_on_device(self) -> bool {
        self.0 > 1
    }

    /// Each of them, the host first.
    pub fn iter(self) -> impl Iterator<Item = Location> {
        let devices = (0..DEVICES_MAX).map(Location::Device);
        std::iter::once(Location::Host).chain(devices).filter(move |location| self.has(*location))
    }
}
