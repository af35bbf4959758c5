//! Prefetches the code of a submission.
//!
//! A thread that submits a frame has usually slept since the last one. Meanwhile its processor has lost the submission
//! code from its near caches, and waits for each cache line in turn. Requested all at once, the lines arrive in
//! parallel (`docs/decisions/code-ahead.md`).
//!
//! The functions on the path of a replay that is one task are in the section `overtake_ahead`, so they are adjacent,
//! and the linker knows both ends. Those of the graph, which has no unsafe code, are given by their addresses.
#![allow(unsafe_code)] // the linker's names for the ends of a section

use std::sync::atomic::Ordering;

use graph::Graph;

use crate::dispatch::prefetch::{LINE, prefetch_to_read};
use crate::dispatch::shared::Shared;

/// The lines of the dispatcher's fields, but for those that are lists in place. The compiler puts them behind the
/// lists. Too many or too few change no result.
const FIELD_LINES: usize = 36;

/// Fetches the code of a replay that is one task, and the fields that it looks at, if the dispatcher has been at rest.
#[inline(always)] // in one place, which is in the section itself
pub(super) fn fetch(shared: &Shared) {
    if shared.was_at_rest.load(Ordering::Relaxed) {
        shared.was_at_rest.store(false, Ordering::Relaxed);
        let [start, stop] = section();
        fetch_lines(start, stop.addr().saturating_sub(start.addr()).div_ceil(LINE));
        Graph::code().into_iter().for_each(|(place, lines)| fetch_lines(place, lines));
        let end = std::ptr::from_ref(shared).wrapping_add(1).cast::<u8>();
        fetch_lines(end.wrapping_sub(FIELD_LINES * LINE), FIELD_LINES);
    }
}

#[inline(always)] // as `fetch`
fn fetch_lines(first: *const u8, lines: usize) {
    (0..lines).for_each(|line| prefetch_to_read(first.wrapping_add(line * LINE)));
}

/// The ends of the section.
#[cfg(not(miri))]
fn section() -> [*const u8; 2] {
    unsafe extern "C" {
        #[link_name = "__start_overtake_ahead"]
        static START: u8;
        #[link_name = "__stop_overtake_ahead"]
        static STOP: u8;
    }
    [&raw const START, &raw const STOP]
}

/// There is no linker.
#[cfg(miri)]
fn section() -> [*const u8; 2] {
    [std::ptr::null(); 2]
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use crate::dispatch::state::State;
    use crate::task::builder::TaskBuilder;
    use crate::work::kernel::Kernel;
    use crate::work::lane::Lane;
    use crate::work::span::Course;

    #[test]
    fn the_functions_of_a_replay_stand_beside_each_other() {
        let [start, stop] = section();
        let functions = [
            TaskBuilder::submit_here as *const u8,
            State::expect_other as *const u8,
            Course::launch as *const u8,
            Lane::copy as *const u8,
            Kernel::launch as *const u8,
            channels::copy_shape as *const u8,
        ];
        assert!(functions.into_iter().all(|function| (start..stop).contains(&function)), "{start:?} {functions:?}");
    }
}
