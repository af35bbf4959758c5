//! The driver itself: start, version, names of errors, addresses of functions.
#![allow(unsafe_code)]
#![allow(non_snake_case)]

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::sync::OnceLock;

use abi::types::*;
use abi::{FUNCTIONS, Flavour};
use hal::Code;

use crate::answer::{Answer, Out, refuse, require};
use crate::exports::{address_of, older};
use crate::soft::{start, version};

pub unsafe fn cuInit(_: Flavour, flags: c_uint) -> Answer {
    require(flags == 0, Code::INVALID_VALUE)?;
    start()
}

pub unsafe fn cuDriverGetVersion(_: Flavour, driver_version: *mut c_int) -> Answer {
    // SAFETY: the caller's promise for this output.
    unsafe { Out::new(driver_version) }?.set(version());
    Ok(())
}

/// Name and text of a code, as C strings.
type Words = (CString, CString);

/// Name and text of every code that the seam knows. They are built once, and the pointers stay valid for the life of
/// the process.
fn words(error: CUresult) -> Option<&'static Words> {
    static WORDS: OnceLock<HashMap<u32, Words>> = OnceLock::new();
    let all = WORDS.get_or_init(|| {
        let text = |text: &str| CString::new(text).expect("no name of ours holds a zero byte");
        let known = (1..=Code::UNKNOWN.get()).filter_map(Code::new);
        let named = known.filter_map(|code| Some((code.get(), (text(code.name()?), text(code.text()?)))));
        named.chain([(0, (text("CUDA_SUCCESS"), text("no error")))]).collect()
    });
    all.get(&error.0)
}

/// Stores a code's name or text. An unknown code stores null and is an invalid value, as in the driver.
unsafe fn put_words(
    place: *mut *const c_char,
    error: CUresult,
    pick: impl Fn(&'static Words) -> &'static CStr,
) -> Answer {
    // SAFETY: the caller's promise for this output.
    let out = unsafe { Out::new(place) }?;
    match words(error) {
        Some(words) => out.set(pick(words).as_ptr()),
        None => {
            out.set(std::ptr::null());
            return refuse(Code::INVALID_VALUE);
        }
    }
    Ok(())
}

pub unsafe fn cuGetErrorName(_: Flavour, error: CUresult, p_str: *mut *const c_char) -> Answer {
    // SAFETY: the caller's promise for this output.
    unsafe { put_words(p_str, error, |words| &words.0) }
}

pub unsafe fn cuGetErrorString(_: Flavour, error: CUresult, p_str: *mut *const c_char) -> Answer {
    // SAFETY: the caller's promise for this output.
    unsafe { put_words(p_str, error, |words| &words.1) }
}

/// The result of a search for an entry point.
#[derive(Debug, PartialEq, Eq)]
enum Search {
    Found(*mut c_void),
    NoSuchName,
    NoneSoOld,
}

fn search(base: &str, version: i32, per_thread: bool) -> Search {
    let symbol = match older(base) {
        Some(since) => (since <= version).then_some(base),
        None => abi::resolve(base, version, per_thread).map(|function| function.symbol),
    };
    match symbol.and_then(address_of) {
        Some(address) => Search::Found(address),
        None if older(base).is_some() => Search::NoneSoOld,
        None if FUNCTIONS.iter().any(|function| function.base == base) => Search::NoneSoOld,
        None => Search::NoSuchName,
    }
}

/// Checks the arguments that both ABIs share, and searches.
unsafe fn ask(symbol: *const c_char, asked: c_int, flags: cuuint64_t) -> Answer<Search> {
    let both = CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    require(!symbol.is_null() && asked <= version() && flags <= u64::from(both), Code::INVALID_VALUE)?;
    // SAFETY: not null; the caller's promise that it is a C string.
    let name = unsafe { CStr::from_ptr(symbol) };
    let per_thread = flags & u64::from(CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
    Ok(name.to_str().map_or(Search::NoSuchName, |base| search(base, asked, per_thread)))
}

/// The ABI from before CUDA 12: absence is an error, and the output is left alone.
pub unsafe fn cuGetProcAddress(
    _: Flavour,
    symbol: *const c_char,
    pfn: *mut *mut c_void,
    cuda_version: c_int,
    flags: cuuint64_t,
) -> Answer {
    // SAFETY: the caller's promise for this output.
    let out = unsafe { Out::new(pfn) }?;
    // SAFETY: the caller's promise for the symbol.
    match unsafe { ask(symbol, cuda_version, flags) }? {
        Search::Found(address) => out.set(address),
        Search::NoSuchName | Search::NoneSoOld => return refuse(Code::NOT_FOUND),
    }
    Ok(())
}

/// The ABI of CUDA 12: absence is a success with a null pointer, and the optional status gives the reason.
pub unsafe fn cuGetProcAddress_v2(
    _: Flavour,
    symbol: *const c_char,
    pfn: *mut *mut c_void,
    cuda_version: c_int,
    flags: cuuint64_t,
    symbol_status: *mut CUdriverProcAddressQueryResult,
) -> Answer {
    // SAFETY: the caller's promise for this output.
    let out = unsafe { Out::new(pfn) }?;
    // SAFETY: the caller's promise for the symbol.
    let (address, status) = match unsafe { ask(symbol, cuda_version, flags) }? {
        Search::Found(address) => (address, CU_GET_PROC_ADDRESS_SUCCESS),
        Search::NoSuchName => (std::ptr::null_mut(), CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND),
        Search::NoneSoOld => (std::ptr::null_mut(), CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT),
    };
    out.set(address);
    if !symbol_status.is_null() {
        // SAFETY: the caller's promise for this output.
        unsafe { Out::new(symbol_status) }?.set(status);
    }
    Ok(())
}
