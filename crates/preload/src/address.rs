//! `cuGetProcAddress`: the driver answers first. If its answer is a hooked function, the program gets the hook instead.
#![allow(unsafe_code)] // the prototypes are the driver's
#![allow(non_snake_case)]

use std::ffi::{CStr, c_char, c_void};
use std::ptr::null_mut;

use abi::types::*;

use crate::hooks::{self, Hook};
use crate::object::{self, Deployment};
use crate::rows::{self, ROWS};
use crate::{forward, slots, state};

const DEFAULT: cuuint64_t = CU_GET_PROC_ADDRESS_DEFAULT as cuuint64_t;
const LEGACY: cuuint64_t = CU_GET_PROC_ADDRESS_LEGACY_STREAM as cuuint64_t;
const PER_THREAD: cuuint64_t = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM as cuuint64_t;

/// A question of the program to `cuGetProcAddress`, and the driver's answer.
struct Question<'a> {
    name: &'a [u8],
    version: c_int,
    flags: cuuint64_t,
    answer: *mut c_void,
}

impl Question<'_> {
    /// The row of the answered function. `ask` gives the driver's answer for another version or other flags of the same
    /// name.
    fn row(&self, ask: impl Fn(c_int, cuuint64_t) -> *mut c_void) -> Option<usize> {
        match self.flags {
            _ if self.answer.is_null() => None,
            PER_THREAD => self.row_for(PER_THREAD, &ask),
            DEFAULT | LEGACY => self.row_for(self.flags, &ask),
            // Other flags may mean either of the two: only the driver's answers tell which.
            _ => [PER_THREAD, LEGACY].into_iter().find_map(|flags| self.row_for(flags, &ask)),
        }
    }

    /// If the driver gives the same answer for the version that introduced our prototype, it has no newer prototype up
    /// to the version of the question. If it gives another one, the answer has a prototype that we do not know, and
    /// stays.
    fn row_for(&self, flags: cuuint64_t, ask: impl Fn(c_int, cuuint64_t) -> *mut c_void) -> Option<usize> {
        let number = rows::resolve(self.name, self.version, flags == PER_THREAD)?;
        let same_question = (ROWS[number].version, flags) == (self.version, self.flags);
        (same_question || ask(ROWS[number].version, flags) == self.answer).then_some(number)
    }
}

/// Puts a hook in the place of the driver's answer, where we have one for it.
///
/// # Safety
/// `symbol` is null or a C string, `pfn` is null or the program's output, and the real call has succeeded with them.
unsafe fn swap(
    symbol: *const c_char,
    pfn: *mut *mut c_void,
    version: c_int,
    flags: cuuint64_t,
    ask: impl Fn(c_int, cuuint64_t) -> *mut c_void,
) {
    if state::off() || symbol.is_null() || pfn.is_null() {
        return;
    }
    // SAFETY: not null, and the caller's promise.
    let (name, answer) = unsafe { (CStr::from_ptr(symbol).to_bytes(), *pfn) };
    let ours = match (Question { name, version, flags, answer }).row(ask) {
        Some(number) if answer.cast_const() == hooks::address(number) => None,
        Some(number) => {
            slots::learn(number, answer);
            Some(hooks::address(number))
        }
        // `dlsym` finds our forwarders here. Both ways of asking must lead to the same address.
        None if object::deployment() != Deployment::Preload => forward::to(name, answer),
        None => None,
    };
    if let Some(ours) = ours {
        // SAFETY: not null, and the caller's promise.
        unsafe { *pfn = ours.cast_mut() };
    }
}

