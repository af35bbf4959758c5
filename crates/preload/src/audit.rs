//! The library as an audit module of the loader (`LD_AUDIT`). It redirects requests for the driver to this same file,
//! so that the program loads it under the driver's name. The module itself lives in its own namespace and does nothing
//! else.
#![allow(unsafe_code)] // the loader calls C functions

use std::ffi::{CStr, c_char, c_uint, c_void};

use crate::{locate, object, state};

/// The newest version of the interface that this module knows (`LAV_CURRENT` of glibc 2.35).
const VERSION: c_uint = 2;
/// The loader passes a name as the program wrote it, before it tries any path (`LA_SER_ORIG`).
const AS_ASKED: c_uint = 1;
/// The cookie of objects that are this library: their own requests for the driver are not redirected.
const OURS: usize = 0x6f76_6572;

/// The members of the loader's `struct link_map` that are the same in every glibc.
#[repr(C)]
struct LinkMap {
    address: usize,
    name: *const c_char,
    dynamic: *const c_void,
}

/// Agrees on the version of the interface. An answer of 0 would make glibc unload the module; it cannot (`-z
/// nodelete`), and ends the process.
#[unsafe(no_mangle)]
extern "C" fn la_version(version: c_uint) -> c_uint {
    version.min(VERSION)
}

/// The loader has loaded an object. The answer 0 asks for no news of bindings, so calls cost nothing more.
#[unsafe(no_mangle)]
unsafe extern "C" fn la_objopen(map: *mut LinkMap, _namespace: isize, cookie: *mut usize) -> c_uint {
    // SAFETY: the loader passes a link map and a cookie that are valid for the call; names are null or C strings.
    unsafe {
        if !(*map).name.is_null() && CStr::from_ptr((*map).name).to_bytes() == object::own_path_bytes() {
            *cookie = OURS;
        }
    }
    0
}

/// The loader searches for an object. Requests for the driver by its bare name are redirected to this file, if there is
/// a driver.
#[unsafe(no_mangle)]
unsafe extern "C" fn la_objsearch(name: *const c_char, cookie: *mut usize, flag: c_uint) -> *const c_char {
    // SAFETY: the loader passes a C string, and the cookie of the object that asks.
    let (asked, asker) = unsafe { (CStr::from_ptr(name).to_bytes(), *cookie) };
    let driver = !state::off() && flag == AS_ASKED && matches!(asked, b"libcuda.so.1" | b"libcuda.so");
    if driver && asker != OURS && locate::exists() { object::own_path() } else { name }
}
