//! Memory that is mapped piece by piece. These functions are not in the list of `abi`, whose types come without theirs;
//! so `cuGetProcAddress` does not know them.
#![allow(unsafe_code)]
#![allow(non_snake_case)]

use abi::types::*;
use hal::{Code, Device, DevicePtr};

use crate::answer::{Answer, Out, Refusal, catch, require};
use crate::soft::gpu;

/// Pieces are multiples of this.
const GRANULARITY: usize = 2 << 20;
const TYPE_PINNED: c_int = 1;
const LOCATION_DEVICE: c_uint = 1;
const NO_ACCESS: c_int = 0;
const READ_AND_WRITE: c_int = 3;

/// `CUmemAllocationProp`.
#[repr(C)]
pub struct Properties {
    kind: c_int,
    handle_types: c_int,
    location: CUmemLocation,
    win32: *mut c_void,
    flags: [u8; 8],
}

/// `CUmemAccessDesc`.
#[repr(C)]
pub struct Access {
    location: CUmemLocation,
    flags: c_int,
}

/// The device of a location.
fn device(location: &CUmemLocation) -> Answer<Device> {
    require(location.type_ == LOCATION_DEVICE, Code::NOT_SUPPORTED)?;
    Ok(Device(location.id))
}

/// The device of memory with these properties.
unsafe fn place(properties: *const Properties) -> Answer<Device> {
    // SAFETY: null, or the caller's promise that it points to the structure.
    let properties = unsafe { properties.as_ref() }.ok_or(Refusal(Code::INVALID_VALUE))?;
    require(properties.kind == TYPE_PINNED, Code::INVALID_VALUE)?;
    let is_plain = properties.handle_types == 0 && properties.win32.is_null() && properties.flags == [0; 8];
    require(is_plain, Code::NOT_SUPPORTED)?;
    device(&properties.location)
}

macro_rules! mapped {
    ($($symbol:ident ($($argument:ident: $type:ty),*) $body:block)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $symbol($($argument: $type),*) -> CUresult {
                catch(|| $body)
            }
        )*
    };
}

mapped! {
    cuMemAddressReserve(ptr: *mut CUdeviceptr, size: usize, alignment: usize, addr: CUdeviceptr, flags: c_ulonglong) {
        require(flags == 0, Code::INVALID_VALUE)?;
        require(alignment <= GRANULARITY && addr == 0, Code::NOT_SUPPORTED)?;
        // SAFETY: the caller's promise for this output.
        let out = unsafe { Out::new(ptr) }?;
        out.set(gpu()?.address_reserve(size as u64)?.0);
        Ok(())
    }
    cuMemAddressFree(ptr: CUdeviceptr, size: usize) {
        Ok(gpu()?.address_free(DevicePtr(ptr), size as u64)?)
    }
    cuMemCreate(handle: *mut c_ulonglong, size: usize, prop: *const Properties, flags: c_ulonglong) {
        require(flags == 0, Code::INVALID_VALUE)?;
        // SAFETY: the caller's promise for this output.
        let out = unsafe { Out::new(handle) }?;
        // SAFETY: the caller's promise for the structure.
        let device = unsafe { place(prop) }?;
        out.set(gpu()?.physical_create(device, size as u64)?);
        Ok(())
    }
    cuMemRelease(handle: c_ulonglong) {
        Ok(gpu()?.physical_release(handle)?)
    }
    cuMemMap(ptr: CUdeviceptr, size: usize, offset: usize, handle: c_ulonglong, flags: c_ulonglong) {
        require(flags == 0, Code::INVALID_VALUE)?;
        require(offset == 0, Code::NOT_SUPPORTED)?;
        Ok(gpu()?.map(DevicePtr(ptr), size as u64, handle)?)
    }
    cuMemUnmap(ptr: CUdeviceptr, size: usize) {
        Ok(gpu()?.unmap(DevicePtr(ptr), size as u64)?)
    }
    cuMemSetAccess(ptr: CUdeviceptr, size: usize, desc: *const Access, count: usize) {
        require(!desc.is_null() && count > 0, Code::INVALID_VALUE)?;
        // SAFETY: the caller's promise that `count` structures lie there.
        for access in unsafe { std::slice::from_raw_parts(desc, count) } {
            require(matches!(access.flags, NO_ACCESS | READ_AND_WRITE), Code::NOT_SUPPORTED)?;
            let device = device(&access.location)?;
            gpu()?.set_access(DevicePtr(ptr), size as u64, device, access.flags == READ_AND_WRITE)?;
        }
        Ok(())
    }
    cuMemGetAllocationGranularity(granularity: *mut usize, prop: *const Properties, _option: c_int) {
        // SAFETY: the caller's promise for this output.
        let out = unsafe { Out::new(granularity) }?;
        // SAFETY: the caller's promise for the structure.
        unsafe { place(prop) }?;
        out.set(GRANULARITY);
        Ok(())
    }
}
