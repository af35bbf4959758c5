//! Allocations, registrations, and the kinds of addresses.

use hal::{Code, DevicePtr, HostAllocFlags, HostRegisterFlags, MemoryKind, PointerExtent, PointerInfo};

use super::memory::{DEVICE_ALIGN, Region, RegionKind};
use super::op::OpKind;
use super::stream::Route;
use super::{Caller, Context, ContextKey, Failure, Model, Outcome, StreamKey, handles};
use crate::raw::Backing;

impl Model {
    /// Base and size of the region that holds an address.
    pub(crate) fn allocation(&self, caller: Caller, address: u64) -> Option<(u64, u64)> {
        let (base, region) = self.processes[caller.process].space.reservation(address)?;
        Some((base, region.bytes))
    }

    /// The same, of reserved addresses the piece that is mapped there.
    pub(crate) fn mapping(&self, caller: Caller, address: u64) -> Option<(u64, u64)> {
        let (base, region) = self.processes[caller.process].space.region(address)?;
        let (offset, bytes) = region.extent(address - base);
        Some((base + offset, bytes))
    }

    pub(super) fn buffer_id(&mut self) -> u64 {
        self.buffers += 1;
        self.buffers
    }

    pub(crate) fn mem_alloc(&mut self, caller: Caller, bytes: u64) -> Outcome<DevicePtr> {
        self.place_on_device(caller, bytes, RegionKind::Device, || Backing::zeroed(bytes))
    }

    /// Finds room on the device of the current context, for memory that `backing` makes.
    pub(crate) fn place_on_device(
        &mut self,
        caller: Caller,
        bytes: u64,
        kind: RegionKind,
        backing: impl FnOnce() -> Option<Backing>,
    ) -> Outcome<DevicePtr> {
        let context = self.current(caller)?;
        if bytes == 0 {
            return Err(Failure::new(Code::INVALID_VALUE, "0 bytes"));
        }
        let device = self.contexts[context].device;
        let state = &self.devices[device];
        let full = || Failure::new(Code::OUT_OF_MEMORY, format!("{bytes} bytes do not fit on device {device}"));
        let fits = state.memory_used.checked_add(bytes).is_some_and(|used| used <= state.memory_limit);
        let space = &self.processes[caller.process].space;
        let start = fits.then(|| space.device_gap(device, state.cursor, bytes)).flatten().ok_or_else(full)?;
        let backing = backing().ok_or_else(full)?;
        let buffer_id = self.buffer_id();
        let state = &mut self.devices[device];
        state.cursor = (start + bytes).next_multiple_of(DEVICE_ALIGN);
        state.memory_used += bytes;
        let region = Region::new(bytes, kind, (Some(context), device), buffer_id, backing);
        self.processes[caller.process].space.insert(start, region);
        Ok(DevicePtr(start))
    }

    /// As `mem_alloc`, from the pool of the device.
    pub(crate) fn mem_alloc_pooled(&mut self, caller: Caller, bytes: u64) -> Outcome<DevicePtr> {
        let pointer = self.mem_alloc(caller, bytes)?;
        self.processes[caller.process].space.pool(pointer.0);
        Ok(pointer)
    }

    /// The context of the allocation that `mem_free` is about to free; `None` for null.
    pub(crate) fn mem_free_check(&self, caller: Caller, pointer: DevicePtr) -> Outcome<Option<ContextKey>> {
        self.current(caller)?;
        if pointer == DevicePtr::NULL {
            return Ok(None);
        }
        let region = self.processes[caller.process].space.starting(pointer.0);
        let region = region.filter(|region| region.kind == RegionKind::Device && !region.going);
        let region =
            region.ok_or_else(|| Failure::new(Code::INVALID_VALUE, format!("{pointer:?} is no allocation")))?;
        Ok(region.context)
    }

    pub(crate) fn mem_free(&mut self, caller: Caller, pointer: DevicePtr) {
        self.mem_release(caller.process, pointer.0);
    }

    pub(crate) fn mem_release(&mut self, process: usize, address: u64) {
        if let Some(region) = self.processes[process].space.remove(address) {
            self.devices[region.device].memory_used -= region.bytes;
        }
    }

    /// Queues a free.
    pub(crate) fn free_submit(&mut self, caller: Caller, stream: StreamKey, pointer: DevicePtr) {
        let free = OpKind::Free { process: caller.process, address: pointer.0 };
        self.submit(stream, caller.at, Route::None, free);
        self.processes[caller.process].space.let_go(pointer.0);
    }

    pub(crate) fn mem_info(&self, caller: Caller) -> Outcome<(u64, u64)> {
        let device = &self.devices[self.contexts[self.current(caller)?].device];
        let total = self.parameters.device.memory_bytes;
        Ok((device.memory_limit.saturating_sub(device.memory_used), total))
    }

    pub(crate) fn host_alloc(&mut self, caller: Caller, bytes: u64, flags: HostAllocFlags) -> Outcome<*mut u8> {
        let context = self.current(caller)?;
        if flags.0 & !7 != 0 {
            return Err(Failure::new(Code::INVALID_VALUE, format!("flags {:#x} are unknown", flags.0)));
        }
        if bytes == 0 {
            return Ok(std::ptr::null_mut());
        }
        let full = || Failure::new(Code::OUT_OF_MEMORY, format!("{bytes} bytes of host memory"));
        let backing = Backing::zeroed(bytes).ok_or_else(full)?;
        let pointer = backing.pointer();
        self.add_host_region(caller, context, bytes, RegionKind::Pinned, backing);
        Ok(pointer)
    }

