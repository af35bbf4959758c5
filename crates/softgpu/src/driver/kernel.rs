//! Parameters of kernels, and launches.
#![allow(unsafe_code)] // the caller's promise about the parameters

use hal::{Code, Function, Launch, Result};

use crate::gpu::SoftGpu;
use crate::model::{Failure, LaunchRequest};
use crate::raw::read_parameters;
use crate::submit::{LAUNCH, LOOKUP};

/// The sizes of a kernel's parameters.
pub(super) fn parameters(gpu: &SoftGpu, function: Function) -> Result<Vec<u64>> {
    gpu.look_up("cuFuncGetParamInfo", LOOKUP, |model, caller| {
        if model.parameters.device.driver_version < 12_040 {
            return Err(Failure::new(Code::NOT_FOUND, "CUDA 12.4 brought it: update the driver"));
        }
        let (_, bytes) = model.function(caller, function)?;
        Ok(bytes.into_iter().map(u64::from).collect())
    })
}

/// Launches a kernel.
///
/// # Safety
/// The pointers of the launch are those that the kernel's declaration asks for.
pub(super) unsafe fn launch(gpu: &SoftGpu, launch: &Launch<'_>) -> Result<()> {
    gpu.submit_launch("cuLaunchKernel", launch.stream, LAUNCH, |model, caller, key| {
        let (function, sizes) = model.function(caller, launch.function)?;
        // SAFETY: the caller promises as many pointers as the kernel declares parameters, each to as many
        // bytes.
        let parameters = unsafe { read_parameters(launch.parameters, &sizes) };
        let wrong = || Failure::new(Code::INVALID_VALUE, format!("the kernel takes {} parameters", sizes.len()));
        let parameters = parameters.ok_or_else(wrong)?;
        let (grid, block, shared_bytes) = (launch.grid, launch.block, launch.shared_bytes);
        let request = LaunchRequest { function, grid, block, shared_bytes, parameters };
        model.launch_submit(caller, key, request)
    })
}
