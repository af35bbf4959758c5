//! The memory of an address.
#![allow(unsafe_code)]

use abi::types::*;
use hal::{CaptureMode, Code, Device, DevicePtr, MemoryKind, PointerExtent, PointerInfo, Result, Stream};

use crate::capture;
use crate::functions::Functions;
use crate::handle::{number, pointer};
use crate::out::out;

/// Host memory that the driver does not know.
const PAGEABLE: PointerInfo =
    PointerInfo { kind: MemoryKind::Pageable, device_pointer: None, device: None, context: None, buffer_id: None };

/// The number of attributes.
const WITH_RANGE: usize = 8;
/// The number of those for [`pointer_info`], at the front.
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
    start: CUdeviceptr,
    bytes: usize,
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
            start: 0,
            bytes: 0,
        };
        let mut names = [
            CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
            CU_POINTER_ATTRIBUTE_IS_MANAGED,
            CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
            CU_POINTER_ATTRIBUTE_CONTEXT,
            CU_POINTER_ATTRIBUTE_BUFFER_ID,
            CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
            CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
            CU_POINTER_ATTRIBUTE_RANGE_SIZE,
        ];
        let mut places: [*mut c_void; WITH_RANGE] = [
            (&raw mut read.kind).cast(),
            (&raw mut read.is_managed).cast(),
            (&raw mut read.device_pointer).cast(),
            (&raw mut read.context).cast(),
            (&raw mut read.buffer_id).cast(),
            (&raw mut read.device).cast(),
            (&raw mut read.start).cast(),
            (&raw mut read.bytes).cast(),
        ];
        let count = count.min(WITH_RANGE) as c_uint;
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

/// The memory at `address`, and the bytes from there to its end.
///
/// Memory of a context is one allocation. Memory of none is a pool's or mapped. There the range among the attributes is
/// the reservation with its holes, and only the call below gives the piece. Where it fails, memory of a pool and of the
/// host has its range.
pub fn pointer_extent(functions: &Functions, address: u64) -> Result<PointerExtent> {
    let read = match Attributes::read(functions, address, WITH_RANGE) {
        Ok(read) => read,
        Err(error) if error.code() == Code::INVALID_VALUE => return Ok(whole(PAGEABLE, 0)),
        Err(error) => return Err(error),
    };
    let info = read.info();
    let left = |(start, bytes): (u64, usize)| (start + bytes as u64).saturating_sub(address.max(start));
    let range = left((read.start, read.bytes));
    if info.kind == MemoryKind::Pageable || info.context.is_some() {
        return Ok(whole(info, range));
    }
    // No capture of any thread is spoilt by a question that the driver takes for an unsafe call.
    let before = capture::exchange_mode(functions, CaptureMode::Relaxed);
    let (piece, access) = (piece(functions, address).map(left), Access::read(functions, address));
    if let Ok(before) = before {
        capture::exchange_mode(functions, before)?;
    }
    if info.kind == MemoryKind::Pinned {
        return Ok(whole(info, piece.unwrap_or(range).min(range)));
    }
    let is_piece = access.is_of_no_pool();
    let device_pointer = info.device_pointer.filter(|_| access.is_full());
    Ok(PointerExtent {
        info: PointerInfo { device_pointer, ..info },
        bytes: piece.unwrap_or(if is_piece { 0 } else { range }),
        is_piece,
    })
}

/// One allocation.
fn whole(info: PointerInfo, bytes: u64) -> PointerExtent {
    PointerExtent { info, bytes, is_piece: false }
}

/// Begin and bytes of the allocation or the mapped piece at a device address.
fn piece(functions: &Functions, address: u64) -> Result<(u64, usize)> {
    let (mut start, mut bytes): (CUdeviceptr, usize) = (0, 0);
    // SAFETY: two out parameters, and an address that the driver looks up and does not follow.
    unsafe { functions.cuMemGetAddressRange_v2(&mut start, &mut bytes, address)? };
    Ok((start, bytes))
}

/// The driver's knowledge about memory of no context. In doubt it is a pool's, and kernels may not use it.
struct Access {
    flags: c_ulonglong,
    pool: c_ulonglong,
}

impl Access {
    fn read(functions: &Functions, address: u64) -> Access {
        let mut read = Access { flags: 0, pool: 0 };
        let mut names = [CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE];
        let mut places: [*mut c_void; 2] = [(&raw mut read.flags).cast(), (&raw mut read.pool).cast()];
        // SAFETY: the two arrays are live and have two elements. Each place is a live field, at least as large as the
        // value that the manual gives the attribute of that index: an enumeration, and a handle.
        let asked = unsafe { functions.cuPointerGetAttributes(2, names.as_mut_ptr(), places.as_mut_ptr(), address) };
        if asked.is_ok() { read } else { Access { flags: 0, pool: 1 } }
    }

    /// Whether kernels of the current context may read and write the memory.
    fn is_full(&self) -> bool {
        const READ_AND_WRITE: c_ulonglong = 3;
        self.flags == READ_AND_WRITE
    }

    fn is_of_no_pool(&self) -> bool {
        self.pool == 0
    }
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
        let (context, device_pointer, start) = (pointer(0x10), 0x20, 0x20);
        Attributes { kind, context, device_pointer, buffer_id: 30, is_managed, device: 1, start, bytes: 8 }
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
