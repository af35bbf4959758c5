//! In-flight copies that wait at a word, and the lifts of some of them.
//!
//! A copy is found by its fence. It is listed from before its submission until the watcher has seen it complete, and
//! its lift ends then.
//!
//! A copy kernel also checks a word of its own, through which it can be lifted alone. There are few such words. If none
//! is free, and for a copy in a channel, all copies that wait at the word of the same level are lifted. If a submission
//! fails half-way, a kernel may still check a word that belongs to another copy by then, and passes with that copy.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use hal::DevicePtr;
use priority::{Direction, Priority};
use semaphores::{Bank, Boost, LIFTS};

use crate::records::fence::Fence;
use hal::locks::lock;

/// The effect of [`crate::copy::CopyHandle::lift`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Lift {
    /// The copy alone passes as one of that priority, until it has completed.
    Copy,
    /// None: the copy has completed, waits at no word, or passes as one of that priority already.
    Unchanged,
    /// All copies that wait at the same word pass as ones of that priority, until this one has completed.
    Level,
}

/// The copies on their way, by fence.
pub(crate) struct Lifts {
    /// By direction.
    banks: [Arc<Bank>; Direction::COUNT],
    book: Mutex<Book>,
}

#[derive(Debug)]
struct Book {
    /// The number of copies so far.
    begun: u64,
    waiting: BTreeMap<Fence, Waiting>,
    /// The words that no copy has, of H2D and of D2H.
    free: [Vec<u64>; 2],
}

impl Default for Book {
    fn default() -> Book {
        let free = [(); 2].map(|()| (0..LIFTS).rev().collect());
        Book { begun: 0, waiting: BTreeMap::new(), free }
    }
}

impl Book {
    fn free(&mut self, direction: Direction) -> &mut Vec<u64> {
        &mut self.free[usize::from(direction == Direction::DeviceToHost)]
    }
}

#[derive(Debug)]
struct Waiting {
    /// Copies that were submitted later have higher ones.
    number: u64,
    direction: Direction,
    /// The priority that it passes as, without the boosts of others.
    passes_as: Priority,
    level: Priority,
    /// Its own word, if it has one.
    word: Option<u64>,
    boosts: Vec<Boost>,
}

impl Waiting {
    fn lift(&mut self, bank: &Bank, to: Priority) -> Lift {
        if self.passes_as >= to {
            return Lift::Unchanged;
        }
        self.passes_as = to;
        match self.word {
            Some(word) => {
                bank.lift(word, self.level, to);
                Lift::Copy
            }
            None => {
                self.boosts.push(bank.boost(self.level, to));
                Lift::Level
            }
        }
    }
}

impl Lifts {
    pub(super) fn new(banks: [Arc<Bank>; Direction::COUNT]) -> Lifts {
        Lifts { banks, book: Mutex::default() }
    }

    fn bank(&self, direction: Direction) -> &Bank {
        &self.banks[direction.index()]
    }

    /// A copy with that fence is about to be submitted, and will wait at the word of `level`; `by_kernel` tells
    /// whether it can look at a word of its own too. Returns that word.
    pub(crate) fn begin(
        &self,
        fence: Fence,
        direction: Direction,
        level: Priority,
        by_kernel: bool,
    ) -> Option<DevicePtr> {
        let mut book = lock(&self.book);
        book.begun += 1;
        let word = by_kernel.then(|| book.free(direction).pop()).flatten();
        let waiting = Waiting { number: book.begun, direction, passes_as: level, level, word, boosts: Vec::new() };
        book.waiting.insert(fence, waiting);
        word.map(|word| self.bank(direction).lift_address(word))
    }

    /// The priority that the copy passes as, if it waits at a word.
    pub(crate) fn passes_as(&self, fence: Fence) -> Option<Priority> {
        lock(&self.book).waiting.get(&fence).map(|waiting| waiting.passes_as)
    }

    /// Lifts a copy, and those among `ahead` that were submitted before it, because it cannot pass them. Returns the
    /// effect on the copy itself.
    pub(crate) fn lift(&self, fence: Fence, ahead: &[Fence], to: Priority) -> Lift {
        let mut book = lock(&self.book);
        let Some(number) = book.waiting.get(&fence).map(|own| own.number) else { return Lift::Unchanged };
        let mut lift = |fence: &Fence| {
            let waiting = book.waiting.get_mut(fence).filter(|waiting| waiting.number <= number);
            waiting.map_or(Lift::Unchanged, |waiting| waiting.lift(self.bank(waiting.direction), to))
        };
        let effect = lift(&fence);
        for before in ahead {
            lift(before);
        }
        effect
    }

    /// The copy is over, and its lift with it.
    pub(crate) fn end(&self, fence: Fence) {
        let mut book = lock(&self.book);
        let Some(Waiting { direction, boosts, word, .. }) = book.waiting.remove(&fence) else { return };
        if let Some(word) = word {
            // The next copy that has the word begins without a lift.
            self.bank(direction).unlift(word);
            book.free(direction).push(word);
        }
        drop(book);
        boosts.into_iter().for_each(|boost| self.bank(direction).unboost(boost));
    }
}

