//! Completion tickets: words that a stream writes when a copy has completed, and that the CPU reads without the driver.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use hal::MemOp;
use semaphores::Words;

use hal::locks::lock;

/// The number of tickets. While all are in use, further copies go to the driver unchanged.
const SLOTS: u64 = 2048;

/// A word that will read the low half of `generation` when the ticket is done.
///
/// A ticket may be kept long after it was given back, so its generation must never come again: 53 bits last longer than
/// any machine. The word wraps, but only has to differ from its value before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Ticket(u64);

impl Ticket {
    /// One that tests of others tell apart.
    #[cfg(test)]
    pub(crate) fn of(number: u32) -> Ticket {
        Ticket::new(0, number.into())
    }

    fn new(slot: u64, generation: u64) -> Ticket {
        Ticket(generation * SLOTS + slot)
    }

    fn slot(self) -> u64 {
        self.0 % SLOTS
    }

    fn generation(self) -> u64 {
        self.0 / SLOTS
    }

    /// The value of its word when it is done.
    fn word(self) -> u32 {
        self.generation() as u32
    }
}

/// All tickets of a context: their words, and the free ones.
pub(crate) struct Tickets {
    words: Words,
    /// The latest generation of each slot.
    current: Vec<AtomicU64>,
    free: Mutex<Vec<u64>>,
}

impl Tickets {
    /// The number of words for all tickets, and one for writes that no thread reads.
    pub(crate) const WORDS: u64 = SLOTS + 1;

    pub(crate) fn new(words: Words) -> Tickets {
        Tickets {
            words,
            current: (0..SLOTS).map(|_| AtomicU64::new(0)).collect(),
            free: Mutex::new((0..SLOTS).rev().collect()),
        }
    }

    /// A ticket that no other copy has, or `None` if all are in use.
    pub(crate) fn take(&self) -> Option<Ticket> {
        let slot = lock(&self.free).pop()?;
        let current = &self.current[slot as usize];
        let generation = current.load(Ordering::Relaxed) + 1;
        current.store(generation, Ordering::Release);
        Some(Ticket::new(slot, generation))
    }

    /// Makes `generation` the next one. No ticket is in use.
    pub(crate) fn skip_to(&self, generation: u64) {
        for (slot, current) in (0..).zip(&self.current) {
            self.words.store(slot, generation as u32);
            current.store(generation, Ordering::Release);
        }
    }

    /// Gives back a ticket whose write has been seen, or was never submitted.
    pub(crate) fn release(&self, ticket: Ticket) {
        self.complete(ticket);
        lock(&self.free).push(ticket.slot());
    }

    /// Whether the ticket is done. Stays true after it was given back.
    pub(crate) fn is_done(&self, ticket: Ticket) -> bool {
        self.words.load(ticket.slot()) == ticket.word()
            || self.current[ticket.slot() as usize].load(Ordering::Acquire) != ticket.generation()
    }

    /// Makes a ticket done that no stream will write.
    pub(crate) fn complete(&self, ticket: Ticket) {
        self.words.store(ticket.slot(), ticket.word());
    }

    /// A write that no thread reads.
    pub(crate) fn write_nothing(&self) -> MemOp {
        MemOp::write32(self.words.host_address(SLOTS), 0)
    }

    /// The operation that makes the ticket done.
    pub(crate) fn write(&self, ticket: Ticket) -> MemOp {
        MemOp::write32(self.words.host_address(ticket.slot()), ticket.word())
    }

    /// The number of tickets in use.
    pub(crate) fn outstanding(&self) -> usize {
        SLOTS as usize - lock(&self.free).len()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::*;

    #[test]
    fn a_ticket_that_is_kept_stays_done() {
        let tickets = crate::soft::tickets(&crate::soft::driver());
        let kept = tickets.take().unwrap();
        tickets.release(kept);
        tickets.skip_to(u64::from(u32::MAX) + 1);
        let next = tickets.take().unwrap();
        assert_eq!((next.slot(), next.word()), (kept.slot(), kept.word()), "the slot has come round");
        assert!(tickets.is_done(kept) && !tickets.is_done(next));
        tickets.release(next);
    }

    /// Two threads use the tickets of one slot in turn, while a third watches each of them for longer than it is in
    /// use.
    #[test]
    fn a_ticket_has_one_holder_and_stays_done() {
        let tickets = crate::soft::tickets(&crate::soft::driver());
        let holders: Vec<AtomicU32> = (0..SLOTS).map(|_| AtomicU32::new(0)).collect();
        let (to_watcher, watched) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            for by_release in [true, false] {
                let (tickets, holders, to_watcher) = (&tickets, &holders, to_watcher.clone());
                scope.spawn(move || {
                    for _ in 0..if cfg!(miri) { 12 } else { 2000 } {
                        let ticket = tickets.take().unwrap();
                        let holder = &holders[ticket.slot() as usize];
                        assert_eq!(holder.fetch_add(1, Ordering::Relaxed), 0, "{ticket:?} is out already");
                        assert!(!tickets.is_done(ticket), "{ticket:?} has not happened");
                        to_watcher.send(ticket).unwrap();
                        if !by_release {
                            tickets.complete(ticket);
                            assert!(tickets.is_done(ticket));
                        }
                        holder.fetch_sub(1, Ordering::Relaxed);
                        tickets.release(ticket);
                        assert!(
                            tickets.is_done(ticket),
                            "{ticket:?} has happened, although its slot has another holder"
                        );
                    }
                });
            }
            drop(to_watcher);
            for ticket in watched {
                while !tickets.is_done(ticket) {
                    std::thread::yield_now();
                }
                assert!(tickets.is_done(ticket), "a ticket that is done stays done");
            }
        });
        assert_eq!(tickets.outstanding(), 0);
    }
}
