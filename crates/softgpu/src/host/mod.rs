//! The host: threads, their time, and which of them runs. README.md beside this file explains the stepped clock.

mod cold;
mod condition;
mod free;
mod patience;
mod seat;
mod stepped;
mod threads;
mod turn;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Instant;

use hal::locks::lock;
use hal::{Host, Nanos, ThreadToken, Wait};

use crate::model::{ContextKey, Deadlock, Model, Ns, OpKey, StreamKey};
use crate::parameters::span_ns;
pub(crate) use threads::Threads;
pub(crate) use turn::HostTurn;

/// The source of virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Time moves only when a host thread pays for a call, sleeps or waits: deterministic, for tests and simulation.
    Stepped,
    /// Time is real time: for programs that poll memory without a call of the host.
    FreeRunning,
}

/// The condition that a thread inside the driver waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Await {
    /// An operation is done.
    Op(OpKey),
    /// A stream has room.
    Room(StreamKey),
    /// No other thread copies in pieces in this stream, or in one that is ordered with it.
    Whole(StreamKey),
    /// A context has no unfinished work.
    Idle(ContextKey),
    /// No call keeps the threads of this process out of the driver.
    LetIn(usize),
    /// It is this time.
    Time(Ns),
    /// The driver's staging memory of this process is free.
    Staging(usize),
}

impl Await {
    pub(crate) fn met(self, model: &Model) -> bool {
        match self {
            Await::Op(op) => model.op_done(op),
            Await::Room(stream) => model.has_room(stream),
            Await::Whole(stream) => model.has_no_pieces(stream),
            Await::Idle(context) => model.context_idle(context),
            Await::Time(at) => model.now >= at,
            Await::Staging(process) => model.staging_is_free(process),
            Await::LetIn(process) => !model.is_kept_out(process),
        }
    }
}

/// Everything behind the lock.
pub(crate) struct State {
    pub(crate) model: Model,
    pub(crate) threads: Threads,
    /// The last deadlock that was proven.
    pub(crate) deadlock: Option<Deadlock>,
    /// Set when the last handle is gone: the free-running clock's thread ends.
    pub(crate) closed: bool,
}

/// The state that all handles share.
pub(crate) struct Shared {
    /// Names this GPU in thread-local seats.
    pub(crate) id: u64,
    pub(crate) clock: Clock,
    started: Instant,
    state: Mutex<State>,
    /// Free-running: the model has moved.
    moved: Condvar,
    /// Free-running: the agenda has an earlier entry.
    planned: Condvar,
}

/// Numbers GPUs, so that a thread's seat at one is never taken for a seat at another.
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

impl Shared {
    #[expect(clippy::disallowed_methods, reason = "the machine's time, which a free-running device goes by")]
    pub(crate) fn new(model: Model, clock: Clock) -> Arc<Shared> {
        let state = State { model, threads: Threads::default(), deadlock: None, closed: false };
        let shared = Arc::new(Shared {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            clock,
            started: Instant::now(),
            state: Mutex::new(state),
            moved: Condvar::new(),
            planned: Condvar::new(),
        });
        seat::remember(&shared);
        if clock == Clock::FreeRunning {
            free::start(&shared);
        }
        shared
    }

    /// The state. A panic while it was held leaves it consistent enough to go on: every change to it is made by code
    /// that panics only on a bug of its own, and a second panic would hide the first.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// The last handle is gone.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.planned.notify_all();
        self.moved.notify_all();
    }
}

impl Host for Shared {
    fn now(&self) -> Nanos {
        let mut turn = HostTurn::begin(self);
        let now = turn.read_clock();
        turn.end();
        Nanos(now)
    }

    #[expect(clippy::disallowed_methods, reason = "the machine's time, which a free-running device goes by")]
    fn sleep(&self, span: Nanos) {
        match self.clock {
            Clock::Stepped => self.stepped_sleep(span.0),
            Clock::FreeRunning => std::thread::sleep(std::time::Duration::from_nanos(span.0)),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "the machine's time, which a free-running device goes by")]
    fn pause(&self) {
        match self.clock {
            Clock::Stepped => {
                let mut turn = HostTurn::begin(self);
                let pause_ns = turn.model().parameters.host.pause_ns;
                turn.spend(pause_ns.max(1));
                turn.end();
            }
            Clock::FreeRunning => std::hint::spin_loop(),
        }
    }

    fn wait_until(&self, deadline: Option<Nanos>, condition: &mut (dyn FnMut() -> bool + Send)) -> Wait {
        let deadline: Option<Ns> = deadline.map(|deadline| deadline.0);
        match self.clock {
            Clock::Stepped => self.stepped_wait(deadline, condition),
            Clock::FreeRunning => self.free_wait(deadline, condition),
        }
    }

    fn copied(&self, bytes: u64) {
        let mut turn = HostTurn::begin(self);
        let span = span_ns(bytes, turn.model().parameters.host.memcpy_gbps);
        turn.spend(span);
        turn.end();
    }

    fn announce(&self, name: &str) -> ThreadToken {
        self.announce_thread(name)
    }

    fn retract(&self, token: ThreadToken) {
        self.retract_thread(&token);
    }

    fn enter(&self, token: ThreadToken) {
        self.enter_thread(&token);
    }

    fn leave(&self) {
        self.leave_thread();
    }

    fn outside(&self, block: &mut dyn FnMut()) {
        match self.clock {
            Clock::Stepped => self.stepped_outside(block),
            Clock::FreeRunning => block(),
        }
    }

    fn is_virtual(&self) -> bool {
        self.clock == Clock::Stepped
    }
}
