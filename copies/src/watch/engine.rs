//! What the watcher knows of one engine.

use std::sync::Arc;

use channels::share::Share;
use channels::watchdog::{Observation, Patience, Verdict, Watchdog};
use hal::Nanos;
use semaphores::{Bank, Layout};
use terms::Priority;

use crate::options::Options;
use crate::records::{Flight, Records, Standing};

/// An engine, and the copies on their way there.
pub(super) struct EngineWatch {
    /// Its place in every list of engines.
    index: usize,
    pub(super) bank: Arc<Bank>,
    pub(super) flights: Vec<Flight>,
    pub(super) completed: u64,
    watchdog: Watchdog,
    /// The same for words at which no copy stands: opened quietly, and only after a long time. The copies that raised
    /// them will never complete.
    stale: Watchdog,
    /// For each priority that may have to wait: its share of the engine, and whether it is exempt from waiting.
    shares: Vec<(Priority, Share, bool)>,
    /// How long an urgent copy may take beyond what the engine needs for all that is pending, before it is doubted:
    /// what bulk may keep the engine, twice, and a host's hiccup.
    grace: Nanos,
}

impl EngineWatch {
    pub(super) fn new(index: usize, bank: &Arc<Bank>, options: &Options, now: Nanos) -> EngineWatch {
        let priorities = bank.priorities();
        let waiting = priorities.iter().filter(|priority| *priority < priorities.highest());
        EngineWatch {
            index,
            bank: Arc::clone(bank),
            flights: Vec::new(),
            completed: 0,
            watchdog: Watchdog::new(options.patience, now),
            stale: Watchdog::new(patience_with_the_stale(options.patience), now),
            shares: waiting.map(|level| (level, Share::new(options.share, now), false)).collect(),
            grace: Nanos::from_us(25) + options.blocking_max + options.blocking_max,
        }
    }

    /// How long the copies that hold others off here will take yet; `in_bursts`, those without tickets, on each engine.
    fn expected(&self, in_bursts: [Nanos; 2]) -> Nanos {
        let pending = self.flights.iter().filter(|flight| flight.is_pending());
        pending.fold(in_bursts[self.index], |sum, flight| sum + flight.expected)
    }

    /// When a decision is due, if nothing happens before.
    pub(super) fn deadline(&self, in_bursts: [Nanos; 2], rescues: bool) -> Nanos {
        let expected = self.expected(in_bursts);
        let doubts = self.flights.iter().map(|flight| flight.doubt_at(expected, self.grace));
        let doubt = doubts.fold(Nanos::MAX, Nanos::min);
        if !self.bank.is_raised() && !self.shares.iter().any(|(_, _, exempt)| *exempt) {
            return doubt;
        }
        let shares = self.shares.iter().map(|(_, share, _)| share.deadline());
        let rescue = if rescues { self.watchdog.deadline(expected) } else { Nanos::MAX };
        shares.fold(rescue.min(doubt), Nanos::min)
    }

    /// Takes note of the copies that have completed.
    pub(super) fn land(&mut self, records: &Records, now: Nanos) {
        for flight in &mut self.flights {
            if flight.land(&records.standing, &records.tickets) {
                self.completed += 1;
                records.counters.completed(flight.priority, now.since(flight.began));
                records.trace.landed(flight.landing, now);
            }
        }
        self.flights.retain(|flight| !flight.is_over());
    }

    /// Lowers what was raised for copies that were not schedulable after all.
    pub(super) fn doubt(&mut self, standing: &Standing, in_bursts: [Nanos; 2], now: Nanos) {
        let (expected, grace) = (self.expected(in_bursts), self.grace);
        let late = self.flights.iter_mut().filter(|flight| flight.doubt_at(expected, grace) <= now);
        late.for_each(|flight| flight.doubt(standing));
    }

    /// Lets priorities that have waited for too long pass for a while.
    pub(super) fn keep_share(&mut self, now: Nanos) {
        for (level, share, was_exempt) in &mut self.shares {
            // The word and not the count: the watcher looks all the time, and the ledger's lock belongs to submitters.
            let exempt = share.step(now, self.bank.gate_word(*level) != 0);
            if exempt != *was_exempt {
                *was_exempt = exempt;
                self.bank.set_exempt(*level, exempt);
            }
        }
    }

    /// Whether copies that stand at a word that is up have to be rescued. A word at which none stands is no trouble: an
    /// urgent copy may well take long for other reasons.
    pub(super) fn judge(&mut self, standing: &Standing, in_bursts: [Nanos; 2], now: Nanos, starved: bool) -> Verdict {
        let (raised, expected, completed) = (self.bank.is_raised(), self.expected(in_bursts), self.completed);
        let seen = Observation { now, raised, completed, expected, starved };
        if self.stale.step(seen) != Verdict::Fine {
            self.bank.open_all();
        }
        let raised = self.flights.iter().any(|flight| flight.is_held(standing));
        self.watchdog.step(Observation { raised, ..seen })
    }

    /// How often copies here have been rescued so far.
    pub(super) fn rescues(&self) -> u32 {
        self.watchdog.rescues()
    }
}

/// Words at which no copy stands do no harm until one comes.
fn patience_with_the_stale(patience: Patience) -> Patience {
    Patience { rescue_after: Nanos(patience.rescue_after.0.saturating_mul(20)), rescues_max: u32::MAX }
}
