//! The answers of entry points, and the catch that keeps panics away from C.
#![allow(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use abi::types::CUresult;
use hal::Code;

use crate::loading;

/// A refusal: a code other than success. An error's other details do not fit through the ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal(pub Code);

impl From<Code> for Refusal {
    fn from(code: Code) -> Refusal {
        Refusal(code)
    }
}

impl From<hal::Error> for Refusal {
    fn from(error: hal::Error) -> Refusal {
        Refusal(error.code())
    }
}

/// The answer of an entry point, or of a step on the way to it.
pub type Answer<T = ()> = Result<T, Refusal>;

/// Refuses with `code`.
pub fn refuse<T>(code: Code) -> Answer<T> {
    Err(Refusal(code))
}

/// Refuses with `code` unless `condition` holds.
pub fn require(condition: bool, code: Code) -> Answer {
    if condition { Ok(()) } else { refuse(code) }
}

/// Runs the body of an entry point. A panic in it becomes `CUDA_ERROR_UNKNOWN`: unwinding into C is undefined.
pub fn catch(body: impl FnOnce() -> Answer) -> CUresult {
    let _kept = os::caller::Kept::new();
    loading::come_in();
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => CUresult(0),
        Ok(Err(Refusal(code))) => CUresult(code.get()),
        Err(payload) => {
            // Dropping the payload runs code of the panicking caller, which could panic again.
            std::mem::forget(payload);
            CUresult(Code::UNKNOWN.get())
        }
    }
}

/// A caller's place for a result. Entry points take it first, so that they never make a handle that they cannot
/// return.
pub struct Out<T>(NonNull<T>);

impl<T> Out<T> {
    /// The place at `pointer`; null is an invalid value.
    ///
    /// # Safety
    /// Null, or valid for a write of `T` until the entry point returns.
    pub unsafe fn new(pointer: *mut T) -> Answer<Out<T>> {
        NonNull::new(pointer).map(Out).ok_or(Refusal(Code::INVALID_VALUE))
    }

    /// Stores the result.
    pub fn set(self, value: T) {
        // SAFETY: the promise of `new`: the place is valid for a write until the entry point returns, and only code
        // under that entry point holds `self`.
        unsafe { self.0.write(value) }
    }
}

/// The array of `count` elements at `pointer`; null is an invalid value unless the array is empty.
///
/// # Safety
/// Null, or valid for reads of `count` elements until the entry point returns.
pub unsafe fn array<'call, T>(pointer: *const T, count: usize) -> Answer<&'call [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    require(!pointer.is_null() && pointer.is_aligned(), Code::INVALID_VALUE)?;
    // SAFETY: not null, aligned, and valid for `count` elements by the promise above.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_stops_at_the_catch() {
        assert_eq!(catch(|| panic!("expected by this test")), CUresult(999));
        assert_eq!(catch(|| refuse(Code::NOT_READY)), CUresult(600));
        assert_eq!(catch(|| Ok(())), CUresult(0));
    }
}
