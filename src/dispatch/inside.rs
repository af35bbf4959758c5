//! The dispatcher whose functions the calling thread runs: such a thread cannot wait for the dispatcher's end.

use std::cell::Cell;

thread_local! {
    /// The address of its shared parts.
    static INSIDE: Cell<usize> = const { Cell::new(0) };
}

/// The calling thread is inside until this is dropped.
pub(crate) struct Inside {
    before: usize,
}

impl Inside {
    /// `shared` is the address of the dispatcher's shared parts.
    #[inline]
    pub fn begin(shared: usize) -> Inside {
        Inside { before: INSIDE.replace(shared) }
    }
}

impl Drop for Inside {
    #[inline]
    fn drop(&mut self) {
        INSIDE.set(self.before);
    }
}

/// Whether the calling thread is inside of that dispatcher.
pub(crate) fn is_inside(shared: usize) -> bool {
    INSIDE.get() == shared
}
