//! Between the program and the layer: a call of ours can fail to return a result, but never the program's.

use std::panic::{AssertUnwindSafe, catch_unwind};

use abi::types::CUresult;
use shim::Native;

/// How a call came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What the program gets.
    pub result: CUresult,
    /// Whether the layer looked at it.
    pub intercepted: bool,
    /// Whether the layer panicked.
    pub panicked: bool,
}

/// Runs `layer`, which may make the real call, once, and answers with its result; `None` means that it wants nothing to
/// do with this call. Whatever happens, the real call is made at most once, and always if the layer has no result.
pub fn run(native: &Native<'_>, layer: impl FnOnce() -> Option<u32>) -> Outcome {
    let answer = catch_unwind(AssertUnwindSafe(layer));
    let panicked = answer.is_err();
    // Dropping what was thrown could throw again.
    let answer = answer.unwrap_or_else(|thrown| {
        std::mem::forget(thrown);
        None
    });
    let result = answer.unwrap_or_else(|| native.answer());
    Outcome { result: CUresult(result), intercepted: answer.is_some(), panicked }
}

/// Asks the layer for something that the call can do without. `None` if it panicked.
pub fn ask<T>(layer: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(layer)).map_err(std::mem::forget).ok()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Runs a layer over a real call that answers 7; returns the outcome and how often the call was made.
    fn with(layer: impl FnOnce(&Native<'_>) -> Option<u32>) -> (Outcome, u32) {
        let calls = Cell::new(0);
        let native = || {
            calls.set(calls.get() + 1);
            7
        };
        let native = Native::asynchronous(&native);
        (run(&native, || layer(&native)), calls.get())
    }

    #[test]
    fn the_layers_result_is_the_programs() {
        let (outcome, calls) = with(|native| Some(native.answer()));
        assert_eq!((outcome.result, calls, outcome.intercepted, outcome.panicked), (CUresult(7), 1, true, false));
        let (outcome, calls) = with(|_| Some(0));
        assert_eq!((outcome.result, calls), (CUresult(0), 0));
    }

    #[test]
    fn what_the_layer_leaves_goes_to_the_driver() {
        let (outcome, calls) = with(|_| None);
        assert_eq!((outcome.result, calls, outcome.intercepted, outcome.panicked), (CUresult(7), 1, false, false));
    }

    #[test]
    fn a_panic_before_the_real_call_makes_it_and_one_after_does_not_make_it_again() {
        let (outcome, calls) = with(|_| panic!("before"));
        assert_eq!((outcome.result, calls, outcome.panicked), (CUresult(7), 1, true));
        let (outcome, calls) = with(|native| {
            native.answer();
            panic!("after")
        });
        assert_eq!((outcome.result, calls, outcome.panicked), (CUresult(7), 1, true));
        assert_eq!((ask(|| -> u8 { panic!("asked") }), ask(|| 3)), (None, Some(3)));
    }
}
