//! Devices.
#![allow(unsafe_code)]
#![allow(non_snake_case)]

use abi::Flavour;
use abi::types::*;
use hal::{Attribute, Code, Device, Driver};

use crate::answer::{Answer, Out, require};
use crate::soft::gpu;

pub unsafe fn cuDeviceGet(_: Flavour, device: *mut CUdevice, ordinal: c_int) -> Answer {
    let count = gpu()?.device_count()?;
    // SAFETY: the caller's promise for this output.
    let out = unsafe { Out::new(device) }?;
    require((0..count).contains(&ordinal), Code::INVALID_DEVICE)?;
    out.set(ordinal);
    Ok(())
}

pub unsafe fn cuDeviceGetCount(_: Flavour, count: *mut c_int) -> Answer {
    let gpu = gpu()?;
    // SAFETY: the caller's promise for this output.
    unsafe { Out::new(count) }?.set(gpu.device_count()?);
    Ok(())
}

/// A name that does not fit is cut. The stored bytes always end in a zero byte.
pub unsafe fn cuDeviceGetName(_: Flavour, name: *mut c_char, len: c_int, dev: CUdevice) -> Answer {
    let full = gpu()?.device_name(Device(dev))?;
    let room = usize::try_from(len).unwrap_or(0);
    require(!name.is_null() && room > 0, Code::INVALID_VALUE)?;
    let kept = full.len().min(room - 1);
    // SAFETY: the caller's promise that `name` has room for `len` bytes; `kept + 1` is at most that, and a Rust string
    // does not overlap it.
    unsafe {
        std::ptr::copy_nonoverlapping(full.as_ptr().cast(), name, kept);
        name.add(kept).write(0);
    }
    Ok(())
}

pub unsafe fn cuDeviceGetUuid(flavour: Flavour, uuid: *mut CUuuid, dev: CUdevice) -> Answer {
    // SAFETY: the same promise.
    unsafe { cuDeviceGetUuid_v2(flavour, uuid, dev) }
}

pub unsafe fn cuDeviceGetUuid_v2(_: Flavour, uuid: *mut CUuuid, dev: CUdevice) -> Answer {
    let found = gpu()?.device_uuid(Device(dev))?;
    // SAFETY: the caller's promise for this output.
    unsafe { Out::new(uuid) }?.set(CUuuid { bytes: found.0.map(|byte| byte as c_char) });
    Ok(())
}

pub unsafe fn cuDeviceGetAttribute(_: Flavour, pi: *mut c_int, attrib: CUdevice_attribute, dev: CUdevice) -> Answer {
    let gpu = gpu()?;
    // SAFETY: the caller's promise for this output.
    let out = unsafe { Out::new(pi) }?;
    out.set(gpu.device_attribute(Attribute(attrib as i32), Device(dev))?);
    Ok(())
}

pub unsafe fn cuDeviceTotalMem_v2(_: Flavour, bytes: *mut usize, dev: CUdevice) -> Answer {
    let total = gpu()?.device_total_memory(Device(dev))?;
    // SAFETY: the caller's promise for this output.
    unsafe { Out::new(bytes) }?.set(total as usize);
    Ok(())
}

pub unsafe fn cuDeviceCanAccessPeer(
    _: Flavour,
    can_access_peer: *mut c_int,
    dev: CUdevice,
    peer_dev: CUdevice,
) -> Answer {
    let can = gpu()?.device_can_access_peer(Device(dev), Device(peer_dev))?;
    // SAFETY: the caller's promise for this output.
    unsafe { Out::new(can_access_peer) }?.set(c_int::from(can));
    Ok(())
}
