//! A bank: the semaphores of one device and one engine, and the words that publish them.

use std::sync::Arc;

use hal::primitive::{AtomicU64, Mutex, Ordering, lock};
use hal::{DevicePtr, Driver, Result};

use crate::Layout;
use crate::ledger::{Boost, Ledger, Pending};
use crate::words::Words;
use priority::{Priorities, Priority};

/// Publishes the words of a ledger: in mapped memory, or where a test looks at them.
pub trait Publish: Send + Sync {
    /// The word of `level` changed between 0 and 1.
    fn publish(&self, level: Priority, word: u32);
}

/// A ledger behind a lock. Its words are published as they change.
///
/// The words change inside the lock, so that they change in the order in which the ledger does.
pub struct Counts<P> {
    ledger: Mutex<(Ledger, Vec<u32>)>,
    /// A copy of the ledger's epoch, for threads that only ask whether the words have been opened since.
    epoch: AtomicU64,
    words: P,
}

impl<P: Publish> Counts<P> {
    /// Nothing is pending. The words must read 0 already.
    pub fn new(priorities: Priorities, words: P) -> Counts<P> {
        let ledger = (Ledger::new(priorities), vec![0; usize::from(priorities.count())]);
        Counts { ledger: Mutex::new(ledger), epoch: AtomicU64::new(0), words }
    }

    /// The publisher of the words.
    pub fn words(&self) -> &P {
        &self.words
    }

    /// Counts a copy of `priority` as pending. Raise only for schedulable copies: a copy that still waits for earlier
    /// work must not hold others back, least of all the work that it waits for (traps T1, T2).
    pub fn raise(&self, priority: Priority) -> Pending {
        let mut guard = lock(&self.ledger);
        let pending = guard.0.raise(priority);
        // A word only tells 0 from more, so only the first and the last copy of a priority change any word.
        if guard.0.pending_at(priority) == 1 {
            self.publish(&mut guard);
        }
        pending
    }

    /// The copy is no longer pending.
    pub fn lower(&self, pending: Pending) {
        let mut guard = lock(&self.ledger);
        guard.0.lower(pending);
        if guard.0.pending_at(pending.priority()) == 0 {
            self.publish(&mut guard);
        }
    }

    /// Whether the copy still counts: no opening has happened since it was raised.
    #[must_use]
    pub fn is_current(&self, pending: Pending) -> bool {
        self.epoch.load(Ordering::Acquire) == pending.epoch()
    }

    /// Lets waiters of `level` pass as if they had priority `to`, because a copy of that priority depends on one of
    /// them.
    pub fn boost(&self, level: Priority, to: Priority) -> Boost {
        self.change(|ledger| ledger.boost(level, to))
    }

    /// Takes a boost back.
    pub fn unboost(&self, boost: Boost) {
        self.change(|ledger| ledger.unboost(boost));
    }

    /// Lets waiting copies of `level` pass in spite of pending copies, or ends that. This is the starvation bound.
    pub fn set_exempt(&self, level: Priority, exempt: bool) {
        self.change(|ledger| ledger.set_exempt(level, exempt));
    }

    /// Opens everything: no copy is pending any more, and lowers still to come do nothing. Returns how many were
    /// pending. It makes no driver call, only stores.
    pub fn open(&self) -> u32 {
        self.change(|ledger| {
            let pending = ledger.open();
            self.epoch.store(ledger.epoch(), Ordering::Release);
            pending
        })
    }

    /// The number of pending copies of exactly this priority: its semaphore.
    #[must_use]
    pub fn pending_at(&self, priority: Priority) -> u32 {
        lock(&self.ledger).0.pending_at(priority)
    }

    /// The number of pending copies above `priority`.
    #[must_use]
    pub fn pending_above(&self, priority: Priority) -> u32 {
        lock(&self.ledger).0.pending_above(priority)
    }

    fn change<T>(&self, change: impl FnOnce(&mut Ledger) -> T) -> T {
        let mut guard = lock(&self.ledger);
        let result = change(&mut guard.0);
        self.publish(&mut guard);
        result
    }

    fn publish(&self, (ledger, published): &mut (Ledger, Vec<u32>)) {
        for level in ledger.priorities().iter() {
            // Waiters only compare the word with 0, and a store to a line that the device polls is not cheap.
            let (word, seen) = (ledger.word(level).min(1), &mut published[level.index()]);
            if *seen != word {
                *seen = word;
                self.words.publish(level, word);
            }
        }
    }
}

impl Publish for Words {
    fn publish(&self, level: Priority, word: u32) {
        self.store(gate_index(level), word);
    }
}

/// The number of copies of a bank that can be lifted one by one at a time.
pub const LIFTS: u64 = 64;

/// The semaphores of one device and one engine, in memory that the device sees.
pub struct Bank {
    counts: Counts<Words>,
    priorities: Priorities,
}

impl std::ops::Deref for Bank {
    type Target = Counts<Words>;
    fn deref(&self) -> &Counts<Words> {
        &self.counts
    }
}

impl Bank {
    /// Allocates a bank in the current context; all words read 0.
    pub fn new(driver: &Arc<dyn Driver>, priorities: Priorities) -> Result<Bank> {
        let words = Words::new(driver, lift_index(LIFTS))?;
        Ok(Bank { counts: Counts::new(priorities, words), priorities })
    }

