//! Modules and their kernels. When the compiler refuses one, the error has its text.
#![allow(unsafe_code)]

use std::ffi::CString;

use abi::types::*;
use hal::{Code, DevicePtr, Function, Launch, Module, Result};

use crate::functions::Functions;
use crate::handle::{number, pointer};

/// Room for the PTX compiler's text.
const LOG_BYTES: usize = 4096;

/// Loads PTX text or a cubin.
pub fn load(functions: &Functions, image: &[u8]) -> Result<Module> {
    // The driver reads PTX up to a NUL, which a Rust slice does not have. Behind a cubin the NUL does no harm.
    let mut text = Vec::with_capacity(image.len() + 1);
    text.extend_from_slice(image);
    text.push(0);
    let mut module = pointer(0);
    if functions.pointers().cuModuleLoadDataEx.is_none() {
        // SAFETY: `module` is a live local; `text` is NUL-terminated and outlives the call.
        unsafe { functions.cuModuleLoadData(&mut module, text.as_ptr().cast()) }?;
        return Ok(Module(number(module)));
    }
    let mut log = [0_u8; LOG_BYTES];
    let mut options = [CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    // The driver takes the second value as a number in the place of a pointer.
    let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), std::ptr::without_provenance_mut(LOG_BYTES)];
    // SAFETY: `text` is NUL-terminated; `options` and `values` have two elements; the log buffer has the length of the
    // second value; all of them and `module` outlive the call.
    let result = unsafe {
        functions.cuModuleLoadDataEx(
            &mut module,
            text.as_ptr().cast(),
            options.len() as c_uint,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    match result {
        Ok(()) => Ok(Module(number(module))),
        Err(error) => Err(match log_text(&log) {
            Some(words) => error.because(words),
            None => error,
        }),
    }
}

/// The compiler's text, if there is one.
fn log_text(log: &[u8]) -> Option<String> {
    let written = log.split(|byte| *byte == 0).next().unwrap_or_default();
    let words = String::from_utf8_lossy(written).trim().to_owned();
    (!words.is_empty()).then_some(words)
}

/// A name as the driver takes it.
fn c_name(name: &str, call: &'static str) -> Result<CString> {
    CString::new(name).map_err(|_| Code::INVALID_VALUE.at(call).because("the name holds a NUL byte"))
}

/// Finds a kernel.
pub fn function(functions: &Functions, module: Module, name: &str) -> Result<Function> {
    let name = c_name(name, "cuModuleGetFunction")?;
    let mut function = pointer(0);
    // SAFETY: `function` is a live local; `name` is NUL-terminated and outlives the call; the module is the caller's.
    unsafe { functions.cuModuleGetFunction(&mut function, pointer(module.0), name.as_ptr()) }?;
    Ok(Function(number(function)))
}

/// Finds a global variable.
pub fn global(functions: &Functions, module: Module, name: &str) -> Result<(DevicePtr, u64)> {
    let name = c_name(name, "cuModuleGetGlobal_v2")?;
    let (mut address, mut bytes) = (0, 0);
    // SAFETY: `address` and `bytes` are live locals; `name` is NUL-terminated and outlives the call; the module is the
    // caller's.
    unsafe { functions.cuModuleGetGlobal_v2(&mut address, &mut bytes, pointer(module.0), name.as_ptr()) }?;
    Ok((DevicePtr(address), bytes as u64))
}

/// The sizes of a kernel's parameters. The driver has no count of them before CUDA 13, so they are asked for one by one
/// until it refuses.
pub fn parameters(functions: &Functions, function: Function) -> Result<Vec<u64>> {
    let mut sizes = Vec::new();
    loop {
        let (mut offset, mut bytes) = (0, 0);
        // SAFETY: `offset` and `bytes` are live locals; the function is the caller's.
        match unsafe { functions.cuFuncGetParamInfo(pointer(function.0), sizes.len(), &mut offset, &mut bytes) } {
            Ok(()) => sizes.push(bytes as u64),
            Err(error) if error.code() == Code::INVALID_VALUE && function.0 != 0 => return Ok(sizes),
            Err(error) => return Err(error),
        }
    }
}

/// Launches a kernel.
///
/// # Safety
/// The parameters are those of the kernel.
pub unsafe fn launch(functions: &Functions, launch: &Launch<'_>) -> Result<()> {
    let ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]) = (launch.grid, launch.block);
    let (function, stream) = (pointer(launch.function.0), pointer(launch.stream.0));
    // The prototype lacks a const: the driver reads the array and its targets before it returns.
    let parameters = launch.parameters.as_ptr().cast_mut();
    // SAFETY: the caller promises that the parameters are those of the kernel; the array is live during the call.
    unsafe {
        functions.cuLaunchKernel(
            function,
            grid_x,
            grid_y,
            grid_z,
            block_x,
            block_y,
            block_z,
            launch.shared_bytes,
            stream,
            parameters,
            std::ptr::null_mut(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_ends_at_the_first_nul() {
        assert_eq!(log_text(b"ptxas: bad\n\0rest").as_deref(), Some("ptxas: bad"));
        assert_eq!(log_text(&[0; 8]), None);
    }
}
