//! The calling thread's number in the model.

use std::cell::RefCell;
use std::sync::{Arc, Weak};

use super::threads::ThreadKey;
use super::{Shared, State};
use hal::ThreadToken;

/// Tag of thread numbers, so that they are told from other handles in reports.
const THREAD: u8 = 0x07;

struct Seat {
    gpu: u64,
    shared: Weak<Shared>,
    thread: ThreadKey,
    /// The process that it was taken in.
    process: u32,
}

/// The calling thread's seats. A thread that was not announced gives them up when it ends.
#[derive(Default)]
struct Seats(Vec<Seat>);

impl Drop for Seats {
    fn drop(&mut self) {
        let process = std::process::id();
        // In a forked child the thread that held the lock when it was forked is absent, and never lets it go.
        for seat in self.0.drain(..).filter(|seat| seat.process == process) {
            if let Some(shared) = seat.shared.upgrade() {
                shared.retire(seat.thread);
            }
        }
    }
}

thread_local! {
    static SEATS: RefCell<Seats> = RefCell::default();
}

/// A thread's number, as callers carry it.
pub(super) fn number(thread: ThreadKey) -> u64 {
    thread.handle(THREAD)
}

impl Shared {
    pub(super) fn seat(&self) -> Option<ThreadKey> {
        let find = |seats: &RefCell<Seats>| seats.borrow().0.iter().find(|s| s.gpu == self.id).map(|s| s.thread);
        SEATS.try_with(find).ok().flatten()
    }

    /// Seats the calling thread. In a thread that is ending there is nowhere to note it, and it stays unknown.
    pub(super) fn take_seat(self: &Shared, weak: Weak<Shared>, thread: ThreadKey) {
        let seat = Seat { gpu: self.id, shared: weak, thread, process: std::process::id() };
        let _ = SEATS.try_with(|seats| {
            let mut seats = seats.borrow_mut();
            seats.0.retain(|other| other.shared.strong_count() > 0);
            seats.0.push(seat);
        });
    }

    pub(super) fn give_up_seat(&self) -> Option<ThreadKey> {
        let find = |seats: &RefCell<Seats>| {
            let mut seats = seats.borrow_mut();
            let place = seats.0.iter().position(|s| s.gpu == self.id)?;
            Some(seats.0.swap_remove(place).thread)
        };
        SEATS.try_with(find).ok().flatten()
    }

    /// A thread is gone: its streams go with it, and another thread gets its turn.
    pub(super) fn retire(&self, thread: ThreadKey) {
        let mut state = self.lock();
        state.model.forget_thread(number(thread));
        state.remove_thread(thread);
        self.pass_turn(&mut state);
    }

    pub(super) fn announce_thread(&self, name: &str) -> ThreadToken {
        let me = self.seat();
        let mut state: std::sync::MutexGuard<'_, State> = self.lock();
        let now = state.time_of(me);
        ThreadToken(number(state.add_thread(name, now, true)))
    }

    pub(super) fn retract_thread(&self, token: &ThreadToken) {
        if let Some(thread) = ThreadKey::from_handle(token.0, THREAD) {
            self.retire(thread);
        }
    }

    pub(super) fn enter_thread(&self, token: &ThreadToken) {
        let Some(thread) = ThreadKey::from_handle(token.0, THREAD) else { return };
        let weak = self.lock().threads.weak.clone();
        self.take_seat(weak, thread);
        self.enter_turn(thread);
    }

    pub(super) fn leave_thread(&self) {
        if let Some(thread) = self.give_up_seat() {
            self.retire(thread);
        }
    }
}

/// Lets the state name its own GPU, for seats.
pub(super) fn remember(shared: &Arc<Shared>) {
    shared.lock().threads.weak = Arc::downgrade(shared);
}
