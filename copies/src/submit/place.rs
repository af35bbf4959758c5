//! Asks the driver where the bytes of a copy are.

use hal::{Driver, MemoryKind, PointerInfo};
use priority::Direction;

use crate::placement::Placement;
use crate::request::Request;

/// The places of the bytes. `None` if the driver gave an error: such a copy goes natively.
pub(crate) fn place(driver: &dyn Driver, request: &Request) -> Option<Placement> {
    let (target, source) = (request.shape.target.address, request.shape.source.address);
    match request.direction() {
        Some(Direction::HostToDevice) => Some(with_host(Direction::HostToDevice, driver.pointer_kind(source).ok()?)),
        Some(Direction::DeviceToHost) => Some(with_host(Direction::DeviceToHost, driver.pointer_kind(target).ok()?)),
        _ => infer(driver.pointer_info(target).ok()?, driver.pointer_info(source).ok()?),
    }
}

fn with_host(direction: Direction, host: PointerInfo) -> Placement {
    Placement { direction, kind: Some(host.kind), seen_by_device: host.device_pointer }
}

fn infer(target: PointerInfo, source: PointerInfo) -> Option<Placement> {
    let on_host = |info: PointerInfo| matches!(info.kind, MemoryKind::Pageable | MemoryKind::Pinned);
    let direction = match (on_host(target), on_host(source)) {
        (true, true) => return None,
        (false, true) => return Some(managed(with_host(Direction::HostToDevice, source), target)),
        (true, false) => return Some(managed(with_host(Direction::DeviceToHost, target), source)),
        (false, false) if target.device == source.device => Direction::DeviceToDevice,
        (false, false) => Direction::Peer,
    };
    // The driver gives no address for memory of another device to which this context has no access.
    let seen_by_device = source.device_pointer.and(target.device_pointer);
    let placement = Placement { direction, kind: Some(MemoryKind::Device), seen_by_device };
    Some(managed(managed(placement, target), source))
}

fn managed(placement: Placement, side: PointerInfo) -> Placement {
    match side.kind {
        MemoryKind::Managed => Placement { kind: Some(MemoryKind::Managed), ..placement },
        _ => placement,
    }
}
