//! Keeps a copy one operation of its stream.
//!
//! The layer makes some copies by several driver calls in the stream of the program: a guarded copy records an event
//! and waits for another one, and a staged copy goes piece by piece. The driver orders the threads of a program by the
//! call, so the work of another thread could enter the stream between two of them. It would run in the middle of the
//! copy.
//!
//! So there is a readers-writer lock over streams. A call that enters a stream shares it, and a copy of several calls
//! has it exclusively. Sharing is cheap, because every launch does it: the thread writes the stream into its [`Seat`],
//! and then looks whether any stream is held. A thread that wants a stream exclusively enters it into the list of
//! holders, and then looks into all seats. So at least one of the two sees the other.
//!
//! A thread that shares waits for as long as the stream is held, as the driver would let it wait. A thread that wants
//! the stream exclusively waits for those inside for [`PATIENCE`] only: then the driver makes its copy by one call.
//!
//! The legacy stream is ordered with all blocking streams of its context, so to hold it is to hold them, and a blocking
//! stream that is held keeps calls out of the legacy one.

use std::sync::atomic::AtomicUsize;

use hal::primitive::{AtomicBool, AtomicU64, Mutex, Ordering, lock, try_lock};
use hal::{Context, Driver, Host, Nanos, Result, Stream, StreamFlags, Wait};
#[cfg(not(loom))]
use {
    hal::locks,
    std::cell::Cell,
    std::sync::{Arc, Weak},
};

/// A thread that wants a stream exclusively waits this long for others inside. Most calls take a few microseconds. One
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

    /// The place of a stream that the legacy one waits for. In doubt a stream counts as one, and threads may wait that
    /// need not.
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

/// The place of a thread in all locks.
#[derive(Debug)]
#[repr(align(64))] // its thread writes it at each call
pub struct Seat {
    /// The stream that the thread is entering.
    entering: AtomicU64,
    /// The lock through which it does.
    lock: AtomicU64,
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
        let [entering, lock] = [(); 2].map(|()| AtomicU64::new(OUTSIDE));
        let made = &*Box::leak(Box::new(Seat { entering, lock, is_taken: AtomicBool::new(true) }));
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

/// A copy of several calls that is being submitted.
#[derive(Debug)]
struct Holder {
    owner: &'static Seat,
    place: Place,
}

/// The lock over the streams of a driver.
#[derive(Debug)]
pub struct StreamLock {
    id: u64,
    seats: &'static Seats,
    holders: Mutex<Vec<Holder>>,
    /// Their number. While it is 0, a thread enters without a look at the list.
    held: AtomicU64,
    /// The number of releases so far.
    released: AtomicU64,
    /// Threads inside that have no seat.
    unseated: AtomicU64,
}

impl StreamLock {
    /// The lock of a driver, which all layers over it share.
    #[cfg(not(loom))]
    pub fn of(driver: &Arc<dyn Driver>) -> Arc<StreamLock> {
        type Known = (Weak<dyn Driver>, Arc<StreamLock>);
        static ALL: std::sync::Mutex<Vec<Known>> = std::sync::Mutex::new(Vec::new());
        let mut all = locks::lock(&ALL);
        all.retain(|(its, _)| its.strong_count() > 0);
        let known = all.iter().find(|(its, _)| std::ptr::addr_eq(its.as_ptr(), Arc::as_ptr(driver)));
        if let Some((_, lock)) = known {
            return Arc::clone(lock);
        }
        let lock = Arc::new(StreamLock::new(own::seats()));
        all.push((Arc::downgrade(driver), Arc::clone(&lock)));
        lock
    }

    /// A lock for threads with these seats.
    pub fn new(seats: &'static Seats) -> StreamLock {
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        let id = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed) as u64;
        let [held, released, unseated] = [(); 3].map(|()| AtomicU64::new(0));
        StreamLock { id, seats, holders: Mutex::new(Vec::new()), held, released, unseated }
    }

