//! Several copies without an order among them, as one: their places, and their descriptors for a kernel.

use std::ops::Range;

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
    // Allocations of copies before, and the distances from them to the device's addresses for them.
    let (mut targets, mut sources) = (0..0, 0..0);
    let (mut target_shift, mut source_shift) = (0, 0);
    let mut first: Option<Placement> = None;
    let mut pieces = Vec::with_capacity(requests.len());
    for request in requests.iter().filter(|request| request.bytes() > 0) {
        let shape = request.shape;
        if !shape.is_linear() {
            return None;
        }
        let (target, source, bytes) = (shape.target.address, shape.source.address, shape.bytes());
        // Most copies lie in the allocations of earlier ones, and a question to the driver costs more than such a copy.
        let is_known =
            |targets: &Range<u64>, sources: &Range<u64>| holds(targets, target, bytes) && holds(sources, source, bytes);
        if !is_known(&targets, &sources) {
            let here = place(driver, request)?;
            if first.is_some_and(|first| !alike(&first, &here)) {
                return None;
            }
            first = first.or(Some(here));
            (targets, sources) = (rest_of_allocation(driver, target)?, rest_of_allocation(driver, source)?);
            target_shift = shift(target, &here, Direction::DeviceToHost);
            source_shift = shift(source, &here, Direction::HostToDevice);
            if !is_known(&targets, &sources) {
                return None;
            }
        }
        let seen = Shape::linear(target.wrapping_add(target_shift), source.wrapping_add(source_shift), bytes);
        pieces.push(((target ^ source) & 15 == 0).then(|| Descriptor::copy(&seen)));
    }
    let by_kernel: Option<Vec<Descriptor>> = pieces.into_iter().collect();
    // A kernel that cannot make all of them makes none.
    let placement = Placement { seen_by_device: None, ..first? };
    Some(by_kernel.map_or((placement, Vec::new()), |pieces| (first.unwrap_or(placement), pieces)))
}

fn alike(one: &Placement, other: &Placement) -> bool {
    let kind = |placement: &Placement| {
        let Placement { direction, kind, seen_by_device } = placement;
        (*direction, *kind, seen_by_device.is_some())
    };
    kind(one) == kind(other)
}

/// The memory from `address` to the end of its allocation.
fn rest_of_allocation(driver: &dyn Driver, address: u64) -> Option<Range<u64>> {
    let bytes = driver.pointer_bytes_left(address).ok()?;
    Some(address..address.checked_add(bytes)?)
}

/// The distance from `address` to the device's address for it. In the direction `host_when` this is the host's side.
fn shift(address: u64, placement: &Placement, host_when: Direction) -> u64 {
    let on_host = placement.direction == host_when;
    placement.seen_by_device.filter(|_| on_host).map_or(0, |seen| seen.0.wrapping_sub(address))
}

fn holds(memory: &Range<u64>, address: u64, bytes: u64) -> bool {
    memory.contains(&address) && bytes <= memory.end - address
}
