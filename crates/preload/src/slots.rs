//! The addresses of the real functions: one word for each row and each forwarded name, filled at first use.
#![allow(unsafe_code)] // entry points without a Rust body

use std::ffi::{CStr, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use abi::types::CUresult;

use crate::forward::FORWARDED;
use crate::object::{self, Deployment};
use crate::{driver, loader, rows};

/// Rows first, then forwarded names.
pub const COUNT: usize = rows::COUNT + FORWARDED.len();

/// The addresses. Forwarders jump through these words.
pub static SLOTS: [AtomicPtr<c_void>; COUNT] = [const { AtomicPtr::new(null_mut()) }; COUNT];

/// The exported name of a slot.
fn name(number: usize) -> &'static CStr {
    match number.checked_sub(rows::COUNT) {
        Some(forwarded) => FORWARDED[forwarded],
        None => rows::name(number),
    }
}

/// Takes the function that the program has found for the real function of a row, unless another one is known. Returns
/// whether it is the known one now. Neither allocates nor locks.
pub fn learn(number: usize, found: *mut c_void) -> bool {
    match SLOTS[number].compare_exchange(null_mut(), found, Ordering::Release, Ordering::Relaxed) {
        Ok(_) => true,
        Err(known) => known == found,
    }
}

/// The real function of a slot. Never null: for a function that the driver lacks it is one that returns an error.
#[inline]
pub fn real(number: usize) -> *const c_void {
    match SLOTS[number].load(Ordering::Acquire) {
        unknown if unknown.is_null() => resolve(number),
        known => known,
    }
}

/// Asks the driver for a function. A missing driver is not remembered: the program may load one later.
#[cold]
pub extern "C" fn resolve(number: usize) -> *const c_void {
    let nowhere: *const c_void = absent as *const c_void;
    let name = name(number);
    let Some(found) = next(name).or_else(|| driver::handle().map(|handle| loader::symbol(handle, name))) else {
        return nowhere;
    };
    let found = if found.is_null() { nowhere.cast_mut() } else { found };
    loader::forget_error();
    match SLOTS[number].compare_exchange(null_mut(), found, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => found,
        Err(first) => first,
    }
}

/// The next library with this name in the program's own search order, where this one is preloaded: the driver, or
/// another interposer in front of it.
fn next(name: &CStr) -> Option<*mut c_void> {
    let next = (object::deployment() == Deployment::Preload).then(|| loader::next(name))?;
    (!next.is_null() && !object::is_ours(next)).then_some(next)
}

/// Takes the place of every function that the driver lacks. It reads no arguments.
extern "C" fn absent() -> CUresult {
    CUresult::CUDA_ERROR_NOT_FOUND
}
