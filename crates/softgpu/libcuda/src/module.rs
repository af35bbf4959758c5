//! Modules and kernel launches.
#![allow(unsafe_code)]
#![allow(non_snake_case)]

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use abi::Flavour;
use abi::types::*;
use hal::{Code, Driver, Function, Launch, Module};

use crate::answer::{Answer, Out, Refusal, array, refuse, require};
use crate::loading;
use crate::soft::{gpu, number, pointer, stream};

/// The longest file of a module. PTX of whole libraries has a few mebibytes.
const IMAGE_BYTES_MAX: u64 = 256 << 20;
/// What a program's author is told of an image that is refused.
const NO_COMPILER: &str = "this software GPU compiles nothing, and has the kernels of overtake-workloads: run others \
                           on a real one";

/// The C string at `text`; null is an invalid value.
unsafe fn string<'call>(text: *const c_char) -> Answer<&'call CStr> {
    require(!text.is_null(), Code::INVALID_VALUE)?;
    // SAFETY: not null; the caller's promise that it is a C string.
    Ok(unsafe { CStr::from_ptr(text) })
}

fn load(module: Out<CUmodule>, image: &[u8]) -> Answer {
    module.set(pointer(gpu()?.module_load(image)?.0));
    Ok(())
}

pub unsafe fn cuModuleLoad(_: Flavour, module: *mut CUmodule, fname: *const c_char) -> Answer {
    gpu()?;
    // SAFETY: the caller's promise for this output.
    let out = unsafe { Out::new(module) }?;
    // SAFETY: the caller's promise for the name.
    let path = OsStr::from_bytes(unsafe { string(fname) }?.to_bytes());
    let image = os::file::read(Path::new(path), IMAGE_BYTES_MAX).map_err(|_| Refusal(Code::FILE_NOT_FOUND))?;
    load(out, &image)
}

/// An image has no length. PTX is a C string. The software GPU refuses any other image, and needs only the bytes
/// before the first zero byte to do so.
pub unsafe fn cuModuleLoadData(_: Flavour, module: *mut CUmodule, image: *const c_void) -> Answer {
    gpu()?;
    // SAFETY: the caller's promise for this output.
    let out = unsafe { Out::new(module) }?;
    // SAFETY: the caller's promise that PTX ends in a zero byte; the headers of binary images hold one.
    load(out, unsafe { string(image.cast()) }?.to_bytes())
}

/// The buffer for errors that a program passes to the compiler, and the place that tells how much of it is used.
struct Log {
    text: *mut u8,
    room: usize,
    used: *mut *mut c_void,
}

impl Log {
    /// That of these options, if they have one. All logs are empty from here on.
    unsafe fn of(names: &[CUjit_option], values: *mut *mut c_void) -> Option<Log> {
        let place = |wanted| names.iter().position(|name| *name == wanted);
        let (text, size) = (place(CU_JIT_ERROR_LOG_BUFFER), place(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES));
        // SAFETY: both are places of the array, by the caller's promise; a size stands in the place of a pointer.
        let log = text.zip(size).map(|(text, size)| unsafe {
            let used = values.add(size);
            Log { text: values.add(text).read().cast(), room: used.read().addr() as u32 as usize, used }
        });
        for (index, name) in names.iter().enumerate() {
            if matches!(*name, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES | CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) {
                // SAFETY: within the array; the driver reports the log's length in the value itself.
                unsafe { values.add(index).write(std::ptr::null_mut()) };
            }
        }
        log.filter(|log| !log.text.is_null() && log.room > 0)
    }

    /// As much of the text as there is room for, and a zero byte.
    unsafe fn write(&self, text: &str) {
        let bytes = text.len().min(self.room - 1);
        // SAFETY: the caller's promise that the buffer has the size that the program said.
        unsafe {
            self.text.copy_from_nonoverlapping(text.as_ptr(), bytes);
            self.text.add(bytes).write(0);
            self.used.write(std::ptr::without_provenance_mut(bytes));
        }
    }
}

/// The options belong to a compiler, which this library does not have. They are accepted; the log of errors gets the
/// reason why an image is refused.
pub unsafe fn cuModuleLoadDataEx(
    _: Flavour,
    module: *mut CUmodule,
    image: *const c_void,
    num_options: c_uint,
    options: *mut CUjit_option,
    option_values: *mut *mut c_void,
) -> Answer {
    let gpu = gpu()?;
    let count = num_options as usize;
    // SAFETY: the caller's promise that both arrays hold `num_options` elements.
    let (names, _) = unsafe { (array(options, count)?, array(option_values, count)?) };
    require(names.iter().all(|name| *name < CU_JIT_NUM_OPTIONS), Code::INVALID_VALUE)?;
    // SAFETY: the values are as many as the names.
    let log = unsafe { Log::of(names, option_values) };
    // SAFETY: the caller's promises for the output and the image, as for `cuModuleLoadData`.
    let (out, image) = unsafe { (Out::new(module)?, string(image.cast())?) };
    let refused = match gpu.module_load(image.to_bytes()) {
        Ok(Module(handle)) => {
            out.set(pointer(handle));
            return Ok(());
        }
        Err(error) => error,
    };
    if let (Some(log), Some(why)) = (log, refused.detail()) {
        // SAFETY: the caller's promise for the buffer.
        unsafe { log.write(&format!("{why}; {NO_COMPILER}")) };
    }
    Err(refused.into())
}

