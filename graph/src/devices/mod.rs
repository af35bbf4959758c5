//! Devices: where data is, the links between memories, and the policies that choose a device and a stream.

mod bandwidth;
mod location;
mod select;
mod stream;

pub use bandwidth::Bandwidth;
pub use location::{DEVICES_MAX, Location, Locations};
pub use select::{Selection, Selector, Unplaced, Use};
pub use stream::{Choice, NewStream, Parent, Parents, Select};
