//! The dispatcher's lock, held. When it is let go of, sleeping threads are rung that have something to do.

use std::ops::{Deref, DerefMut};
use std::sync::MutexGuard;

use crate::dispatch::bells::Bells;
use crate::dispatch::state::State;

/// The state, locked.
pub(crate) struct Held<'s> {
    bells: &'s Bells,
    /// None once it is let go of.
    state: Option<MutexGuard<'s, State>>,
}

impl<'s> Held<'s> {
    pub fn new(bells: &'s Bells, state: MutexGuard<'s, State>) -> Held<'s> {
        Held { bells, state: Some(state) }
    }
}

impl Deref for Held<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        self.state.as_ref().expect("it is held until it is dropped")
    }
}

impl DerefMut for Held<'_> {
    fn deref_mut(&mut self) -> &mut State {
        self.state.as_mut().expect("it is held until it is dropped")
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let state = &mut **self;
        let mut worker = None;
        if state.asleep != 0 && !state.is_closed && state.graph.has_host_function() {
            // One is enough: it rings the next if there is more.
            let index = state.asleep.trailing_zeros();
            state.asleep &= state.asleep - 1;
            worker = Some(index as usize);
        }
        let rings_completion = state.is_completion_asleep && state.has_news;
        if rings_completion {
            state.is_completion_asleep = false;
        }
        self.state = None;
        if let Some(index) = worker {
            self.bells.workers[index].ring();
        }
        if rings_completion {
            self.bells.completion.wake();
        }
    }
}
