//! Completion tickets: words that streams write when a copy has completed and that the CPU reads without the driver.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use hal::{Driver, MemOp, Result};
use semaphores::Words;

use crate::lock::lock;

/// How many tickets there are: more copies than this are not tracked at once, they are passed on.
const SLOTS: u32 = 2048;

/// A word that will read `generation` when what it stands for has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Ticket {
    slot: u32,
    generation: u32,
}

/// The words, and which are free.
pub(crate) struct Ring {
    /// One more than there are slots: the last is for writes that nobody reads.
    words: Words,
    /// The generation that each slot is in use for, or was last.
    current: Vec<AtomicU32>,
    free: Mutex<Vec<u32>>,
}

impl Ring {
    pub(crate) fn new(driver: &Arc<dyn Driver>) -> Result<Ring> {
        Ok(Ring {
            words: Words::new(driver, u64::from(SLOTS) + 1)?,
            current: (0..SLOTS).map(|_| AtomicU32::new(0)).collect(),
            free: Mutex::new((0..SLOTS).rev().collect()),
        })
    }

    /// A ticket nobody else has, or `None` when all are out.
    pub(crate) fn take(&self) -> Option<Ticket> {
        let slot = lock(&self.free).pop()?;
        let current = &self.current[slot as usize];
        // 0 is what an unused word reads, so it is no generation.
        let generation = current.load(Ordering::Relaxed).wrapping_add(1).max(1);
        current.store(generation, Ordering::Release);
        Some(Ticket { slot, generation })
    }

    /// Gives a ticket back whose write has been seen, or was never submitted.
    pub(crate) fn release(&self, ticket: Ticket) {
        self.words.store(u64::from(ticket.slot), ticket.generation);
        lock(&self.free).push(ticket.slot);
    }

    /// Whether it has happened. Stays true after the ticket was given back.
    pub(crate) fn is_done(&self, ticket: Ticket) -> bool {
        self.words.load(u64::from(ticket.slot)) == ticket.generation
            || self.current[ticket.slot as usize].load(Ordering::Acquire) != ticket.generation
    }

    /// It has happened, and no stream will say so.
    pub(crate) fn complete(&self, ticket: Ticket) {
        self.words.store(u64::from(ticket.slot), ticket.generation);
    }

    /// A write that nobody reads.
    pub(crate) fn write_nothing(&self) -> MemOp {
        MemOp::write32(self.words.host_address(u64::from(SLOTS)), 0)
    }

    /// The operation that makes it happen.
    pub(crate) fn write(&self, ticket: Ticket) -> MemOp {
        MemOp::write32(self.words.host_address(u64::from(ticket.slot)), ticket.generation)
    }

    /// How many tickets are out.
    pub(crate) fn outstanding(&self) -> usize {
        SLOTS as usize - lock(&self.free).len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tickets of one slot follow each other on two threads, while a third watches every one of them for longer than
    /// it is out.
    #[test]
    fn a_ticket_has_one_holder_and_stays_done() {
        let ring = Ring::new(&crate::soft::driver()).unwrap();
        let holders: Vec<AtomicU32> = (0..SLOTS).map(|_| AtomicU32::new(0)).collect();
        let (to_watcher, watched) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            for by_release in [true, false] {
                let (ring, holders, to_watcher) = (&ring, &holders, to_watcher.clone());
                scope.spawn(move || {
                    for _ in 0..if cfg!(miri) { 12 } else { 2000 } {
                        let ticket = ring.take().unwrap();
                        let holder = &holders[ticket.slot as usize];
                        assert_eq!(holder.fetch_add(1, Ordering::Relaxed), 0, "{ticket:?} is out already");
                        assert!(!ring.is_done(ticket), "{ticket:?} has not happened");
                        to_watcher.send(ticket).unwrap();
                        if !by_release {
                            ring.complete(ticket);
                            assert!(ring.is_done(ticket));
                        }
                        holder.fetch_sub(1, Ordering::Relaxed);
                        ring.release(ticket);
                        assert!(ring.is_done(ticket), "{ticket:?} has happened, whoever has its slot now");
                    }
                });
            }
            drop(to_watcher);
            for ticket in watched {
                while !ring.is_done(ticket) {
                    std::thread::yield_now();
                }
                assert!(ring.is_done(ticket), "what is done stays done");
            }
        });
        assert_eq!(ring.outstanding(), 0);
    }
}
