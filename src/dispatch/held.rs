//! The dispatcher's lock, held. When it is let go of, sleeping threads are rung that have something to do.

use std::ops::{Deref, DerefMut};

use hal::primitive::{Mutex, MutexGuard, lock};
use threads::Bell;

use crate::dispatch::sleepers::{Calls, Sleeps};

/// The state, locked.
pub(crate) struct Held<'s, S: Sleeps> {
    mutex: &'s Mutex<S>,
    bells: &'s [Bell],
    /// None while it is let go of.
    state: Option<MutexGuard<'s, S>>,
}

impl<'s, S: Sleeps> Held<'s, S> {
    #[inline]
    pub fn new(bells: &'s [Bell], mutex: &'s Mutex<S>) -> Held<'s, S> {
        Held { mutex, bells, state: Some(lock(mutex)) }
    }

    /// Lets go of the lock, for a while or for good. Threads are rung without it.
    #[inline]
    pub fn let_go(&mut self) {
        match &mut self.state {
            Some(state) if state.may_call() => {
                let calls = state.calls();
                self.state = None;
                self.ring(calls);
            }
            _ => self.state = None,
        }
    }

    /// Lets go of the lock for a while, and rings no thread.
    #[inline]
    pub fn pause(&mut self) {
        self.state = None;
    }

    /// Takes the lock again.
    #[inline]
    pub fn take_again(&mut self) {
        self.state = Some(lock(self.mutex));
    }

    #[inline(never)]
    fn ring(&self, calls: Calls) {
        if let Some(index) = calls.sleeper {
            self.bells[index as usize].ring();
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
