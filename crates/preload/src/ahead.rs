//! Loads kernels ahead of need. By default a driver loads kernels lazily, each at its first launch, and a load is a
//! barrier: the copies of all streams behind it wait for the bulk in flight (`launch.rs`). So when a module arrives
//! that has few kernels, all of them are loaded at once: the program meets one barrier instead of one for each kernel.
//! Modules with more kernels stay lazy, because a program may use only some of them, and loaded kernels cost time and
//! device memory.
//!
//! By default this happens only for a library that arrives before the program's first launch. CUDA's runtime loads it
//! during that launch, so the program meets the barrier there in any case, and no kernel of the library can be waiting
//! for a later step of the loading thread.
#![allow(unsafe_code)] // calls of the driver by address

use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

use abi::types::*;

use crate::rows::Number;
use crate::{launch, slots};

/// The driver's functions, for the kernels of one module or library.
trait Kernels {
    /// Their number.
    fn count(&self) -> Option<u32>;
    /// The handles of all, at most as many as the slice has room for.
    fn list(&self, handles: &mut [*mut c_void]) -> Option<()>;
    /// Loads one, and returns its function.
    fn load(&self, handle: *mut c_void) -> Option<CUfunction>;
}

/// Loads all kernels, if there are at most `max`, and tells `known` each handle by which one can be launched. It ends
/// at the first that the driver refuses: the rest are loaded at their first launch, which reports the error.
fn load_all(kernels: &impl Kernels, max: u32, mut known: impl FnMut(usize)) -> Option<()> {
    (max > 0).then_some(())?;
    let count = kernels.count().filter(|count| *count <= max)?;
    let mut handles = vec![null_mut(); count as usize];
    kernels.list(&mut handles)?;
    for handle in handles.into_iter().filter(|handle| !handle.is_null()) {
        let function = kernels.load(handle)?;
        known(handle.addr());
        known(function.addr());
    }
    Some(())
}

/// Calls the driver's function of this number, with arguments of the types that its prototype has.
macro_rules! call {
    ($number:expr; $($argument:expr => $type:ty),*) => {{
        // SAFETY: the address is the driver's function of this name, which has this prototype, or one that reads no
        // arguments and fails. Outputs are live locals.
        let result = unsafe {
            std::mem::transmute::<*const c_void, unsafe extern "C" fn($($type),*) -> CUresult>($number)($($argument),*)
        };
        (result == CUresult::CUDA_SUCCESS).then_some(())
    }};
}

fn load_function(function: CUfunction) -> Option<CUfunction> {
    call!(slots::real(Number::cuFuncLoad as usize); function => CUfunction).map(|()| function)
}

struct Library(*mut c_void);

impl Kernels for Library {
    fn count(&self) -> Option<u32> {
        let mut count = 0;
        call!(named(c"cuLibraryGetKernelCount"); &mut count => *mut u32, self.0 => *mut c_void).map(|()| count)
    }

    fn list(&self, handles: &mut [*mut c_void]) -> Option<()> {
        let (list, room) = (handles.as_mut_ptr(), handles.len() as u32);
        call!(named(c"cuLibraryEnumerateKernels"); list => *mut *mut c_void, room => u32, self.0 => *mut c_void)
    }

    fn load(&self, kernel: *mut c_void) -> Option<CUfunction> {
        let mut function = null_mut();
        let number = Number::cuKernelGetFunction as usize;
        call!(slots::real(number); &mut function => *mut CUfunction, kernel => *mut c_void)?;
        load_function(function)
    }
}

struct Module(CUmodule);

impl Kernels for Module {
    fn count(&self) -> Option<u32> {
        let mut count = 0;
        call!(named(c"cuModuleGetFunctionCount"); &mut count => *mut u32, self.0 => CUmodule).map(|()| count)
    }

    fn list(&self, handles: &mut [*mut c_void]) -> Option<()> {
        let (list, room) = (handles.as_mut_ptr(), handles.len() as u32);
        call!(named(c"cuModuleEnumerateFunctions"); list => *mut *mut c_void, room => u32, self.0 => CUmodule)
    }

    fn load(&self, function: *mut c_void) -> Option<CUfunction> {
        load_function(function.cast())
    }
}

/// A forwarded function of the driver.
fn named(name: &CStr) -> *const c_void {
    slots::real(crate::rows::COUNT + crate::forward::number(name).expect("the list of forwarded names has it"))
}

/// The program has loaded a library.
pub fn library(library: *mut c_void) {
    let _ = load_all(&Library(library), shim::load_ahead_kernels_max(launch::none_yet()), launch::know);
}

/// The program has loaded a module.
pub fn module(module: CUmodule) {
    let _ = load_all(&Module(module), shim::load_ahead_kernels_max(false), launch::know);
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// A module of so many kernels, of which one may be refused.
    struct Fake {
        kernels: u32,
        refused: Option<usize>,
        loaded: RefCell<Vec<usize>>,
    }

    impl Fake {
        fn of(kernels: u32, refused: Option<usize>) -> Fake {
            Fake { kernels, refused, loaded: RefCell::default() }
        }
    }

    impl Kernels for Fake {
        fn count(&self) -> Option<u32> {
            Some(self.kernels)
        }

        fn list(&self, handles: &mut [*mut c_void]) -> Option<()> {
            assert_eq!(handles.len(), self.kernels as usize);
            (1..).zip(handles).for_each(|(at, handle)| *handle = std::ptr::without_provenance_mut(at * 16));
            Some(())
        }

        fn load(&self, handle: *mut c_void) -> Option<CUfunction> {
            if self.refused == Some(handle.addr()) {
                return None;
            }
            self.loaded.borrow_mut().push(handle.addr());
            Some(std::ptr::without_provenance_mut(handle.addr() + 0x1000))
        }
    }

    /// The handles that are loaded, and those that are known afterwards.
    fn load(fake: &Fake, max: u32) -> (Vec<usize>, Vec<usize>) {
        let mut known = Vec::new();
        let _ = load_all(fake, max, |handle| known.push(handle));
        (fake.loaded.borrow().clone(), known)
    }

    #[test]
    fn all_kernels_of_a_small_module_are_loaded_and_known_by_both_handles() {
        assert_eq!(load(&Fake::of(2, None), 2), (vec![16, 32], vec![16, 0x1010, 32, 0x1020]));
    }

    #[test]
    fn a_larger_module_stays_lazy() {
        assert_eq!(load(&Fake::of(3, None), 2), (vec![], vec![]));
        assert_eq!(load(&Fake::of(1, None), 0), (vec![], vec![]), "0 loads nothing ahead");
    }

    #[test]
    fn it_ends_at_the_first_that_is_refused() {
        assert_eq!(load(&Fake::of(3, Some(32)), 8), (vec![16], vec![16, 0x1010]));
    }

    #[test]
    fn the_driver_s_functions_are_on_the_list() {
        for name in [
            c"cuLibraryGetKernelCount",
            c"cuLibraryEnumerateKernels",
            c"cuModuleGetFunctionCount",
            c"cuModuleEnumerateFunctions",
        ] {
            assert!(crate::forward::number(name).is_some(), "{name:?}");
        }
    }
}
