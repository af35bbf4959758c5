//! The dispatchers whose functions the calling thread is running: it cannot wait for any of them to close. A function
//! of one dispatcher may run a function of another, by submitting there.

use std::cell::{Cell, RefCell};

/// That of no dispatcher.
const NONE: usize = 0;

thread_local! {
    /// The address of the shared parts of the innermost.
    static INSIDE: Cell<usize> = const { Cell::new(NONE) };
    /// Those around it.
    static AROUND: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// The calling thread is inside until this is dropped.
pub(crate) struct Inside {
    before: usize,
}

impl Inside {
    /// `shared` is the address of the dispatcher's shared parts.
    #[inline]
    pub fn begin(shared: usize) -> Inside {
        let before = INSIDE.replace(shared);
        if is_around(before, shared) {
            enter_another(before);
        }
        Inside { before }
    }
}

impl Drop for Inside {
    #[inline]
    fn drop(&mut self) {
        if is_around(self.before, INSIDE.replace(self.before)) {
            leave_another();
        }
    }
}

/// Whether a dispatcher is around that one, and another one.
#[inline]
fn is_around(before: usize, shared: usize) -> bool {
    before != NONE && before != shared
}

#[cold]
fn enter_another(before: usize) {
    let _at_exit = AROUND.try_with(|around| around.borrow_mut().push(before));
}

#[cold]
fn leave_another() {
    let _at_exit = AROUND.try_with(|around| around.borrow_mut().pop());
}

/// Whether the calling thread is inside of that dispatcher.
pub(crate) fn is_inside(shared: usize) -> bool {
    INSIDE.get() == shared || AROUND.try_with(|around| around.borrow().contains(&shared)).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_inside_of_all_that_it_has_entered() {
        let outer = Inside::begin(1);
        assert!(is_inside(1) && !is_inside(2));
        let (inner, again) = (Inside::begin(2), Inside::begin(1));
        assert!(is_inside(1) && is_inside(2));
        drop((again, inner));
        assert!(is_inside(1) && !is_inside(2));
        drop(outer);
        assert!(!is_inside(1));
    }
}
