//! One side of all stages: its words, and the sleepers that wait for them.

use std::task::Waker;

use crate::primitive::{AtomicU64, Ordering};
use crate::sleepers::Sleepers;
use crate::word::{Look, Parity, Word};

/// A word with a cache line of its own: its neighbours are written by other threads.
#[derive(Debug)]
#[repr(align(64))]
struct Line(AtomicU64);

/// One side of all stages.
#[derive(Debug)]
pub(crate) struct Side {
    words: Box<[Line]>,
    sleepers: Sleepers,
}

impl Side {
    pub fn new(stages: u8, members: u32) -> Side {
        let words = (0..stages).map(|_| Line(AtomicU64::new(Word::new(members).bits()))).collect();
        Side { words, sleepers: Sleepers::default() }
    }

    /// The first round of so many members, while there are none.
    pub fn begin(&self, members: u32) {
        for line in &self.words {
            line.0.store(Word::new(members).bits(), Ordering::Release);
        }
    }

    #[inline]
    fn word(&self, stage: u8) -> &AtomicU64 {
        &self.words[usize::from(stage)].0
    }

    #[inline]
    pub fn load(&self, stage: u8) -> Word {
        Word::from_bits(self.word(stage).load(Ordering::Acquire))
    }

    #[inline]
    pub fn look(&self, stage: u8, round: Parity) -> Look {
        self.load(stage).look(round)
    }

    /// The same, and `waker` is woken when the answer changes if it is `Open`.
    pub fn look_or_register(&self, stage: u8, round: Parity, waker: &Waker) -> Look {
        let look = self.look(stage, round);
        if look != Look::Open {
            return look;
        }
        // First the sleeper, then the mark: the arrival that takes the mark away finds the sleeper.
        self.sleepers.add(stage, waker);
        let watch = |word: Word| (word.look(round) == Look::Open).then(|| word.watch());
        if self.change(stage, watch).is_some() {
            return Look::Open;
        }
        self.sleepers.remove(stage, waker);
        self.look(stage, round)
    }

    pub fn forget(&self, stage: u8, waker: &Waker) {
        self.sleepers.remove(stage, waker);
    }

    /// A member arrives. Returns the parity of the round, if an arrival was missing there.
    #[inline]
    pub fn arrive(&self, stage: u8, is_spoilt: bool) -> Option<Parity> {
        self.change(stage, |word| word.arrive(is_spoilt)).map(Word::parity)
    }

    /// A member leaves this stage for good: see [`Word::leave`].
    pub fn leave(&self, stage: u8, next: impl Fn(Word) -> Parity) {
        let left = self.change(stage, |word| word.leave(next(word)));
        debug_assert!(left.is_some(), "only members leave, and once");
    }

    /// Changes a word, if `change` has an answer, and wakes the sleepers that wait for that. Returns the word before.
    #[inline]
    fn change(&self, stage: u8, change: impl Fn(Word) -> Option<Word>) -> Option<Word> {
        let word = self.word(stage);
        let mut old = word.load(Ordering::Acquire);
        loop {
            let before = Word::from_bits(old);
            let after = change(before)?;
            match word.compare_exchange_weak(old, after.bits(), Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => {
                    if before.is_watched() && !after.is_watched() {
                        self.sleepers.wake(stage);
                    }
                    return Some(before);
                }
                Err(found) => old = found,
            }
        }
    }
}
