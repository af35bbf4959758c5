//! The attributes of the devices.

use hal::{Attribute, Uuid};

use crate::parameters::Parameters;

/// One attribute; `None` for a number that the model does not know.
pub(crate) fn attribute(attribute: Attribute, parameters: &Parameters, device: usize) -> Option<i32> {
    let about = &parameters.device;
    Some(match attribute {
        Attribute::MAX_THREADS_PER_BLOCK => 1024,
        Attribute::MULTIPROCESSOR_COUNT => about.multiprocessors as i32,
        Attribute::CAN_MAP_HOST_MEMORY
        | Attribute::CONCURRENT_KERNELS
        | Attribute::UNIFIED_ADDRESSING
        | Attribute::STREAM_PRIORITIES_SUPPORTED
        | Attribute::CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM
        | Attribute::CAN_USE_64_BIT_STREAM_MEM_OPS
        | Attribute::CAN_USE_STREAM_WAIT_VALUE_NOR => 1,
        Attribute::PCI_BUS_ID => device as i32 + 1,
        Attribute::ASYNC_ENGINE_COUNT => about.async_engines,
        Attribute::COMPUTE_CAPABILITY_MAJOR => about.compute_capability[0],
        Attribute::COMPUTE_CAPABILITY_MINOR => about.compute_capability[1],
        Attribute::HOST_NATIVE_ATOMIC_SUPPORTED | Attribute::ATOMIC_REDUCTION_SUPPORTED => 0,
        // Warp size, and the largest block and grid: launch code often asks for these.
        Attribute(10) => 32,
        Attribute(2 | 3) => 1024,
        Attribute(4) => 64,
        Attribute(5) => i32::MAX,
        Attribute(6 | 7) => 65_535,
        // Compute mode, integrated, PCI device, managed memory: none or zero.
        Attribute(18 | 20 | 34 | 83 | 89 | 100) => 0,
        // No device of the machine that runs the model has this place.
        Attribute::PCI_DOMAIN_ID => 0xffff,
        _ => return None,
    })
}

/// A UUID that names the software GPU and the device's ordinal.
pub(crate) fn uuid(device: usize) -> Uuid {
    let mut bytes = *b"overtake-soft-\0\0";
    bytes[15] = device as u8;
    Uuid(bytes)
}