    pub(crate) fn add_host_region(
        &mut self,
        caller: Caller,
        context: ContextKey,
        bytes: u64,
        kind: RegionKind,
        backing: Backing,
    ) {
        let device = self.contexts[context].device;
        let buffer_id = self.buffer_id();
        let start = backing.address();
        let region = Region::new(bytes, kind, (Some(context), device), buffer_id, backing);
        self.processes[caller.process].space.insert(start, region);
    }

    /// The context of the pinned allocation that is about to be freed.
    pub(crate) fn host_free_check(&self, caller: Caller, address: u64) -> Outcome<Option<ContextKey>> {
        self.current(caller)?;
        if address == 0 {
            return Ok(None);
        }
        let region = self.processes[caller.process].space.starting(address);
        let region = region.filter(|region| region.kind == RegionKind::Pinned);
        let none = || Failure::new(Code::INVALID_VALUE, format!("{address:#x} is no pinned allocation"));
        region.map(|region| region.context).ok_or_else(none)
    }

    pub(crate) fn host_free(&mut self, caller: Caller, address: u64) {
        self.processes[caller.process].space.remove(address);
    }

    pub(crate) fn host_register(
        &mut self,
        caller: Caller,
        backing: Backing,
        bytes: u64,
        flags: HostRegisterFlags,
    ) -> Outcome<()> {
        let context = self.current(caller)?;
        let address = backing.address();
        if bytes == 0 || flags.0 & !15 != 0 || address.checked_add(bytes).is_none() {
            return Err(Failure::new(Code::INVALID_VALUE, format!("{bytes} bytes with flags {:#x}", flags.0)));
        }
        match self.processes[caller.process].space.overlapping(address, bytes) {
            Some(RegionKind::Registered) => return Err(Code::HOST_MEMORY_ALREADY_REGISTERED.into()),
            Some(_) => return Err(Failure::new(Code::INVALID_VALUE, "the memory is the driver's own")),
            None => {}
        }
        self.add_host_region(caller, context, bytes, RegionKind::Registered, backing);
        if flags.0 & HostRegisterFlags::READ_ONLY.0 != 0 {
            self.processes[caller.process].space.restrict(address);
        }
        Ok(())
    }

    /// The context of the registration that is about to end.
    pub(crate) fn host_unregister_check(&self, caller: Caller, address: u64) -> Outcome<ContextKey> {
        self.current(caller)?;
        match self.processes[caller.process].space.region(address) {
            Some((start, region)) if region.kind == RegionKind::Registered && start == address => {
                region.context.ok_or_else(|| Code::HOST_MEMORY_NOT_REGISTERED.into())
            }
            Some(_) => Err(Failure::new(Code::INVALID_VALUE, "not the begin of a registered range")),
            None => Err(Code::HOST_MEMORY_NOT_REGISTERED.into()),
        }
    }

    pub(crate) fn host_device_pointer(&self, caller: Caller, address: u64) -> Outcome<DevicePtr> {
        self.current(caller)?;
        let region = self.processes[caller.process].space.region(address).filter(|(_, region)| !region.is_device());
        let none = || Failure::new(Code::INVALID_VALUE, format!("{address:#x} is not pinned memory"));
        region.map(|_| DevicePtr(address)).ok_or_else(none)
    }

    /// The memory at an address, and the bytes to its end: of reserved addresses those of the piece.
    pub(crate) fn pointer_extent(&self, caller: Caller, address: u64) -> PointerExtent {
        let bytes = self.mapping(caller, address).map_or(0, |(start, bytes)| bytes - (address - start));
        let region = self.processes[caller.process].space.region(address);
        let is_piece = region.is_some_and(|(_, region)| region.kind == RegionKind::Reserved);
        PointerExtent { info: self.pointer_info(caller, address), bytes, is_piece }
    }

    pub(crate) fn pointer_info(&self, caller: Caller, address: u64) -> PointerInfo {
        let space = &self.processes[caller.process].space;
        let Some((start, region)) = space.region(address) else {
            let kind = MemoryKind::Pageable;
            return PointerInfo { kind, device_pointer: None, device: None, context: None, buffer_id: None };
        };
        let context = caller.context.and_then(|context| self.contexts.get(context));
        // It is there for memory of another context of the same device too, on which kernels fault.
        let is_seen = |context: &Context| {
            let other_context = !region.is_pooled && region.kind != RegionKind::Reserved;
            context.reach().covers(region, address - start, 1) || other_context && region.device == context.device
        };
        // Memory of a pool and memory that is mapped are of no context, as far as the driver tells.
        let owner = region.context.filter(|_| !region.is_pooled);
        PointerInfo {
            kind: if region.is_device() { MemoryKind::Device } else { MemoryKind::Pinned },
            device_pointer: context.is_none_or(is_seen).then_some(DevicePtr(address)),
            device: Some(hal::Device(region.device as i32)),
            context: owner.map(|context| hal::Context(self.contexts.handle(context, handles::CONTEXT))),
            buffer_id: Some(region.buffer_id),
        }
    }
}
