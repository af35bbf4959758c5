//! The dynamic loader: the real `dlsym` behind this library's own, `dlopen`, and handlers for fork and exit.
#![allow(unsafe_code)] // C functions

use std::ffi::{CStr, c_int, c_void};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering};

/// The versions of `dlsym` in glibc: since it is in libc itself, before that on x86-64, and before that on aarch64.
const VERSIONS: [&CStr; 3] = [c"GLIBC_2.34", c"GLIBC_2.2.5", c"GLIBC_2.17"];

/// glibc's own.
static REAL_DLSYM: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// The one that the program would call without this library: glibc's, or that of an interposer behind this library. The
/// hook jumps through this word.
pub static NEXT_DLSYM: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// Fills both words. Neither allocates nor logs: it may run before any constructor.
pub fn find_dlsym() {
    if !NEXT_DLSYM.load(Ordering::Acquire).is_null() {
        return;
    }
    find_real();
    // A search for a version of glibc's passes over an interposer without versions.
    // SAFETY: a special handle, and a NUL-terminated literal.
    let next = unsafe { dlsym(libc::RTLD_NEXT, c"dlsym".as_ptr()) };
    NEXT_DLSYM.store(next, Ordering::Release);
}

fn find_real() {
    for version in VERSIONS {
        // SAFETY: both strings are NUL-terminated literals.
        let found = unsafe { libc::dlvsym(libc::RTLD_NEXT, c"dlsym".as_ptr(), version.as_ptr()) };
        if !found.is_null() {
            return REAL_DLSYM.store(found, Ordering::Relaxed);
        }
    }
}

/// The real `dlsym`, called from this library. `RTLD_NEXT` therefore means the libraries after this one.
///
/// # Safety
/// `handle` is a handle of dlopen's or one of its special values; `name` is NUL-terminated.
pub unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const libc::c_char) -> *mut c_void {
    if REAL_DLSYM.load(Ordering::Relaxed).is_null() {
        find_real();
    }
    // SAFETY: the caller's promise.
    unsafe { through(&REAL_DLSYM, handle, name) }
}

/// The answer of the next `dlsym`: the program's, if this library were not there.
///
/// # Safety
/// As for [`dlsym`].
pub unsafe fn next_dlsym(handle: *mut c_void, name: *const libc::c_char) -> *mut c_void {
    find_dlsym();
    // SAFETY: the caller's promise.
    unsafe { through(&NEXT_DLSYM, handle, name) }
}

/// # Safety
/// As for [`dlsym`].
unsafe fn through(word: &AtomicPtr<c_void>, handle: *mut c_void, name: *const libc::c_char) -> *mut c_void {
    let real = word.load(Ordering::Relaxed);
    if real.is_null() {
        return null_mut();
    }
    // SAFETY: the word holds the address of a dlsym, whose prototype this is.
    let real = unsafe {
        std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void, *const libc::c_char) -> *mut c_void>(real)
    };
    // SAFETY: the caller's promise.
    unsafe { real(handle, name) }
}

/// The address of a symbol of an open library.
pub fn symbol(handle: NonNull<c_void>, name: &CStr) -> *mut c_void {
    // SAFETY: every handle of this crate comes from [`open`] and stays open; `name` is NUL-terminated.
    unsafe { dlsym(handle.as_ptr(), name.as_ptr()) }
}

/// Opens a library. With [`libc::RTLD_NOLOAD`] it only adds a reference to an open one.
pub fn open(name: &CStr, flags: c_int) -> Option<NonNull<c_void>> {
    // SAFETY: `name` is NUL-terminated. The initialisers are those of the driver, which the program uses anyway.
    NonNull::new(unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL | flags) })
}

/// Takes back the message that a failed lookup of ours has left for `dlerror`.
pub fn forget_error() {
    // SAFETY: returns a string of the loader's, or null; it is not looked at.
    unsafe { libc::dlerror() };
}

/// The next function of this name in the program's search order: the one that the program would call if this library
/// were not preloaded.
pub fn next(name: &CStr) -> *mut c_void {
    // SAFETY: `name` is NUL-terminated.
    unsafe { dlsym(libc::RTLD_NEXT, name.as_ptr()) }
}

/// Closes a library that is not the one looked for.
pub fn close(handle: NonNull<c_void>) {
    // SAFETY: the handle comes from [`open`], and its only user is the caller, which gives it up.
    unsafe { libc::dlclose(handle.as_ptr()) };
}

/// Calls `forked` in every child of a fork from now on, and `exiting` when the process exits.
pub fn watch_process(forked: extern "C" fn(), exiting: extern "C" fn()) {
    // SAFETY: both are functions of this library, which is never unloaded (it is linked with -z nodelete).
    unsafe {
        libc::pthread_atfork(None, None, Some(forked));
        libc::atexit(exiting);
    }
}
