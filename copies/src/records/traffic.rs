//! The traffic of an engine: the copies in flight, and the copies to come, which streams and other owners have
//! reserved.
//!
//! A reservation has a priority, and the wait for bulk that its owner accepts. An open stream makes one for each
//! priority that it copies with. An expectation ([`crate::Expected`]) is one reservation, whether a task, a pipeline or
//! the program holds it. From the reservations a copy learns whether it can overtake another copy or be overtaken, and
//! how long it may keep the engine.
//!
//! A copy never overtakes a copy of its own stream. So the reservations of a stream count only for other streams, and a
//! program that copies in one stream only is left alone.
//!
//! The submitters of bulk count it, and the watcher sees it end. While none is in flight there is a *lull*: an urgent
//! copy has nothing to hold back, and goes like a copy that is alone. While no urgent copy has gone for some time there
//! is a *calm*: bulk need not yield.

mod book;
#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(loom)))]
mod tests;
mod urgent;

use hal::primitive::{AtomicU64, Mutex, Ordering, lock};
use hal::{Nanos, Stream};
use priority::Priority;

use book::Book;
pub(crate) use book::{Reservation, Room, Stay, UnderWay};
use urgent::{Passed, Urgent};

use crate::decide::Company;

/// The time without bulk after which urgent copies hold none off. Bulk that the driver makes has no in-flight copy, and
/// much of it takes about so long.
const LULL_AFTER: Nanos = Nanos::from_ms(1);

/// The traffic of one engine. All that a copy needs in order to go at once is in its first cache line.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Traffic {
    /// One bit for each priority: in the lower half if it is reserved, in the upper half if it is so several times.
    reserved: AtomicU64,
    /// The number of copies so far that had to give way to others. As every word of a lull it is a hint and orders
    /// nothing else: a copy that reads an old one gives way too early or too late.
    bulk: AtomicU64,
    /// That number when the lull began. Another number means that it is over.
    lull_from: AtomicU64,
    passed: Passed,
    /// The longest wait that any owner states.
    longest_ns: AtomicU64,
    has_lulls: bool,
    urgent: Urgent,
    book: Mutex<Book>,
}

/// What the watcher knows of the bulk of an engine: the number of copies so far, and the time at which one was last
/// seen in flight; `None` in a lull.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BulkSeen {
    copies: u64,
    at: Option<Nanos>,
}

impl Traffic {
    /// An idle engine, in a lull if there are to be any.
    pub(crate) fn new(has_lulls: bool) -> Traffic {
        Traffic {
            reserved: AtomicU64::new(0),
            bulk: AtomicU64::new(0),
            lull_from: AtomicU64::new(if has_lulls { 0 } else { u64::MAX }),
            passed: Passed::default(),
            longest_ns: AtomicU64::new(0),
            has_lulls,
            urgent: Urgent::default(),
            book: Mutex::new(Book::default()),
        }
    }

    /// Reserves for a stream, unless `bit` of its `announced` is set already.
    pub(crate) fn announce(&self, reservation: Reservation, announced: &AtomicU64, bit: u64) {
        self.change(|book| {
            if announced.load(Ordering::Relaxed) & bit == 0 {
                book.reserved.add(reservation);
                // Under the lock. A stream that took its own copies for those of another would hold them up for a
                // moment; one that took those of another for its own would let them wait.
                announced.fetch_or(bit, Ordering::SeqCst);
            }
        });
    }

    /// Reserves for copies of no stream, which count for the copies of all.
    pub(crate) fn reserve(&self, reservation: Reservation) {
        self.change(|book| book.reserved.add(reservation));
    }

    /// Ends a reservation.
    pub(crate) fn release(&self, reservation: Reservation) {
        self.change(|book| book.reserved.take(reservation));
    }

    /// The owner of a reservation states another wait from now on.
    pub(crate) fn state(&self, before: Reservation, now: Reservation) {
        self.change(|book| {
            book.reserved.take(before);
            book.reserved.add(now);
        });
    }

    /// A stream opens that reserves nothing.
    pub(crate) fn open_quiet(&self, priority: Priority) {
        lock(&self.book).quiet.add(priority);
    }

    pub(crate) fn close_quiet(&self, priority: Priority) {
        lock(&self.book).quiet.take(priority);
    }

    /// The words change under the lock. A late change would leave them wrong until the next reservation, and bulk that
    /// counts as alone would hold up urgent copies until then.
    fn change(&self, change: impl FnOnce(&mut Book)) {
        let mut book = lock(&self.book);
        change(&mut book);
        self.longest_ns.store(book.longest().0, Ordering::Relaxed);
        self.reserved.store(book.word(), Ordering::SeqCst);
    }

