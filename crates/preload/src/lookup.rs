//! The exported `dlsym`. A program that looks up a hooked function of the driver gets the hook; every other lookup gets
//! the answer of the next `dlsym`, which is glibc's or that of an interposer loaded after this library.
#![allow(unsafe_code)] // machine code and C strings

use std::arch::naked_asm;
use std::ffi::{CStr, c_char, c_void};
use std::ptr::null_mut;

use crate::loader::{self, NEXT_DLSYM};
use crate::object::{self, Deployment};
use crate::{driver, hooks, rows, slots, state};

/// The decision of the filter, which returns it in two registers.
#[repr(C)]
struct Answer {
    /// The program's result, if that is decided.
    address: *mut c_void,
    /// 0: jump to the real `dlsym`.
    decided: usize,
}

impl Answer {
    const JUMP: Answer = Answer { address: null_mut(), decided: 0 };

    fn with(address: *mut c_void) -> Answer {
        Answer { address, decided: 1 }
    }
}

/// `dlsym(handle, name)`. It jumps to the real one instead of calling it, because glibc takes the return address for
/// the caller's. If it were called from here, `RTLD_NEXT` would start after this library, and an interposer that asks
/// for its own name would find itself for ever.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    naked_asm!(
        "push rdi", "push rsi", "sub rsp, 8",
        "mov rdx, [rsp + 24]",
        "call {filter}",
        "add rsp, 8", "pop rsi", "pop rdi",
        "test rdx, rdx",
        "jne 2f",
        "jmp qword ptr [rip + {real}]",
        "2:",
        "ret",
        filter = sym filter,
        real = sym NEXT_DLSYM,
    )
}

/// As above.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    naked_asm!(
        "stp x29, x30, [sp, #-32]!",
        "mov x29, sp",
        "stp x0, x1, [sp, #16]",
        "mov x2, x30",
        "bl {filter}",
        "mov x16, x0",
        "mov x17, x1",
        "ldp x0, x1, [sp, #16]",
        "ldp x29, x30, [sp], #32",
        "cbnz x17, 2f",
        "adrp x16, {real}",
        "ldr x16, [x16, :lo12:{real}]",
        "br x16",
        "2:",
        "mov x0, x16",
        "ret",
        filter = sym filter,
        real = sym NEXT_DLSYM,
    )
}

/// Decides about one lookup by the code at `caller`. It may run before any constructor and under the loader's lock. So
/// it neither allocates nor logs, and takes no lock but the loader's.
unsafe extern "C" fn filter(handle: *mut c_void, name: *const c_char, caller: *const c_void) -> Answer {
    loader::find_dlsym();
    // SAFETY: null, or the caller's promise to dlsym that it is a C string.
    let is_driver_name = !name.is_null() && is_driver_name(unsafe { CStr::from_ptr(name) }.to_bytes());
    if !is_driver_name || handle == libc::RTLD_NEXT || state::off() {
        return Answer::JUMP;
    }
    // SAFETY: as above; the handle is the caller's promise.
    let found = unsafe { loader::next_dlsym(handle, name) };
    if found.is_null() && handle != libc::RTLD_DEFAULT {
        return Answer::with(null_mut());
    }
    if object::is_ours(found) {
        // SAFETY: as above.
        return if unsafe { is_ours_alone(name, caller) } { Answer::with(null_mut()) } else { Answer::JUMP };
    }
    if handle == libc::RTLD_DEFAULT {
        // The answer depends on the caller, and the first library that has the name is another one.
        return Answer::JUMP;
    }
    // SAFETY: as above.
    unsafe { replace(handle, name, found) }
}

/// `cu` and a capital begin the driver's own names, but not those of cuDNN and cuBLAS.
fn is_driver_name(name: &[u8]) -> bool {
    matches!(name, [b'c', b'u', b'A'..=b'Z', ..])
}

/// # Safety
/// `name` is NUL-terminated, and `found` is the next dlsym's answer for it through `handle`.
unsafe fn replace(handle: *mut c_void, name: *const c_char, found: *mut c_void) -> Answer {
    // SAFETY: the caller's promise.
    let bytes = unsafe { CStr::from_ptr(name) }.to_bytes();
    let Some(number) = rows::hooked(bytes) else { return Answer::with(found) };
    // An interposer may answer with a function of its own in the place of the driver's. Then that is the real one.
    // SAFETY: the caller's promise.
    let theirs = unsafe { loader::dlsym(handle, name) };
    let has_failed = theirs.is_null() || !driver::is_known() && driver::meet(theirs, handle);
    if has_failed {
        // A lookup of ours has left a message for dlerror behind. The program's has not failed.
        loader::forget_error();
    }
    let ours = driver::holds(theirs) && slots::learn(number, found);
    Answer::with(if ours { hooks::address(number).cast_mut() } else { found })
}

/// Whether a name of ours was found only because this library is preloaded. Natively there is no such name, so the
/// program must not find one. The answer is exact for lookups by the program itself. A library may have a driver in a
/// scope of its own; for its lookups any driver in the process counts.
///
/// # Safety
/// `name` is NUL-terminated.
unsafe fn is_ours_alone(name: *const c_char, caller: *const c_void) -> bool {
    if object::deployment() != Deployment::Preload {
        return false;
    }
    // SAFETY: the caller's promise. This leaves the message for dlerror behind that the program expects.
    let next = unsafe { loader::dlsym(libc::RTLD_NEXT, name) };
    next.is_null() && (object::is_program(caller) || !object::driver_is_loaded())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_drivers_own_names_are_looked_at() {
        assert!(is_driver_name(b"cuInit") && is_driver_name(b"cuMemcpyHtoD_v2"));
        for name in [&b"cudaMalloc"[..], b"cudnnCreate", b"cublasCreate_v2", b"cu", b"cu_x", b"", b"ucInit"] {
            assert!(!is_driver_name(name));
        }
    }
}
