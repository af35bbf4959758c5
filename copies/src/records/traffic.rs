//! The traffic of an engine: the copies to come, which streams and other owners have reserved.
//!
//! A reservation has a priority, and the wait for bulk that its owner tolerates. An open stream makes one for each
//! priority that it copies with, and an expectation one ([`crate::Expected`]), whoever holds it: tasks, pipelines, a
//! program. A copy learns from them whether it can overtake another or be overtaken, and for how long it may keep the
//! engine.
//!
//! A copy never overtakes a copy of its own stream. So the reservations of a stream count only for other streams, and a
//! program whose copies all go through one stream is left alone.

#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(loom)))]
mod tests;

use hal::Nanos;
use hal::primitive::{AtomicU64, Mutex, Ordering, lock};
use terms::Priority;

/// The traffic of one engine.
#[derive(Debug, Default)]
#[repr(C, align(64))] // a copy that is alone needs one cache line of it
pub(crate) struct Traffic {
    /// One bit for each priority: in the lower half if it is reserved, in the upper half if it is so several times.
    reserved: AtomicU64,
    /// The longest wait that any owner tolerates.
    longest_ns: AtomicU64,
    book: Mutex<Book>,
}

/// The reservations, and the streams that have none.
#[derive(Debug, Default)]
struct Book {
    /// The reservations, by their priority and the wait that their owners tolerate. Zero tolerates none.
    reserved: Counts<(Priority, Nanos)>,
    /// The open streams that reserve nothing, by the priority of their copies that name none. Their owners hold
    /// expectations in place of that.
    quiet: Counts<Priority>,
}

/// Different things, and how many there are of each: a handful, so that a list is the fastest. It keeps its memory.
#[derive(Debug)]
struct Counts<K>(Vec<(K, u64)>);

/// The wait that all copies to come above a priority tolerate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tolerated {
    pub(crate) wait: Nanos,
    /// The streams that these copies may come in: no other stream of such a priority is open.
    pub(crate) streams: u64,
}

impl Traffic {
    /// Reserves for a stream, unless `bit` of its `announced` is set already.
    pub(crate) fn announce(&self, priority: Priority, announced: &AtomicU64, bit: u64) {
        self.change(|book| {
            if announced.load(Ordering::Relaxed) & bit == 0 {
                book.reserved.add((priority, Nanos::ZERO));
                // Under the lock. A stream that took its own copies for those of another would hold them up for a
                // moment; one that took those of another for its own would let them wait.
                announced.fetch_or(bit, Ordering::SeqCst);
            }
        });
    }

    /// Reserves for copies of no stream, which count for the copies of all.
    pub(crate) fn reserve(&self, priority: Priority, tolerated: Nanos) {
        self.change(|book| book.reserved.add((priority, tolerated)));
    }

    /// Ends a reservation: one of a stream tolerates none.
    pub(crate) fn release(&self, priority: Priority, tolerated: Nanos) {
        self.change(|book| book.reserved.take((priority, tolerated)));
    }

    /// The owner of a reservation tolerates another wait from now on.
    pub(crate) fn tolerate(&self, priority: Priority, [before, now]: [Nanos; 2]) {
        self.change(|book| {
            book.reserved.take((priority, before));
            book.reserved.add((priority, now));
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
        let longest = book.reserved.each().fold(Nanos::ZERO, |longest, ((_, wait), _)| longest.max(wait));
        self.longest_ns.store(longest.0, Ordering::Relaxed);
        self.reserved.store(book.word(), Ordering::SeqCst);
    }

    /// The longest wait that any owner tolerates: so long may a copy find the engine taken.
    pub(crate) fn longest_tolerated(&self) -> Nanos {
        Nanos(self.longest_ns.load(Ordering::Relaxed))
    }

    /// The wait that all copies to come above `priority` tolerate; `None` if some tolerate none, or none are to come.
    pub(crate) fn tolerated_above(&self, priority: Priority) -> Option<Tolerated> {
        // The usual case takes no lock.
        if self.longest_tolerated() == Nanos::ZERO {
            return None;
        }
        let book = lock(&self.book);
        let above = || book.reserved.each().map(|(key, _)| key).filter(|(other, _)| *other > priority);
        let (wait, least) = (above().map(|(_, wait)| wait).min()?, above().map(|(other, _)| other).min()?);
        let streams = book.quiet.each().filter(|(of, _)| *of >= least).map(|(_, streams)| streams).sum();
        (wait > Nanos::ZERO).then_some(Tolerated { wait, streams })
    }

    /// Whether [`Traffic::bounds_with`] would find the priority alone, in fewer instructions.
    #[inline(always)]
    pub(crate) fn has_only(&self, priority: Priority, own: u32) -> bool {
        self.others(own) & !(1 << priority.index()) == 0
    }

    /// The lowest and the highest priority among a copy of `priority`, all expectations, and all streams but its own,
    /// whose priorities are the bits `own`.
    #[inline]
    pub(crate) fn bounds_with(&self, priority: Priority, own: u32) -> (Priority, Priority) {
        let there = self.others(own) | 1 << priority.index();
        let at = |index: u32| Priority::new(index as u8 + 1).unwrap_or(priority);
        // The difference as a bit operation, which is the machine's own question for the highest bit.
        (at(there.trailing_zeros()), at(31 ^ there.leading_zeros()))
    }

    /// The priorities of all expectations, and of all streams but one whose priorities are the bits `own`.
    #[inline(always)]
    fn others(&self, own: u32) -> u32 {
        let reserved = self.reserved.load(Ordering::Relaxed);
        let (any, several) = (reserved as u32, (reserved >> 32) as u32);
        several | (any & !own)
    }
}

impl Book {
    /// The word from which copies learn of the reservations.
    fn word(&self) -> u64 {
        self.reserved.each().fold(0, |word, ((priority, _), count)| {
            let bit = 1_u64 << priority.index();
            let is_several = count > 1 || word & bit != 0;
            word | bit | if is_several { bit << 32 } else { 0 }
        })
    }
}

impl<K: Copy + PartialEq> Counts<K> {
    fn each(&self) -> impl Iterator<Item = (K, u64)> {
        self.0.iter().copied()
    }

    fn add(&mut self, key: K) {
        match self.0.iter_mut().find(|(known, _)| *known == key) {
            Some((_, count)) => *count += 1,
            None => self.0.push((key, 1)),
        }
    }

    fn take(&mut self, key: K) {
        let Some(place) = self.0.iter().position(|(known, _)| *known == key) else { return };
        self.0[place].1 -= 1;
        if self.0[place].1 == 0 {
            self.0.swap_remove(place);
        }
    }
}

impl<K> Default for Counts<K> {
    fn default() -> Counts<K> {
        Counts(Vec::new())
    }
}