pub unsafe fn cuModuleUnload(_: Flavour, hmod: CUmodule) -> Answer {
    Ok(gpu()?.module_unload(Module(number(hmod)))?)
}

pub unsafe fn cuModuleGetFunction(_: Flavour, hfunc: *mut CUfunction, hmod: CUmodule, name: *const c_char) -> Answer {
    let gpu = gpu()?;
    // SAFETY: the caller's promise for this output.
    let out = unsafe { Out::new(hfunc) }?;
    // SAFETY: the caller's promise for the name.
    let name = unsafe { string(name) }?.to_str().map_err(|_| Refusal(Code::NOT_FOUND))?;
    out.set(pointer(gpu.module_function(Module(number(hmod)), name)?.0));
    Ok(())
}

pub unsafe fn cuLaunchKernel(
    flavour: Flavour,
    f: CUfunction,
    grid_dim_x: c_uint,
    grid_dim_y: c_uint,
    grid_dim_z: c_uint,
    block_dim_x: c_uint,
    block_dim_y: c_uint,
    block_dim_z: c_uint,
    shared_mem_bytes: c_uint,
    h_stream: CUstream,
    kernel_params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Answer {
    let gpu = gpu()?;
    // SAFETY: null, or the caller's promise that it is a list which a null pointer ends.
    require(extra.is_null() || unsafe { *extra }.is_null(), Code::NOT_SUPPORTED)?;
    let function = Function(number(f));
    loading::load(gpu, function);
    let count = gpu.parameter_count(function)?;
    // SAFETY: the caller's promise that there are as many parameters as the kernel declares.
    let parameters = unsafe { array(kernel_params.cast_const(), count) }?;
    let launch = Launch {
        function,
        grid: [grid_dim_x, grid_dim_y, grid_dim_z],
        block: [block_dim_x, block_dim_y, block_dim_z],
        shared_bytes: shared_mem_bytes,
        stream: stream(flavour, h_stream),
        parameters,
    };
    // SAFETY: the caller's promise for the parameters, their sizes and their use by the kernel.
    Ok(unsafe { gpu.launch(&launch) }?)
}

/// Either output may be null.
pub unsafe fn cuModuleGetGlobal_v2(
    _: Flavour,
    dptr: *mut CUdeviceptr,
    bytes: *mut usize,
    hmod: CUmodule,
    name: *const c_char,
) -> Answer {
    let gpu = gpu()?;
    // SAFETY: the caller's promise for the name.
    let name = unsafe { string(name) }?.to_str().map_err(|_| Refusal(Code::NOT_FOUND))?;
    let (address, size) = gpu.module_global(Module(number(hmod)), name)?;
    if !dptr.is_null() {
        // SAFETY: not null; the caller's promise for this output.
        unsafe { Out::new(dptr) }?.set(address.0);
    }
    if !bytes.is_null() {
        // SAFETY: not null; the caller's promise for this output.
        unsafe { Out::new(bytes) }?.set(size as usize);
    }
    Ok(())
}

/// Offsets follow from the sizes, as compilers lay parameters out; the model does not keep a larger `.align`.
pub unsafe fn cuFuncGetParamInfo(
    _: Flavour,
    func: CUfunction,
    param_index: usize,
    param_offset: *mut usize,
    param_size: *mut usize,
) -> Answer {
    let gpu = gpu()?;
    // SAFETY: the caller's promise for these outputs.
    let (out_offset, out_size) = unsafe { (Out::new(param_offset)?, Out::new(param_size)?) };
    let sizes = gpu.function_parameters(Function(number(func)))?;
    let size = *sizes.get(param_index).ok_or(Refusal(Code::INVALID_VALUE))?;
    let align = |size: u64| 1 << size.trailing_zeros().min(3);
    let end = sizes[..param_index].iter().fold(0_u64, |end, size| end.next_multiple_of(align(*size)) + size);
    out_offset.set(end.next_multiple_of(align(size)) as usize);
    out_size.set(size as usize);
    Ok(())
}

/// Launch attributes change properties that the model does not have. A launch without attributes is a plain one.
pub unsafe fn cuLaunchKernelEx(
    flavour: Flavour,
    config: *const CUlaunchConfig,
    f: CUfunction,
    kernel_params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Answer {
    gpu()?;
    // SAFETY: null, or the caller's promise that it points to the structure.
    let Some(config) = (unsafe { config.as_ref() }) else { return refuse(Code::INVALID_VALUE) };
    require(config.numAttrs == 0, Code::NOT_SUPPORTED)?;
    // SAFETY: the same promise.
    unsafe {
        cuLaunchKernel(
            flavour,
            f,
            config.gridDimX,
            config.gridDimY,
            config.gridDimZ,
            config.blockDimX,
            config.blockDimY,
            config.blockDimZ,
            config.sharedMemBytes,
            config.hStream,
            kernel_params,
            extra,
        )
    }
}
