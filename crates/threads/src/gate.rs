//! Keeps a copy one operation of its stream.
//!
//! The layer makes some copies by several driver calls in the stream of the program: a guarded copy records an event and
//! waits for another one, and a staged copy goes piece by piece. The driver orders the threads of a program by the call,
//! so the work of another thread could enter the stream between two of them. It would run in the middle of the copy.
//!
//! A thread that is about to enter a stream says so in its [`Seat`], and then looks whether the stream is closed. A
//! thread that begins such a copy closes the stream, and then looks into all seats. So at least one of the two sees the
//! other. The thread that enters waits until the stream is open again. The thread that closes waits for a while until
//! the others have left, and gives up after that: the driver makes its copy whole.
//!
//! The legacy stream is ordered with all blocking streams of its context, so each of them closes the other.

use std::sync::atomic::AtomicUsize;

use hal::primitive::{AtomicBool, AtomicU64, Mutex, Ordering, lock, try_lock};
use hal::{Context, Driver, Host, Nanos, Result, Stream, StreamFlags, Wait};
#[cfg(not(loom))]
use {
    hal::locks,
    std::cell::Cell,
    std::sync::{Arc, Weak},
};

/// A thread that closes a stream waits this long for others that are inside. Most calls take a few microseconds. One
/// that lasts longer waits in the driver.
const PATIENCE: Nanos = Nanos::from_us(500);

/// No stream.
const OUTSIDE: u64 = 0;
/// More than one stream: a call of the driver's has made another one.
const SEVERAL: u64 = u64::MAX;

/// A stream in its context, and whether the legacy stream waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    stream: Stream,
    context: Context,
    is_blocking: bool,
}

impl Place {
    /// The place of a stream of the context.
    pub fn of(driver: &dyn Driver, context: Context, stream: Stream) -> Result<Place> {
        let is_blocking = stream.is_default() || driver.stream_flags(stream)?.0 & StreamFlags::NON_BLOCKING.0 == 0;
        Ok(Place { is_blocking, ..Place::blocking(context, stream) })
    }

    /// The place of a stream that the legacy one waits for. One of which the driver does not say that counts as such, and
    /// threads may wait that need not.
    #[must_use]
    pub fn blocking(context: Context, stream: Stream) -> Place {
        Place { stream: Stream(number(stream)), context, is_blocking: true }
    }

    /// Whether an operation of one stream may be ordered with one of the other.
    fn meets(&self, other: &Place) -> bool {
        // The per-thread default streams of two threads have one handle.
        let is_one = self.stream == other.stream && self.stream != Stream::PER_THREAD;
        let waits = |legacy: &Place, stream: &Place| legacy.stream.is_legacy() && stream.is_blocking;
        self.context == other.context && (is_one || waits(self, other) || waits(other, self))
    }

    /// The same for a thread inside a call, of which only the stream is known.
    fn may_meet(&self, entering: u64) -> bool {
        match entering {
            OUTSIDE => false,
            SEVERAL => true,
            _ if self.stream.is_legacy() => true,
            legacy if legacy == Stream::LEGACY.0 => self.is_blocking,
            handle => handle == self.stream.0 && self.stream != Stream::PER_THREAD,
        }
    }
}

/// The handle of a stream, which has two for the legacy one.
#[inline]
fn number(stream: Stream) -> u64 {
    if stream == Stream::DEFAULT { Stream::LEGACY.0 } else { stream.0 }
}

/// The place of a thread at all gates.
#[derive(Debug)]
#[repr(align(64))] // its thread writes it at each call
pub struct Seat {
    /// The stream that the thread is entering.
    entering: AtomicU64,
    /// The gate at which it does.
    gate: AtomicU64,
    is_taken: AtomicBool,
}

/// The seats of all threads. A seat is kept for the next thread when its thread ends.
#[derive(Debug)]
pub struct Seats(Mutex<Vec<&'static Seat>>);

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
        let [entering, gate] = [(); 2].map(|()| AtomicU64::new(OUTSIDE));
        let made = &*Box::leak(Box::new(Seat { entering, gate, is_taken: AtomicBool::new(true) }));
        all.push(made);
        Some(made)
    }
}

