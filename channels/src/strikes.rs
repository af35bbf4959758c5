//! Counts the failures of a feature, and decides when there have been too many in a row to go on with it. Pure.

use hal::Nanos;

use crate::attention::Attention;
use crate::retreat::Retreat;

/// So many strikes in a row are borne; one a second is forgiven.
const STRIKES_MAX: u64 = 3;

/// The failures that are not forgiven yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Strikes {
    count: u64,
    last: Nanos,
    retreat: Retreat,
    /// Whether the host lets the thread look that counts.
    attention: Attention,
}

impl Strikes {
    /// The number of strikes that are not forgiven at `now`.
    #[must_use]
    pub fn unforgiven(&self, now: Nanos) -> u64 {
        self.count.saturating_sub(now.since(self.last).0 / Nanos::from_ms(1_000).0)
    }

    /// The thread looks at `now`; it wanted to look at `wanted`. Returns whether a pause ended just now.
    pub fn note_look(&mut self, now: Nanos, wanted: Nanos) -> bool {
        self.attention.look(now, wanted);
        self.retreat.end_if_over(now)
    }

    /// The end of the pause, if there is one.
    #[must_use]
    pub fn pause_until(&self) -> Option<Nanos> {
        self.retreat.until()
    }

    /// Adds a strike; on a starved host it counts for nothing. Returns how many are unforgiven, if those are too many.
    pub fn add(&mut self, now: Nanos) -> Option<u64> {
        if self.attention.is_starved(now) {
            return None;
        }
        (self.count, self.last) = (self.unforgiven(now) + 1, now);
        (self.count > STRIKES_MAX).then_some(self.count)
    }

    /// Begins a pause. Returns how long it lasts.
    pub fn pause(&mut self, now: Nanos) -> Nanos {
        self.retreat.begin(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_strike_a_second_is_forgiven() {
        let (mut strikes, second) = (Strikes::default(), Nanos::from_ms(1_000));
        let at = |tenth: u64| Nanos(second.0 * tenth / 10);
        assert_eq!([10, 11, 12].map(|tenth| strikes.add(at(tenth))), [None; 3]);
        assert_eq!(strikes.unforgiven(at(12)), 3);
        assert_eq!(strikes.add(at(13)), Some(4));
        assert_eq!(strikes.unforgiven(at(33)), 2);
        assert_eq!(strikes.add(at(33)), None);
    }

    #[test]
    fn a_pause_ends() {
        let mut strikes = Strikes::default();
        let until = Nanos(5) + strikes.pause(Nanos(5));
        assert_eq!(strikes.pause_until(), Some(until));
        assert!(!strikes.note_look(Nanos(6), Nanos(6)) && strikes.note_look(until, until));
        assert_eq!(strikes.pause_until(), None);
    }

    #[test]
    fn a_strike_on_a_starved_host_counts_for_nothing() {
        let mut strikes = Strikes::default();
        strikes.note_look(Nanos::from_ms(90), Nanos::ZERO);
        (0..9).for_each(|_| assert_eq!(strikes.add(Nanos::from_ms(90)), None));
        assert_eq!(strikes.unforgiven(Nanos::from_ms(90)), 0);
    }
}
