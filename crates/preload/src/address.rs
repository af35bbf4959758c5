//! `cuGetProcAddress`: the real answer first, then ours in its place where that is exactly the function we stand for.
#![allow(unsafe_code)] // the prototypes are the driver's
#![allow(non_snake_case)]

use std::ffi::{CStr, c_char, c_void};
use std::ptr::null_mut;

use abi::types::*;

use crate::hooks::{self, Hook};
use crate::rows::{self, ROWS};
use crate::{slots, state};

/// The flags that are understood.
const KNOWN_FLAGS: [cuuint64_t; 3] = [
    CU_GET_PROC_ADDRESS_DEFAULT as cuuint64_t,
    CU_GET_PROC_ADDRESS_LEGACY_STREAM as cuuint64_t,
    CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM as cuuint64_t,
];

/// What the program asked for, and got.
struct Question<'a> {
    name: &'a [u8],
    version: c_int,
    flags: cuuint64_t,
    answer: *mut c_void,
}

impl Question<'_> {
    /// The row whose function the answer is. `ask` gives the driver's answer for another version of the same name: a
    /// driver that answers the same for the version that brought our prototype has no newer one up to the version asked
    /// for; else it has one that we do not know, and the answer stays.
    fn row(&self, ask: impl FnOnce(c_int) -> *mut c_void) -> Option<usize> {
        if self.answer.is_null() || !KNOWN_FLAGS.contains(&self.flags) {
            return None;
        }
        let per_thread = self.flags == cuuint64_t::from(CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
        let number = rows::resolve(self.name, self.version, per_thread)?;
        let version = ROWS[number].version;
        (version == self.version || ask(version) == self.answer).then_some(number)
    }
}

/// Puts our function in the place of the driver's answer, where it is one of ours.
///
/// # Safety
/// `symbol` is null or a C string, `pfn` is null or the program's output, and the real call has succeeded with them.
unsafe fn swap(
    symbol: *const c_char,
    pfn: *mut *mut c_void,
    version: c_int,
    flags: cuuint64_t,
    ask: impl FnOnce(c_int) -> *mut c_void,
) {
    if state::off() || symbol.is_null() || pfn.is_null() {
        return;
    }
    // SAFETY: not null, and the caller's promise.
    let (name, answer) = unsafe { (CStr::from_ptr(symbol).to_bytes(), *pfn) };
    let row = Question { name, version, flags, answer }.row(ask);
    if let Some(number) = row.filter(|&number| answer.cast_const() != hooks::address(number)) {
        slots::learn(number, answer);
        // SAFETY: not null, and the caller's promise.
        unsafe { *pfn = hooks::address(number).cast_mut() };
    }
}

/// The prototype of CUDA 11.3.
type First = unsafe extern "C" fn(*const c_char, *mut *mut c_void, c_int, cuuint64_t) -> CUresult;
/// The prototype of CUDA 12, with a status.
type Second = unsafe extern "C" fn(
    *const c_char,
    *mut *mut c_void,
    c_int,
    cuuint64_t,
    *mut CUdriverProcAddressQueryResult,
) -> CUresult;

pub unsafe fn cuGetProcAddress(
    hook: Hook,
    native: impl Fn() -> CUresult,
    symbol: *const c_char,
    pfn: *mut *mut c_void,
    version: c_int,
    flags: cuuint64_t,
) -> CUresult {
    hook.intercepted();
    let result = native();
    let ask = |version| {
        let mut answer = null_mut();
        // SAFETY: the slot holds the driver's function of this hook's name, whose prototype this is.
        let real = unsafe { std::mem::transmute::<*const c_void, First>(slots::real(hook.number)) };
        // SAFETY: the program's own string; the output is a live local.
        unsafe { real(symbol, &mut answer, version, flags) };
        answer
    };
    if result == CUresult::CUDA_SUCCESS {
        // SAFETY: the program's own arguments, with which the real call has succeeded.
        unsafe { swap(symbol, pfn, version, flags, ask) };
    }
    result
}

