//! Seats: each thread has one, in which it writes which stream it is entering. A thread that wants a stream for itself
//! looks at all seats, and waits for those that are inside it (`stream_lock.rs`).

use hal::primitive::{AtomicBool, AtomicU64, Mutex, Ordering, try_lock};

use super::place::{OUTSIDE, Within};

/// The place of a thread in all locks.
#[derive(Debug)]
#[repr(align(64))] // its thread writes it at each call
pub struct Seat {
    /// The stream that the thread is entering.
    pub(super) entering: AtomicU64,
    /// The lock through which it does; 0 is any.
    pub(super) lock: AtomicU64,
    /// See [`Within`].
    context: AtomicU64,
    is_free: AtomicBool,
    /// The number of calls so far.
    calls: AtomicU64,
    /// The call that another thread has waited for in vain. Later threads do not wait for that call at all.
    outlasted: AtomicU64,
    is_taken: AtomicBool,
}

/// The seats of all threads. A seat is kept for the next thread when its thread ends.
#[derive(Debug)]
pub struct Seats(pub(super) Mutex<Vec<&'static Seat>>);

impl Default for Seats {
    fn default() -> Seats {
        Seats(Mutex::new(Vec::new()))
    }
}

impl Seats {
    /// A seat for a thread. `None` while another thread takes one: in a child of a fork that may be for ever.
    pub fn take(&self) -> Option<&'static Seat> {
        let mut all = try_lock(&self.0)?;
        let free = all.iter().find(|seat| !seat.is_taken.swap(true, Ordering::SeqCst));
        if let Some(free) = free {
            return Some(*free);
        }
        let [entering, lock, context, calls, outlasted] = [(); 5].map(|()| AtomicU64::new(0));
        let [is_free, is_taken] = [false, true].map(AtomicBool::new);
        let made = &*Box::leak(Box::new(Seat { entering, lock, context, is_free, calls, outlasted, is_taken }));
        all.push(made);
        Some(made)
    }
}

impl Seat {
    /// Its thread is about to make a call.
    #[inline]
    pub(super) fn describe(&self, lock: u64, within: Within) {
        self.lock.store(lock, Ordering::Relaxed);
        self.context.store(within.context, Ordering::Relaxed);
        self.is_free.store(within.is_free, Ordering::Relaxed);
        // Its thread alone writes it.
        self.calls.store(self.calls.load(Ordering::Relaxed) + 1, Ordering::Release);
    }

    /// The same for a call inside another one: it may be of another driver, and is of any context.
    #[cold]
    pub(super) fn describe_nested(&self) {
        self.lock.store(0, Ordering::Relaxed);
        self.context.store(0, Ordering::Relaxed);
        self.is_free.store(false, Ordering::Relaxed);
    }

    pub(super) fn within(&self) -> Within {
        Within { context: self.context.load(Ordering::Relaxed), is_free: self.is_free.load(Ordering::Relaxed) }
    }

    /// Its thread has ended.
    #[cfg(not(loom))]
    pub(super) fn leave(&self) {
        self.entering.store(OUTSIDE, Ordering::SeqCst);
        self.is_taken.store(false, Ordering::SeqCst);
    }
}

/// A call of another thread that was seen inside.
pub(super) struct Inside {
    seat: &'static Seat,
    call: u64,
}

impl Inside {
    pub(super) fn of(seat: &'static Seat) -> Inside {
        Inside { seat, call: seat.calls.load(Ordering::Acquire) }
    }

    pub(super) fn has_ended(&self) -> bool {
        let is_outside = || self.seat.entering.load(Ordering::Acquire) == OUTSIDE;
        self.seat.calls.load(Ordering::Acquire) != self.call || is_outside()
    }

    pub(super) fn has_outlasted(&self) -> bool {
        self.seat.outlasted.load(Ordering::Relaxed) == self.call && !self.has_ended()
    }

    pub(super) fn outlast(&self) {
        self.seat.outlasted.store(self.call, Ordering::Relaxed);
    }
}

/// The seat of the calling thread.
#[cfg(not(loom))]
pub(super) mod own {
    use std::cell::Cell;

    use super::{Seat, Seats};

    static SEATS: Seats = Seats(std::sync::Mutex::new(Vec::new()));

    thread_local! {
        static SEAT: Cell<Option<&'static Seat>> = const { Cell::new(None) };
        static END: End = const { End };
    }

    /// Gives the seat back when its thread ends.
    struct End;

    impl Drop for End {
        fn drop(&mut self) {
            SEAT.take().into_iter().for_each(Seat::leave);
        }
    }

    pub(in super::super) fn seats() -> &'static Seats {
        &SEATS
    }

    /// `None` where the thread is ending, because nobody would give the seat back.
    #[inline]
    pub(in super::super) fn seat() -> Option<&'static Seat> {
        SEAT.get().or_else(take)
    }

    #[cold]
    fn take() -> Option<&'static Seat> {
        END.try_with(|_| ()).ok()?;
        let taken = SEATS.take();
        SEAT.set(taken);
        taken
    }
}

/// A model has seats of its own.
#[cfg(loom)]
pub(super) mod own {
    use super::{Seat, Seats};

    pub(in super::super) fn seats() -> &'static Seats {
        Box::leak(Box::default())
    }

    pub(in super::super) fn seat() -> Option<&'static Seat> {
        None
    }
}
