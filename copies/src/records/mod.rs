//! The records of a context: fences, in-flight copies, bursts, counters and the trace. No code here calls the driver
//! or reads a clock.

mod ahead;
mod burst;
mod counters;
mod fence;
mod hold;
mod in_flight;
mod lifts;
mod standing;
mod statistics;
mod trace;
mod traffic;

use std::sync::{Arc, Mutex};

use hal::Nanos;
use priority::Direction;
use threads::Bell;

use hal::locks::lock;

pub(crate) use ahead::{Ahead, Dependency};
pub(crate) use burst::Burst;
#[cfg(test)]
pub(crate) use burst::CAREFUL_COPIES;
pub(crate) use counters::Counters;
pub(crate) use fence::{Fence, Fences};
pub(crate) use hold::{Hold, Pass};
pub(crate) use in_flight::{InFlight, Raise};
pub use lifts::Lift;
pub(crate) use standing::Standing;
pub use standing::is_any_copy_lost;
pub use statistics::{BOUNDS_US, ClassSnapshot, Latency, Moved, Statistics};
pub(crate) use trace::Trace;
pub use trace::TracedCopy;
pub(crate) use traffic::{BulkSeen, Reservation, Room, Stay, Traffic};

/// The records of one context, which submitters and the watcher share.
pub(crate) struct Records {
    pub(crate) fences: Fences,
    pub(crate) standing: Standing,
    pub(crate) counters: Counters,
    pub(crate) trace: Trace,
    /// By direction.
    traffic: [Traffic; Direction::COUNT],
    /// Copies on their way to the watcher; `None` while there is no watcher.
    flights: Mutex<Option<Vec<InFlight>>>,
    bursts: Mutex<Option<Vec<Arc<Mutex<Burst>>>>>,
    /// Wakes the watcher.
    pub(crate) bell: Bell,
}

impl Records {
    /// With lulls, if there are to be any.
    pub(crate) fn new(
        fences: Fences,
        standing: Standing,
        counters: Counters,
        trace: Trace,
        has_lulls: bool,
    ) -> Records {
        let (flights, bursts, bell) = (Mutex::default(), Mutex::default(), Bell::default());
        let traffic = [(); Direction::COUNT].map(|()| Traffic::new(has_lulls));
        Records { fences, standing, counters, trace, traffic, flights, bursts, bell }
    }

    /// The traffic of an engine.
    #[inline(always)] // each copy looks at it
    pub(crate) fn traffic(&self, direction: Direction) -> &Traffic {
        &self.traffic[direction.index()]
    }

    /// The watcher has started: copies may be handed over.
    pub(crate) fn open(&self) {
        *lock(&self.flights) = Some(Vec::new());
        *lock(&self.bursts) = Some(Vec::new());
    }

    /// The watcher ends. Returns the copies and bursts that it has not taken.
    pub(crate) fn close(&self) -> (Vec<InFlight>, Vec<Arc<Mutex<Burst>>>) {
        let (flights, bursts) = (lock(&self.flights).take(), lock(&self.bursts).take());
        (flights.unwrap_or_default(), bursts.unwrap_or_default())
    }

    /// Gives the watcher all that was handed over since the last time.
    pub(crate) fn hand_out(&self, flight: impl FnMut(InFlight), bursts: &mut Vec<Arc<Mutex<Burst>>>) {
        lock(&self.flights).iter_mut().flat_map(|fresh| fresh.drain(..)).for_each(flight);
        lock(&self.bursts).iter_mut().for_each(|fresh| bursts.append(fresh));
    }

    /// Hands a copy over to the watcher, which sees it complete.
    pub(crate) fn watch(&self, flight: InFlight) {
        let urgent = flight.raise.is_urgent();
        let mut flights = lock(&self.flights);
        let Some(open) = flights.as_mut() else {
            // The layer has closed meanwhile, and no thread would lower for the copy.
            drop(flights);
            return self.abandon(flight);
        };
        open.push(flight);
        drop(flights);
        // An urgent copy does not wait until a thread is awake: bulk that waits at its word keeps the watcher looking.
        if urgent { self.bell.post() } else { self.bell.wake() }
    }

    /// The call of a copy without a fence has returned; see [`Burst::leave`].
    pub(crate) fn leave(&self, burst: &Arc<Mutex<Burst>>, pass: &Pass, failed: bool, now: Nanos) {
        let mut shared = lock(burst);
        let (awaited, newly) = (shared.leave(pass, failed, now), shared.enlist());
        drop(shared);
        if newly {
            self.watch_burst(burst);
        } else if awaited {
            self.bell.post();
        }
    }

    #[cold]
    fn watch_burst(&self, burst: &Arc<Mutex<Burst>>) {
        let mut bursts = lock(&self.bursts);
        let Some(open) = bursts.as_mut() else {
            drop(bursts);
            return lock(burst).abandon(&self.standing);
        };
        open.push(Arc::clone(burst));
        drop(bursts);
        self.bell.post();
    }

    /// Gives up a copy that was not submitted, or whose completion no stream will write: it holds no other copy back. A
    /// marker that is still to be written stays watched, because its fence must not be used again before.
    pub(crate) fn withdraw(&self, mut flight: InFlight) {
        if flight.withdraw(&self.standing, &self.fences, self.traffic(flight.direction)) {
            self.watch(flight);
        }
    }

    /// Gives up a copy that no thread watches any more; see [`InFlight::abandon`].
    pub(crate) fn abandon(&self, flight: InFlight) {
        let traffic = self.traffic(flight.direction);
        flight.abandon(&self.standing, traffic);
    }

    /// Opens all words, and lets no copy raise one, because of failures.
    pub(crate) fn stand_down(&self) {
        self.standing.stand_down();
        self.counters.stand_downs.add(1);
    }

    /// Lets copies raise words again.
    pub(crate) fn resume(&self) {
        self.standing.resume();
        self.counters.resumptions.add(1);
    }

    pub(crate) fn statistics(&self) -> Statistics {
        self.counters.snapshot(self.standing.has_stood_down(), self.standing.lost())
    }
}