pub unsafe fn cuGetProcAddress_v2(
    hook: Hook,
    native: impl Fn() -> CUresult,
    symbol: *const c_char,
    pfn: *mut *mut c_void,
    version: c_int,
    flags: cuuint64_t,
    _status: *mut CUdriverProcAddressQueryResult,
) -> CUresult {
    hook.intercepted();
    let result = native();
    let ask = |version| {
        let (mut answer, mut status) = (null_mut(), 0);
        // SAFETY: the slot holds the driver's function of this hook's name, whose prototype this is.
        let real = unsafe { std::mem::transmute::<*const c_void, Second>(slots::real(hook.number)) };
        // SAFETY: the program's own string; the outputs are live locals.
        unsafe { real(symbol, &mut answer, version, flags, &mut status) };
        answer
    };
    if result == CUresult::CUDA_SUCCESS {
        // SAFETY: the program's own arguments, with which the real call has succeeded.
        unsafe { swap(symbol, pfn, version, flags, ask) };
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A driver that has these versions of a name: the address of its function is the version itself.
    struct Fake(&'static [c_int]);

    impl Fake {
        fn answer(&self, version: c_int) -> *mut c_void {
            let newest = self.0.iter().copied().filter(|&introduced| introduced <= version).max().unwrap_or(0);
            std::ptr::without_provenance_mut(newest as usize)
        }

        fn swapped(&self, name: &str, version: c_int, flags: cuuint64_t) -> Option<&'static str> {
            let question = Question { name: name.as_bytes(), version, flags, answer: self.answer(version) };
            question.row(|version| self.answer(version)).map(|number| ROWS[number].symbol)
        }
    }

    #[test]
    fn the_exact_prototype_is_swapped() {
        let driver = Fake(&[3020, 7000]);
        assert_eq!(driver.swapped("cuMemcpyHtoDAsync", 3020, 0), Some("cuMemcpyHtoDAsync_v2"));
        assert_eq!(driver.swapped("cuMemcpyHtoDAsync", 7000, 2), Some("cuMemcpyHtoDAsync_v2_ptsz"));
        assert_eq!(driver.swapped("cuMemcpyHtoDAsync", 13000, 2), Some("cuMemcpyHtoDAsync_v2_ptsz"));
        let plain = Fake(&[3020]);
        assert_eq!(plain.swapped("cuMemcpyHtoDAsync", 13000, 1), Some("cuMemcpyHtoDAsync_v2"));
        let batch = Fake(&[12080, 13000]);
        assert_eq!(batch.swapped("cuMemcpyBatchAsync", 12090, 0), Some("cuMemcpyBatchAsync"));
        assert_eq!(batch.swapped("cuMemcpyBatchAsync", 13000, 0), Some("cuMemcpyBatchAsync_v2"));
        let finder = Fake(&[11030, 12000]);
        assert_eq!(finder.swapped("cuGetProcAddress", 11030, 0), Some("cuGetProcAddress"));
        assert_eq!(finder.swapped("cuGetProcAddress", 12000, 0), Some("cuGetProcAddress_v2"));
    }

    #[test]
    fn a_prototype_that_we_do_not_know_passes_through() {
        let newer = Fake(&[12080, 13000, 14000]);
        assert_eq!(newer.swapped("cuMemcpyBatchAsync", 14010, 0), None);
        assert_eq!(newer.swapped("cuMemcpyBatchAsync", 13030, 0), Some("cuMemcpyBatchAsync_v2"));
        let older = Fake(&[12080]);
        assert_eq!(older.swapped("cuMemcpyBatchAsync", 12080, 0), Some("cuMemcpyBatchAsync"));
        let oldest = Fake(&[2000, 3020]);
        assert_eq!(oldest.swapped("cuMemcpyHtoDAsync", 2000, 0), None);
    }

    #[test]
    fn probes_unknown_flags_and_absent_functions_are_left_alone() {
        let driver = Fake(&[3020, 7000]);
        assert_eq!(driver.swapped("", 0, 0), None);
        assert_eq!(driver.swapped("cuLaunchKernel", 13000, 0), None);
        assert_eq!(driver.swapped("cuMemcpyHtoDAsync", 13000, 4), None);
        assert_eq!(driver.swapped("cuMemcpyHtoDAsync", 6000, 2), None);
        assert_eq!(Fake(&[]).swapped("cuMemcpyHtoDAsync", 3020, 0), None);
    }
}
