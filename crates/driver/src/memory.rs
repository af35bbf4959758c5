//! The memory of an address.
#![allow(unsafe_code)]

use abi::types::*;
use hal::{Code, Device, DevicePtr, MemoryKind, PointerInfo, Result, Stream};

use crate::functions::Functions;
use crate::handle::{number, pointer};
use crate::out::out;

/// Host memory that the driver does not know.
const PAGEABLE: PointerInfo =
    PointerInfo { kind: MemoryKind::Pageable, device_pointer: None, device: None, context: None, buffer_id: None };

/// The number of attributes.
pub const ALL: usize = 6;
/// The number of attributes for the kind and the device pointer, at the front. The driver looks each of them up.
pub const KIND: usize = 3;

/// Attributes for one `cuPointerGetAttributes`: all, or the first few.
struct Attributes {
    kind: CUmemorytype,
    context: CUcontext,
    device_pointer: CUdeviceptr,
    buffer_id: c_ulonglong,
    is_managed: c_uint,
    device: c_int,
}

impl Attributes {
    fn read(functions: &Functions, address: u64, count: usize) -> Result<Attributes> {
        let mut read = Attributes {
            kind: 0,
            context: std::ptr::null_mut(),
            device_pointer: 0,
            buffer_id: 0,
            is_managed: 0,
            device: -1,
        };
        let mut names = [
            CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
            CU_POINTER_ATTRIBUTE_IS_MANAGED,
            CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
            CU_POINTER_ATTRIBUTE_CONTEXT,
            CU_POINTER_ATTRIBUTE_BUFFER_ID,
            CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        ];
        let mut places: [*mut c_void; ALL] = [
            (&raw mut read.kind).cast(),
            (&raw mut read.is_managed).cast(),
            (&raw mut read.device_pointer).cast(),
            (&raw mut read.context).cast(),
            (&raw mut read.buffer_id).cast(),
            (&raw mut read.device).cast(),
        ];
        let count = count.min(ALL) as c_uint;
        // SAFETY: the two arrays are live and at least `count` long. Each place is a live field, at least as large as
        // the value that the driver writes for the attribute of that index, by its manual (is-managed: a boolean of at
        // most 4 bytes).
        unsafe {
            functions.cuPointerGetAttributes(count, names.as_mut_ptr(), places.as_mut_ptr(), address)?;
        }
        Ok(read)
    }

    fn info(&self) -> PointerInfo {
        let kind = match (self.kind, self.is_managed) {
            (0, _) => return PAGEABLE,
            (_, managed) if managed != 0 => MemoryKind::Managed,
            (CU_MEMORYTYPE_HOST, _) => MemoryKind::Pinned,
            _ => MemoryKind::Device,
        };
        PointerInfo {
            kind,
            device_pointer: (self.device_pointer != 0).then_some(DevicePtr(self.device_pointer)),
            device: (self.device >= 0).then_some(Device(self.device)),
            context: (!self.context.is_null()).then(|| hal::Context(number(self.context))),
            buffer_id: Some(self.buffer_id),
        }
    }
}

/// The memory at `address`, by [`ALL`] attributes or those of the [`KIND`]. Plain host memory is
/// [`MemoryKind::Pageable`], and no error.
pub fn pointer_info(functions: &Functions, address: u64, count: usize) -> Result<PointerInfo> {
    match Attributes::read(functions, address, count) {
        Ok(attributes) => Ok(attributes.info()),
        // For unknown addresses some drivers answer with zeroes, and some with this error.
        Err(error) if error.code() == Code::INVALID_VALUE => Ok(PAGEABLE),
        Err(error) => Err(error),
    }
}

/// The number of bytes from `address` to the end of its allocation.
pub fn bytes_left(functions: &Functions, address: u64) -> Result<u64> {
    let (mut start, mut bytes): (CUdeviceptr, usize) = (0, 0);
    let mut names = [CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE];
    let mut places: [*mut c_void; 2] = [(&raw mut start).cast(), (&raw mut bytes).cast()];
    // SAFETY: the two arrays are live and have two elements. Each place is a live local of the type that the driver's
    // manual gives the attribute of that index.
    unsafe { functions.cuPointerGetAttributes(2, names.as_mut_ptr(), places.as_mut_ptr(), address)? };
    Ok((start + bytes as u64).saturating_sub(address.max(start)))
}

/// Allocates device memory.
pub fn alloc(functions: &Functions, bytes: u64) -> Result<DevicePtr> {
    // SAFETY: an out parameter.
    out(0, |value| unsafe { functions.cuMemAlloc_v2(value, bytes as usize) }).map(DevicePtr)
}

/// Frees device memory in the order of a stream.
pub fn free_async(functions: &Functions, address: DevicePtr, stream: Stream) -> Result<()> {
    // SAFETY: a device address and a handle by value.
    unsafe { functions.cuMemFreeAsync(address.0, pointer(stream.0)) }
}

/// Allocates device memory in the order of a stream.
pub fn alloc_async(functions: &Functions, bytes: u64, stream: Stream) -> Result<DevicePtr> {
    // SAFETY: an out parameter, and a handle by value that the driver validates.
    out(0, |value| unsafe { functions.cuMemAllocAsync(value, bytes as usize, pointer(stream.0)) }).map(DevicePtr)
}

/// Allocates pinned memory.
pub fn host_alloc(functions: &Functions, bytes: u64, flags: u32) -> Result<*mut u8> {
    let mut memory = pointer(0);
    // SAFETY: `memory` is a live local that the driver writes once.
    unsafe { functions.cuMemHostAlloc(&mut memory, bytes as usize, flags) }?;
    Ok(memory.cast())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attributes(kind: CUmemorytype, is_managed: c_uint) -> Attributes {
        Attributes { kind, context: pointer(0x10), device_pointer: 0x20, buffer_id: 30, is_managed, device: 1 }
    }

    #[test]
    fn kinds_follow_type_and_managed_flag() {
        assert_eq!(attributes(0, 0).info(), PAGEABLE);
        assert_eq!(attributes(CU_MEMORYTYPE_HOST, 0).info().kind, MemoryKind::Pinned);
        assert_eq!(attributes(CU_MEMORYTYPE_DEVICE, 0).info().kind, MemoryKind::Device);
        assert_eq!(attributes(CU_MEMORYTYPE_DEVICE, 1).info().kind, MemoryKind::Managed);
    }

    #[test]
    fn absent_attributes_are_none() {
        let info = Attributes { context: pointer(0), device_pointer: 0, device: -2, ..attributes(1, 0) }.info();
        assert_eq!((info.context, info.device_pointer, info.device), (None, None, None));
        assert_eq!(info.buffer_id, Some(30));
    }
}