/// The prototype since CUDA 11.3.
type First = unsafe extern "C" fn(*const c_char, *mut *mut c_void, c_int, cuuint64_t) -> CUresult;
/// The prototype since CUDA 12, with a status.
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
    let ask = |version, flags| {
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
    let ask = |version, flags| {
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

    /// A driver that has these versions of a name: plain ones, and ones per thread. The address of a function is its
    /// version, plus one if it is per thread. Without versions per thread the driver answers with the plain function.
    struct Fake(&'static [c_int], &'static [c_int]);

    impl Fake {
        fn answer(&self, version: c_int, flags: cuuint64_t) -> *mut c_void {
            let per_thread = flags & PER_THREAD != 0 && !self.1.is_empty();
            let versions = if per_thread { self.1 } else { self.0 };
            let newest = versions.iter().copied().filter(|&introduced| introduced <= version).max();
            std::ptr::without_provenance_mut(newest.map_or(0, |newest| newest as usize + usize::from(per_thread)))
        }

        fn swapped(&self, name: &str, version: c_int, flags: cuuint64_t) -> Option<&'static str> {
            let question = Question { name: name.as_bytes(), version, flags, answer: self.answer(version, flags) };
            question.row(|version, flags| self.answer(version, flags)).map(|number| ROWS[number].symbol)
        }
    }

    #[test]
    fn the_exact_prototype_is_swapped() {
        let driver = Fake(&[3020], &[7000]);
        assert_eq!(driver.swapped("cuMemcpyHtoDAsync", 3020, 0), Some("cuMemcpyHtoDAsync_v2"));
        assert_eq!(driver.swapped("cuMemcpyHtoDAsync", 13000, 1), Some("cuMemcpyHtoDAsync_v2"));
        assert_eq!(driver.swapped("cuMemcpyHtoDAsync", 7000, 2), Some("cuMemcpyHtoDAsync_v2_ptsz"));
        assert_eq!(driver.swapped("cuMemcpyHtoDAsync", 13000, 2), Some("cuMemcpyHtoDAsync_v2_ptsz"));
        let batch = Fake(&[12080, 13000], &[12080, 13000]);
        assert_eq!(batch.swapped("cuMemcpyBatchAsync", 12090, 0), Some("cuMemcpyBatchAsync"));
        assert_eq!(batch.swapped("cuMemcpyBatchAsync", 13000, 0), Some("cuMemcpyBatchAsync_v2"));
        assert_eq!(batch.swapped("cuMemcpyBatchAsync", 12080, 2), Some("cuMemcpyBatchAsync_ptsz"));
        let finder = Fake(&[11030, 12000], &[]);
        assert_eq!(finder.swapped("cuGetProcAddress", 11030, 0), Some("cuGetProcAddress"));
        assert_eq!(finder.swapped("cuGetProcAddress", 12000, 2), Some("cuGetProcAddress_v2"));
    }

    #[test]
    fn a_prototype_that_we_do_not_know_passes_through() {
        let newer = Fake(&[12080, 13000, 14000], &[]);
        assert_eq!(newer.swapped("cuMemcpyBatchAsync", 14010, 0), None);
        assert_eq!(newer.swapped("cuMemcpyBatchAsync", 13030, 0), Some("cuMemcpyBatchAsync_v2"));
        let older = Fake(&[12080], &[]);
        assert_eq!(older.swapped("cuMemcpyBatchAsync", 12080, 0), Some("cuMemcpyBatchAsync"));
        let oldest = Fake(&[2000, 3020], &[]);
        assert_eq!(oldest.swapped("cuMemcpyHtoDAsync", 2000, 0), None);
    }

    #[test]
    fn other_flags_have_the_drivers_meaning() {
        let driver = Fake(&[3020], &[7000]);
        assert_eq!(driver.swapped("cuMemcpyHtoDAsync", 13000, 3), Some("cuMemcpyHtoDAsync_v2_ptsz"));
        assert_eq!(driver.swapped("cuMemcpyHtoDAsync", 13000, 4), Some("cuMemcpyHtoDAsync_v2"));
        assert_eq!(Fake(&[2000], &[]).swapped("cuInit", 13000, 3), Some("cuInit"));
        assert_eq!(Fake(&[3020], &[7000, 13010]).swapped("cuMemcpyHtoDAsync", 13010, 3), None);
    }

    #[test]
    fn probes_and_absent_functions_are_left_alone() {
        let driver = Fake(&[3020], &[7000]);
        assert_eq!(driver.swapped("", 0, 0), None);
        assert_eq!(driver.swapped("cuCtxGetLimit", 13000, 0), None);
        assert_eq!(driver.swapped("cuMemcpyHtoDAsync", 6000, 2), None);
        assert_eq!(Fake(&[], &[]).swapped("cuMemcpyHtoDAsync", 3020, 0), None);
    }
}
