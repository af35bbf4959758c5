//! The dispatcher's lock while it is held. Releasing it wakes sleeping threads that have something to do.

use std::ops::{Deref, DerefMut};

use threads::Bell;

#[cfg(loom)]
pub(crate) use crate::dispatch::lock::sleeping::{Lock, Locked};
#[cfg(not(loom))]
pub(crate) use crate::dispatch::lock::{Lock, Locked};
use crate::dispatch::sleepers::{Calls, Sleeps};

/// The state, locked.
pub(crate) struct Held<'s, S: Sleeps> {
    lock: &'s Lock<S>,
    bells: &'s [Bell],
    /// None while it is let go of.
    state: Option<Locked<'s, S>>,
}

impl<'s, S: Sleeps> Held<'s, S> {
    #[inline]
    pub fn new(bells: &'s [Bell], lock: &'s Lock<S>) -> Held<'s, S> {
        Held { lock, bells, state: Some(lock.lock()) }
    }

    /// The same, if no other thread has the lock.
    pub fn try_new(bells: &'s [Bell], lock: &'s Lock<S>) -> Option<Held<'s, S>> {
        let state = lock.try_lock()?;
        Some(Held { lock, bells, state: Some(state) })
    }

    /// Lets go of the lock, for a while or for good. Threads are rung without it.
    #[inline(always)] // a call would be a third of it
    pub fn let_go(&mut self) {
        if self.state.as_ref().is_some_and(|state| state.may_call()) {
            self.let_go_and_ring();
        } else {
            self.state = None;
        }
    }

    #[inline(never)]
    fn let_go_and_ring(&mut self) {
        let calls = self.calls();
        self.state = None;
        self.ring(calls);
    }

    /// Lets go of the lock for a while, and rings no thread.
    #[inline]
    pub fn pause(&mut self) {
        self.state = None;
    }

    /// Takes the lock again, on the thread with the turn.
    #[inline]
    pub fn take_again(&mut self) {
        // There is none to let go of, and it is not looked for.
        std::mem::forget(self.state.replace(self.lock.lock_again()));
    }

    /// As [`Lock::visits`].
    #[inline]
    pub fn visits(&self) -> u64 {
        self.lock.visits()
    }

    fn ring(&self, calls: Calls) {
        if let Some(index) = calls.sleeper {
            // It may nap.
            self.bells[index as usize].wake();
        }
        if let Some(index) = calls.watcher {
            self.bells[index as usize].wake();
        }
    }
}

impl<S: Sleeps> Deref for Held<'_, S> {
    type Target = S;

    #[inline]
    fn deref(&self) -> &S {
        self.state.as_ref().expect("the lock is held")
    }
}

impl<S: Sleeps> DerefMut for Held<'_, S> {
    #[inline]
    fn deref_mut(&mut self) -> &mut S {
        self.state.as_mut().expect("the lock is held")
    }
}

impl<S: Sleeps> Drop for Held<'_, S> {
    #[inline]
    fn drop(&mut self) {
        if self.state.is_some() {
            self.let_go();
        }
    }
}
