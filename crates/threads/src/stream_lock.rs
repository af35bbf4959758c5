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
//! the stream exclusively waits for those inside for a moment only: then the driver makes its copy by one call.
//!
//! The legacy stream is ordered with all blocking streams of its context, so to hold it is to hold them, and a blocking
//! stream that is held keeps calls out of the legacy one.

mod place;
mod seats;

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Weak};

use hal::primitive::{AtomicU64, Mutex, Ordering, lock};
use hal::{Driver, Host, Nanos, Stream, Wait, locks};
use os::forks::Process;

use place::{OUTSIDE, SEVERAL, number};
pub use place::{Place, Within};
use seats::{Inside, own};
pub use seats::{Seat, Seats};

/// A thread that wants a stream exclusively waits this long for others inside. Most calls take a few microseconds. One
/// that lasts longer waits in the driver.
const PATIENCE: Nanos = Nanos::from_us(500);

/// A copy of several calls that is being submitted.
#[derive(Debug)]
struct Holder {
    owner: &'static Seat,
    place: Place,
}

impl Holder {
    fn is_of(&self, seat: Option<&'static Seat>) -> bool {
        seat.is_some_and(|seat| std::ptr::eq(seat, self.owner))
    }
}

/// The lock over the streams of a driver.
#[derive(Debug)]
pub struct StreamLock {
    id: u64,
    /// In a child of its the threads that hold streams are gone.
    process: Process,
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
        StreamLock { id, process: Process::this(), seats, holders: Mutex::new(Vec::new()), held, released, unseated }
    }

    /// The calling thread is about to make one driver call that enters the stream. It waits while another thread holds
    /// the stream. `around` is asked only if some stream is held.
    #[inline(always)] // every copy and launch does this
    pub fn share<'h>(
        &self,
        stream: Stream,
        within: Within,
        around: impl FnOnce() -> (Place, &'h dyn Host),
    ) -> Shared<'_> {
        self.share_at(own::seat(), stream, within, around)
    }

    /// As `share`, for the thread of a seat.
    #[inline(always)]
    pub fn share_at<'h>(
        &self,
        seat: Option<&'static Seat>,
        stream: Stream,
        within: Within,
        around: impl FnOnce() -> (Place, &'h dyn Host),
    ) -> Shared<'_> {
        let before = seat.map_or(OUTSIDE, |seat| seat.entering.load(Ordering::Relaxed));
        let shared = Shared { lock: self, seat, before };
        let value = if before == OUTSIDE { number(stream) } else { SEVERAL };
        shared.step_in(value, within);
        // A thread that is inside already does not wait: the copy would wait for it.
        if self.held.load(Ordering::SeqCst) != 0 && before == OUTSIDE {
            self.wait(&shared, value, within, around);
        }
        shared
    }

    /// Whether another thread may hold the stream, as far as the list of holders tells.
    fn may_be_held(&self, seat: Option<&'static Seat>, value: u64, within: Within) -> bool {
        let meets = |holder: &Holder| !holder.is_of(seat) && holder.place.may_meet(value, within);
        self.process.is_this() && lock(&self.holders).iter().any(meets)
    }

    #[cold]
    #[inline(never)]
    fn wait<'h>(
        &self,
        shared: &Shared<'_>,
        value: u64,
        within: Within,
        around: impl FnOnce() -> (Place, &'h dyn Host),
    ) {
        if !self.may_be_held(shared.seat, value, within) {
            return;
        }
        let (place, host) = around();
        loop {
            let released = self.released.load(Ordering::SeqCst);
            if !meets_other(&lock(&self.holders), shared.seat, &place) {
                return;
            }
            shared.step_out(OUTSIDE);
            let waited = host.wait_until(None, &mut || self.released.load(Ordering::SeqCst) != released);
            shared.step_in(value, within);
            if waited == Wait::Stuck {
                return;
            }
        }
    }

    /// Keeps all other threads out of the stream, for a copy of several calls. It waits for another such copy of the
    /// stream. `None` if a thread stays inside: the copy has to be made by one call.
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
        let inside = self.inside(seat, &place);
        let is_unseated = || self.unseated.fetch_or(0, Ordering::SeqCst) != 0;
        if inside.is_empty() && !is_unseated() {
            return Some(held);
        }
        if inside.iter().any(|call| call.has_outlasted()) {
            return None;
        }
        // From now on every other thread that comes sees the holder, so these calls are all.
        let mut is_alone = || inside.iter().all(Inside::has_ended) && !is_unseated();
        let is_held = host.wait_until(Some(host.now() + PATIENCE), &mut is_alone) == Wait::Met;
        if !is_held {
            inside.iter().filter(|call| !call.has_ended()).for_each(Inside::outlast);
        }
        is_held.then_some(held)
    }

    /// The calls of other threads that are inside, and may be in the way.
    fn inside(&self, own: &'static Seat, place: &Place) -> Vec<Inside> {
        let is_in_the_way = |seat: &Seat| {
            // A write, so that of two threads the second sees the first: this one the call, or the other one the lock.
            let entering = seat.entering.fetch_or(OUTSIDE, Ordering::SeqCst);
            let is_here = || [0, self.id].contains(&seat.lock.load(Ordering::Relaxed));
            place.may_meet(entering, seat.within()) && is_here()
        };
        let seats = lock(&self.seats.0);
        let others = seats.iter().copied().filter(|seat| !std::ptr::eq(*seat, own));
        others.filter(|seat| is_in_the_way(seat)).map(Inside::of).collect()
    }
}

/// Whether a call at that place would come in the middle of a copy of another thread.
fn meets_other(holders: &[Holder], seat: Option<&'static Seat>, place: &Place) -> bool {
    holders.iter().any(|holder| !holder.is_of(seat) && holder.place.meets(place))
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
    fn step_in(&self, value: u64, within: Within) {
        match self.seat {
            Some(seat) => {
                match self.before {
                    OUTSIDE => seat.describe(self.lock.id, within),
                    _ => seat.describe_nested(),
                }
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

#[cfg(all(test, not(loom)))]
mod tests;
