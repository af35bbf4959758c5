//! Capsules of DLPack, which Python's are: their end.
#![allow(unsafe_code)] // a symbol that C finds by name, C's pointers, and functions of Python's by name

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::transmute;
use std::ptr::{NonNull, null_mut};
use std::sync::OnceLock;

use crate::tasks::answer::free_by;

/// The name of one that nobody has used.
const FRESH: &CStr = c"dltensor";

/// DLManagedTensor, of which this knows the last fields.
#[repr(C)]
struct Managed {
    _tensor: [u64; 6],
    manager: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

type IsValid = unsafe extern "C" fn(*mut c_void, *const c_char) -> c_int;
type Pointer = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
type Fetch = unsafe extern "C" fn(*mut *mut c_void, *mut *mut c_void, *mut *mut c_void);
type Restore = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_void);

/// Functions of Python's.
struct Python {
    is_valid: IsValid,
    pointer: Pointer,
    fetch: Fetch,
    restore: Restore,
}

impl Python {
    /// That of this process.
    fn find() -> Option<&'static Python> {
        static FOUND: OnceLock<Option<Python>> = OnceLock::new();
        // SAFETY: the name is NUL-terminated and static.
        let symbol = |name: &CStr| NonNull::new(unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) });
        let find = || {
            let names = [c"PyCapsule_IsValid", c"PyCapsule_GetPointer", c"PyErr_Fetch", c"PyErr_Restore"];
            let [Some(is_valid), Some(pointer), Some(fetch), Some(restore)] = names.map(symbol) else { return None };
            // SAFETY: symbols of these names are Python's alone, whose stable ABI has them with these types.
            unsafe {
                Some(Python {
                    is_valid: transmute::<NonNull<c_void>, IsValid>(is_valid),
                    pointer: transmute::<NonNull<c_void>, Pointer>(pointer),
                    fetch: transmute::<NonNull<c_void>, Fetch>(fetch),
                    restore: transmute::<NonNull<c_void>, Restore>(restore),
                })
            }
        };
        FOUND.get_or_init(find).as_ref()
    }
}

/// A PyCapsule_Destructor of DLPack: has the tensor deleted of a capsule that nobody has used. The exception of the
/// thread, if the capsule goes because of one, stays as it is.
///
/// Threads: that which destroys it, with the interpreter's lock.
///
/// # Safety
/// `capsule` is one that is being destroyed. If its name is "dltensor", it has a DLManagedTensor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_capsule_destroy(capsule: *mut c_void) {
    let Some(python) = Python::find() else { return };
    // SAFETY: the caller's promise.
    if unsafe { (python.is_valid)(capsule, FRESH.as_ptr()) } != 1 {
        return;
    }
    let [mut kind, mut value, mut traceback] = [null_mut(); 3];
    // SAFETY: the places are ours.
    unsafe { (python.fetch)(&raw mut kind, &raw mut value, &raw mut traceback) };
    // SAFETY: the caller's promise: the capsule is valid, and has a tensor that nobody else deletes.
    unsafe {
        let managed = (python.pointer)(capsule, FRESH.as_ptr()).cast::<Managed>();
        if let Some(Managed { deleter: Some(deleter), .. }) = managed.as_ref() {
            deleter(managed);
        }
    }
    // SAFETY: they are those that `fetch` has written, and it takes them.
    unsafe { (python.restore)(kind, value, traceback) };
}

/// A `deleter` of DLManagedTensor: calls the `free` of the struct overtake_answering at its `manager_ctx`, with the
/// tensor.
///
/// Threads: any.
///
/// # Safety
/// `managed` is one, and its `manager_ctx` is null or points at such a structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_capsule_delete(managed: *mut c_void) {
    // SAFETY: the caller's promise.
    let Some(tensor) = (unsafe { managed.cast::<Managed>().as_ref() }) else { return };
    // SAFETY: the caller's promise.
    unsafe { free_by(tensor.manager, managed) };
}

const _: () = assert!(std::mem::offset_of!(Managed, deleter) == 56);
