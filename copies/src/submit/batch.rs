//! Several unordered copies, submitted as one: where their bytes are, and their descriptors for a kernel.

use std::ops::Range;

use channels::Shape;
use hal::Driver;
use priority::Direction;

use crate::kernel::Descriptor;
use crate::placement::Placement;
use crate::reach::{Home, Use};
use crate::request::Request;
use crate::submit::place::place;

/// The places of all copies, and their descriptors for a kernel: none if a kernel cannot make all of them. `None` if
/// they do not go the same way, or no kernel reaches all of their memory.
pub(crate) fn combine(driver: &dyn Driver, home: &Home, requests: &[Request]) -> Option<(Placement, Vec<Descriptor>)> {
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
            let may_be_far = here.direction == Direction::Peer;
            (targets, target_shift) = rest_of_memory(driver, home, target, Use { writes: true, may_be_far })?;
            (sources, source_shift) = rest_of_memory(driver, home, source, Use { writes: false, may_be_far })?;
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

/// The memory from `address` to its end, and the distance to the device's addresses for it.
fn rest_of_memory(driver: &dyn Driver, home: &Home, address: u64, to: Use) -> Option<(Range<u64>, u64)> {
    let found = home.find(driver, address, to)?;
    Some((address..address.checked_add(found.bytes)?, found.shift))
}

fn holds(memory: &Range<u64>, address: u64, bytes: u64) -> bool {
    memory.contains(&address) && bytes <= memory.end - address
}

#[cfg(test)]
mod tests;
