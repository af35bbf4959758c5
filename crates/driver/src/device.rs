//! Names and numbers of a device, and its contexts.
#![allow(unsafe_code)] // as `cuda.rs`, whose comment holds the reasons

use abi::types::*;
use hal::{Context, Device, Result, Uuid};

use crate::functions::Functions;
use crate::out::{out, out_handle};

pub fn name(functions: &Functions, device: Device) -> Result<String> {
    let mut name = [0_u8; 256];
    // SAFETY: the buffer has the given length, and the driver ends its text with a NUL inside it.
    unsafe { functions.cuDeviceGetName(name.as_mut_ptr().cast(), name.len() as c_int, device.0) }?;
    Ok(String::from_utf8_lossy(name.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned())
}

pub fn uuid(functions: &Functions, device: Device) -> Result<Uuid> {
    // SAFETY: an out parameter.
    let uuid = out(CUuuid { bytes: [0; 16] }, |value| unsafe { functions.cuDeviceGetUuid_v2(value, device.0) })?;
    Ok(Uuid(uuid.bytes.map(|byte| byte as u8)))
}

/// A context of the device, with the driver's own flags.
pub fn context(functions: &Functions, device: Device) -> Result<Context> {
    out_handle(|value| match functions.pointers().cuCtxCreate_v2 {
        // SAFETY: an out parameter.
        Some(_) => unsafe { functions.cuCtxCreate_v2(value, 0, device.0) },
        // SAFETY: an out parameter; null parameters ask for an ordinary context.
        None => unsafe { functions.cuCtxCreate_v4(value, std::ptr::null_mut(), 0, device.0) },
    })
    .map(Context)
}
