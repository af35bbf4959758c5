//! The library as an audit module of the loader (`LD_AUDIT`): requests for the driver are sent to this library, so that
//! it is in the program under the driver's name. As a module it has a namespace of its own and does nothing else.
#![allow(unsafe_code)] // the loader calls C functions

use std::ffi::{CStr, c_char, c_uint, c_void};

use crate::{locate, object, state};

/// The newest version of the interface that is known here (`LAV_CURRENT` of glibc 2.35).
const VERSION: c_uint = 2;
/// The name as it was asked for, before any path (`LA_SER_ORIG`).
const AS_ASKED: c_uint = 1;
/// What marks an object as this library: its own requests for the driver are not sent back to it.
const OURS: usize = 0x6f76_6572;

/// The part of the loader's `struct link_map` that every program may rely on.
#[repr(C)]
struct LinkMap {
    address: usize,
    name: *const c_char,
    dynamic: *const c_void,
}

/// Agrees on the interface. Never 0, which would send the module away: glibc cannot unload one that must stay
/// (`-z nodelete`), and ends the process.
#[unsafe(no_mangle)]
extern "C" fn la_version(version: c_uint) -> c_uint {
    version.min(VERSION)
}

/// An object has been loaded. No binding is to be told of: there is no cost for calls.
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

/// An object is searched for. Requests for the driver by its bare name are sent here, if there is a driver at all.
#[unsafe(no_mangle)]
unsafe extern "C" fn la_objsearch(name: *const c_char, cookie: *mut usize, flag: c_uint) -> *const c_char {
    // SAFETY: the loader passes a C string, and the cookie of the object that asks.
    let (asked, asker) = unsafe { (CStr::from_ptr(name).to_bytes(), *cookie) };
    let driver = !state::off() && flag == AS_ASKED && matches!(asked, b"libcuda.so.1" | b"libcuda.so");
    if driver && asker != OURS && locate::exists() { object::own_path() } else { name }
}
