//! The catch between the program and the layer: if the layer panics, the program still gets the result of its call.

use std::panic::{AssertUnwindSafe, catch_unwind};

use abi::types::CUresult;
use os::caller::Kept;
use shim::Native;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The result for the program.
    pub result: CUresult,
    /// Whether the layer looked at the call.
    pub intercepted: bool,
    /// Whether the layer panicked.
    pub panicked: bool,
}

/// Runs `layer`, which may make the real call and returns its result, or `None` if it leaves the call alone. The real
/// call is made at most once. If the layer has no result, it is made here. The thread cannot be cancelled meanwhile: a
/// real call that the layer makes would be unwound through Rust code.
pub fn run(native: &Native<'_>, layer: impl FnOnce() -> Option<u32>) -> Outcome {
    let kept = Kept::new();
    let answer = catch_unwind(AssertUnwindSafe(layer));
    let panicked = answer.is_err();
    // Dropping the payload of a panic could panic again.
    let answer = answer.unwrap_or_else(|thrown| {
        std::mem::forget(thrown);
        None
    });
    drop(kept);
    let result = answer.unwrap_or_else(|| native.answer());
    Outcome { result: CUresult(result), intercepted: answer.is_some(), panicked }
}

/// Asks the layer a question that the call can go on without. `None` if the layer panicked.
pub fn ask<T>(layer: impl FnOnce() -> T) -> Option<T> {
    let _kept = Kept::new();
    catch_unwind(AssertUnwindSafe(layer)).map_err(std::mem::forget).ok()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Runs a layer over a real call that returns 7. Returns the outcome and the number of real calls.
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
    fn calls_that_the_layer_leaves_alone_go_to_the_driver() {
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