impl Seat {
    /// Its thread has ended.
    #[cfg(not(loom))]
    fn leave(&self) {
        self.entering.store(OUTSIDE, Ordering::SeqCst);
        self.is_taken.store(false, Ordering::SeqCst);
    }
}

/// A copy of which a part is in its stream.
#[derive(Debug)]
struct Half {
    owner: &'static Seat,
    place: Place,
}

/// The gate before the streams of a driver.
#[derive(Debug)]
pub struct Gate {
    id: u64,
    seats: &'static Seats,
    halves: Mutex<Vec<Half>>,
    /// Their number. While it is 0, a thread enters without a look at the list.
    closed: AtomicU64,
    /// The number of copies that have become whole.
    opened: AtomicU64,
    /// Threads inside that have no seat.
    unseated: AtomicU64,
}

impl Gate {
    /// The gate of a driver, which all layers over it share.
    #[cfg(not(loom))]
    pub fn of(driver: &Arc<dyn Driver>) -> Arc<Gate> {
        type Known = (Weak<dyn Driver>, Arc<Gate>);
        static ALL: std::sync::Mutex<Vec<Known>> = std::sync::Mutex::new(Vec::new());
        let mut all = locks::lock(&ALL);
        all.retain(|(its, _)| its.strong_count() > 0);
        let known = all.iter().find(|(its, _)| std::ptr::addr_eq(its.as_ptr(), Arc::as_ptr(driver)));
        if let Some((_, gate)) = known {
            return Arc::clone(gate);
        }
        let gate = Arc::new(Gate::new(own::seats()));
        all.push((Arc::downgrade(driver), Arc::clone(&gate)));
        gate
    }

    /// A gate for threads with these seats.
    pub fn new(seats: &'static Seats) -> Gate {
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        let id = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed) as u64;
        let [closed, opened, unseated] = [(); 3].map(|()| AtomicU64::new(0));
        Gate { id, seats, halves: Mutex::new(Vec::new()), closed, opened, unseated }
    }

    /// The calling thread is about to make one driver call that enters the stream. It waits while a copy of another
    /// thread is half in it. `around` is asked only if some stream is closed.
    #[cfg(not(loom))]
    #[inline]
    pub fn enter<'h>(&self, stream: Stream, around: impl FnOnce() -> (Place, &'h dyn Host)) -> Entered<'_> {
        self.enter_at(own::seat(), stream, around)
    }

    /// As [`Gate::enter`], for the thread of a seat.
    #[inline]
    pub fn enter_at<'h>(
        &self,
        seat: Option<&'static Seat>,
        stream: Stream,
        around: impl FnOnce() -> (Place, &'h dyn Host),
    ) -> Entered<'_> {
        let before = seat.map_or(OUTSIDE, |seat| seat.entering.load(Ordering::Relaxed));
        let entered = Entered { gate: self, seat, before };
        let value = if before == OUTSIDE { number(stream) } else { SEVERAL };
        entered.step_in(value);
        // A thread that is inside already does not wait: the copy would wait for it.
        if self.closed.load(Ordering::SeqCst) != 0 && before == OUTSIDE {
            let (place, host) = around();
            self.wait(&entered, value, &place, host);
        }
        entered
    }

    #[cold]
    #[inline(never)]
    fn wait(&self, entered: &Entered<'_>, value: u64, place: &Place, host: &dyn Host) {
        loop {
            let opened = self.opened.load(Ordering::SeqCst);
            if !meets_other(&lock(&self.halves), entered.seat, place) {
                return;
            }
            entered.step_out(OUTSIDE);
            let waited = host.wait_until(None, &mut || self.opened.load(Ordering::SeqCst) != opened);
            entered.step_in(value);
            if waited == Wait::Stuck {
                return;
            }
        }
    }

    /// Closes a stream to all threads but the calling one, for a copy of several calls. It waits for another such copy
    /// of the stream. `None` if a thread stays inside: the copy has to be made by one call.
    #[cfg(not(loom))]
    pub fn close(&self, place: Place, host: &dyn Host) -> Option<Closed<'_>> {
        self.close_at(own::seat()?, place, host)
    }

    /// As [`Gate::close`], for the thread of a seat.
    pub fn close_at(&self, seat: &'static Seat, place: Place, host: &dyn Host) -> Option<Closed<'_>> {
        loop {
            let opened = self.opened.load(Ordering::SeqCst);
            let mut halves = lock(&self.halves);
            if !meets_other(&halves, Some(seat), &place) {
                halves.push(Half { owner: seat, place });
                self.closed.store(halves.len() as u64, Ordering::SeqCst);
                break;
            }
            drop(halves);
            let waited = host.wait_until(None, &mut || self.opened.load(Ordering::SeqCst) != opened);
            if waited == Wait::Stuck {
                return None;
            }
        }
        let closed = Closed { gate: self, seat, place };
        let mut is_alone = || !self.is_any_inside(seat, &place);
        let is_closed = is_alone() || host.wait_until(Some(host.now() + PATIENCE), &mut is_alone) == Wait::Met;
        is_closed.then_some(closed)
    }

    fn is_any_inside(&self, own: &'static Seat, place: &Place) -> bool {
        let is_inside = |seat: &&Seat| {
            // A write, so that of two threads the second sees the first: this one the call, or the other one the gate.
            let entering = seat.entering.fetch_or(OUTSIDE, Ordering::SeqCst);
            place.may_meet(entering) && seat.gate.load(Ordering::Relaxed) == self.id
        };
        let others = |seat: &&Seat| !std::ptr::eq(*seat, own) && is_inside(seat);
        self.unseated.fetch_or(0, Ordering::SeqCst) != 0
            || lock(&self.seats.0).iter().copied().any(|seat| others(&seat))
    }
}

