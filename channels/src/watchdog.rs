//! The watchdog's decisions. Pure: its caller passes in the time and the completed copies.
//!
//! Hanging is the one thing that must not happen. A wait on a word can hang when the copy that would lower the word
//! stands behind it in a hardware queue. Clearing the word always drains the queue and is always safe, because the
//! word expresses preference only (facts, section 4). So when a word is up and no pending copy completes for long
//! enough, the watchdog opens every word. When that happens too often, no word is raised for a while (see
//! [`crate::retreat`]).
//!
//! A rescue counts only if the device had the time to make progress. That is so if the host let the watching thread
//! run when it wanted to (see [`crate::attention`]). Otherwise the words are opened just the same, but the rescue
//! does not count.

use hal::Nanos;

/// The limits for rescuing and for giving up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// The time that a word may be up without progress, beyond twice the time that the pending copies need on an idle
    /// engine: beside copies of the other direction a large one may take nearly so long.
    pub rescue_after: Nanos,
    /// After this many rescues the layer stands down to plain copies for a while. Ten rescues a second are forgiven: a
    /// rescue costs less than a millisecond, and standing down ten seconds without priorities.
    pub rescues_max: u32,
}

impl Patience {
    /// 300 us are ten times as long as an urgent copy takes, and short enough that a rescued program is only delayed a
    /// little (facts, section 10).
    pub const DEFAULT: Patience = Patience { rescue_after: Nanos::from_us(300), rescues_max: 100 };
}

impl Default for Patience {
    fn default() -> Patience {
        Patience::DEFAULT
    }
}

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
    /// Whether the host has kept the watching thread waiting: [`crate::attention::Attention::is_starved`].
    pub starved: bool,
}

/// The watchdog's decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing to do.
    Fine,
    /// Open every word now.
    Rescue,
    /// Open every word now, and raise none for a while.
    StandDown,
}

/// The state of the watchdog.
#[derive(Clone, Copy, Debug)]
pub struct Watchdog {
    patience: Patience,
    quiet_since: Nanos,
    raised: bool,
    completed: u64,
    rescues: u32,
    unforgiven: u32,
    forgave_at: Nanos,
}

/// Pending copies may take so many times as long as on an idle engine: beside copies of the other direction they take
/// longer.
const EXPECTED_TIMES: u64 = 2;

/// One rescue is forgiven each time this span has passed. Four cameras beside bulk on an H100 had eight rescues a
/// second for half a minute, and no picture was late. Where work shared queues they had 313 in four seconds
/// (`reports/video`).
const FORGIVE_EVERY: Nanos = Nanos::from_ms(100);

impl Watchdog {
    /// A watchdog that begins to watch at `now`.
    #[must_use]
    pub fn new(patience: Patience, now: Nanos) -> Watchdog {
        Watchdog { patience, quiet_since: now, raised: false, completed: 0, rescues: 0, unforgiven: 0, forgave_at: now }
    }

    /// Looks once and decides.
    pub fn step(&mut self, seen: Observation) -> Verdict {
        // It looks only when woken, so a word that it sees up for the first time may have gone up just now.
        let was_raised = std::mem::replace(&mut self.raised, seen.raised);
        let went_up = seen.raised && !was_raised;
        if !seen.raised || went_up || seen.completed != self.completed {
            self.completed = seen.completed;
            self.quiet_since = seen.now;
            return Verdict::Fine;
        }
        if seen.now < self.deadline(seen.expected) {
            return Verdict::Fine;
        }
        self.rescues = self.rescues.saturating_add(1);
        self.quiet_since = seen.now;
        self.forgive(seen.now);
        self.unforgiven = self.unforgiven.saturating_add(u32::from(!seen.starved));
        if self.unforgiven < self.patience.rescues_max {
            return Verdict::Rescue;
        }
        // A later attempt begins without a record.
        self.unforgiven = 0;
        Verdict::StandDown
    }

    fn forgive(&mut self, now: Nanos) {
        let spans = now.since(self.forgave_at).0 / FORGIVE_EVERY.0;
        self.forgave_at += Nanos(spans * FORGIVE_EVERY.0);
        self.unforgiven = self.unforgiven.saturating_sub(u32::try_from(spans).unwrap_or(u32::MAX));
    }

