//! The order in which a thread takes locks: first that of submissions to arrays, then that of a dispatcher. The first
//! is not held while steps are taken, neither while user code runs or is dropped, and none with that of the handles of
//! C. Debug builds check this on each thread: a violation may hang only when threads meet, but always panics here.

use std::cell::Cell;

/// A lock's place in that order, a bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The order of submissions to arrays.
    Submissions = 1,
    /// The state of a dispatcher.
    State = 2,
    /// A table of handles that C has.
    Handles = 4,
}

/// Threads of loom share an ordinary one.
const IS_CHECKED: bool = cfg!(all(debug_assertions, not(loom)));

thread_local! {
    /// The locks that the thread has.
    static HELD: Cell<u8> = const { Cell::new(0) };
}

/// The calling thread is about to take a lock of this level.
#[inline]
#[track_caller]
pub fn take(level: Level) {
    if IS_CHECKED {
        let held = HELD.get();
        assert!(held < level as u8, "a thread that has the locks {held:#b} takes that of {level:?}");
        HELD.set(held | level as u8);
    }
}

/// The calling thread has let go of it.
#[inline]
pub fn give_back(level: Level) {
    if IS_CHECKED {
        HELD.set(HELD.get() & !(level as u8));
    }
}

/// Steps may be taken from here on, with the state's lock or without it.
#[inline]
#[track_caller]
pub(crate) fn may_step() {
    if IS_CHECKED {
        let held = HELD.get();
        assert!(held & Level::Submissions as u8 == 0, "a thread takes steps with the order of submissions");
    }
}

/// Code of the user's is called from here on.
#[inline]
#[track_caller]
pub(crate) fn may_call_user() {
    if IS_CHECKED && !std::thread::panicking() {
        let held = HELD.get();
        assert!(held == 0, "code of the user's runs under the locks {held:#b}");
    }
}

/// A part of work of the user's, which is dropped with it: under no lock.
#[derive(Debug)]
pub struct OfUser;

#[cfg(debug_assertions)]
impl Drop for OfUser {
    fn drop(&mut self) {
        may_call_user();
    }
}
