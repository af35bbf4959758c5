//! What the watcher knows of one engine.

use std::sync::Arc;

use channels::share::Share;
use channels::watchdog::{Observation, Watchdog};
use hal::Nanos;
use priority::{Direction, Priority};
use semaphores::{Bank, Layout};

use crate::records::{BulkSeen, InFlight, Records, Standing};
use options::Options;

/// An engine, and the copies on their way there.
pub(super) struct EngineWatch {
    pub(super) direction: Direction,
    pub(super) bank: Arc<Bank>,
    pub(super) flights: Vec<InFlight>,
    pub(super) completed: u64,
    bulk: BulkSeen,
    watchdog: Watchdog,
    /// The same for words at which no copy waits, with more patience: it opens them quietly. The copies that raised
    /// them will never complete.
    stale: Watchdog,
    /// For each priority that may have to wait: its share of the engine, and whether it may pass now.
    shares: Vec<(Priority, Share, bool)>,
    /// The time that an urgent copy may take beyond that of all pending copies on the engine, before it is doubted:
    /// twice the time that bulk may keep the engine, and a delay of the host.
    grace: Nanos,
    chunk_max: Nanos,
}

impl EngineWatch {
    pub(super) fn new(direction: Direction, bank: &Arc<Bank>, options: &Options, now: Nanos) -> EngineWatch {
        let priorities = bank.priorities();
        let waiting = priorities.iter().filter(|priority| *priority < priorities.highest());
        EngineWatch {
            direction,
            bank: Arc::clone(bank),
            flights: Vec::new(),
            completed: 0,
            bulk: BulkSeen::default(),
            watchdog: Watchdog::new(options.rescue_after, now),
            stale: Watchdog::new(patience_with_the_stale(options.rescue_after), now),
            shares: waiting.map(|level| (level, Share::new(options.profile.share, now), false)).collect(),
            grace: grace(options.profile.chunk_max),
            chunk_max: options.profile.chunk_max,
        }
    }

    /// Whether an urgent copy is on its way here.
    pub(super) fn is_urgent(&self) -> bool {
        self.bank.is_raised() || self.flights.iter().any(|flight| flight.raise.is_urgent())
    }

    /// The time until the urgent copies here are complete. `in_bursts` is that of the copies without fences, by
    /// engine.
    fn expected(&self, in_bursts: [Nanos; Direction::COUNT]) -> Nanos {
        let pending = self.flights.iter().filter(|flight| flight.is_pending());
        pending.fold(in_bursts[self.direction.index()], |sum, flight| sum + flight.expected)
    }

    /// The time of the next decision, if nothing changes before.
    pub(super) fn deadline(&self, in_bursts: [Nanos; Direction::COUNT]) -> Nanos {
        let expected = self.expected(in_bursts);
        let doubts = self.flights.iter().map(|flight| flight.doubt_at(expected, self.grace));
        let doubt = doubts.fold(self.lull_at(), Nanos::min);
        if !self.bank.is_raised() && !self.shares.iter().any(|(_, _, exempt)| *exempt) {
            return doubt;
        }
        let shares = self.shares.iter().map(|(_, share, _)| share.deadline());
        shares.fold(self.watchdog.deadline(expected).min(doubt), Nanos::min)
    }

    /// Whether a copy is on its way here that urgent ones have to pass.
    fn has_bulk(&self) -> bool {
        self.flights.iter().any(|flight| flight.is_bulk)
    }

    /// Lets a lull begin if no bulk has come or been in flight for a while.
    pub(super) fn keep_lull(&mut self, records: &Records, now: Nanos) {
        self.bulk = records.traffic(self.direction).keep_lull(self.bulk, self.has_bulk(), now);
    }

    /// The time at which a lull may begin.
    fn lull_at(&self) -> Nanos {
        if self.has_bulk() { Nanos::MAX } else { self.bulk.lull_at() }
    }

    /// Ends the copies that have completed.
    pub(super) fn land(&mut self, records: &Records, now: Nanos) {
        let traffic = records.traffic(self.direction);
        self.grace = grace(self.chunk_max.max(traffic.longest_stated()));
        for flight in &mut self.flights {
            if flight.land(&records.standing, &records.fences, traffic) {
                self.completed += 1;
                records.counters.completed(flight.priority, now.since(flight.began));
                records.trace.landed(flight.landing, now);
            }
        }
        self.flights.retain(|flight| !flight.is_over());
    }

    /// Lowers the words of copies that were not schedulable.
    pub(super) fn doubt(&mut self, standing: &Standing, in_bursts: [Nanos; Direction::COUNT], now: Nanos) {
        let (expected, grace) = (self.expected(in_bursts), self.grace);
        let late = self.flights.iter_mut().filter(|flight| flight.doubt_at(expected, grace) <= now);
        late.for_each(|flight| flight.doubt(standing));
    }

    /// Lets priorities that have waited for too long pass for a while.
    pub(super) fn keep_share(&mut self, now: Nanos) {
        for (level, share, was_exempt) in &mut self.shares {
            // The watcher reads the word instead of the count: it looks all the time, and the ledger's lock is for
            // submitting threads.
            let exempt = share.step(now, self.bank.gate_word(*level) != 0);
            if exempt != *was_exempt {
                *was_exempt = exempt;
                self.bank.set_exempt(*level, exempt);
            }
        }
    }

    /// Rescues copies that wait at a raised word for too long. A word at which none waits does no harm: an urgent copy
    /// may take long for other reasons. Returns whether it did.
    pub(super) fn rescue(&mut self, standing: &Standing, in_bursts: [Nanos; Direction::COUNT], now: Nanos) -> bool {
        let (raised, expected, completed) = (self.bank.is_raised(), self.expected(in_bursts), self.completed);
        let seen = Observation { now, raised, completed, expected };
        if self.stale.step(seen) {
            self.bank.open_all();
        }
        let raised = self.flights.iter().any(|flight| flight.is_held(standing));
        let is_rescue = self.watchdog.step(Observation { raised, ..seen });
        if is_rescue {
            self.bank.open_all();
        }
        is_rescue
    }

    /// The number of rescues here so far.
    pub(super) fn rescues(&self) -> u32 {
        self.watchdog.rescues()
    }
}

/// The grace where bulk may keep the engine for so long.
fn grace(stay: Nanos) -> Nanos {
    Nanos::from_us(25) + stay + stay
}

/// The patience with words at which no copy waits: they do no harm until one comes.
fn patience_with_the_stale(patience: Nanos) -> Nanos {
    Nanos(patience.0.saturating_mul(20))
}
