//! The unfinished copies of the layer that the next copy of a stream comes after.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering};

use priority::{Direction, Priority};
use semaphores::Boost;

use crate::records::fence::{Fence, Fences};
use crate::records::standing::Standing;
use hal::locks::lock;

/// Unfinished copies of one priority and engine that later copies of a stream come after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    pub(crate) priority: Priority,
    pub(crate) direction: Direction,
    /// The dependency ends when all of these are done.
    pub(crate) fences: Vec<Fence>,
    /// The boosts that let these copies pass like the copy that depends on them. The boosts end with them, because
    /// later copies have no claim to them.
    pub(crate) boosts: Vec<Boost>,
}

impl Dependency {
    pub(super) fn end_boosts(&mut self, standing: &Standing) {
        self.boosts.drain(..).for_each(|boost| standing.bank(self.direction).unboost(boost));
    }
}

/// The copies in flight that later work of a stream comes after: its own, and those of streams that it has waited for.
#[derive(Debug)]
pub(crate) struct Ahead {
    copies: Mutex<Vec<Dependency>>,
    /// The least urgent of their priorities, changed under their lock. Most streams copy with one priority: no copy
    /// there depends on one that it could boost, and one load shows that.
    least: AtomicU8,
}

/// The value without copies.
const NONE: u8 = u8::MAX;

impl Default for Ahead {
    fn default() -> Ahead {
        Ahead { copies: Mutex::default(), least: AtomicU8::new(NONE) }
    }
}

impl Ahead {
    /// Remembers a copy that all later work of the stream comes after.
    pub(crate) fn remember(&self, fence: Fence, priority: Priority, direction: Direction, fences: &Fences) {
        let mut copies = lock(&self.copies);
        let known = group(&mut copies, priority, direction);
        // Completed copies are forgotten when the room is used up, so that more is rarely needed.
        if known.len() == known.capacity() {
            known.retain(|fence| !fences.is_done(*fence));
        }
        known.push(fence);
        self.note(&copies);
    }

    fn note(&self, copies: &[Dependency]) {
        let least = copies.iter().map(|known| known.priority.get()).min().unwrap_or(NONE);
        self.least.store(least, Ordering::Release);
    }

    fn forget_done(&self, copies: &mut Vec<Dependency>, fences: &Fences) {
        copies.retain_mut(|known| {
            known.fences.retain(|fence| !fences.is_done(*fence));
            !known.fences.is_empty()
        });
        self.note(copies);
    }

    /// Whether there may be less urgent copies than `priority`. Costs one load.
    pub(crate) fn may_be_below(&self, priority: Priority) -> bool {
        self.least.load(Ordering::Acquire) < priority.get()
    }

    /// The unfinished copies that are less urgent than `priority`, by priority and engine.
    pub(crate) fn below(&self, priority: Priority, fences: &Fences) -> Vec<Dependency> {
        if !self.may_be_below(priority) {
            return Vec::new();
        }
        let mut copies = lock(&self.copies);
        self.forget_done(&mut copies, fences);
        copies.iter().filter(|known| known.priority < priority).cloned().collect()
    }

    /// Takes over the copies that `other` comes after. Each copy is kept once: streams that wait for each other in turn
    /// would otherwise double their lists each time.
    pub(crate) fn inherit(&self, other: &Ahead, fences: &Fences) {
        let theirs = lock(&other.copies).clone();
        let mut copies = lock(&self.copies);
        for Dependency { priority, direction, fences, .. } in theirs {
            let known = group(&mut copies, priority, direction);
            known.extend(fences);
            known.sort_unstable();
            known.dedup();
        }
        self.forget_done(&mut copies, fences);
    }

    pub(crate) fn clear(&self) {
        let mut copies = lock(&self.copies);
        copies.clear();
        self.note(&copies);
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        lock(&self.copies).iter().map(|known| known.fences.len()).sum()
    }
}

/// The fences of one priority and engine.
fn group(copies: &mut Vec<Dependency>, priority: Priority, direction: Direction) -> &mut Vec<Fence> {
    let same = |known: &Dependency| (known.priority, known.direction) == (priority, direction);
    let place = copies.iter().position(same).unwrap_or_else(|| {
        copies.push(Dependency { priority, direction, fences: Vec::new(), boosts: Vec::new() });
        copies.len() - 1
    });
    &mut copies[place].fences
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fences() -> Fences {
        crate::soft::fences(&crate::soft::driver())
    }

    /// Two threads make their streams wait for each other while both copy.
    #[test]
    fn streams_wait_for_each_other_on_threads_of_their_own() {
        let (fences, streams) = (fences(), [Ahead::default(), Ahead::default()]);
        let high = Priority::new(3).unwrap();
        std::thread::scope(|scope| {
            for (index, other) in [(0, 1), (1, 0)] {
                let (fences, own, other): (_, &Ahead, _) = (&fences, &streams[index], &streams[other]);
                scope.spawn(move || {
                    for _ in 0..if cfg!(miri) { 8 } else { 500 } {
                        let fence = fences.take().unwrap();
                        own.remember(fence, Priority::LOWEST, Direction::HostToDevice, fences);
                        own.inherit(other, fences);
                        let known = own.below(high, fences);
                        assert!(known[0].fences.contains(&fence), "our own copy is on its way");
                        fences.release(fence);
                    }
                });
            }
        });
        assert!(streams.iter().all(|stream| stream.below(high, &fences).is_empty()), "all are done");
    }

    #[test]
    fn streams_that_wait_for_each_other_keep_every_copy_once() {
        let (fences, one, other) = (fences(), Ahead::default(), Ahead::default());
        let (low, middle, high) = (Priority::LOWEST, Priority::new(2).unwrap(), Priority::new(3).unwrap());
        one.remember(fences.take().unwrap(), low, Direction::HostToDevice, &fences);
        other.remember(fences.take().unwrap(), middle, Direction::DeviceToHost, &fences);
        for _ in 0..20 {
            one.inherit(&other, &fences);
            other.inherit(&one, &fences);
        }
        assert_eq!((one.len(), other.len()), (2, 2));
        let seen = |priority| {
            let below = other.below(priority, &fences);
            let mut seen: Vec<_> = below.iter().map(|known| (known.priority, known.direction)).collect();
            seen.sort_unstable();
            seen
        };
        assert_eq!(seen(high), [(low, Direction::HostToDevice), (middle, Direction::DeviceToHost)]);
        assert_eq!(seen(middle), [(low, Direction::HostToDevice)]);
    }

    #[test]
    fn completed_copies_make_room() {
        let (fences, ahead) = (fences(), Ahead::default());
        let high = Priority::new(3).unwrap();
        for _ in 0..if cfg!(miri) { 50 } else { 1000 } {
            let fence = fences.take().unwrap();
            ahead.remember(fence, high, Direction::HostToDevice, &fences);
            assert!(ahead.below(high, &fences).is_empty(), "it is not less urgent");
            fences.release(fence);
        }
        assert!(ahead.len() < 10, "{} copies are remembered, and all are done", ahead.len());
    }

    #[test]
    fn completed_copies_are_forgotten() {
        let (fences, one, other) = (fences(), Ahead::default(), Ahead::default());
        let fence = fences.take().unwrap();
        other.remember(fence, Priority::LOWEST, Direction::HostToDevice, &fences);
        fences.release(fence);
        one.inherit(&other, &fences);
        assert_eq!(one.len(), 0);
        assert!(other.below(Priority::new(2).unwrap(), &fences).is_empty());
    }
}
