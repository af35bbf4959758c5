//! Descriptions of devices.

use hal::{Attribute, Code, Device, Result};

use crate::attribute;
use crate::gpu::SoftGpu;
use crate::model::Failure;
use crate::submit::LOOKUP;

pub(super) fn name(gpu: &SoftGpu, device: Device) -> Result<String> {
    gpu.look_up("cuDeviceGetName", LOOKUP, |model, _| {
        model.device(device)?;
        Ok(model.parameters.device.name.clone())
    })
}

pub(super) fn attribute(gpu: &SoftGpu, which: Attribute, device: Device) -> Result<i32> {
    gpu.look_up("cuDeviceGetAttribute", LOOKUP, |model, _| {
        let device = model.device(device)?;
        let value = attribute::attribute(which, &model.parameters, device);
        value.ok_or_else(|| Failure::new(Code::INVALID_VALUE, format!("attribute {} is not modelled", which.0)))
    })
}
