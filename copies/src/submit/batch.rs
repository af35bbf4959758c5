//! Several copies without an order among them, as one: their places, and their descriptors for a kernel.

use channels::Shape;
use hal::Driver;
use terms::Direction;

use crate::kernel::Descriptor;
use crate::placement::Placement;
use crate::request::Request;
use crate::submit::place::place;

/// The places of all copies, and their descriptors for a kernel: none if a kernel cannot make all of them. `None` if
/// they do not go the same way, or leave their allocations.
pub(crate) fn combine(driver: &dyn Driver, requests: &[Request]) -> Option<(Placement, Vec<Descriptor>)> {
    let (mut targets, mut sources) = (Span::default(), Span::default());
    let mut first: Option<Placement> = None;
    let mut pieces = Vec::with_capacity(requests.len());
    for request in requests.iter().filter(|request| request.bytes() > 0) {
        let shape = request.shape;
        if !shape.is_linear() {
            return None;
        }
        let (target, source, bytes) = (shape.target.address, shape.source.address, shape.bytes());
        // Most copies lie in the allocations of earlier ones, and a question to the driver costs more than such a copy.
        let is_known = targets.holds(target, bytes) && sources.holds(source, bytes);
        if !is_known {
            let here = place(driver, request)?;
            if first.is_some_and(|first| !alike(&first, &here)) {
                return None;
            }
            first = first.or(Some(here));
            targets = Span::of(driver, target, &here, Direction::DeviceToHost)?;
            sources = Span::of(driver, source, &here, Direction::HostToDevice)?;
            if !targets.holds(target, bytes) || !sources.holds(source, bytes) {
                return None;
            }
        }
        let seen = Shape::linear(target.wrapping_add(targets.shift), source.wrapping_add(sources.shift), bytes);
        pieces.push(((target ^ source) & 15 == 0).then(|| Descriptor::copy(&seen)));
    }
    let by_kernel: Option<Vec<Descriptor>> = pieces.into_iter().collect();
    // A kernel that cannot make all of them makes none.
    let placement = Placement { host_seen_by_device: None, ..first? };
    Some(by_kernel.map_or((placement, Vec::new()), |pieces| (first.unwrap_or(placement), pieces)))
}

fn alike(one: &Placement, other: &Placement) -> bool {
    let kind = |placement: &Placement| {
        let Placement { direction, kind, host_seen_by_device } = placement;
        (*direction, *kind, host_seen_by_device.is_some())
    };
    kind(one) == kind(other)
}

/// A part of a known allocation, and the distance from it to the device's address for it.
#[derive(Default)]
struct Span {
    from: u64,
    bytes: u64,
    shift: u64,
}

impl Span {
    /// The memory from `address` on. In the direction `host_when` this is the host's side.
    fn of(driver: &dyn Driver, address: u64, placement: &Placement, host_when: Direction) -> Option<Span> {
        let on_host = placement.direction == host_when;
        let seen = placement.host_seen_by_device.filter(|_| on_host).map_or(address, |seen| seen.0);
        let bytes = driver.pointer_bytes_left(address).ok()?;
        Some(Span { from: address, bytes, shift: seen.wrapping_sub(address) })
    }

    fn holds(&self, address: u64, bytes: u64) -> bool {
        address >= self.from && address.wrapping_sub(self.from).checked_add(bytes).is_some_and(|end| end <= self.bytes)
    }
}
