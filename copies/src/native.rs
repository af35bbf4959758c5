//! The driver call that a program made, and which the layer makes in its place.

use std::cell::Cell;

use hal::{Code, Result};

/// The program's driver call for a copy, and the driver's answer. The call is made at most once, for any number of
/// questions for the answer.
#[doc(hidden)] // for crates/shim
pub struct Native<'a> {
    call: &'a dyn RealCall,
    answer: Cell<Option<u32>>,
    is_blocking: bool,
    no_captures: Cell<bool>,
}

/// A driver call with its arguments. The linker has to fill in one function for each table of this trait, and three for
/// one of [`Fn`]; each hook has a table.
trait RealCall {
    fn make(&self) -> u32;
}

impl<F: Fn() -> u32> RealCall for F {
    fn make(&self) -> u32 {
        self()
    }
}

impl<'a> Native<'a> {
    /// A call that may return before the copy has completed. It returns the driver's code, which is 0 for success.
    #[must_use]
    pub fn asynchronous(call: &'a impl Fn() -> u32) -> Native<'a> {
        Native { call, answer: Cell::new(None), is_blocking: false, no_captures: Cell::new(false) }
    }

    /// A call that returns when the copy has completed. The layer keeps that promise on every way of the copy.
    #[must_use]
    pub fn blocking(call: &'a impl Fn() -> u32) -> Native<'a> {
        Native { is_blocking: true, ..Native::asynchronous(call) }
    }

    /// Notes that no stream of the process is being captured, so that the layer need not ask the driver.
    pub fn without_captures(&self) {
        self.no_captures.set(true);
    }

    /// Whether the copy has completed when the call returns.
    #[inline]
    #[must_use]
    pub fn is_blocking(&self) -> bool {
        self.is_blocking
    }

    pub(crate) fn no_captures(&self) -> bool {
        self.no_captures.get()
    }

    /// The driver's answer. Makes the call if it has not been made yet.
    #[inline]
    pub fn answer(&self) -> u32 {
        self.answer.get().unwrap_or_else(|| {
            let answer = self.call.make();
            self.answer.set(Some(answer));
            answer
        })
    }

    /// The answer as a result.
    pub(crate) fn result(&self) -> Result<()> {
        Code::new(self.answer()).map_or(Ok(()), |code| Err(code.at("the driver's copy")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_driver_is_asked_once_and_its_answer_kept() {
        let calls = Cell::new(0);
        let call = || {
            calls.set(calls.get() + 1);
            700
        };
        let native = Native::asynchronous(&call);
        assert_eq!(calls.get(), 0, "the first question makes the call");
        assert_eq!((native.answer(), native.answer()), (700, 700));
        assert_eq!(native.result().unwrap_err().code(), Code::ILLEGAL_ADDRESS);
        assert_eq!(calls.get(), 1);
    }
}
