//! Host threads: the wait of each, and the thread that runs next.

use std::sync::{Arc, Condvar, Weak};

use hal::Wait;

use super::cold::Cold;
use super::condition::{Condition, Lent};
use super::patience::Task;
use super::{Await, Shared, State};
use crate::model::{ContextKey, Ns, Slab, SlabKey};

pub(crate) type ThreadKey = SlabKey<Thread>;

/// A waiting thread looks again, because others have run, at most every `waited / BACKOFF`.
const BACKOFF: u64 = 32;

/// A time that does not come.
const NEVER: Ns = Ns::MAX;

/// The condition of a waiting thread.
#[derive(Clone, Copy, Debug)]
pub(super) enum On {
    /// A condition that reads memory.
    Memory,
    /// The device.
    Device(Await),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    on: On,
    deadline: Ns,
    /// The time of its next look; never while memory has not changed.
    due: Ns,
    since: Ns,
    looked_at: Ns,
    stuck: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Standing {
    /// Announced, or ready to run when its time has come.
    Ready,
    Waiting(Waiting),
    /// Blocked on something that is not the device.
    Outside,
}

/// A host thread.
pub(crate) struct Thread {
    pub(super) name: String,
    pub(super) now: Ns,
    pub(super) standing: Standing,
    pub(super) signal: Arc<Condvar>,
    /// Itself, for the operating system.
    pub(super) task: Option<Task>,
    /// Its condition, while it waits for memory.
    pub(super) condition: Lent,
    /// Current context in each process.
    pub(super) current: Vec<(usize, ContextKey)>,
    /// The slowness that its last sleep has left.
    cold: Cold,
}

impl Thread {
    /// The time at which it wants the turn.
    fn wants_at(&self) -> Ns {
        match &self.standing {
            Standing::Ready => self.now,
            // Another thread is looking in its place.
            Standing::Waiting(_) if matches!(self.condition, Lent::Taken) => NEVER,
            Standing::Waiting(waiting) => waiting.due.min(waiting.deadline).max(self.now),
            Standing::Outside => NEVER,
        }
    }
}

/// The host's threads.
#[derive(Default)]
pub(crate) struct Threads {
    pub(super) all: Slab<Thread>,
    /// The thread with the turn.
    pub(super) running: Option<ThreadKey>,
    /// Counts calls: a thread with the turn that makes none is noticed.
    pub(super) calls: u64,
    pub(super) waiting: usize,
    /// Until when each process's driver lock is held.
    lock_free_at: Vec<Ns>,
    seen_effects: u64,
    /// The state of the host's own random numbers: they decide the cold of a thread after a sleep.
    chance: u64,
    pub(super) warned: bool,
    pub(super) weak: Weak<Shared>,
}

impl Threads {
    /// A number from 0 to 1, from a generator with a fixed start: runs repeat.
    fn chance(&mut self) -> f64 {
        self.chance = self.chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.chance >> 33) as f64 / f64::from(1_u32 << 31)
    }
}

impl State {
    pub(super) fn add_thread(&mut self, name: &str, now: Ns, announced: bool) -> ThreadKey {
        debug_assert!(announced || !name.is_empty());
        self.threads.all.insert(Thread {
            name: name.to_owned(),
            now,
            standing: Standing::Ready,
            signal: Arc::new(Condvar::new()),
            task: None,
            condition: Lent::No,
            current: Vec::new(),
            cold: Cold::default(),
        })
    }

