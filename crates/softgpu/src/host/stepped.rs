//! The stepped clock: each thread has a time of its own, and the one that is furthest behind runs.

use std::sync::{Arc, Condvar, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use hal::Wait;

use super::turn::Turn;
use super::{Await, Clock, Shared, State, seat};
use crate::model::{ContextKey, Ns, Slab, SlabKey};

pub(crate) type ThreadKey = SlabKey<Thread>;

/// After so long without a call, a thread that has the turn is taken to be blocked on something else.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often threads that all wait look whether somebody outside has stored something.
const OUTSIDE_LOOK: Duration = Duration::from_millis(2);
/// A waiting thread looks again, because others have run, at most every `waited / BACKOFF`.
const BACKOFF: u64 = 32;

/// What a waiting thread waits for.
#[derive(Clone, Copy, Debug)]
enum On {
    /// A condition that only the thread itself can evaluate.
    Memory,
    /// The device.
    Device(Await),
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    on: On,
    deadline: Option<Ns>,
    /// When it is to look again; `None` while nothing has changed.
    due: Option<Ns>,
    since: Ns,
    looked_at: Ns,
    stuck: bool,
}

#[derive(Clone, Copy, Debug)]
enum Standing {
    /// Announced, or ready to run when its time has come.
    Ready,
    Waiting(Waiting),
    /// Blocked on something that is not the device.
    Outside,
}

/// A host thread.
pub(crate) struct Thread {
    name: String,
    now: Ns,
    standing: Standing,
    signal: Arc<Condvar>,
    /// Current context in each process.
    current: Vec<(usize, ContextKey)>,
    /// Whether it has just slept long enough for its caches to be cold.
    cold: bool,
}

impl Thread {
    /// When it wants the turn.
    fn wants_at(&self) -> Option<Ns> {
        match self.standing {
            Standing::Ready => Some(self.now),
            Standing::Waiting(waiting) => {
                let at = waiting.due.into_iter().chain(waiting.deadline).min()?;
                Some(at.max(self.now))
            }
            Standing::Outside => None,
        }
    }
}

/// The host's threads.
#[derive(Default)]
pub(crate) struct Threads {
    all: Slab<Thread>,
    /// Who has the turn.
    running: Option<ThreadKey>,
    /// Counts calls: a thread with the turn that makes none is noticed.
    calls: u64,
    waiting: usize,
    /// Until when each process's driver lock is held.
    lock_free_at: Vec<Ns>,
    seen_effects: u64,
    warned: bool,
    pub(super) weak: Weak<Shared>,
}

impl State {
    pub(super) fn add_thread(&mut self, name: &str, now: Ns, announced: bool) -> ThreadKey {
        debug_assert!(announced || !name.is_empty());
        self.threads.all.insert(Thread {
            name: name.to_owned(),
            now,
            standing: Standing::Ready,
            signal: Arc::new(Condvar::new()),
            current: Vec::new(),
            cold: false,
        })
    }

    /// The time of a thread, or else of whoever runs.
    pub(super) fn time_of(&self, thread: Option<ThreadKey>) -> Ns {
        let thread = thread.or(self.threads.running).and_then(|key| self.threads.all.get(key));
        thread.map_or(self.model.now, |thread| thread.now.max(self.model.now))
    }

    pub(super) fn thread_now(&self, thread: ThreadKey) -> Ns {
        self.threads.all[thread].now
    }

    pub(super) fn remove_thread(&mut self, key: ThreadKey) {
        let Some(thread) = self.threads.all.remove(key) else { return };
        self.threads.waiting -= usize::from(matches!(thread.standing, Standing::Waiting(_)));
        if self.threads.running == Some(key) {
            self.threads.running = None;
        }
        // Whoever waits for this thread's end sees it without delay.
        self.wake_memory_waiters(|waiting| thread.now.max(waiting.looked_at));
    }

    fn wake_memory_waiters(&mut self, at: impl Fn(&Waiting) -> Ns) {
        if self.threads.waiting == 0 {
            return;
        }
        let keys = self.threads.all.keys_where(|thread| matches!(thread.standing, Standing::Waiting(_)));
        for key in keys {
            let thread = &mut self.threads.all[key];
            if let Standing::Waiting(waiting) = &mut thread.standing
                && matches!(waiting.on, On::Memory)
            {
                let at = at(waiting).max(thread.now);
                waiting.due = Some(waiting.due.map_or(at, |due| due.min(at)));
            }
        }
    }

    /// Somebody has run since `before`, and may have stored what others wait for.
    fn others_may_look(&mut self, before: Ns) {
        self.wake_memory_waiters(|waiting| {
            let pause = before.saturating_sub(waiting.since) / BACKOFF;
            before.max(waiting.looked_at + pause)
        });
    }

    /// Nobody here can go on. Memory is looked at once, without letting more time pass than that takes.
    fn look_for_outsiders(&mut self) {
        self.wake_memory_waiters(|waiting| waiting.looked_at);
        if self.threads.waiting > 0 && self.model.only_polls() && self.model.next_at().is_some() {
            self.model.is_stuck();
            self.observe();
        }
    }

    /// The device has moved: whoever waited for that wants the turn.
    fn observe(&mut self) {
        if self.threads.waiting == 0 {
            return;
        }
        let changed = std::mem::replace(&mut self.threads.seen_effects, self.model.effects) != self.model.effects;
        let now = self.model.now;
        for key in self.threads.all.keys_where(|thread| matches!(thread.standing, Standing::Waiting(_))) {
            let thread = &mut self.threads.all[key];
            let Standing::Waiting(waiting) = &mut thread.standing else { continue };
            let look = match waiting.on {
                On::Memory => changed,
                On::Device(what) => waiting.due.is_none() && what.met(&self.model),
            };
            if look {
                let at = now.max(thread.now);
                waiting.due = Some(waiting.due.map_or(at, |due| due.min(at)));
            }
        }
    }

    fn earliest(&self) -> Option<(Ns, ThreadKey)> {
        self.threads.all.iter().filter_map(|(key, thread)| thread.wants_at().map(|at| (at, key))).min()
    }

    /// Moves the device until a thread's time has come, and gives it the turn. `None` when nobody can go on before
    /// somebody comes back from outside.
    fn choose(&mut self) -> Option<ThreadKey> {
        // A call may have ended what others wait for without any time passing: it may have dropped a context.
        self.observe();
        loop {
            match (self.earliest(), self.model.next_at()) {
                (Some((at, _)), Some(event)) if event <= at => self.step(),
                (Some((at, key)), _) => {
                    self.model.pass(at);
                    self.threads.all[key].now = at;
                    self.threads.running = Some(key);
                    return Some(key);
                }
                (None, Some(_)) if self.threads.waiting > 0 && !self.model.only_polls() => self.step(),
                (None, _) => {
                    if !self.prove_deadlock() {
                        self.threads.running = None;
                        return None;
                    }
                }
            }
        }
    }

    fn step(&mut self) {
        self.model.step();
        self.observe();
    }

    /// Every thread waits without deadline, and the device plans nothing but looking. If a round of looking changes
    /// nothing, nothing ever will, and everybody is told. `false` when there is nothing to tell.
    fn prove_deadlock(&mut self) -> bool {
        if self.threads.waiting == 0 || self.threads.waiting < self.threads.all.len() {
            return false;
        }
        let stuck = self.model.is_stuck();
        self.observe();
        if !stuck || self.earliest().is_some() {
            return true;
        }
        let names = self.threads.all.iter().map(|(_, thread)| match thread.standing {
            Standing::Waiting(Waiting { on: On::Device(what), .. }) => {
                format!("thread {} is blocked in the driver ({what:?})", thread.name)
            }
            _ => format!("thread {} waits for memory to change", thread.name),
        });
        self.deadlock = Some(self.model.deadlock_report(names.collect()));
        let now = self.model.now;
        for key in self.threads.all.keys_where(|_| true) {
            let thread = &mut self.threads.all[key];
            if let Standing::Waiting(waiting) = &mut thread.standing {
                (waiting.stuck, waiting.due) = (true, Some(now.max(thread.now)));
            }
        }
        true
    }

    /// A thread with the turn starts to wait.
    fn start_waiting(&mut self, key: ThreadKey, on: On, deadline: Option<Ns>, since: Ns) {
        let now = self.threads.all[key].now;
        let waiting = Waiting { on, deadline, due: None, since, looked_at: now, stuck: false };
        self.threads.all[key].standing = Standing::Waiting(waiting);
        self.threads.waiting += 1;
        self.threads.seen_effects = self.model.effects;
    }

    /// A thread has the turn again; tells whether that is because of a deadlock.
    fn stop_waiting(&mut self, key: ThreadKey) -> bool {
        match std::mem::replace(&mut self.threads.all[key].standing, Standing::Ready) {
            Standing::Waiting(waiting) => {
                self.threads.waiting -= 1;
                waiting.stuck
            }
            _ => false,
        }
    }

    // --- what a thread with the turn pays ---

    pub(super) fn note_call(&mut self) {
        self.threads.calls += 1;
    }

    /// A call that began at `before` is over; its caller may have stored something before it.
    pub(super) fn end_of_call(&mut self, before: Ns) {
        self.others_may_look(before);
    }

    /// Time of the thread's own.
    pub(super) fn spend(&mut self, key: ThreadKey, span: Ns) -> Ns {
        let thread = &mut self.threads.all[key];
        thread.now += span;
        thread.now
    }

    /// A call that holds its process's driver lock for as long as it costs.
    pub(super) fn spend_locked(&mut self, key: ThreadKey, process: usize, span: Ns) -> Ns {
        let cold_ns = self.model.parameters.host.cold_ns;
        let thread = &mut self.threads.all[key];
        let extra = if std::mem::take(&mut thread.cold) { cold_ns } else { 0 };
        if self.threads.lock_free_at.len() <= process {
            self.threads.lock_free_at.resize(process + 1, 0);
        }
        let lock = &mut self.threads.lock_free_at[process];
        // A cold caller is slow before it has the lock, not while it holds it.
        thread.now = (thread.now + extra).max(*lock) + span;
        *lock = thread.now;
        thread.now
    }

    pub(super) fn current(&self, key: ThreadKey, process: usize) -> Option<ContextKey> {
        self.threads.all[key].current.iter().find(|(of, _)| *of == process).map(|(_, context)| *context)
    }

    pub(super) fn set_current(&mut self, key: ThreadKey, process: usize, context: Option<ContextKey>) {
        let current = &mut self.threads.all[key].current;
        current.retain(|(of, _)| *of != process);
        current.extend(context.map(|context| (process, context)));
    }
}

impl Shared {
    /// Registers the calling thread, if it is new, and waits until it has the turn.
    pub(super) fn come_in(&self) -> (MutexGuard<'_, State>, ThreadKey) {
        let mut state = self.lock();
        let key = match self.seat().filter(|key| state.threads.all.get(*key).is_some()) {
            Some(key) => key,
            None => {
                let name = std::thread::current().name().unwrap_or("unnamed").to_owned();
                let now = state.time_of(None);
                let key = state.add_thread(&name, now, false);
                self.take_seat(state.threads.weak.clone(), key);
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
        if state.threads.running.is_none() {
            self.pass_turn(&mut state);
        }
        drop(self.await_turn(state, key));
    }

    /// Chooses who runs next and tells it, if nobody runs.
    pub(super) fn pass_turn(&self, state: &mut State) {
        if self.clock == Clock::Stepped
            && state.threads.running.is_none()
            && let Some(next) = state.choose()
        {
            state.threads.all[next].signal.notify_one();
        }
    }

    /// The end of a call: whoever is furthest behind runs next.
    pub(super) fn settle<'a>(&'a self, mut state: MutexGuard<'a, State>, me: ThreadKey) -> MutexGuard<'a, State> {
        state.threads.running = None;
        match state.choose() {
            Some(next) if next == me => return state,
            Some(next) => state.threads.all[next].signal.notify_one(),
            None => {}
        }
        self.await_turn(state, me)
    }

    fn await_turn<'a>(&'a self, mut state: MutexGuard<'a, State>, me: ThreadKey) -> MutexGuard<'a, State> {
        let signal = Arc::clone(&state.threads.all[me].signal);
        while state.threads.running != Some(me) {
            let calls = state.threads.calls;
            let patience = if state.threads.running.is_some() { PATIENCE } else { OUTSIDE_LOOK };
            let (guard, timeout) = signal.wait_timeout(state, patience).unwrap_or_else(PoisonError::into_inner);
            state = guard;
            if !timeout.timed_out() || state.threads.running == Some(me) {
                continue;
            }
            match state.threads.running {
                Some(idle) if calls == state.threads.calls && patience == PATIENCE => self.give_up_on(&mut state, idle),
                Some(_) => {}
                None => {
                    // Somebody outside may have stored what a thread or the device here waits for.
                    state.look_for_outsiders();
                    self.pass_turn(&mut state);
                }
            }
        }
        state
    }

    fn give_up_on(&self, state: &mut State, idle: ThreadKey) {
        let thread = &mut state.threads.all[idle];
        if !state.threads.warned {
            eprintln!(
                "overtake software GPU: thread {} has held up the others' time for {} s without a call. If it blocks on \
                 something else, wrap that in Host::outside; if it is a new thread, start it with hal::spawn.",
                thread.name,
                PATIENCE.as_secs()
            );
        }
        state.threads.warned = true;
        thread.standing = Standing::Outside;
        state.threads.running = None;
        self.pass_turn(state);
    }

    pub(super) fn stepped_sleep(&self, span: Ns) {
        let (mut state, key) = self.come_in();
        let before = state.thread_now(key);
        let cold = span >= state.model.parameters.host.cold_after_ns;
        state.spend(key, span);
        state.threads.all[key].cold |= cold;
        state.others_may_look(before);
        drop(self.settle(state, key));
    }

    pub(super) fn stepped_wait(&self, deadline: Option<Ns>, condition: &mut dyn FnMut() -> bool) -> Wait {
        let (mut state, key) = self.come_in();
        let since = state.thread_now(key);
        state.others_may_look(since);
        loop {
            // The turn stays with this thread, so the condition is evaluated without the lock.
            drop(state);
            let met = condition();
            state = self.lock();
            let now = state.thread_now(key);
            if met {
                return Wait::Met;
            }
            if deadline.is_some_and(|deadline| deadline <= now) {
                return Wait::Deadline;
            }
            state.start_waiting(key, On::Memory, deadline, since);
            state = self.settle(state, key);
            state.note_call();
            if state.stop_waiting(key) {
                return Wait::Stuck;
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

impl Turn<'_> {
    /// The thread's number for the model.
    pub(super) fn number(&self) -> u64 {
        seat::number(self.thread())
    }
}
