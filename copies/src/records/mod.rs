//! What is pending in a context and what became of it: tickets, copies on their way, bursts, counters, the trace.
//! Nothing here calls the driver or reads a clock.

mod ahead;
mod burst;
mod census;
mod counters;
mod flight;
mod hold;
mod standing;
mod statistics;
mod ticket;
mod trace;

use std::sync::{Arc, Mutex};

use hal::Nanos;

use crate::bell::Bell;
use hal::locks::lock;

pub(crate) use ahead::{Ahead, Dependency};
pub(crate) use burst::Burst;
#[cfg(test)]
pub(crate) use burst::CAREFUL_COPIES;
pub(crate) use census::Census;
pub(crate) use counters::Counters;
pub(crate) use flight::{Flight, Raise};
pub(crate) use hold::{Hold, Pass};
pub use standing::is_any_copy_lost;
pub(crate) use standing::{Standing, index};
pub use statistics::{ClassSnapshot, Latency, Statistics};
pub(crate) use ticket::{Ticket, Tickets};
pub(crate) use trace::Trace;
pub use trace::TracedCopy;

/// The records of one context, which submitters and the watcher share.
pub(crate) struct Records {
    pub(crate) tickets: Tickets,
    pub(crate) standing: Standing,
    pub(crate) counters: Counters,
    pub(crate) trace: Trace,
    /// Copies on their way to the watcher; none is taken while there is no watcher.
    flights: Mutex<Option<Vec<Flight>>>,
    bursts: Mutex<Option<Vec<Arc<Mutex<Burst>>>>>,
    /// Wakes the watcher.
    pub(crate) bell: Bell,
}

impl Records {
    pub(crate) fn new(tickets: Tickets, standing: Standing, counters: Counters, trace: Trace) -> Records {
        let (flights, bursts, bell) = (Mutex::default(), Mutex::default(), Bell::default());
        Records { tickets, standing, counters, trace, flights, bursts, bell }
    }

    /// There is a watcher: copies may be handed over.
    pub(crate) fn open(&self) {
        *lock(&self.flights) = Some(Vec::new());
        *lock(&self.bursts) = Some(Vec::new());
    }

    /// There is no watcher any more. Returns what it has not taken over.
    pub(crate) fn close(&self) -> (Vec<Flight>, Vec<Arc<Mutex<Burst>>>) {
        let (flights, bursts) = (lock(&self.flights).take(), lock(&self.bursts).take());
        (flights.unwrap_or_default(), bursts.unwrap_or_default())
    }

    /// Gives the watcher what has been handed over since the last time.
    pub(crate) fn hand_out(&self, flight: impl FnMut(Flight), bursts: &mut Vec<Arc<Mutex<Burst>>>) {
        lock(&self.flights).iter_mut().flat_map(|fresh| fresh.drain(..)).for_each(flight);
        lock(&self.bursts).iter_mut().for_each(|fresh| bursts.append(fresh));
    }

    /// Hands a copy over to be watched until it has completed.
    pub(crate) fn watch(&self, flight: Flight) {
        let urgent = flight.raise.is_urgent();
        let mut flights = lock(&self.flights);
        let Some(open) = flights.as_mut() else {
            // The layer has been closed meanwhile, and no thread would lower for it any more.
            drop(flights);
            return flight.abandon(&self.standing);
        };
        open.push(flight);
        drop(flights);
        // An urgent copy does not wait for a thread to be woken: bulk that its word may hold up keeps the watcher
        // looking.
        if urgent { self.bell.post() } else { self.bell.wake() }
    }

    /// The call of a copy without a ticket has returned; see [`Burst::leave`].
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

    /// The copy was not submitted, or nothing will ever say that it has completed: it holds no others back. A marker
    /// that will still be written stays watched, because its ticket must not be used again before.
    pub(crate) fn withdraw(&self, mut flight: Flight) {
        if flight.withdraw(&self.standing, &self.tickets) {
            self.watch(flight);
        }
    }

    /// Raises no word any more because of failures, and opens those that are up.
    pub(crate) fn stand_down(&self) {
        self.standing.stand_down();
        self.counters.stood_down();
    }

    /// Words are raised again.
    pub(crate) fn resume(&self) {
        self.standing.resume();
        self.counters.resumed();
    }

    /// What happened so far.
    pub(crate) fn statistics(&self) -> Statistics {
        self.counters.snapshot(self.standing.has_stood_down(), self.standing.lost())
    }
}
