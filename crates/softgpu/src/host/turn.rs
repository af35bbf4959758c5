//! A call into the driver: the calling thread has the turn and the lock.

use std::sync::MutexGuard;

use hal::Code;

use super::threads::ThreadKey;
use super::{Await, Clock, Shared, State};
use crate::model::{Caller, ContextKey, Failure, Model, Ns, Outcome};

/// A call under way.
pub(crate) struct HostTurn<'a> {
    shared: &'a Shared,
    /// `None` only between a move out and the move back in, inside one method.
    state: Option<MutexGuard<'a, State>>,
    thread: ThreadKey,
    before: Ns,
}

impl<'a> HostTurn<'a> {
    pub(crate) fn begin(shared: &'a Shared) -> HostTurn<'a> {
        let (mut state, thread) = shared.come_in();
        if shared.clock == Clock::FreeRunning {
            shared.catch_up(&mut state);
        }
        let before = state.thread_now(thread);
        HostTurn { shared, state: Some(state), thread, before }
    }

    pub(super) fn thread(&self) -> ThreadKey {
        self.thread
    }

    fn state(&mut self) -> &mut State {
        self.state.as_mut().expect("a turn holds the state between its methods")
    }

    pub(crate) fn model(&mut self) -> &mut Model {
        &mut self.state().model
    }

    fn now(&mut self) -> Ns {
        match self.shared.clock {
            Clock::Stepped => {
                let thread = self.thread;
                self.state().thread_now(thread)
            }
            Clock::FreeRunning => self.model().now,
        }
    }

    /// The caller, as the model knows it. Its effects come when the call has been paid for.
    pub(crate) fn caller(&mut self, process: usize) -> Caller {
        let at = self.now();
        let (thread, number) = (self.thread, self.number());
        Caller { process, thread: number, context: self.state().current(thread, process), at }
    }

    pub(crate) fn set_current(&mut self, process: usize, context: Option<ContextKey>) {
        let thread = self.thread;
        self.state().set_current(thread, process, context);
    }

    /// Time of the caller's that holds no other thread up.
    pub(crate) fn spend(&mut self, span: Ns) {
        if self.shared.clock == Clock::Stepped {
            let thread = self.thread;
            self.state().spend(thread, span);
        }
    }

    /// A call that looks something up, and holds no other thread up.
    pub(crate) fn spend_call(&mut self, span: Ns) {
        if self.shared.clock == Clock::Stepped {
            let thread = self.thread;
            self.state().spend_call(thread, span);
        }
    }

    /// Time of the caller's under the driver's lock.
    pub(crate) fn spend_locked(&mut self, process: usize, span: Ns) {
        if self.shared.clock == Clock::Stepped {
            let thread = self.thread;
            self.state().spend_locked(thread, process, span);
        }
    }

    pub(crate) fn read_clock(&mut self) -> Ns {
        let clock_ns = self.model().parameters.host.clock_ns;
        let now = self.now();
        self.spend_call(clock_ns.max(1));
        now
    }

    /// Blocks until the device has got so far. Where that can never be, says so with the report of the deadlock.
    pub(crate) fn block(&mut self, what: Await) -> Outcome<()> {
        let state = self.state.take().expect("a turn holds the state between its methods");
        let (state, met) = match self.shared.clock {
            Clock::Stepped => self.shared.stepped_block(state, self.thread, what),
            Clock::FreeRunning => (self.shared.free_block(state, what), true),
        };
        let report = state.deadlock.as_ref().filter(|_| !met).map(ToString::to_string);
        self.state = Some(state);
        self.before = self.now();
        match report {
            Some(report) => Err(Failure::new(Code::LAUNCH_TIMEOUT, report)),
            None => Ok(()),
        }
    }

    /// The call returns, once it is the caller's turn again.
    pub(crate) fn end(mut self) {
        let mut state = self.state.take().expect("a turn holds the state between its methods");
        match self.shared.clock {
            Clock::Stepped => {
                state.end_of_call(self.before);
                drop(self.shared.settle(state, self.thread));
            }
            Clock::FreeRunning => self.shared.replan(state),
        }
    }
}
