//! Decides how long to do without a feature that has failed too often, before it is tried again. Pure.

use hal::Nanos;

/// The first pause.
const FIRST: Nanos = Nanos::from_ms(10_000);

/// The longest pause.
const LONGEST: Nanos = Nanos::from_ms(3_600_000);

/// After this many times the last pause without trouble, the next pause is a first one again.
const FORGOTTEN_AFTER: u64 = 10;

/// A pause that doubles each time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Retreat {
    pause: Nanos,
    until: Option<Nanos>,
    ended_at: Nanos,
}

impl Retreat {
    /// Begins a pause, because the feature has failed too often. Returns how long it lasts.
    pub fn begin(&mut self, now: Nanos) -> Nanos {
        let was_well_for = now.since(self.ended_at);
        let forgotten = was_well_for.0 / FORGOTTEN_AFTER > self.pause.0;
        self.pause = match self.pause {
            Nanos::ZERO => FIRST,
            _ if forgotten => FIRST,
            pause => (pause + pause).min(LONGEST),
        };
        self.until = Some(now + self.pause);
        self.pause
    }

    /// Ends the pause if its time is over. Returns whether it ended just now.
    pub fn end_if_over(&mut self, now: Nanos) -> bool {
        let is_over = self.until.is_some_and(|until| now >= until);
        if is_over {
            (self.until, self.ended_at) = (None, now);
        }
        is_over
    }

    /// The end of the pause, if there is one.
    #[must_use]
    pub fn until(&self) -> Option<Nanos> {
        self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Nanos {
        Nanos::from_ms(1_000 * seconds)
    }

    #[test]
    fn each_pause_is_longer_and_ends_once() {
        let (mut retreat, mut now) = (Retreat::default(), seconds(1_000));
        assert!(!retreat.end_if_over(now) && retreat.until().is_none(), "nothing has gone wrong");
        for pause in [10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 3_600, 3_600] {
            assert_eq!(retreat.begin(now), seconds(pause));
            assert_eq!(retreat.until(), Some(now + seconds(pause)));
            assert!(!retreat.end_if_over(now + seconds(pause - 1)));
            now += seconds(pause);
            assert!(retreat.end_if_over(now) && !retreat.end_if_over(now));
            now += seconds(5);
        }
    }

    #[test]
    fn after_long_success_the_first_pause_is_short_again() {
        let mut retreat = Retreat::default();
        assert_eq!(retreat.begin(seconds(1)), seconds(10));
        assert!(retreat.end_if_over(seconds(11)));
        assert_eq!(retreat.begin(seconds(11 + 99)), seconds(20), "not long enough");
        assert!(retreat.end_if_over(seconds(130)));
        assert_eq!(retreat.begin(seconds(130 + 201)), seconds(10));
    }
}
