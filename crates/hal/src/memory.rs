//! Memory kinds, flags, and the driver's knowledge of a pointer.

use crate::{Context, Device, DevicePtr};

/// Flags of pinned allocations (`CU_MEMHOSTALLOC_*`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct HostAllocFlags(pub u32);

impl HostAllocFlags {
    /// Pinned for every context.
    pub const PORTABLE: HostAllocFlags = HostAllocFlags(1);
    /// Mapped into the device's address space.
    pub const DEVICEMAP: HostAllocFlags = HostAllocFlags(2);
    /// Write-combined: fast for the device to read, slow for the CPU to read.
    pub const WRITECOMBINED: HostAllocFlags = HostAllocFlags(4);

    /// Both sets of flags.
    #[must_use]
    pub const fn and(self, other: HostAllocFlags) -> HostAllocFlags {
        HostAllocFlags(self.0 | other.0)
    }
}

/// Flags of registrations (`CU_MEMHOSTREGISTER_*`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct HostRegisterFlags(pub u32);

impl HostRegisterFlags {
    /// Pinned for every context.
    pub const PORTABLE: HostRegisterFlags = HostRegisterFlags(1);
    /// Mapped into the device's address space.
    pub const DEVICEMAP: HostRegisterFlags = HostRegisterFlags(2);
    /// The device only reads it.
    pub const READ_ONLY: HostRegisterFlags = HostRegisterFlags(8);
}

/// The kind of memory that an address belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryKind {
    /// Host memory that the driver does not know: pageable.
    Pageable,
    /// Host memory that is pinned: allocated by the driver or registered with it.
    Pinned,
    /// Device memory.
    Device,
    /// Managed memory: it is on the side that touched it last.
    Managed,
}

/// The driver's knowledge about an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointerInfo {
    /// The kind of memory.
    pub kind: MemoryKind,
    /// The address at which the device sees the memory; `None` where it does not see it.
    pub device_pointer: Option<DevicePtr>,
    /// The device that owns the memory. For pinned memory it is the device of the context that pinned it.
    pub device: Option<Device>,
    /// The context that owns the memory; `None` for pageable memory, for memory of a pool (`cuMemAllocAsync`), and for
    /// memory that is mapped (`cuMemMap`).
    pub context: Option<Context>,
    /// A number that is unique in the life of the process and never reused; `None` for pageable memory.
    pub buffer_id: Option<u64>,
}

/// The memory from an address on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointerExtent {
    /// The memory at the address.
    pub info: PointerInfo,
    /// The bytes from there to its end.
    pub bytes: u64,
    /// Whether it is a piece that was mapped (`cuMemMap`), so that another one may go on behind it.
    pub is_piece: bool,
}
