//! The dispatcher's lock, held. When it is let go of, sleeping threads are rung that have something to do.

use std::ops::{Deref, DerefMut};

use threads::Bell;

use crate::dispatch::sleepers::{Calls, Sleeps};

/// The state, locked.
pub(crate) struct Held<'s, G: DerefMut<Target: Sleeps>> {
    /// Dropped first: threads are rung without the lock.
    state: G,
    rings: Rings<'s>,
}

/// The threads that are rung when it is dropped.
struct Rings<'s> {
    bells: &'s [Bell],
    calls: Option<Calls>,
}

impl<'s, G: DerefMut<Target: Sleeps>> Held<'s, G> {
    #[inline]
    pub fn new(bells: &'s [Bell], state: G) -> Held<'s, G> {
        Held { state, rings: Rings { bells, calls: None } }
    }
}

impl<G: DerefMut<Target: Sleeps>> Deref for Held<'_, G> {
    type Target = G::Target;

    #[inline]
    fn deref(&self) -> &G::Target {
        &self.state
    }
}

impl<G: DerefMut<Target: Sleeps>> DerefMut for Held<'_, G> {
    #[inline]
    fn deref_mut(&mut self) -> &mut G::Target {
        &mut self.state
    }
}

impl<G: DerefMut<Target: Sleeps>> Drop for Held<'_, G> {
    #[inline]
    fn drop(&mut self) {
        if self.state.may_call() {
            self.rings.calls = Some(self.state.calls());
        }
    }
}

impl Rings<'_> {
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

impl Drop for Rings<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(calls) = self.calls {
            self.ring(calls);
        }
    }
}