    /// The time of a thread, or else of the thread that runs.
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
        // A thread that waits for this thread's end sees it without delay.
        self.wake_memory_waiters(|waiting| thread.now.max(waiting.looked_at));
    }

    fn wake_memory_waiters(&mut self, at: impl Fn(&Waiting) -> Ns) {
        if self.threads.waiting == 0 {
            return;
        }
        for thread in self.threads.all.values_mut() {
            if let Standing::Waiting(waiting) = &mut thread.standing
                && matches!(waiting.on, On::Memory)
            {
                waiting.due = waiting.due.min(at(waiting).max(thread.now));
            }
        }
    }

    /// A thread has run since `before`, and may have stored a value that others wait for.
    pub(super) fn others_may_look(&mut self, before: Ns) {
        self.wake_memory_waiters(|waiting| {
            let pause = before.saturating_sub(waiting.since) / BACKOFF;
            before.max(waiting.looked_at + pause)
        });
    }

    /// No thread here can go on. Memory is looked at once, without letting more time pass than that takes.
    pub(super) fn look_for_outsiders(&mut self) {
        self.wake_memory_waiters(|waiting| waiting.looked_at);
        if self.threads.waiting > 0 && self.model.only_polls() && self.model.next_at().is_some() {
            self.model.is_stuck();
            self.observe();
        }
    }

    /// The device has moved: the threads that waited for that want the turn.
    fn observe(&mut self) {
        if self.threads.waiting == 0 {
            return;
        }
        let changed = std::mem::replace(&mut self.threads.seen_effects, self.model.effects) != self.model.effects;
        let now = self.model.now;
        for thread in self.threads.all.values_mut() {
            let Standing::Waiting(waiting) = &mut thread.standing else { continue };
            let look = match waiting.on {
                On::Memory => changed,
                On::Device(what) => waiting.due == NEVER && what.met(&self.model),
            };
            if look {
                waiting.due = waiting.due.min(now.max(thread.now));
            }
        }
    }

    fn earliest(&self) -> Option<(Ns, ThreadKey)> {
        let mut earliest = (NEVER, None);
        // Of equal times the first counts. This runs for every call and every look, so it does no more than that.
        for (key, thread) in self.threads.all.iter() {
            let at = thread.wants_at();
            if at < earliest.0 {
                earliest = (at, Some(key));
            }
        }
        earliest.1.map(|key| (earliest.0, key))
    }

    /// Moves the device until a thread's time has come, and gives it the turn. `None` when no thread can go on before
    /// another comes back from outside.
    pub(super) fn choose(&mut self) -> Option<ThreadKey> {
        // A call may have ended the waits of others without any time passing: it may have dropped a context.
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
    /// nothing, nothing ever will, and all threads are told. `false` when there is nothing to tell.
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
        for thread in self.threads.all.values_mut() {
            if let Standing::Waiting(waiting) = &mut thread.standing {
                (waiting.stuck, waiting.due) = (true, now.max(thread.now));
            }
        }
        true
    }

    /// A thread with the turn starts to wait.
    pub(super) fn start_waiting(&mut self, key: ThreadKey, on: On, deadline: Option<Ns>, since: Ns) {
        let now = self.threads.all[key].now;
        let waiting =
            Waiting { on, deadline: deadline.unwrap_or(NEVER), due: NEVER, since, looked_at: now, stuck: false };
        self.threads.all[key].standing = Standing::Waiting(waiting);
        self.threads.waiting += 1;
        self.threads.seen_effects = self.model.effects;
    }

    /// A thread that has been chosen wants to look at memory: the condition, for the thread that chose it. `None` where
    /// it has more to do than that.
    pub(super) fn take_condition(&mut self, key: ThreadKey) -> Option<Condition> {
        let thread = &mut self.threads.all[key];
        let Standing::Waiting(waiting) = &mut thread.standing else { return None };
        if waiting.stuck {
            return None;
        }
        match std::mem::replace(&mut thread.condition, Lent::Taken) {
            Lent::Here(condition) => {
                (waiting.due, waiting.looked_at) = (NEVER, thread.now);
                self.note_call();
                Some(condition)
            }
            other => {
                thread.condition = other;
                None
            }
        }
    }

    /// The condition of a thread has been evaluated in its place. Tells whether that ends its wait.
    pub(super) fn give_back(&mut self, key: ThreadKey, condition: Condition, held: std::thread::Result<bool>) -> bool {
        let thread = &mut self.threads.all[key];
        let now = thread.now;
        // A thread that has looked in its own place, and was given up meanwhile, waits no longer.
        let mut waiting = match &mut thread.standing {
            Standing::Waiting(waiting) => Some(waiting),
            _ => None,
        };
        let is_late = waiting.as_ref().is_some_and(|waiting| waiting.deadline <= now);
        let end = match held {
            Ok(true) => Ok(Wait::Met),
            Ok(false) if is_late => Ok(Wait::Deadline),
            Ok(false) => {
                thread.condition = Lent::Here(condition);
                self.threads.seen_effects = self.model.effects;
                return false;
            }
            Err(panic) => Err(panic),
        };
        waiting.iter_mut().for_each(|waiting| waiting.due = now);
        thread.condition = Lent::Over(end);
        true
    }

    /// A thread has the turn and makes no use of it. Its name, if it is the first such thread.
    pub(super) fn put_outside(&mut self, key: ThreadKey) -> Option<String> {
        let thread = &mut self.threads.all[key];
        let before = std::mem::replace(&mut thread.standing, Standing::Outside);
        // It may have been looking in another thread's place, while it waited itself.
        self.threads.waiting -= usize::from(matches!(before, Standing::Waiting(_)));
        self.threads.running = None;
        let is_first = !std::mem::replace(&mut self.threads.warned, true);
        is_first.then(|| thread.name.clone())
    }

    /// A thread has the turn again; tells whether that is because of a deadlock.
    pub(super) fn stop_waiting(&mut self, key: ThreadKey) -> bool {
        match std::mem::replace(&mut self.threads.all[key].standing, Standing::Ready) {
            Standing::Waiting(waiting) => {
                self.threads.waiting -= 1;
                waiting.stuck
            }
            _ => false,
        }
    }

    // --- payments of the thread that has the turn ---

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

    /// A thread has slept.
    pub(super) fn slept(&mut self, key: ThreadKey, span: Ns) {
        if span < self.model.parameters.host.cold_after_ns {
            return;
        }
        let chance = self.threads.chance();
        self.threads.all[key].cold = Cold::after_sleep(&self.model.parameters.host, chance);
    }

    /// A call that holds no other thread up.
    pub(super) fn spend_call(&mut self, key: ThreadKey, span: Ns) -> Ns {
        let extra = self.threads.all[key].cold.extra_ns(&self.model.parameters.host, span);
        self.spend(key, extra + span)
    }

    /// A call that holds its process's driver lock for as long as it costs.
    pub(super) fn spend_locked(&mut self, key: ThreadKey, process: usize, span: Ns) -> Ns {
        let thread = &mut self.threads.all[key];
        let extra = thread.cold.extra_ns(&self.model.parameters.host, span);
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
