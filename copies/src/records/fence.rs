//! Completion fences: words that a stream writes when a copy has completed, and that the CPU reads without the driver.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use hal::MemOp;
use semaphores::Words;

use hal::locks::lock;

/// The number of fences. While all are in use, further copies go to the driver unchanged.
const SLOTS: u64 = 2048;

/// A word that will read the low half of `generation` when the fence is done.
///
/// A fence may be kept long after it was given back, so its generation must never come again: 53 bits last longer than
/// any machine. The word wraps, but only has to differ from its value before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Fence(u64);

impl Fence {
    /// One that tests of others tell apart.
    #[cfg(test)]
    pub(crate) fn of(number: u32) -> Fence {
        Fence::new(0, number.into())
    }

    fn new(slot: u64, generation: u64) -> Fence {
        Fence(generation * SLOTS + slot)
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

/// All fences of a context: their words, and the free ones.
pub(crate) struct Fences {
    words: Words,
    /// The latest generation of each slot.
    current: Vec<AtomicU64>,
    free: Mutex<Vec<u64>>,
}

impl Fences {
    /// The number of words for all fences, and one for writes that no thread reads.
    pub(crate) const WORDS: u64 = SLOTS + 1;

    pub(crate) fn new(words: Words) -> Fences {
        Fences {
            words,
            current: (0..SLOTS).map(|_| AtomicU64::new(0)).collect(),
            free: Mutex::new((0..SLOTS).rev().collect()),
        }
    }

    /// A fence that no other copy has, or `None` if all are in use.
    pub(crate) fn take(&self) -> Option<Fence> {
        let slot = lock(&self.free).pop()?;
        let current = &self.current[slot as usize];
        let generation = current.load(Ordering::Relaxed) + 1;
        current.store(generation, Ordering::Release);
        Some(Fence::new(slot, generation))
    }

    /// Makes `generation` the next one. No fence is in use.
    pub(crate) fn skip_to(&self, generation: u64) {
        for (slot, current) in (0..).zip(&self.current) {
            self.words.store(slot, generation as u32);
            current.store(generation, Ordering::Release);
        }
    }

    /// Gives back a fence whose write has been seen, or was never submitted.
    pub(crate) fn release(&self, fence: Fence) {
        self.complete(fence);
        lock(&self.free).push(fence.slot());
    }

    /// Whether the fence is done. Stays true after it was given back.
    pub(crate) fn is_done(&self, fence: Fence) -> bool {
        self.words.load(fence.slot()) == fence.word()
            || self.current[fence.slot() as usize].load(Ordering::Acquire) != fence.generation()
    }

    /// Makes a fence done that no stream will write.
    pub(crate) fn complete(&self, fence: Fence) {
        self.words.store(fence.slot(), fence.word());
    }

    /// A write that no thread reads.
    pub(crate) fn write_nothing(&self) -> MemOp {
        MemOp::write32(self.words.host_address(SLOTS), 0)
    }

    /// The operation that makes the fence done.
    pub(crate) fn write(&self, fence: Fence) -> MemOp {
        MemOp::write32(self.words.host_address(fence.slot()), fence.word())
    }

    /// The number of fences in use.
    pub(crate) fn outstanding(&self) -> usize {
        SLOTS as usize - lock(&self.free).len()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::*;

    #[test]
    fn a_fence_that_is_kept_stays_done() {
        let fences = crate::soft::fences(&crate::soft::driver());
        let kept = fences.take().unwrap();
        fences.release(kept);
        fences.skip_to(u64::from(u32::MAX) + 1);
        let next = fences.take().unwrap();
        assert_eq!((next.slot(), next.word()), (kept.slot(), kept.word()), "the slot has come round");
        assert!(fences.is_done(kept) && !fences.is_done(next));
        fences.release(next);
    }

    /// Two threads use the fences of one slot in turn, while a third watches each of them for longer than it is in
    /// use.
    #[test]
    fn a_fence_has_one_holder_and_stays_done() {
        let fences = crate::soft::fences(&crate::soft::driver());
        let holders: Vec<AtomicU32> = (0..SLOTS).map(|_| AtomicU32::new(0)).collect();
        let (to_watcher, watched) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            for by_release in [true, false] {
                let (fences, holders, to_watcher) = (&fences, &holders, to_watcher.clone());
                scope.spawn(move || {
                    for _ in 0..if cfg!(miri) { 12 } else { 2000 } {
                        let fence = fences.take().unwrap();
                        let holder = &holders[fence.slot() as usize];
                        assert_eq!(holder.fetch_add(1, Ordering::Relaxed), 0, "{fence:?} is out already");
                        assert!(!fences.is_done(fence), "{fence:?} has not happened");
                        to_watcher.send(fence).unwrap();
                        if !by_release {
                            fences.complete(fence);
                            assert!(fences.is_done(fence));
                        }
                        holder.fetch_sub(1, Ordering::Relaxed);
                        fences.release(fence);
                        assert!(fences.is_done(fence), "{fence:?} has happened, although its slot has another holder");
                    }
                });
            }
            drop(to_watcher);
            for fence in watched {
                while !fences.is_done(fence) {
                    std::thread::yield_now();
                }
                assert!(fences.is_done(fence), "a fence that is done stays done");
            }
        });
        assert_eq!(fences.outstanding(), 0);
    }
}
