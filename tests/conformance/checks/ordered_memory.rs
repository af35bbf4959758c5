//! Device memory that is allocated and freed in the order of a stream.

use hal::{Code, DevicePtr, MemoryKind};

use crate::failure::{Outcome, ensure, refused, same, same_bytes};
use crate::place::Buffer;
use crate::rig::Rig;

/// Neither call waits for the device, and work between the two has the memory.
pub fn allocation_and_free_in_a_stream(rig: &Rig) -> Outcome {
    let (driver, stream) = (rig.driver(), rig.stream()?);
    let (source, target) = (rig.pinned_of(&[9; 4_096])?, rig.pinned(4_096)?);
    let gate = rig.gate(stream)?;
    let memory = Buffer { base: driver.mem_alloc_async(4_096, stream)?, bytes: 4_096 };
    same("the kind", &driver.pointer_info(memory.base.0)?.kind, &MemoryKind::Device)?;
    rig.htod((memory, 0), (&source, 0), 4_096, stream)?;
    rig.dtoh((&target, 0), (memory, 0), 4_096, stream)?;
    driver.mem_free_async(memory.base, stream)?;
    ensure!(!driver.stream_query(stream)?, "the stream still stands at its gate");
    gate.open();
    rig.settle(stream)?;
    same_bytes("the bytes", &target.read_all(), &[9; 4_096])
}

/// Memory that another stream frees stays until that stream comes to the free.
pub fn free_comes_after_the_work_before_it(rig: &Rig) -> Outcome {
    let (driver, streams) = (rig.driver(), rig.streams(2)?);
    let (source, target) = (rig.pinned_of(&[3; 512])?, rig.pinned(512)?);
    let memory = Buffer { base: driver.mem_alloc(512)?, bytes: 512 };
    let gate = rig.gate(streams[0])?;
    rig.htod((memory, 0), (&source, 0), 512, streams[0])?;
    rig.dtoh((&target, 0), (memory, 0), 512, streams[0])?;
    let event = rig.event()?;
    driver.event_record(event, streams[0])?;
    driver.stream_wait_event(streams[1], event)?;
    driver.mem_free_async(memory.base, streams[1])?;
    gate.open();
    rig.settle_all(&streams)?;
    same_bytes("the bytes", &target.read_all(), &[3; 512])
}

/// Sizes and addresses that make no sense.
pub fn refusals(rig: &Rig) -> Outcome {
    let (driver, stream) = (rig.driver(), rig.stream()?);
    same("nothing", &driver.mem_alloc_async(0, stream)?, &DevicePtr::NULL)?;
    refused("more than there is", driver.mem_alloc_async(1 << 50, stream), &[Code::OUT_OF_MEMORY])?;
    refused("no allocation", driver.mem_free_async(DevicePtr(0x1000), stream), &[Code::INVALID_VALUE])?;
    let memory = driver.mem_alloc_async(512, stream)?;
    driver.mem_free_async(memory, stream)?;
    rig.settle(stream)?;
    refused("freed before", driver.mem_free_async(memory, stream), &[Code::INVALID_VALUE])
}
