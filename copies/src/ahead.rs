//! What comes before a stream's next copy: the unfinished copies of ours that it depends on.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering};

use channels::Direction;
use semaphores::Priority;

use crate::lock::lock;
use crate::monitor::{Ring, Ticket};

/// A copy in flight that later work of a stream comes after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Earlier {
    ticket: Ticket,
    priority: Priority,
    direction: Direction,
}

/// Unfinished copies of one level and engine that a more urgent copy depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    pub(crate) priority: Priority,
    pub(crate) direction: Direction,
    /// The dependency is over when all of these are done.
    pub(crate) tickets: Vec<Ticket>,
}

/// The copies in flight that a stream's later work comes after, its own and those of streams that it has waited for.
#[derive(Debug)]
pub(crate) struct Ahead {
    copies: Mutex<Vec<Earlier>>,
    /// The least urgent among them, changed under their lock: most streams carry copies of one priority, which depend
    /// on nobody that they could lift, and need not look.
    least: AtomicU8,
}

/// The least urgent of none.
const NOBODY: u8 = u8::MAX;

impl Default for Ahead {
    fn default() -> Ahead {
        Ahead { copies: Mutex::default(), least: AtomicU8::new(NOBODY) }
    }
}

impl Ahead {
    /// Remembers a copy that everything later in the stream comes after.
    pub(crate) fn remember(&self, ticket: Ticket, priority: Priority, direction: Direction, ring: &Ring) {
        let mut copies = lock(&self.copies);
        // Those that are done are forgotten when there is no room, so that there need not be more.
        if copies.len() == copies.capacity() {
            copies.retain(|copy| !ring.is_done(copy.ticket));
        }
        copies.push(Earlier { ticket, priority, direction });
        self.note(&copies);
    }

    fn note(&self, copies: &[Earlier]) {
        let least = copies.iter().map(|copy| copy.priority.get()).min().unwrap_or(NOBODY);
        self.least.store(least, Ordering::Release);
    }

    /// Whether there may be copies that are less urgent than `priority`. Costs one load.
    pub(crate) fn may_be_below(&self, priority: Priority) -> bool {
        self.least.load(Ordering::Acquire) < priority.get()
    }

    /// The unfinished copies that are less urgent than `priority`, by level and engine.
    pub(crate) fn below(&self, priority: Priority, ring: &Ring) -> Vec<Dependency> {
        if !self.may_be_below(priority) {
            return Vec::new();
        }
        let mut copies = lock(&self.copies);
        copies.retain(|copy| !ring.is_done(copy.ticket));
        self.note(&copies);
        let mut below: Vec<Dependency> = Vec::new();
        for copy in copies.iter().filter(|copy| copy.priority < priority) {
            let same = |known: &&mut Dependency| (known.priority, known.direction) == (copy.priority, copy.direction);
            match below.iter_mut().find(same) {
                Some(known) => known.tickets.push(copy.ticket),
                None => {
                    let (priority, direction) = (copy.priority, copy.direction);
                    below.push(Dependency { priority, direction, tickets: vec![copy.ticket] });
                }
            }
        }
        below
    }

    /// Takes over what `other` comes after. Each copy is kept once: streams that wait for each other in turn would
    /// otherwise double their lists every time.
    pub(crate) fn inherit(&self, other: &Ahead, ring: &Ring) {
        let theirs = lock(&other.copies).clone();
        let mut copies = lock(&self.copies);
        copies.extend(theirs);
        copies.retain(|copy| !ring.is_done(copy.ticket));
        copies.sort_unstable();
        copies.dedup();
        self.note(&copies);
    }

    /// Forgets all of them.
    pub(crate) fn clear(&self) {
        let mut copies = lock(&self.copies);
        copies.clear();
        self.note(&copies);
    }

    /// How many copies are remembered.
    #[cfg(test)]
    fn len(&self) -> usize {
        lock(&self.copies).len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring() -> Ring {
        Ring::new(&crate::soft::driver()).unwrap()
    }

    /// Two threads make their streams wait for each other while both copy.
    #[test]
    fn streams_wait_for_each_other_on_threads_of_their_own() {
        let (ring, streams) = (ring(), [Ahead::default(), Ahead::default()]);
        let high = Priority::new(3).unwrap();
        std::thread::scope(|scope| {
            for (index, other) in [(0, 1), (1, 0)] {
                let (ring, own, other): (_, &Ahead, _) = (&ring, &streams[index], &streams[other]);
                scope.spawn(move || {
                    for _ in 0..if cfg!(miri) { 8 } else { 500 } {
                        let ticket = ring.take().unwrap();
                        own.remember(ticket, Priority::LOWEST, Direction::HostToDevice, ring);
                        own.inherit(other, ring);
                        let known = own.below(high, ring);
                        assert!(known[0].tickets.contains(&ticket), "our own copy is on its way");
                        ring.release(ticket);
                    }
                });
            }
        });
        assert!(streams.iter().all(|stream| stream.below(high, &ring).is_empty()), "all are done");
    }

    #[test]
    fn streams_that_wait_for_each_other_keep_every_copy_once() {
        let (ring, one, other) = (ring(), Ahead::default(), Ahead::default());
        let (low, middle, high) = (Priority::LOWEST, Priority::new(2).unwrap(), Priority::new(3).unwrap());
        one.remember(ring.take().unwrap(), low, Direction::HostToDevice, &ring);
        other.remember(ring.take().unwrap(), middle, Direction::DeviceToHost, &ring);
        for _ in 0..20 {
            one.inherit(&other, &ring);
            other.inherit(&one, &ring);
        }
        assert_eq!((one.len(), other.len()), (2, 2));
        let seen = |priority| {
            let below = other.below(priority, &ring);
            let mut seen: Vec<_> = below.iter().map(|known| (known.priority, known.direction)).collect();
            seen.sort_unstable();
            seen
        };
        assert_eq!(seen(high), [(low, Direction::HostToDevice), (middle, Direction::DeviceToHost)]);
        assert_eq!(seen(middle), [(low, Direction::HostToDevice)]);
    }

    #[test]
    fn what_is_done_makes_room() {
        let (ring, ahead) = (ring(), Ahead::default());
        let high = Priority::new(3).unwrap();
        for _ in 0..if cfg!(miri) { 50 } else { 1000 } {
            let ticket = ring.take().unwrap();
            ahead.remember(ticket, high, Direction::HostToDevice, &ring);
            assert!(ahead.below(high, &ring).is_empty(), "it is not less urgent");
            ring.release(ticket);
        }
        assert!(ahead.len() < 10, "{} copies are remembered, and all are done", ahead.len());
    }

    #[test]
    fn what_is_done_is_forgotten() {
        let (ring, one, other) = (ring(), Ahead::default(), Ahead::default());
        let ticket = ring.take().unwrap();
        other.remember(ticket, Priority::LOWEST, Direction::HostToDevice, &ring);
        ring.release(ticket);
        one.inherit(&other, &ring);
        assert_eq!(one.len(), 0);
        assert!(other.below(Priority::new(2).unwrap(), &ring).is_empty());
    }
}
