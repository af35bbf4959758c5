//! Attributes of addresses.
#![allow(unsafe_code)]
#![allow(non_snake_case)]

use abi::Flavour;
use abi::types::*;
use hal::{Code, DevicePtr, Driver, MemoryKind, PointerInfo};

use crate::answer::{Answer, Out, array, refuse, require};
use crate::soft::{gpu, pointer};

/// The device ordinal of memory that belongs to no device.
const NO_DEVICE: c_int = -2;

/// The value of one attribute, in the type that the manual gives it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Value {
    Context(CUcontext),
    Number(c_uint),
    Ordinal(c_int),
    Address(u64),
}

impl Value {
    /// Stores the value at its own width.
    unsafe fn store(self, place: *mut c_void) -> Answer {
        // SAFETY: the caller's promise that the place fits the attribute's type.
        unsafe {
            match self {
                Value::Context(context) => Out::new(place.cast())?.set(context),
                Value::Number(number) => Out::new(place.cast())?.set(number),
                Value::Ordinal(ordinal) => Out::new(place.cast())?.set(ordinal),
                Value::Address(address) => Out::new(place.cast())?.set(address),
            }
        }
        Ok(())
    }
}

fn memory_type(kind: MemoryKind) -> CUmemorytype {
    match kind {
        MemoryKind::Pageable => 0,
        MemoryKind::Pinned => CU_MEMORYTYPE_HOST,
        MemoryKind::Device | MemoryKind::Managed => CU_MEMORYTYPE_DEVICE,
    }
}

fn host_pointer(address: u64, kind: MemoryKind) -> u64 {
    match kind {
        MemoryKind::Device => 0,
        MemoryKind::Pageable | MemoryKind::Pinned | MemoryKind::Managed => address,
    }
}

/// The knowledge about an address.
struct Known {
    address: u64,
    info: PointerInfo,
    /// Base and size of its allocation, or of its reservation.
    range: Option<(u64, u64)>,
    /// Of a piece that is mapped, whether the device of the current context has access.
    access: Option<bool>,
}

impl Known {
    fn of(address: u64) -> Answer<Known> {
        let gpu = gpu()?;
        let (info, access) = (gpu.pointer_info(address)?, gpu.access(DevicePtr(address))?);
        Ok(Known { address, info, range: gpu.allocation(address), access })
    }
}

/// The handle of a device's only pool.
const POOL: u64 = 1;
const READ_AND_WRITE: c_uint = 3;

impl Known {
    /// The access of the device of the current context.
    fn access(&self) -> c_uint {
        let has_access = self.access.unwrap_or(self.info.device_pointer.is_some());
        if has_access { READ_AND_WRITE } else { 0 }
    }

    /// Device memory of no context that is not mapped is a pool's.
    fn pool(&self) -> u64 {
        let is_pooled = self.info.kind == MemoryKind::Device && self.info.context.is_none() && self.access.is_none();
        if is_pooled { POOL } else { 0 }
    }
}

fn attribute(name: CUpointer_attribute, known: &Known) -> Answer<Value> {
    let Known { address, info, range, .. } = known;
    Ok(match name {
        CU_POINTER_ATTRIBUTE_CONTEXT => Value::Context(pointer(info.context.map_or(0, |context| context.0))),
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE => Value::Number(memory_type(info.kind)),
        CU_POINTER_ATTRIBUTE_DEVICE_POINTER => Value::Address(info.device_pointer.map_or(0, |device| device.0)),
        CU_POINTER_ATTRIBUTE_HOST_POINTER => Value::Address(host_pointer(*address, info.kind)),
        CU_POINTER_ATTRIBUTE_BUFFER_ID => Value::Address(info.buffer_id.unwrap_or(0)),
        CU_POINTER_ATTRIBUTE_IS_MANAGED => Value::Number(c_uint::from(info.kind == MemoryKind::Managed)),
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL => Value::Ordinal(info.device.map_or(NO_DEVICE, |device| device.0)),
        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR => Value::Address(range.map_or(0, |(base, _)| base)),
        CU_POINTER_ATTRIBUTE_RANGE_SIZE => Value::Address(range.map_or(0, |(_, bytes)| bytes)),
        CU_POINTER_ATTRIBUTE_MAPPED => Value::Number(c_uint::from(info.device_pointer.is_some())),
        CU_POINTER_ATTRIBUTE_ACCESS_FLAGS => Value::Number(known.access()),
        CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE => Value::Address(known.pool()),
        _ if name <= CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE && name != 0 => {
            return refuse(Code::NOT_SUPPORTED);
        }
        _ => return refuse(Code::INVALID_VALUE),
    })
}