    /// The calling thread is about to make one driver call that enters the stream. It waits while another thread holds
    /// the stream. `around` is asked only if some stream is held.
    #[cfg(not(loom))]
    #[inline]
    pub fn share<'h>(&self, stream: Stream, around: impl FnOnce() -> (Place, &'h dyn Host)) -> Shared<'_> {
        self.share_at(own::seat(), stream, around)
    }

    /// As `share`, for the thread of a seat.
    #[inline]
    pub fn share_at<'h>(
        &self,
        seat: Option<&'static Seat>,
        stream: Stream,
        around: impl FnOnce() -> (Place, &'h dyn Host),
    ) -> Shared<'_> {
        let before = seat.map_or(OUTSIDE, |seat| seat.entering.load(Ordering::Relaxed));
        let shared = Shared { lock: self, seat, before };
        let value = if before == OUTSIDE { number(stream) } else { SEVERAL };
        shared.step_in(value);
        // A thread that is inside already does not wait: the copy would wait for it.
        if self.held.load(Ordering::SeqCst) != 0 && before == OUTSIDE {
            let (place, host) = around();
            self.wait(&shared, value, &place, host);
        }
        shared
    }

    #[cold]
    #[inline(never)]
    fn wait(&self, shared: &Shared<'_>, value: u64, place: &Place, host: &dyn Host) {
        loop {
            let released = self.released.load(Ordering::SeqCst);
            if !meets_other(&lock(&self.holders), shared.seat, place) {
                return;
            }
            shared.step_out(OUTSIDE);
            let waited = host.wait_until(None, &mut || self.released.load(Ordering::SeqCst) != released);
            shared.step_in(value);
            if waited == Wait::Stuck {
                return;
            }
        }
    }

    /// Keeps all other threads out of the stream, for a copy of several calls. It waits for another such copy of the
    /// stream. `None` if a thread stays inside: the copy has to be made by one call.
    #[cfg(not(loom))]
    pub fn exclude(&self, place: Place, host: &dyn Host) -> Option<Exclusive<'_>> {
        self.exclude_at(own::seat()?, place, host)
    }

    /// As `exclude`, for the thread of a seat.
    pub fn exclude_at(&self, seat: &'static Seat, place: Place, host: &dyn Host) -> Option<Exclusive<'_>> {
        loop {
            let released = self.released.load(Ordering::SeqCst);
            let mut holders = lock(&self.holders);
            if !meets_other(&holders, Some(seat), &place) {
                holders.push(Holder { owner: seat, place });
                self.held.store(holders.len() as u64, Ordering::SeqCst);
                break;
            }
            drop(holders);
            let waited = host.wait_until(None, &mut || self.released.load(Ordering::SeqCst) != released);
            if waited == Wait::Stuck {
                return None;
            }
        }
        let held = Exclusive { lock: self, seat, place };
        let mut is_alone = || !self.is_any_inside(seat, &place);
        let is_held = is_alone() || host.wait_until(Some(host.now() + PATIENCE), &mut is_alone) == Wait::Met;
        is_held.then_some(held)
    }

    fn is_any_inside(&self, own: &'static Seat, place: &Place) -> bool {
        let is_inside = |seat: &&Seat| {
            // A write, so that of two threads the second sees the first: this one the call, or the other one the lock.
            let entering = seat.entering.fetch_or(OUTSIDE, Ordering::SeqCst);
            place.may_meet(entering) && seat.lock.load(Ordering::Relaxed) == self.id
        };
        let others = |seat: &&Seat| !std::ptr::eq(*seat, own) && is_inside(seat);
        self.unseated.fetch_or(0, Ordering::SeqCst) != 0
            || lock(&self.seats.0).iter().copied().any(|seat| others(&seat))
    }
}

/// Whether a call at that place would come in the middle of a copy of another thread.
fn meets_other(holders: &[Holder], seat: Option<&'static Seat>, place: &Place) -> bool {
    let is_own = |holder: &Holder| seat.is_some_and(|seat| std::ptr::eq(seat, holder.owner));
    holders.iter().any(|holder| !is_own(holder) && holder.place.meets(place))
}

/// While it lives, its thread is inside a driver call that enters a stream.
#[derive(Debug)]
pub struct Shared<'g> {
    lock: &'g StreamLock,
    seat: Option<&'static Seat>,
    before: u64,
}

impl Shared<'_> {
    #[inline]
    fn step_in(&self, value: u64) {
        match self.seat {
            Some(seat) => {
                seat.lock.store(self.lock.id, Ordering::Relaxed);
                // A swap, because the look at the lock must not come before it.
                seat.entering.swap(value, Ordering::SeqCst);
            }
            None => _ = self.lock.unseated.fetch_add(1, Ordering::SeqCst),
        }
    }

    #[inline]
    fn step_out(&self, value: u64) {
        match self.seat {
            Some(seat) => seat.entering.store(value, Ordering::Release),
            None => _ = self.lock.unseated.fetch_sub(1, Ordering::SeqCst),
        }
    }
}

impl Drop for Shared<'_> {
    #[inline]
    fn drop(&mut self) {
        self.step_out(self.before);
    }
}

/// While it lives, no other thread enters the stream.
#[derive(Debug)]
pub struct Exclusive<'g> {
    lock: &'g StreamLock,
    seat: &'static Seat,
    place: Place,
}

impl Drop for Exclusive<'_> {
    fn drop(&mut self) {
        let mut holders = lock(&self.lock.holders);
        let is_this = |holder: &Holder| std::ptr::eq(holder.owner, self.seat) && holder.place == self.place;
        if let Some(index) = holders.iter().position(is_this) {
            holders.swap_remove(index);
        }
        self.lock.held.store(holders.len() as u64, Ordering::SeqCst);
        self.lock.released.fetch_add(1, Ordering::SeqCst);
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
