//! Two devices: copies by address, order across devices, and kernels that reach the other device.

use hal::{Code, Device, DevicePtr};

use crate::failure::{Outcome, ensure, refused, same, same_bytes};
use crate::place::{Buffer, Side};
use crate::prng::Prng;
use crate::rig::Rig;

const BYTES: u64 = 3 << 20;

/// Memory of the second device, whose context is not current.
fn far_buffer(rig: &Rig) -> Result<(Buffer, hal::Context), crate::failure::Failure> {
    let there = rig.other_context(Device(1))?;
    rig.driver().context_set_current(Some(there))?;
    let far = rig.buffer(BYTES);
    rig.driver().context_set_current(Some(rig.context()))?;
    Ok((far?, there))
}

/// The general copy and the copy between device memories find the devices by the addresses.
pub fn by_address(rig: &Rig) -> Outcome {
    let (far, _) = far_buffer(rig)?;
    let (sent, stream) = (Prng::new(41).bytes(BYTES), rig.stream()?);
    let (near, back) = (rig.buffer_of(&sent)?, rig.buffer(BYTES)?);
    rig.copy_any((Side::Device(far), 0), (Side::Device(near), 0), BYTES, stream)?;
    rig.dtod((back, 0), (far, 0), BYTES, stream)?;
    same_bytes("there and back", &rig.download(back, stream)?, &sent)
}

/// An event of one device's stream orders a stream of the other behind a copy between the two.
pub fn events_order_devices(rig: &Rig) -> Outcome {
    let (far, there) = far_buffer(rig)?;
    let (sent, stream, event) = (Prng::new(42).bytes(BYTES), rig.stream()?, rig.event()?);
    let (near, gate) = (rig.buffer_of(&sent)?, rig.gate(stream)?);
    rig.copy_peer((far, 0, there), (near, 0, rig.context()), BYTES, stream)?;
    rig.driver().event_record(event, stream)?;
    rig.driver().context_set_current(Some(there))?;
    let other = rig.driver().stream_create(hal::StreamFlags::NON_BLOCKING, 0)?;
    let waits = rig.driver().stream_wait_event(other, event);
    let is_over = rig.driver().stream_query(other);
    let opener = rig.open_later(&gate);
    let seen = rig.download(far, other);
    rig.join(opener)?;
    let destroyed = rig.driver().stream_destroy(other);
    rig.driver().context_set_current(Some(rig.context()))?;
    waits?;
    destroyed?;
    same("the other device has not waited", &is_over?, &false)?;
    same_bytes("on the other device", &seen?, &sent)
}

/// The driver gives a context an address for kernels once access was enabled, and a kernel then writes there.
pub fn access_for_kernels(rig: &Rig) -> Outcome {
    if !rig.driver().device_can_access_peer(Device(0), Device(1))? {
        return Ok(());
    }
    let (far, there) = far_buffer(rig)?;
    let seen = || rig.driver().pointer_info(far.base.0).map(|info| info.device_pointer);
    let before = seen()?;
    // The primary contexts of a real driver may have got access in an earlier check.
    match rig.driver().enable_peer_access(there) {
        Ok(()) => same("an address without access", &before, &None::<DevicePtr>)?,
        enabled => refused("access twice", enabled, &[Code::PEER_ACCESS_ALREADY_ENABLED])?,
    }
    same("an address with access", &seen()?, &Some(far.base))?;
    let (kernels, stream) = (rig.kernels()?, rig.stream()?);
    rig.launch_store(kernels.store, (far, 8), 0x0403_0201, stream)?;
    let bytes = rig.download(far, stream)?;
    ensure!(bytes[8..12] == [1, 2, 3, 4], "a kernel's store to the other device: {:?}", &bytes[8..12]);
    Ok(())
}