/// Whether an operation at that place would be in the middle of a copy of another thread.
fn meets_other(halves: &[Half], seat: Option<&'static Seat>, place: &Place) -> bool {
    let is_own = |half: &Half| seat.is_some_and(|seat| std::ptr::eq(seat, half.owner));
    halves.iter().any(|half| !is_own(half) && half.place.meets(place))
}

/// While it lives, its thread is inside a driver call that enters a stream.
#[derive(Debug)]
pub struct Entered<'g> {
    gate: &'g Gate,
    seat: Option<&'static Seat>,
    before: u64,
}

impl Entered<'_> {
    #[inline]
    fn step_in(&self, value: u64) {
        match self.seat {
            Some(seat) => {
                seat.gate.store(self.gate.id, Ordering::Relaxed);
                // A swap, because the look at the gate must not come before it.
                seat.entering.swap(value, Ordering::SeqCst);
            }
            None => _ = self.gate.unseated.fetch_add(1, Ordering::SeqCst),
        }
    }

    #[inline]
    fn step_out(&self, value: u64) {
        match self.seat {
            Some(seat) => seat.entering.store(value, Ordering::Release),
            None => _ = self.gate.unseated.fetch_sub(1, Ordering::SeqCst),
        }
    }
}

impl Drop for Entered<'_> {
    #[inline]
    fn drop(&mut self) {
        self.step_out(self.before);
    }
}

/// While it lives, no other thread enters the stream.
#[derive(Debug)]
pub struct Closed<'g> {
    gate: &'g Gate,
    seat: &'static Seat,
    place: Place,
}

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        let mut halves = lock(&self.gate.halves);
        let is_this = |half: &Half| std::ptr::eq(half.owner, self.seat) && half.place == self.place;
        if let Some(index) = halves.iter().position(is_this) {
            halves.swap_remove(index);
        }
        self.gate.closed.store(halves.len() as u64, Ordering::SeqCst);
        self.gate.opened.fetch_add(1, Ordering::SeqCst);
    }
}

/// The seat of the calling thread.
#[cfg(not(loom))]
mod own {
    use super::{Cell, Seat, Seats};

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

    pub(super) fn seats() -> &'static Seats {
        &SEATS
    }

    /// `None` where the thread is ending, because nobody would give the seat back.
    #[inline]
    pub(super) fn seat() -> Option<&'static Seat> {
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

#[cfg(all(test, not(loom)))]
mod tests;