/// One attribute of an address. An address that the driver does not know is an invalid value.
pub unsafe fn cuPointerGetAttribute(
    _: Flavour,
    data: *mut c_void,
    name: CUpointer_attribute,
    ptr: CUdeviceptr,
) -> Answer {
    gpu()?;
    require(!data.is_null(), Code::INVALID_VALUE)?;
    let known = Known::of(ptr)?;
    require(known.info.kind != MemoryKind::Pageable, Code::INVALID_VALUE)?;
    let on_device = known.info.kind == MemoryKind::Device;
    require(!(on_device && name == CU_POINTER_ATTRIBUTE_HOST_POINTER), Code::INVALID_VALUE)?;
    // SAFETY: the caller's promise that the place fits the attribute's type.
    unsafe { attribute(name, &known)?.store(data) }
}

/// Several attributes of an address. An unknown address is no error here.
pub unsafe fn cuPointerGetAttributes(
    _: Flavour,
    num_attributes: c_uint,
    attributes: *mut CUpointer_attribute,
    data: *mut *mut c_void,
    ptr: CUdeviceptr,
) -> Answer {
    gpu()?;
    require(num_attributes > 0, Code::INVALID_VALUE)?;
    // SAFETY: the caller's promise that both arrays hold `num_attributes` elements.
    let (names, places) =
        unsafe { (array(attributes, num_attributes as usize)?, array(data, num_attributes as usize)?) };
    require(places.iter().all(|place| !place.is_null()), Code::INVALID_VALUE)?;
    let known = Known::of(ptr)?;
    let values = names.iter().map(|name| attribute(*name, &known)).collect::<Answer<Vec<Value>>>()?;
    for (value, place) in values.into_iter().zip(places) {
        // SAFETY: the caller's promise that each place fits its attribute's type.
        unsafe { value.store(*place) }?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hal::{Context, Device};

    const PLAIN: PointerInfo =
        PointerInfo { kind: MemoryKind::Pageable, device_pointer: None, device: None, context: None, buffer_id: None };

    const DEVICE_MEMORY: PointerInfo = PointerInfo {
        kind: MemoryKind::Device,
        device_pointer: Some(DevicePtr(0x1010)),
        device: Some(Device(1)),
        context: Some(Context(0x77)),
        buffer_id: Some(5),
    };

    #[test]
    fn plain_memory_has_the_driver_s_default_values() {
        let value = |name| attribute(name, &Known { address: 0x1010, info: PLAIN, range: None, access: None });
        assert_eq!(value(CU_POINTER_ATTRIBUTE_MEMORY_TYPE), Ok(Value::Number(0)));
        assert_eq!(value(CU_POINTER_ATTRIBUTE_HOST_POINTER), Ok(Value::Address(0x1010)));
        assert_eq!(value(CU_POINTER_ATTRIBUTE_DEVICE_POINTER), Ok(Value::Address(0)));
        assert_eq!(value(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL), Ok(Value::Ordinal(-2)));
        assert_eq!(value(CU_POINTER_ATTRIBUTE_CONTEXT), Ok(Value::Context(std::ptr::null_mut())));
    }

    #[test]
    fn device_memory_has_its_attributes() {
        let range = Some((0x1000, 64));
        let value = |name| attribute(name, &Known { address: 0x1010, info: DEVICE_MEMORY, range, access: None });
        assert_eq!(value(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR), Ok(Value::Address(0x1000)));
        assert_eq!(value(CU_POINTER_ATTRIBUTE_RANGE_SIZE), Ok(Value::Address(64)));
        assert_eq!(value(CU_POINTER_ATTRIBUTE_MEMORY_TYPE), Ok(Value::Number(CU_MEMORYTYPE_DEVICE)));
        assert_eq!(value(CU_POINTER_ATTRIBUTE_HOST_POINTER), Ok(Value::Address(0)));
        assert_eq!(value(CU_POINTER_ATTRIBUTE_BUFFER_ID), Ok(Value::Address(5)));
        assert_eq!(value(CU_POINTER_ATTRIBUTE_MAPPED), Ok(Value::Number(1)));
        assert_eq!(value(CU_POINTER_ATTRIBUTE_ACCESS_FLAGS), Ok(Value::Number(3)));
        assert_eq!(value(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE), Ok(Value::Address(0)));
        assert_eq!(value(CU_POINTER_ATTRIBUTE_P2P_TOKENS), refuse(Code::NOT_SUPPORTED));
        assert_eq!(value(0), refuse(Code::INVALID_VALUE));
        assert_eq!(value(4711), refuse(Code::INVALID_VALUE));
    }
}
