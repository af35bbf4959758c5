//! The position of a member on one side: the next stage, and its round.

use crate::word::Parity;

/// A stage of the FIFO, as a member has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Its number in the ring, from 0 up: the same stage has the same buffer.
    pub index: u8,
    /// How many stages were before it.
    pub position: u64,
}

/// The place of a member on one side.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cursor {
    pub index: u8,
    pub round: Parity,
    pub position: u64,
}

impl Cursor {
    pub fn stage(self) -> Stage {
        Stage { index: self.index, position: self.position }
    }

    /// The next stage of a ring of so many.
    #[inline]
    pub fn next(self, stages: u8) -> Cursor {
        let position = self.position + 1;
        // Not `index + 1`: with 255 stages it would not fit.
        if self.index == stages - 1 {
            Cursor { index: 0, round: self.round.other(), position }
        } else {
            Cursor { index: self.index + 1, round: self.round, position }
        }
    }
}
