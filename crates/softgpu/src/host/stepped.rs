//! The stepped clock: each thread has a time of its own, and the one that is furthest behind runs.

use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use hal::Wait;
use hal::locks::unpoisoned;

use super::condition::{assert_not_evaluating, evaluate};
use super::patience::{Activity, LOOK, PATIENCE, Task, Vigil};
use super::threads::{On, Standing, ThreadKey};
use super::turn::HostTurn;
use super::{Await, Clock, Shared, State, seat};
use crate::model::Ns;

/// The pause between looks, while all threads wait, for the store of a thread outside.
const OUTSIDE_LOOK: Duration = Duration::from_millis(2);

impl Shared {
    /// Registers the calling thread, if it is new, and waits until it has the turn.
    pub(super) fn come_in(&self) -> (MutexGuard<'_, State>, ThreadKey) {
        assert_not_evaluating();
        let mut state = self.lock();
        let key = match self.seat().filter(|key| state.threads.all.get(*key).is_some()) {
            Some(key) => key,
            None => {
                let name = std::thread::current().name().unwrap_or("unnamed").to_owned();
                let now = state.time_of(None);
                let key = state.add_thread(&name, now, false);
                self.take_seat(state.threads.weak.clone(), key);
                state.threads.all[key].task = Task::here();
                key
            }
        };
        state.note_call();
        if self.clock == Clock::Stepped && state.threads.running != Some(key) {
            state = self.rejoin(state, key);
        }
        (state, key)
    }

    /// A thread that comes from outside takes its place among the others.
    fn rejoin<'a>(&'a self, mut state: MutexGuard<'a, State>, key: ThreadKey) -> MutexGuard<'a, State> {
        let now = state.time_of(None);
        let thread = &mut state.threads.all[key];
        thread.now = thread.now.max(now);
        thread.standing = Standing::Ready;
        if state.threads.running.is_none() {
            self.pass_turn(&mut state);
        }
        self.await_turn(state, key)
    }

    pub(super) fn enter_turn(&self, key: ThreadKey) {
        let mut state = self.lock();
        if self.clock == Clock::FreeRunning || state.threads.all.get(key).is_none() {
            return;
        }
        state.threads.all[key].task = Task::here();
        if state.threads.running.is_none() {
            self.pass_turn(&mut state);
        }
        drop(self.await_turn(state, key));
    }

    /// Chooses the thread that runs next and tells it, if none runs.
    pub(super) fn pass_turn(&self, state: &mut State) {
        if self.clock == Clock::Stepped
            && state.threads.running.is_none()
            && let Some(next) = state.choose()
        {
            state.threads.all[next].signal.notify_one();
        }
    }

    /// The end of a call: the thread that is furthest behind runs next. Where that thread only wants to look at memory,
    /// the calling thread looks in its place; a turn is handed over only to a thread that has something to do.
    pub(super) fn settle<'a>(&'a self, mut state: MutexGuard<'a, State>, me: ThreadKey) -> MutexGuard<'a, State> {
        loop {
            state.threads.running = None;
            let Some(next) = state.choose() else { break };
            if let Some(mut condition) = state.take_condition(next) {
                // The turn stays with this thread, so the condition is evaluated without the lock.
                state.threads.running = Some(me);
                drop(state);
                let held = condition.holds();
                state = self.lock();
                let is_over = state.give_back(next, condition, held);
                if state.threads.running != Some(me) {
                    // It took so long that the others go on without this thread.
                    return self.rejoin(state, me);
                }
                if !is_over {
                    continue;
                }
                state.threads.running = Some(next);
            }
            if next == me {
                return state;
            }
            state.threads.all[next].signal.notify_one();
            break;
        }
        self.await_turn(state, me)
    }

