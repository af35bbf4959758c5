//! The real driver: which object of the process it is, a handle to it, and the layer's own access to it.
#![allow(unsafe_code)] // a library handle with a lookup of our own

use std::ffi::{CStr, CString, OsStr, c_void};
use std::os::unix::ffi::OsStrExt;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

use driver::{CudaDriver, Library};
use hal::{Code, Driver, Result};

use crate::pages::Pages;
use crate::{loader, locate, object};

/// The file name under which programs load a driver.
pub const NAME: &CStr = c"libcuda.so.1";
/// A symbol that only this library exports: an object that has it is a copy of this library, and no driver.
const MARK: &CStr = c"overtake_shared";

/// The addresses of the driver, once it is known. A process has one driver; other objects of the same file name are
/// left alone.
static DRIVER: Pages = Pages::unknown();

/// A handle of our own, which is never closed.
static HANDLE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

pub fn is_known() -> bool {
    DRIVER.get().is_some()
}

/// Whether an address lies in the driver.
pub fn holds(address: *const c_void) -> bool {
    DRIVER.get().is_some_and(|driver| driver.contains(&address.addr()))
}

/// The program has found an address through `handle`. The first object with a driver's file name that is not this
/// library becomes *the* driver. Returns whether a lookup was made, which may have failed. Neither allocates nor locks
/// more than the loader does.
pub fn meet(address: *const c_void, handle: *mut c_void) -> bool {
    let called = object::containing(address, |object| object.is_called_driver().then(|| object.range.clone()));
    let Some(range) = called.flatten() else { return false };
    // SAFETY: the program has just found a symbol through this handle, so it is one.
    if unsafe { loader::dlsym(handle, MARK.as_ptr()) }.is_null() {
        DRIVER.settle(&range);
    }
    true
}

/// A handle of the driver, opened on the first call. `None` where there is no driver.
pub fn handle() -> Option<NonNull<c_void>> {
    if let Some(handle) = NonNull::new(HANDLE.load(Ordering::Acquire)) {
        return Some(handle);
    }
    let opened = open_known().or_else(open_found);
    loader::forget_error();
    let handle = opened?;
    match HANDLE.compare_exchange(null_mut(), handle.as_ptr(), Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => Some(handle),
        // Another thread was faster; both hold the same object open.
        Err(first) => NonNull::new(first),
    }
}

/// Opens the object that the program's own lookups have shown to be the driver.
fn open_known() -> Option<NonNull<c_void>> {
    let inside = std::ptr::without_provenance(DRIVER.get()?.start);
    let path = object::containing(inside, |object| object.name.to_owned())?;
    loader::open(&path, libc::RTLD_NOLOAD)
}

/// Opens the driver that a program without this library would get.
fn open_found() -> Option<NonNull<c_void>> {
    let loaded = loader::open(NAME, libc::RTLD_NOLOAD).and_then(keep);
    let named = || locate::named().and_then(|path| loader::open(&path, 0)).and_then(keep);
    let searched = || loader::open(NAME, 0).and_then(keep);
    let others = || locate::paths().find_map(|path| loader::open(&path, 0).and_then(keep));
    loaded.or_else(named).or_else(searched).or_else(others)
}

/// Returns the handle of an open library if it is a driver, and closes it else.
fn keep(handle: NonNull<c_void>) -> Option<NonNull<c_void>> {
    let start = loader::symbol(handle, c"cuInit");
    if !loader::symbol(handle, MARK).is_null() || start.is_null() {
        loader::close(handle);
        return None;
    }
    DRIVER.settle(&object::containing(start, |object| object.range.clone())?);
    Some(handle)
}

/// The driver for the layer's own calls, which go through no hook.
pub fn open() -> Result<Arc<dyn Driver>> {
    let absent = || {
        Code::SHARED_OBJECT_INIT_FAILED
            .at("dlopen")
            .because("no libcuda.so.1 but this one: set OVERTAKE_LIBCUDA to the path of the driver's")
    };
    let handle = handle().ok_or_else(absent)?;
    let inside = loader::symbol(handle, c"cuInit");
    let name = object::containing(inside, |object| object.name.to_owned()).unwrap_or_else(CString::default);
    // SAFETY: the handle is never closed, and `loader::dlsym` is the real dlsym.
    let library = unsafe { Library::with_lookup(handle, OsStr::from_bytes(name.to_bytes()), loader::dlsym) };
    Ok(Arc::new(CudaDriver::open(library)?))
}