#[cfg(test)]
mod tests {
    use priority::Priorities;

    use super::*;
    use crate::records::Records;

    fn at(priority: u8) -> Priority {
        Priority::new(priority).unwrap()
    }

    /// Records in which urgent copies are pending on both engines.
    fn records() -> Records {
        let records = crate::soft::records(&crate::soft::driver(), Priorities::new(4).unwrap());
        for bank in records.standing.banks() {
            bank.raise(at(3));
        }
        records
    }

    /// A copy in a channel that is about to wait.
    fn waiting(records: &Records, direction: Direction, level: u8) -> Fence {
        let fence = records.fences.take().unwrap();
        assert_eq!(records.standing.lifts.begin(fence, direction, at(level), false), None);
        fence
    }

    /// The words of levels 1 and 2 on both engines.
    fn words(records: &Records) -> [[u32; 2]; 2] {
        [0, 1].map(|engine| words_of(&records.standing.banks()[engine]))
    }

    fn words_of(bank: &Bank) -> [u32; 2] {
        [1, 2].map(|level| bank.gate_word(at(level)))
    }

    #[test]
    fn a_lift_is_for_the_copy_and_those_before_it() {
        let (records, to_device, to_host) = (records(), Direction::HostToDevice, Direction::DeviceToHost);
        let [before, own] = [1, 2].map(|level| waiting(&records, to_device, level));
        let later = waiting(&records, to_host, 1);
        assert_eq!(words(&records), [[1, 1], [1, 1]]);
        assert_eq!(records.standing.lifts.lift(own, &[before, own, later], at(3)), Lift::Level);
        assert_eq!(words(&records), [[0, 0], [1, 1]], "the later copy is as it was");
        records.standing.lifts.end(own);
        assert_eq!(words(&records), [[0, 1], [1, 1]], "the copy before it is still under way");
        records.standing.lifts.end(before);
        assert_eq!(words(&records), [[1, 1], [1, 1]]);
        assert_eq!(
            records.standing.lifts.lift(own, &[later], at(3)),
            Lift::Unchanged,
            "it is over, and lifts no other"
        );
        assert_eq!(words(&records), [[1, 1], [1, 1]]);
    }

    #[test]
    fn a_higher_lift_adds_to_a_lower_one_and_both_end() {
        let records = records();
        let own = waiting(&records, Direction::HostToDevice, 1);
        let lift = |to| records.standing.lifts.lift(own, &[], at(to));
        assert_eq!([lift(1), lift(2)], [Lift::Unchanged, Lift::Level]);
        assert_eq!(words(&records)[0], [1, 1], "more urgent copies still hold it");
        assert_eq!([lift(3), lift(2), lift(3)], [Lift::Level, Lift::Unchanged, Lift::Unchanged]);
        assert_eq!(words(&records)[0], [0, 1]);
        records.standing.lifts.end(own);
        assert_eq!(words(&records)[0], [1, 1]);
    }

    /// A copy by kernel has a word while there is one. The word reads 0 until that copy is lifted, also if another copy
    /// had it before.
    #[test]
    fn a_word_is_of_one_copy_at_a_time_and_begins_unlifted() {
        let records = records();
        let standing = &records.standing;
        let (bank, direction) = (&standing.banks()[0], Direction::HostToDevice);
        let begin = |fence| standing.lifts.begin(fence, direction, at(1), true);
        let mut copies: Vec<Fence> = (0..=LIFTS).map(|_| records.fences.take().unwrap()).collect();
        let last = copies.pop().unwrap();
        let words: BTreeMap<DevicePtr, Fence> = copies.iter().map(|copy| (begin(*copy).unwrap(), *copy)).collect();
        assert_eq!(words.len(), copies.len(), "each has its own");
        assert_eq!(begin(last), None, "all are in use");
        assert_eq!(standing.lifts.lift(last, &[], at(2)), Lift::Level);
        standing.lifts.end(last);
        let lifted = || (0..LIFTS).filter(|word| bank.is_lifted(*word)).map(|word| words[&bank.lift_address(word)]);
        assert_eq!(standing.lifts.lift(copies[7], &[], at(3)), Lift::Copy);
        assert_eq!(lifted().collect::<Vec<_>>(), [copies[7]]);
        assert_eq!(words_of(bank), [1, 1], "other copies of its level wait");
        assert_eq!(
            [standing.lifts.passes_as(copies[7]), standing.lifts.passes_as(copies[8])],
            [Some(at(3)), Some(at(1))]
        );
        standing.lifts.end(copies[7]);
        let word = begin(last).unwrap();
        assert_eq!((words[&word], lifted().count()), (copies[7], 0), "its word goes to the next");
        let to_host = standing.lifts.begin(copies[7], Direction::DeviceToHost, at(1), true);
        assert!(to_host.is_some_and(|word| !words.contains_key(&word)), "the other engine has its own");
    }
}