    #[expect(clippy::disallowed_methods, reason = "a thread that never calls again is given up in real time")]
    fn await_turn<'a>(&'a self, mut state: MutexGuard<'a, State>, me: ThreadKey) -> MutexGuard<'a, State> {
        let signal = Arc::clone(&state.threads.all[me].signal);
        let mut vigil = Vigil::default();
        while state.threads.running != Some(me) {
            let before = state.threads.running;
            let span = if before.is_some() { LOOK } else { OUTSIDE_LOOK };
            let (guard, timeout) = unpoisoned(signal.wait_timeout(state, span));
            state = guard;
            if !timeout.timed_out() || state.threads.running != before {
                continue;
            }
            let Some(idle) = before else {
                // A thread outside may have stored a value that a thread or the device here waits for.
                state.look_for_outsiders();
                self.pass_turn(&mut state);
                continue;
            };
            let activity = state.threads.all[idle].task.as_ref().map_or(Activity::Blocked, Task::activity);
            if vigil.look(idle, state.threads.calls, activity)
                && let Some(name) = self.give_up_on(&mut state, idle)
            {
                // A logger is the program's code.
                drop(state);
                warn_of(&name);
                state = self.lock();
            }
        }
        state
    }

    /// Lets the others go on without a thread; its name, if it is the first.
    fn give_up_on(&self, state: &mut State, idle: ThreadKey) -> Option<String> {
        let name = state.put_outside(idle);
        self.pass_turn(state);
        name
    }

    pub(super) fn stepped_sleep(&self, span: Ns) {
        let (mut state, key) = self.come_in();
        let before = state.thread_now(key);
        state.spend(key, span);
        state.slept(key, span);
        state.others_may_look(before);
        drop(self.settle(state, key));
    }

    pub(super) fn stepped_wait(&self, deadline: Option<Ns>, condition: &mut (dyn FnMut() -> bool + Send)) -> Wait {
        let (mut state, key) = self.come_in();
        let since = state.thread_now(key);
        state.others_may_look(since);
        loop {
            // The turn stays with this thread, so the condition is evaluated without the lock.
            drop(state);
            let met = evaluate(condition);
            state = self.lock();
            if state.threads.running != Some(key) {
                // It took so long that the others go on without this thread.
                state = self.rejoin(state, key);
            }
            let now = state.thread_now(key);
            if met {
                return Wait::Met;
            }
            if deadline.is_some_and(|deadline| deadline <= now) {
                return Wait::Deadline;
            }
            state.start_waiting(key, On::Memory, deadline, since);
            let (guard, end) = self.while_lent(state, key, condition, |state| self.settle(state, key));
            state = guard;
            state.note_call();
            let is_stuck = state.stop_waiting(key);
            match end {
                Some(Ok(end)) => return end,
                Some(Err(panic)) => {
                    drop(state);
                    std::panic::resume_unwind(panic);
                }
                None if is_stuck => return Wait::Stuck,
                None => {}
            }
        }
    }

    /// Blocks inside the driver; `false` when that would be for ever.
    pub(super) fn stepped_block<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        key: ThreadKey,
        what: Await,
    ) -> (MutexGuard<'a, State>, bool) {
        while !what.met(&state.model) {
            let now = state.thread_now(key);
            state.others_may_look(now);
            state.start_waiting(key, On::Device(what), None, now);
            state = self.settle(state, key);
            state.note_call();
            if state.stop_waiting(key) {
                return (state, false);
            }
        }
        (state, true)
    }

    pub(super) fn stepped_outside(&self, block: &mut dyn FnMut()) {
        let (mut state, key) = self.come_in();
        state.threads.all[key].standing = Standing::Outside;
        let now = state.thread_now(key);
        state.others_may_look(now);
        state.threads.running = None;
        self.pass_turn(&mut state);
        drop(state);
        let returns = ComesBack { shared: self, key };
        block();
        drop(returns);
    }
}

fn warn_of(name: &str) {
    log::warn!(
        "software GPU: thread {name} has held up the others' time for {} s without a call. If it blocks on something \
         else, wrap that in Host::outside; if it is a new thread, start it with hal::spawn.",
        PATIENCE.as_secs()
    );
}

/// Brings a thread back from outside, also when its block panics.
struct ComesBack<'a> {
    shared: &'a Shared,
    key: ThreadKey,
}

impl Drop for ComesBack<'_> {
    fn drop(&mut self) {
        let state = self.shared.lock();
        if state.threads.all.get(self.key).is_some() {
            drop(self.shared.rejoin(state, self.key));
        }
    }
}

impl HostTurn<'_> {
    /// The thread's number for the model.
    pub(super) fn number(&self) -> u64 {
        seat::number(self.thread())
    }
}
