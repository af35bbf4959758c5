//! The word of one side of a stage: a barrier whose members may leave. `stages/README.md` explains its rules.

use std::fmt;

/// The most members of one side.
pub const MEMBERS_MAX: u32 = 0xffff;

/// Bits 0 to 15: the members that have not arrived in this round. Bits 16 to 31: those that take part in the next.
const EXPECTED: u64 = 1 << 16;
const COUNT: u64 = 0xffff;
/// The parity of the round.
const PARITY: u64 = 1 << 32;
/// A member has arrived in this round, and not only left.
const ARRIVED: u64 = 1 << 33;
/// A thread or a task waits for the end of this round.
const WATCHED: u64 = 1 << 34;
/// A member has arrived with a failure: one bit for the even rounds, and the next one for the odd ones.
const SPOILT: u64 = 1 << 35;

/// Rounds of a stage are told apart by their parity: members are at most one round apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parity(bool);

impl Parity {
    /// That of the round of this number.
    pub fn of(round: u64) -> Parity {
        Parity(round % 2 == 1)
    }

    /// That of the rounds before and after.
    pub fn other(self) -> Parity {
        Parity(!self.0)
    }

    fn spoilt(self) -> u64 {
        if self.0 { SPOILT << 1 } else { SPOILT }
    }
}

/// The state of a round, for members that wait for its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Members have still to arrive.
    Open,
    /// All have arrived.
    Over {
        /// At least one of them with a failure.
        is_spoilt: bool,
    },
    /// All members have left before any arrived: it will never be over.
    Deserted,
}

/// The word of one side of a stage.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Word(u64);

impl Word {
    /// The first round of so many members.
    pub fn new(members: u32) -> Word {
        let members = u64::from(members) & COUNT;
        Word(members * EXPECTED + members)
    }

    pub fn bits(self) -> u64 {
        self.0
    }

    pub fn from_bits(bits: u64) -> Word {
        Word(bits)
    }

    fn pending(self) -> u64 {
        self.0 & COUNT
    }

    fn expected(self) -> u64 {
        (self.0 / EXPECTED) & COUNT
    }

    fn has(self, bit: u64) -> bool {
        self.0 & bit != 0
    }

    /// The parity of the round that is open.
    pub fn parity(self) -> Parity {
        Parity(self.has(PARITY))
    }

    /// The state of the latest round of this parity.
    #[inline]
    pub fn look(self, round: Parity) -> Look {
        if self.parity() != round {
            return Look::Over { is_spoilt: self.has(round.spoilt()) };
        }
        if self.0 & ((COUNT * EXPECTED) | COUNT) == 0 { Look::Deserted } else { Look::Open }
    }

    /// Whether no member takes part in later rounds.
    pub fn is_left(self) -> bool {
        self.expected() == 0
    }

    /// Whether an arrival has to wake the sleepers.
    pub fn is_watched(self) -> bool {
        self.has(WATCHED)
    }

    /// A member arrives. `None` if no arrival is missing.
    #[inline]
    pub fn arrive(self, is_spoilt: bool) -> Option<Word> {
        if self.pending() == 0 {
            return None;
        }
        let spoilt = if is_spoilt { self.parity().spoilt() } else { 0 };
        Some(Word((self.0 | ARRIVED | spoilt) - 1).settled())
    }

    /// A member whose next round here has the parity `next` takes part in that one and later ones no more. Its arrival
    /// in the round before may still be owed. `None` if it is no member.
    pub fn leave(self, next: Parity) -> Option<Word> {
        if self.expected() == 0 {
            return None;
        }
        if self.parity() != next {
            // The round before is still open: the member has its own arrival there.
            return Some(Word(self.0 - EXPECTED));
        }
        (self.pending() != 0).then(|| Word(self.0 - EXPECTED - 1).settled())
    }

    /// The open round is watched.
    pub fn watch(self) -> Word {
        Word(self.0 | WATCHED)
    }

    /// Ends the round if no arrival is missing.
    #[inline]
    fn settled(self) -> Word {
        if self.pending() != 0 {
            return self;
        }
        if !self.has(ARRIVED) {
            // All have left, and nothing is in the stage.
            return Word(self.0 & !WATCHED);
        }
        // All members that could ask about the failure of the round before have done so: they have arrived since.
        let cleared = PARITY | ARRIVED | WATCHED | self.parity().other().spoilt();
        Word(((self.0 & !cleared) | (!self.0 & PARITY)) + self.expected())
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spoilt = [SPOILT, SPOILT << 1].map(|bit| self.has(bit));
        f.debug_struct("Word")
            .field("pending", &self.pending())
            .field("expected", &self.expected())
            .field("odd", &self.has(PARITY))
            .field("arrived", &self.has(ARRIVED))
            .field("watched", &self.has(WATCHED))
            .field("spoilt", &spoilt)
            .finish()
    }
}
