//! Memory that is mapped piece by piece. The seam has no calls for it, because no library above it makes such memory.

use hal::{Device, DevicePtr, Result};

use crate::gpu::SoftGpu;
use crate::submit::{LOOKUP, MANAGE};

impl SoftGpu {
    /// Reserves addresses (`cuMemAddressReserve`): a multiple of 2 MiB.
    ///
    /// # Errors
    /// Another number of bytes, or no room.
    pub fn address_reserve(&self, bytes: u64) -> Result<DevicePtr> {
        self.change("cuMemAddressReserve", MANAGE, |model, caller| model.reserve(caller, bytes))
    }

    /// Gives reserved addresses back (`cuMemAddressFree`).
    ///
    /// # Errors
    /// Other bytes were reserved there, or a piece is mapped.
    pub fn address_free(&self, start: DevicePtr, bytes: u64) -> Result<()> {
        self.change("cuMemAddressFree", MANAGE, |model, caller| model.give_back(caller, start.0, bytes))
    }

    /// Makes memory that can be mapped (`cuMemCreate`). It is not counted among the memory of the device.
    ///
    /// # Errors
    /// There is no such device, or the bytes are no multiple of 2 MiB.
    pub fn physical_create(&self, device: Device, bytes: u64) -> Result<u64> {
        self.change("cuMemCreate", MANAGE, |model, _| model.physical_create(device, bytes))
    }

    /// Lets go of such memory (`cuMemRelease`). Where it is mapped it stays.
    ///
    /// # Errors
    /// There is no such memory.
    pub fn physical_release(&self, handle: u64) -> Result<()> {
        self.change("cuMemRelease", MANAGE, |model, _| model.physical_release(handle))
    }

    /// Maps all of a memory of the first device, once (`cuMemMap`).
    ///
    /// # Errors
    /// The addresses are not reserved, or not free; or that is not what is asked for.
    pub fn map(&self, address: DevicePtr, bytes: u64, handle: u64) -> Result<()> {
        self.change("cuMemMap", MANAGE, |model, caller| model.map(caller, address.0, bytes, handle))
    }

    /// Unmaps whole pieces (`cuMemUnmap`). No work may use them.
    ///
    /// # Errors
    /// They are no whole pieces.
    pub fn unmap(&self, address: DevicePtr, bytes: u64) -> Result<()> {
        self.change("cuMemUnmap", MANAGE, |model, caller| model.unmap(caller, address.0, bytes))
    }

    /// Gives a device access to whole pieces, or takes it back (`cuMemSetAccess`).
    ///
    /// # Errors
    /// They are no whole pieces, or there is no such device.
    pub fn set_access(&self, address: DevicePtr, bytes: u64, device: Device, has_access: bool) -> Result<()> {
        let range = (address.0, bytes);
        self.change("cuMemSetAccess", MANAGE, |model, caller| model.set_access(caller, range, device, has_access))
    }

    /// Whether the device of the current context has access to a piece; `None` if none is mapped at the address.
    ///
    /// # Errors
    /// The device is lost.
    pub fn access(&self, address: DevicePtr) -> Result<Option<bool>> {
        self.look_up("cuPointerGetAttribute", LOOKUP, |model, caller| Ok(model.access(caller, address.0)))
    }
}
