//! The ring of stages: the words of both sides, and whether they are in use.

use std::sync::Arc;

use crate::cursor::Stage;
use crate::primitive::{AtomicU32, Ordering};
use crate::refused::Refused;
use crate::role::Roles;
use crate::side::Side;
use crate::word::{Look, Parity};

/// A FIFO of stages. It can be used again when all its members have quit (PL-01).
#[derive(Debug)]
pub struct Ring {
    pub(crate) stages: u8,
    pub(crate) produced: Side,
    pub(crate) consumed: Side,
    /// Members that have not quit, and arrivals that are owed.
    live: AtomicU32,
}

impl Ring {
    /// A ring of 1 to 255 stages, without members.
    pub fn new(stages: u8) -> Result<Arc<Ring>, Refused> {
        if stages == 0 {
            return Err(Refused::Stages);
        }
        let (produced, consumed) = (Side::new(stages, 0), Side::new(stages, 0));
        Ok(Arc::new(Ring { stages, produced, consumed, live: AtomicU32::new(0) }))
    }

    /// The number of stages.
    #[must_use]
    pub fn stages(&self) -> u8 {
        self.stages
    }

    /// Whether all consumers have released this stage, which a producer has acquired, and none has acquired it for a
    /// later position.
    #[must_use]
    pub fn is_released(&self, stage: Stage) -> bool {
        let round = Parity::of(stage.position / u64::from(self.stages));
        matches!(self.consumed.look(stage.index, round), Look::Over { .. })
    }

    /// The first rounds of these members.
    pub(crate) fn begin(&self, roles: Roles) -> Result<(), Refused> {
        roles.check()?;
        let begun = self.live.compare_exchange(0, roles.all, Ordering::AcqRel, Ordering::Relaxed);
        begun.map_err(|_| Refused::InUse)?;
        self.produced.begin(roles.producers);
        self.consumed.begin(roles.consumers);
        Ok(())
    }

    /// An arrival comes later.
    pub(crate) fn owe(&self) {
        self.live.fetch_add(1, Ordering::Relaxed);
    }

    /// A member quits, or an owed arrival has come. Returns whether the ring is free now.
    pub(crate) fn leave(&self) -> bool {
        self.live.fetch_sub(1, Ordering::AcqRel) == 1
    }
}
