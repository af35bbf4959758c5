//! Arrivals that are due later: the work of a member that ends on another thread or on a device.

use std::sync::Arc;

use crate::ring::Ring;
use crate::side::Side;

/// Where it arrives.
#[derive(Debug)]
enum At {
    Produced(Arc<Ring>, u8),
    Consumed(Arc<Ring>, u8),
    Barrier(Arc<Side>),
}

/// An arrival that is owed. Dropping it without [`Arrival::arrive`] says that the work has failed: no peer waits for an
/// arrival that is lost.
#[derive(Debug)]
#[must_use = "dropping it says that the work has failed"]
pub struct Arrival {
    at: At,
    is_spoilt: bool,
}

impl Arrival {
    pub(crate) fn produced(ring: &Arc<Ring>, stage: u8) -> Arrival {
        ring.owe();
        Arrival { at: At::Produced(Arc::clone(ring), stage), is_spoilt: true }
    }

    pub(crate) fn consumed(ring: &Arc<Ring>, stage: u8) -> Arrival {
        ring.owe();
        Arrival { at: At::Consumed(Arc::clone(ring), stage), is_spoilt: true }
    }

    pub(crate) fn barrier(side: &Arc<Side>) -> Arrival {
        Arrival { at: At::Barrier(Arc::clone(side)), is_spoilt: true }
    }

    /// The work is done.
    pub fn arrive(mut self) {
        self.is_spoilt = false;
    }

    /// The work has failed: the peers get an error for this stage.
    pub fn fail(self) {}
}

impl Drop for Arrival {
    fn drop(&mut self) {
        let arrived = match &self.at {
            At::Produced(ring, stage) => ring.produced.arrive(*stage, self.is_spoilt),
            At::Consumed(ring, stage) => ring.consumed.arrive(*stage, self.is_spoilt),
            At::Barrier(side) => side.arrive(0, self.is_spoilt),
        };
        debug_assert!(arrived.is_some(), "it is owed once");
        if let At::Produced(ring, _) | At::Consumed(ring, _) = &self.at {
            ring.leave();
        }
    }
}
