//! Threads of the layer that outlive a panic: a program whose words nobody lowers, or whose copies nobody takes over,
//! would wait for ever.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// After so many panics a thread ends: what makes it panic does not pass.
const PANICS_MAX: u32 = 100;

/// Runs `body` until it returns; after each panic `retreat` makes the layer ask as little as it can of the thread, and
/// `body` begins anew.
pub(crate) fn persist(mut body: impl FnMut(), retreat: impl Fn()) {
    for _ in 0..PANICS_MAX {
        match catch_unwind(AssertUnwindSafe(&mut body)) {
            Ok(()) => return,
            // Dropping what was thrown could throw again.
            Err(thrown) => std::mem::forget(thrown),
        }
        if let Err(thrown) = catch_unwind(AssertUnwindSafe(&retreat)) {
            std::mem::forget(thrown);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_body_begins_anew_until_it_returns() {
        let (begun, retreats) = (Cell::new(0), Cell::new(0));
        let body = || {
            begun.set(begun.get() + 1);
            assert!(begun.get() == 3, "not yet");
        };
        persist(body, || {
            retreats.set(retreats.get() + 1);
            panic!("even here")
        });
        assert_eq!((begun.get(), retreats.get()), (3, 2));
    }

    #[test]
    fn what_always_panics_ends() {
        let begun = Cell::new(0);
        let body = || {
            begun.set(begun.get() + 1);
            panic!("always")
        };
        persist(body, || {});
        assert_eq!(begun.get(), PANICS_MAX);
    }
}
