//! The free-running clock: virtual time is real time, and a thread moves the device.

use std::sync::{Arc, MutexGuard, Weak};
use std::time::Duration;

use hal::Wait;
use hal::locks::unpoisoned;
use os::threads;

use super::{Await, Shared, State};
use crate::model::Ns;

/// The pause between the looks of a thread that waits for memory, and the least time for which the device's thread lets
/// others in.
const LOOK: Duration = Duration::from_micros(20);
/// The longest sleep of a thread, in case a wake-up was for another thread.
const NAP: Duration = Duration::from_millis(50);

/// Starts the thread that moves the device: the device itself, as far as any thread can tell.
pub(super) fn start(shared: &Arc<Shared>) {
    let weak = Arc::downgrade(shared);
    let body = move || while tick(&weak) {};
    let thread = threads::start("soft-gpu-clock", threads::STACK_BYTES, body);
    thread.expect("the operating system refused a thread");
}

/// Moves the device to the present and sleeps until its next event; `false` when the GPU is gone.
#[expect(clippy::disallowed_methods, reason = "the machine's time, which a free-running device goes by")]
fn tick(weak: &Weak<Shared>) -> bool {
    let Some(shared) = weak.upgrade() else { return false };
    let mut state = shared.lock();
    if state.closed {
        return false;
    }
    shared.catch_up(&mut state);
    // At least for a moment even if the next event is due: a lock that is taken again at once lets no other thread in.
    let nap = match state.model.next_at() {
        Some(at) => Duration::from_nanos(at.saturating_sub(shared.real_now())).clamp(LOOK, NAP),
        None => NAP,
    };
    drop(unpoisoned(shared.planned.wait_timeout(state, nap)));
    true
}

impl Shared {
    fn real_now(&self) -> Ns {
        self.started.elapsed().as_nanos() as Ns
    }

    /// Executes the events that are due by now.
    pub(super) fn catch_up(&self, state: &mut State) {
        let now = self.real_now();
        let due = state.model.next_at().is_some_and(|at| at <= now);
        state.model.advance(now);
        if due {
            self.moved.notify_all();
        }
    }

    /// The end of a call: the clock's thread may have something earlier to wait for.
    pub(super) fn replan(&self, state: MutexGuard<'_, State>) {
        let planned = state.model.next_at().is_some();
        drop(state);
        if planned {
            self.planned.notify_one();
        }
    }

    #[expect(clippy::disallowed_methods, reason = "the machine's time, which a free-running device goes by")]
    pub(super) fn free_block<'a>(&'a self, mut state: MutexGuard<'a, State>, what: Await) -> MutexGuard<'a, State> {
        loop {
            self.catch_up(&mut state);
            if what.met(&state.model) {
                return state;
            }
            self.planned.notify_one();
            let nap = match state.model.next_at() {
                Some(at) => Duration::from_nanos(at.saturating_sub(self.real_now())).clamp(LOOK, NAP),
                None => NAP,
            };
            state = unpoisoned(self.moved.wait_timeout(state, nap)).0;
        }
    }

    #[expect(clippy::disallowed_methods, reason = "the machine's time, which a free-running device goes by")]
    pub(super) fn free_wait(&self, deadline: Option<Ns>, condition: &mut (dyn FnMut() -> bool + Send)) -> Wait {
        loop {
            if condition() {
                return Wait::Met;
            }
            if deadline.is_some_and(|deadline| deadline <= self.real_now()) {
                return Wait::Deadline;
            }
            self.catch_up(&mut self.lock());
            std::thread::sleep(LOOK);
        }
    }
}
