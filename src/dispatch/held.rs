//! The dispatcher's lock, held. When it is let go of, sleeping threads are rung that have something to do.

use std::ops::{Deref, DerefMut};
use std::sync::MutexGuard;

use crate::dispatch::bells::Bells;
use crate::dispatch::state::State;

/// The state, locked.
pub(crate) struct Held<'s> {
    /// Dropped first: threads are rung without the lock.
    state: MutexGuard<'s, State>,
    rings: Rings<'s>,
}

/// The threads that are rung when it is dropped.
struct Rings<'s> {
    bells: &'s Bells,
    any: bool,
    worker: Option<u32>,
    completion: bool,
}

impl<'s> Held<'s> {
    #[inline]
    pub fn new(bells: &'s Bells, state: MutexGuard<'s, State>) -> Held<'s> {
        Held { state, rings: Rings { bells, any: false, worker: None, completion: false } }
    }
}

impl Deref for Held<'_> {
    type Target = State;

    #[inline]
    fn deref(&self) -> &State {
        &self.state
    }
}

impl DerefMut for Held<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut State {
        &mut self.state
    }
}

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        let state = &mut *self.state;
        let has_work = state.asleep != 0 && state.graph.has_host_function();
        if has_work || (state.has_news && state.is_completion_asleep) {
            self.rings.choose(state);
        }
    }
}

impl Rings<'_> {
    #[inline(never)]
    fn choose(&mut self, state: &mut State) {
        self.any = true;
        if state.asleep != 0 && !state.is_closed && state.graph.has_host_function() {
            // One is enough: it rings the next if there is more.
            self.worker = Some(state.asleep.trailing_zeros());
            state.asleep &= state.asleep - 1;
        }
        self.completion = state.is_completion_asleep && state.has_news;
        if self.completion {
            state.is_completion_asleep = false;
        }
    }

    #[inline(never)]
    fn ring(&self) {
        if let Some(index) = self.worker {
            self.bells.workers[index as usize].ring();
        }
        if self.completion {
            self.bells.completion.wake();
        }
    }
}

impl Drop for Rings<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.any {
            self.ring();
        }
    }
}
