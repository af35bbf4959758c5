//! The watchdog's decisions. Pure: its caller passes in the time and the completed copies.
//!
//! A hang must never happen. A wait on a word can hang when the copy that would lower the word is queued behind it in a
//! hardware queue. Clearing the word always drains the queue and is always safe, because the word expresses preference
//! only (facts, section 4). So when a word is up and no pending copy completes for long enough, the watchdog opens
//! every word. If that happens too often, no word is raised for a while (see [`crate::breaker`]).
//!
//! A rescue counts against that limit only if the device had the time to make progress, that is, if the host let the
//! watching thread run when it wanted to (see [`crate::attention`]). Otherwise the words are opened just the same.

use hal::Nanos;

use crate::breaker::Limits;

/// The time that a word may be up without progress, beyond twice the time that the pending copies need on an idle
/// engine. It is ten times as long as an urgent copy takes, and short enough that a rescued program is only delayed a
/// little (facts, section 10).
pub const RESCUE_AFTER: Nanos = Nanos::from_us(300);

/// The rescues that are borne: one costs less than a millisecond, and standing down ten seconds without priorities.
/// Four cameras beside bulk on an H100 had eight rescues a second for half a minute, and no picture was late. Where
/// work shared queues they had 313 in four seconds (`reports/video`).
pub const RESCUES: Limits = Limits { failures_max: 100, forgive_every: Nanos::from_ms(100) };

/// The facts that the watchdog decides on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The time of the look.
    pub now: Nanos,
    /// Whether any word is up.
    pub raised: bool,
    /// The number of pending copies that have completed so far. Only changes matter.
    pub completed: u64,
    /// The time that the pending copies would take on an idle engine.
    pub expected: Nanos,
}

/// The state of the watchdog.
#[derive(Clone, Copy, Debug)]
pub struct Watchdog {
    patience: Nanos,
    quiet_since: Nanos,
    raised: bool,
    completed: u64,
    rescues: u32,
}

/// Pending copies may take so many times as long as on an idle engine: beside copies of the other direction they take
/// longer.
const EXPECTED_TIMES: u64 = 2;

impl Watchdog {
    /// A watchdog that begins to watch at `now`, with this patience beyond the expected time.
    #[must_use]
    pub fn new(patience: Nanos, now: Nanos) -> Watchdog {
        Watchdog { patience, quiet_since: now, raised: false, completed: 0, rescues: 0 }
    }

    /// Looks once. Returns whether every word has to be opened now.
    pub fn step(&mut self, seen: Observation) -> bool {
        // It looks only when woken, so a word that it sees up for the first time may have gone up just now.
        let was_raised = std::mem::replace(&mut self.raised, seen.raised);
        let went_up = seen.raised && !was_raised;
        if !seen.raised || went_up || seen.completed != self.completed {
            self.completed = seen.completed;
            self.quiet_since = seen.now;
            return false;
        }
        if seen.now < self.deadline(seen.expected) {
            return false;
        }
        self.rescues = self.rescues.saturating_add(1);
        self.quiet_since = seen.now;
        true
    }

    /// The latest time of the next look, if nothing changes.
    #[must_use]
    pub fn deadline(&self, expected: Nanos) -> Nanos {
        self.quiet_since + self.patience + Nanos(expected.0.saturating_mul(EXPECTED_TIMES))
    }

    /// The number of rescues so far.
    #[must_use]
    pub fn rescues(&self) -> u32 {
        self.rescues
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rescues_when_raised_without_progress_and_only_then() {
        let mut watchdog = Watchdog::new(RESCUE_AFTER, Nanos::ZERO);
        let mut look = |us, raised, completed| {
            watchdog.step(Observation { now: Nanos::from_us(us), raised, completed, expected: Nanos::from_us(50) })
        };
        assert!(!look(1_000, false, 0), "nothing is up");
        assert!(!look(10_100, true, 0), "it has just gone up, however long ago the last look was");
        assert!(!look(10_340, true, 1), "something completed");
        assert!(!look(10_730, true, 1), "it may take twice its time");
        assert!(look(10_740, true, 1));
        assert!(!look(10_750, true, 1), "it lets the work drain first");
        assert!(!look(11_000, false, 2));
        assert!(!look(20_000, true, 2), "up again, and again without a look in between");
        assert_eq!(watchdog.rescues(), 1);
    }
}