    /// The word that waiters of `level` compare with 0: 1 while a more urgent copy is pending, else 0.
    #[must_use]
    pub fn gate_word(&self, level: Priority) -> u32 {
        self.counts.words.load(gate_index(level))
    }

    /// The value of the word that streams write for `priority`.
    #[must_use]
    pub fn stream_word(&self, priority: Priority) -> u32 {
        self.counts.words.load(stream_index(priority))
    }

    /// The word of one waiting copy, by which it is lifted, in host memory: 0, or the distance from the gate word of
    /// its level to that of a higher one, which counts in its place; in units of 4 bytes. There are [`LIFTS`].
    #[must_use]
    pub fn lift_address(&self, copy: u64) -> DevicePtr {
        self.counts.words.host_address(lift_index(copy))
    }

    /// Has the copy with that word, which waits at `level`, wait as if it had priority `to`.
    pub fn lift(&self, copy: u64, level: Priority, to: Priority) {
        let distance_bytes = self.gate_address(to.max(level)).0 - self.gate_address(level).0;
        self.counts.words.store(lift_index(copy), (distance_bytes / 4) as u32);
    }

    /// Whether the copy with that word is lifted.
    #[must_use]
    pub fn is_lifted(&self, copy: u64) -> bool {
        self.counts.words.load(lift_index(copy)) != 0
    }

    /// Takes that back, or prepares the word for another copy.
    pub fn unlift(&self, copy: u64) {
        self.counts.words.store(lift_index(copy), 0);
    }

    /// Whether any word in host memory is up. Reads words only.
    #[must_use]
    pub fn is_raised(&self) -> bool {
        self.priorities.iter().any(|priority| self.gate_word(priority) != 0 || self.stream_word(priority) != 0)
    }

    /// Opens every word in host memory by plain stores, and returns how many copies were pending. The watchdog does
    /// this while all other threads are stuck inside the driver. The CPU cannot reach words in device memory
    /// ([`crate::EmulationKind::Atomics`]), so that emulation must not be used where a hang would matter.
    pub fn open_all(&self) -> u32 {
        let pending = self.open();
        for priority in self.priorities.iter() {
            self.counts.words.store(stream_index(priority), 0);
        }
        pending
    }
}

impl Layout for Bank {
    fn priorities(&self) -> Priorities {
        self.priorities
    }

    /// In host memory.
    fn gate_address(&self, level: Priority) -> DevicePtr {
        self.counts.words.host_address(gate_index(level))
    }

    /// In host memory.
    fn stream_address(&self, priority: Priority) -> DevicePtr {
        self.counts.words.host_address(stream_index(priority))
    }

    /// In device memory.
    fn device_address(&self, priority: Priority) -> DevicePtr {
        self.counts.words.device_address(stream_index(priority))
    }
}

fn gate_index(priority: Priority) -> u64 {
    u64::from(priority.get())
}

fn stream_index(priority: Priority) -> u64 {
    u64::from(Priorities::MAX) + u64::from(priority.get())
}

fn lift_index(copy: u64) -> u64 {
    2 * u64::from(Priorities::MAX) + 2 + copy
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::*;

    const ROUNDS: u32 = if cfg!(miri) { 12 } else { 300 };

    /// The word of the lowest priority, as the device would read it.
    #[derive(Default)]
    struct Word(AtomicU32);

    impl Publish for Word {
        fn publish(&self, level: Priority, word: u32) {
            if level == Priority::LOWEST {
                self.0.store(word, Ordering::Release);
            }
        }
    }

    fn at(priority: u8) -> Priority {
        Priority::new(priority).unwrap()
    }

    fn counts() -> Counts<Word> {
        Counts::new(Priorities::new(3).unwrap(), Word::default())
    }

    fn is_up(counts: &Counts<Word>) -> bool {
        counts.words().0.load(Ordering::Acquire) != 0
    }

    #[test]
    fn a_thread_that_has_raised_finds_the_word_up() {
        let counts = counts();
        std::thread::scope(|scope| {
            for priority in [2, 2, 3] {
                let counts = &counts;
                scope.spawn(move || {
                    for _ in 0..ROUNDS {
                        let pending = counts.raise(at(priority));
                        assert!(is_up(counts), "a copy of priority {priority} is pending");
                        counts.lower(pending);
                    }
                });
            }
        });
        assert!(!is_up(&counts) && counts.pending_above(Priority::LOWEST) == 0);
    }

    /// The epoch is read without the lock: a thread that sees the word go down during its raise finds that it was
    /// opened.
    #[test]
    fn openings_leave_nothing_behind_and_are_seen() {
        let counts = counts();
        std::thread::scope(|scope| {
            let raisers = [2, 3].map(|priority| {
                let counts = &counts;
                scope.spawn(move || {
                    for _ in 0..ROUNDS {
                        let pending = counts.raise(at(priority));
                        while is_up(counts) {
                            std::thread::yield_now();
                        }
                        assert!(!counts.is_current(pending), "the word went down, and it had not been opened");
                        counts.lower(pending);
                    }
                })
            });
            // If one thread has panicked, the other still needs openings.
            while raisers.iter().any(|raiser| !raiser.is_finished()) {
                counts.open();
                std::thread::yield_now();
            }
        });
        assert!(!is_up(&counts) && counts.pending_above(Priority::LOWEST) == 0);
    }
}
