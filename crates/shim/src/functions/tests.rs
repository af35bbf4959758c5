//! Arguments that the table refuses whether the layer has started or not.
#![allow(unsafe_code)] // functions of the C table

use std::ptr::{null, null_mut};

use super::*;

/// The number and the text of a call.
fn said(number: c_int) -> (c_int, String) {
    // SAFETY: the text of this thread's last error, which stays in place until the next one.
    let text = unsafe { CStr::from_ptr(last_error()) };
    (number, text.to_string_lossy().into_owned())
}

#[test]
fn a_batch_needs_all_its_arrays_and_a_length_that_arrays_have() {
    let (mut byte, size) = (0_u8, 1_usize);
    let target: *mut c_void = (&raw mut byte).cast();
    let source = target.cast_const();
    let batch = |[has_targets, has_sources, has_sizes]: [bool; 3], count| {
        let targets = if has_targets { &raw const target } else { null() };
        let sources = if has_sources { &raw const source } else { null() };
        let sizes = if has_sizes { &raw const size } else { null() };
        // SAFETY: arrays of one element where the count is 1; others are not looked at.
        said(unsafe { copy_batch_async(targets, sources, sizes, count, null_mut(), 0) })
    };
    let invalid = |text: &str| (Failure::InvalidArgument.number(), text.to_owned());
    for left_out in 0..3 {
        let is_there = [0, 1, 2].map(|array| array != left_out);
        assert_eq!(batch(is_there, 1), invalid("one of the arrays is null"), "array {left_out}");
    }
    for count in [usize::MAX, isize::MAX as usize, isize::MAX as usize / size_of::<usize>() + 1] {
        assert_eq!(batch([true; 3], count), invalid("no array is that long"), "{count} copies");
    }
    assert_eq!(batch([false; 3], 0).0, 0, "nothing is to be copied");
    assert_ne!(batch([true; 3], 1).0, Failure::InvalidArgument.number(), "the arguments are fine");
}
