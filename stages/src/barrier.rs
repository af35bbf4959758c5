//! A barrier outside the ring, where the work of a stage may arrive instead (PL-10).

use std::sync::Arc;

use crate::arrival::Arrival;
use crate::patience::Goal;
use crate::refused::{Error, Refused};
use crate::side::Side;
use crate::waiting::Waiting;
use crate::word::{Look, MEMBERS_MAX, Parity, Word};

/// A barrier of so many arrivals a round. Clones are the same barrier.
#[derive(Clone, Debug)]
pub struct Barrier(Arc<Side>);

/// A round of a barrier, for waits for its end. It must be waited for before the next round ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round(Parity);

impl Barrier {
    /// A barrier of so many members.
    pub fn new(members: u32) -> Result<Barrier, Refused> {
        if members == 0 || members > MEMBERS_MAX {
            return Err(Refused::Members { producers: members, consumers: members });
        }
        Ok(Barrier(Arc::new(Side::new(1, members))))
    }

    /// The round that is open.
    #[must_use]
    pub fn round(&self) -> Round {
        Round(self.0.load(0).parity())
    }

    /// Arrives, without a wait.
    pub fn arrive(&self) -> Result<Round, Refused> {
        self.0.arrive(0, false).map(Round).ok_or(Refused::Quit)
    }

    /// The arrival comes later, with the end of some work.
    pub fn arrive_later(&self) -> (Round, Arrival) {
        (self.round(), Arrival::barrier(&self.0))
    }

    /// Arrives, and takes part in no later round.
    pub fn leave(&self) {
        self.0.leave(0, Word::parity);
    }

    /// Waits for the end of a round. `false` if the deadline passed first.
    pub fn wait(&self, round: Round, waiting: &dyn Waiting, deadline_ns: Option<u64>) -> Result<bool, Error> {
        let goal = Goal { side: &self.0, stage: 0, round: round.0 };
        if goal.look() == Look::Open && !goal.wait(waiting, deadline_ns)? {
            return Ok(false);
        }
        match goal.look() {
            Look::Over { is_spoilt: true } => Err(Error::Spoilt { position: 0 }),
            Look::Deserted => Err(Error::Deserted),
            Look::Over { .. } | Look::Open => Ok(true),
        }
    }
}