    /// The latest time of the next look, if nothing changes.
    #[must_use]
    pub fn deadline(&self, expected: Nanos) -> Nanos {
        self.quiet_since + self.patience.rescue_after + Nanos(expected.0.saturating_mul(EXPECTED_TIMES))
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

    fn look(watchdog: &mut Watchdog, us: u64, raised: bool, completed: u64) -> Verdict {
        seen(watchdog, us, raised, completed, false)
    }

    fn seen(watchdog: &mut Watchdog, us: u64, raised: bool, completed: u64, starved: bool) -> Verdict {
        let (now, expected) = (Nanos::from_us(us), Nanos::from_us(50));
        watchdog.step(Observation { now, raised, completed, expected, starved })
    }

    #[test]
    fn rescues_when_raised_without_progress_and_only_then() {
        let mut watchdog = Watchdog::new(Patience::default(), Nanos::ZERO);
        assert_eq!(look(&mut watchdog, 1_000, false, 0), Verdict::Fine, "nothing is up");
        assert_eq!(
            look(&mut watchdog, 10_100, true, 0),
            Verdict::Fine,
            "it has just gone up, however long ago the last look was"
        );
        assert_eq!(look(&mut watchdog, 10_340, true, 1), Verdict::Fine, "something completed");
        assert_eq!(look(&mut watchdog, 10_730, true, 1), Verdict::Fine, "it may take twice its time");
        assert_eq!(look(&mut watchdog, 10_740, true, 1), Verdict::Rescue);
        assert_eq!(look(&mut watchdog, 10_750, true, 1), Verdict::Fine, "it lets the work drain first");
        assert_eq!(watchdog.rescues(), 1);
        assert_eq!(look(&mut watchdog, 11_000, false, 2), Verdict::Fine);
        assert_eq!(
            look(&mut watchdog, 20_000, true, 2),
            Verdict::Fine,
            "up again, and again without a look in between"
        );
    }

    #[test]
    fn forgives_a_stumble_now_and_then() {
        let patience = Patience { rescues_max: 3, ..Patience::default() };
        let mut watchdog = Watchdog::new(patience, Nanos::ZERO);
        look(&mut watchdog, 1_000, true, 0);
        let rare: Vec<_> = (1..=9).map(|n| look(&mut watchdog, n * 60_000, true, 0)).collect();
        assert!(rare[..3].iter().all(|verdict| *verdict == Verdict::Rescue), "{rare:?}");
        assert!(rare.contains(&Verdict::StandDown), "but not more than ten a second for ever: {rare:?}");
        assert!(watchdog.rescues() >= 5, "every one is counted");
    }

    #[test]
    fn stands_down_after_too_many_rescues() {
        let patience = Patience { rescues_max: 3, ..Patience::default() };
        let mut watchdog = Watchdog::new(patience, Nanos::ZERO);
        let verdicts: Vec<_> = (1..=4).map(|n| look(&mut watchdog, n * 1_000, true, 0)).collect();
        assert_eq!(verdicts, [Verdict::Fine, Verdict::Rescue, Verdict::Rescue, Verdict::StandDown]);
    }

    #[test]
    fn rescues_of_a_starved_host_count_for_nothing() {
        let patience = Patience { rescues_max: 3, ..Patience::default() };
        let mut watchdog = Watchdog::new(patience, Nanos::ZERO);
        seen(&mut watchdog, 1_000, true, 0, true);
        let starved = (2..=50).map(|n| seen(&mut watchdog, n * 1_000, true, 0, true));
        assert!(starved.into_iter().all(|verdict| verdict == Verdict::Rescue), "it is rescued all the same");
        let fed = (51..=53).map(|n| look(&mut watchdog, n * 1_000, true, 0));
        assert_eq!(fed.collect::<Vec<_>>(), [Verdict::Rescue, Verdict::Rescue, Verdict::StandDown]);
        assert_eq!(watchdog.rescues(), 52);
        assert_eq!(look(&mut watchdog, 54_000, true, 0), Verdict::Rescue, "and it begins anew");
    }
}
