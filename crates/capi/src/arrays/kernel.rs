//! Kernels: from PTX, from a cubin, or functions of the program's.
#![allow(unsafe_code)] // symbols that C finds by name, and C's pointers

use std::ffi::{c_char, c_int, c_void};
use std::sync::{Arc, Weak};

use hal::Function;
use overtake::task::Kernel;

use crate::arrays::store::{self, Modules, Opened, overtake_arrays};
use crate::failure::{Failure, Outcome, catch};
use crate::sized;
use crate::tasks::dispatcher::{Home, free, output};
use crate::tasks::handles::{HandleKind, Handles};
use crate::tasks::task::text_of;

/// A kernel, on one or several devices.
#[repr(C)]
#[allow(non_camel_case_types)] // C's name
pub struct overtake_kernel {
    _private: [u8; 0],
}

struct Known {
    kernel: Kernel,
    home: Home,
    modules: Weak<Modules>,
}

static KERNELS: Handles<Known> = Handles::new(HandleKind::Kernel);

/// The kernel of a handle.
pub fn find(call: &str, kernel: *const overtake_kernel) -> Outcome<Kernel> {
    KERNELS.with(call, kernel, |known| known.kernel.clone())
}

/// Frees the kernels of a dispatcher that is closed.
pub fn forget(home: Home) {
    drop(KERNELS.remove_all(|known| known.home == home));
}

/// Frees the kernels of a set of arrays that is closed.
pub fn forget_of(modules: &Arc<Modules>) {
    drop(KERNELS.remove_all(|known| known.modules.as_ptr() == Arc::as_ptr(modules)));
}

/// The kernel of these functions, one for each device from the first on.
fn kernel(set: &Opened, functions: impl Iterator<Item = Function>, name: &str) -> Outcome<Kernel> {
    let mut whole: Option<Kernel> = None;
    for (function, layer) in functions.zip(&set.modules.layers) {
        let next = layer.cuda_context().call(|driver| Kernel::of(driver, function, name))?;
        whole = Some(match whole {
            Some(kernel) => kernel.and_on_next(&next)?,
            None => next,
        });
    }
    whole.ok_or_else(|| Failure::argument(&format!("kernel \"{name}\" has no function: name one for each device")))
}

fn keep(call: &str, kernel: Kernel, set: &Opened) -> Outcome<*mut overtake_kernel> {
    KERNELS.add_to(call, set.home, Known { kernel, home: set.home, modules: Arc::downgrade(&set.modules) })
}

/// # Safety
/// `text` is null or a NUL-terminated string that outlives the result.
unsafe fn name_of<'n>(call: &str, text: *const c_char) -> Outcome<&'n str> {
    // SAFETY: the caller's promise.
    let name = unsafe { text_of(call, "name", text) }?;
    name.ok_or_else(|| Failure::argument(&format!("{call}: name is null")))
}

/// Loads a kernel on each device of the dispatcher: `image` is `bytes` of PTX text or of a cubin. It is unloaded when
/// the set of arrays is closed.
///
/// Threads: any.
///
/// # Safety
/// `image` has so many bytes, `name` is a NUL-terminated string, and `kernel` points at a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_kernel_load(
    arrays: *mut overtake_arrays,
    image: *const c_void,
    bytes: usize,
    name: *const c_char,
    kernel: *mut *mut overtake_kernel,
) -> c_int {
    const CALL: &str = "overtake_kernel_load";
    catch(CALL, || {
        let output = output(CALL, "kernel", kernel)?;
        let set = store::find(CALL, arrays)?;
        // SAFETY: the caller's promise.
        let name = unsafe { name_of(CALL, name) }?;
        // SAFETY: the caller's promise.
        let image = unsafe { sized::slice(CALL, "image", image.cast::<u8>(), bytes) }?;
        if image.is_empty() {
            return Err(Failure::argument(&format!("{CALL}: image is PTX text or a cubin, and not empty")));
        }
        let image = [image, &[0]].concat(); // PTX text ends with a NUL
        let modules = set.modules.load(&image)?;
        let layers = set.modules.layers.iter();
        let find = |(module, layer): (_, &Arc<copies::Overtake>)| {
            layer.cuda_context().call(|driver| driver.module_function(module, name))
        };
        let functions: hal::Result<Vec<Function>> = modules.into_iter().zip(layers).map(find).collect();
        let handle = keep(CALL, self::kernel(&set, functions?.into_iter(), name)?, &set)?;
        // SAFETY: not null, and the caller's.
        unsafe { output.write(handle) };
        Ok(())
    })
}

/// A kernel of the program's: `functions` are `count` CUfunction, one for each device of the dispatcher from the first
/// on. `name` is for errors.
///
/// Threads: any.
///
/// # Safety
/// The array has so many functions, which stay loaded until the set of arrays is closed. `name` is a NUL-terminated
/// string, and `kernel` points at a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_kernel_adopt(
    arrays: *mut overtake_arrays,
    functions: *const *mut c_void,
    count: usize,
    name: *const c_char,
    kernel: *mut *mut overtake_kernel,
) -> c_int {
    const CALL: &str = "overtake_kernel_adopt";
    catch(CALL, || {
        let output = output(CALL, "kernel", kernel)?;
        let set = store::find(CALL, arrays)?;
        // SAFETY: the caller's promise.
        let name = unsafe { name_of(CALL, name) }?;
        if functions.is_null() || count == 0 || count > set.modules.layers.len() {
            let devices = set.modules.layers.len();
            return Err(Failure::argument(&format!(
                "{CALL}: functions has from one to {devices} functions, a device each"
            )));
        }
        // SAFETY: not null, and the caller's promise.
        let functions = unsafe { std::slice::from_raw_parts(functions, count) };
        let functions = functions.iter().map(|function| Function(function.addr() as u64));
        let handle = keep(CALL, self::kernel(&set, functions, name)?, &set)?;
        // SAFETY: not null, and the caller's.
        unsafe { output.write(handle) };
        Ok(())
    })
}

/// Frees the handle of a kernel. Computations that use it go on.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_kernel_free(kernel: *mut overtake_kernel) -> c_int {
    free("overtake_kernel_free", &KERNELS, kernel)
}