    /// The longest wait that any owner states: so long may a copy find the engine taken.
    pub(crate) fn longest_stated(&self) -> Nanos {
        Nanos(self.longest_ns.load(Ordering::Relaxed))
    }

    /// The company that a copy meets in a stream whose own priorities are the bits `own`: the lowest and the highest
    /// priority among its own, those of all expectations, and those of all other streams. `None` if it meets none but
    /// its own: for all there is, or because it is the most urgent in a lull. Its stream is noted then.
    #[inline(always)] // a call would cost a copy that goes at once more than the question
    pub(crate) fn met(&self, priority: Priority, own: u32, stream: Stream) -> Option<Company> {
        let reserved = self.reserved.load(Ordering::Relaxed);
        let (any, several) = (reserved as u32, (reserved >> 32) as u32);
        let others = several | (any & !own);
        // None but the bit of its own priority, in the fewest instructions.
        if others.rotate_right(priority.index() as u32) <= 1 {
            return None;
        }
        let there = others | 1 << priority.index();
        if there >> priority.index() == 1 && self.is_lull() {
            self.passed.note(stream);
            return None;
        }
        let at = |index: u32| Priority::new(index as u8 + 1).unwrap_or(priority);
        // The difference as a bit operation, which is the machine's own question for the highest bit.
        Some((at(there.trailing_zeros()), at(31 ^ there.leading_zeros())))
    }

    /// No bulk has come since the lull began.
    #[inline]
    fn is_lull(&self) -> bool {
        self.bulk.load(Ordering::Relaxed) == self.lull_from.load(Ordering::Relaxed)
    }

    /// Bulk comes to the engine, or is in flight there.
    pub(crate) fn end_lull(&self) {
        self.bulk.fetch_add(1, Ordering::Relaxed);
    }

    /// Bulk that has ended a lull before its submission is in flight now. The submission may have taken so long that
    /// the next lull has begun meanwhile.
    #[inline]
    pub(crate) fn outlast_lull(&self) {
        if self.is_lull() {
            self.end_lull();
        }
    }

    /// Lets a lull begin if no bulk has come or been in flight for a while. The watcher asks, which knows whether any
    /// is, and what it has `seen` before.
    pub(crate) fn keep_lull(&self, seen: BulkSeen, has_bulk: bool, now: Nanos) -> BulkSeen {
        if !self.has_lulls {
            return seen;
        }
        if has_bulk && seen.at.is_none() {
            // The lull has begun right before the copy was handed over.
            self.end_lull();
        }
        let copies = self.bulk.load(Ordering::Relaxed);
        match seen.at {
            _ if copies != seen.copies || has_bulk => BulkSeen { copies, at: Some(now) },
            Some(at) if now.since(at) >= LULL_AFTER => {
                // If more has come meanwhile, no lull begins.
                self.lull_from.store(copies, Ordering::Relaxed);
                BulkSeen { copies, at: None }
            }
            _ => seen,
        }
    }

    /// Counts a copy of bulk that is about to be submitted, and returns the room that it finds: where two threads count
    /// copies at the same time, at least one of them finds the other's.
    pub(crate) fn begin(&self, priority: Priority, stream: Stream, stay: Stay) -> (UnderWay, Room) {
        let mut book = lock(&self.book);
        (book.begin(stream, stay), book.room(priority, stream))
    }

    /// The copy has completed, or does not go.
    pub(crate) fn end(&self, copy: UnderWay) {
        lock(&self.book).end(copy);
    }

    /// The room for a copy of bulk.
    pub(crate) fn room(&self, priority: Priority, stream: Stream) -> Room {
        // Mostly no owner states one, and no copy takes the lock.
        if self.longest_stated() == Nanos::ZERO { Room::default() } else { lock(&self.book).room(priority, stream) }
    }

    /// A copy is urgent now: of no matter which stream.
    pub(crate) fn is_urgent(&self, now: Nanos) {
        self.urgent.is_now(now);
    }

    /// Whether any copy has gone in a lull since the watcher's last look.
    pub(crate) fn has_passed(&self) -> bool {
        self.passed.is_any()
    }

    /// The watcher looks at those.
    pub(crate) fn note_passed(&self, now: Nanos) {
        if let Some(streams) = self.passed.take() {
            self.urgent.are_now(streams, now);
        }
    }

    /// Whether no urgent copy of another stream has gone for so long.
    pub(crate) fn is_calm(&self, stream: Stream, after: Nanos, now: Nanos) -> bool {
        !self.passed.is_any_but(stream) && self.urgent.calm(stream, now) >= after
    }
}

impl BulkSeen {
    /// The time at which a lull may begin.
    pub(crate) fn lull_at(self) -> Nanos {
        self.at.map_or(Nanos::MAX, |at| at + LULL_AFTER)
    }
}
