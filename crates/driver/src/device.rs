//! Names and numbers of a device.
#![allow(unsafe_code)] // as `cuda.rs`, whose comment holds the reasons

use abi::types::*;
use hal::{Device, Result, Uuid};

use crate::functions::Functions;
use crate::out::out;

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
