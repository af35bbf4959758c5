//! Launches.
#![allow(unsafe_code)] // the caller's promise about the parameters

use hal::{Code, Launch, Result};

use crate::gpu::SoftGpu;
use crate::model::{Failure, LaunchRequest};
use crate::raw::read_parameters;
use crate::submit::LAUNCH;

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
