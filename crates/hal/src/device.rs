//! Devices and their attributes.

/// A device ordinal (`CUdevice`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Device(pub i32);

/// The 16 bytes that name a device across processes and reboots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Uuid(pub [u8; 16]);

/// A device attribute (`CUdevice_attribute`), by its number: a driver may have attributes that this crate has no name
/// for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Attribute(pub i32);

impl Attribute {
    /// Threads in a block, at most.
    pub const MAX_THREADS_PER_BLOCK: Attribute = Attribute(1);
    /// Multiprocessors on the device.
    pub const MULTIPROCESSOR_COUNT: Attribute = Attribute(16);
    /// Whether host memory can be mapped into the device's address space.
    pub const CAN_MAP_HOST_MEMORY: Attribute = Attribute(19);
    /// Whether kernels run concurrently.
    pub const CONCURRENT_KERNELS: Attribute = Attribute(31);
    /// PCI bus of the device.
    pub const PCI_BUS_ID: Attribute = Attribute(33);
    /// Its number on that bus.
    pub const PCI_DEVICE_ID: Attribute = Attribute(34);
    /// The PCI domain of that bus.
    pub const PCI_DOMAIN_ID: Attribute = Attribute(50);
    /// Asynchronous copy engines.
    pub const ASYNC_ENGINE_COUNT: Attribute = Attribute(40);
    /// Whether host and device share one address space.
    pub const UNIFIED_ADDRESSING: Attribute = Attribute(41);
    /// Major number of the compute capability.
    pub const COMPUTE_CAPABILITY_MAJOR: Attribute = Attribute(75);
    /// Minor number of the compute capability.
    pub const COMPUTE_CAPABILITY_MINOR: Attribute = Attribute(76);
    /// Whether streams have priorities.
    pub const STREAM_PRIORITIES_SUPPORTED: Attribute = Attribute(78);
    /// Whether device atomics on host memory are atomic against the CPU.
    pub const HOST_NATIVE_ATOMIC_SUPPORTED: Attribute = Attribute(86);
    /// Whether a host pointer of registered memory is also its device pointer.
    pub const CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM: Attribute = Attribute(91);
    /// Whether wait and write take 64-bit values.
    pub const CAN_USE_64_BIT_STREAM_MEM_OPS: Attribute = Attribute(122);
    /// Whether a wait may use the NOR condition.
    pub const CAN_USE_STREAM_WAIT_VALUE_NOR: Attribute = Attribute(123);
    /// Whether stream memory operations can add, and, or (CUDA 13.1).
    pub const ATOMIC_REDUCTION_SUPPORTED: Attribute = Attribute(148);
}
