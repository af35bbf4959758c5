//! How long to do without something that has gone wrong too often, before it is tried again. Pure.

use hal::Nanos;

/// How long the first time.
const FIRST: Nanos = Nanos::from_ms(10_000);

/// How long at most.
const LONGEST: Nanos = Nanos::from_ms(3_600_000);

/// After so many times the last pause without trouble, the next one is a first one again.
const FORGOTTEN_AFTER: u64 = 10;

/// A pause that is twice as long each time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Retreat {
    pause: Nanos,
    until: Option<Nanos>,
    ended_at: Nanos,
}

impl Retreat {
    /// It has gone wrong too often. How long to do without.
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

    /// Whether it is time to try again: says so once.
    pub fn ends(&mut self, now: Nanos) -> bool {
        let is_over = self.until.is_some_and(|until| now >= until);
        if is_over {
            (self.until, self.ended_at) = (None, now);
        }
        is_over
    }

    /// When that will be, if anything is being done without.
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
        assert!(!retreat.ends(now) && retreat.until().is_none(), "nothing has gone wrong");
        for pause in [10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 3_600, 3_600] {
            assert_eq!(retreat.begin(now), seconds(pause));
            assert_eq!(retreat.until(), Some(now + seconds(pause)));
            assert!(!retreat.ends(now + seconds(pause - 1)));
            now += seconds(pause);
            assert!(retreat.ends(now) && !retreat.ends(now));
            now += seconds(5);
        }
    }

    #[test]
    fn what_went_well_for_long_begins_anew() {
        let mut retreat = Retreat::default();
        assert_eq!(retreat.begin(seconds(1)), seconds(10));
        assert!(retreat.ends(seconds(11)));
        assert_eq!(retreat.begin(seconds(11 + 99)), seconds(20), "not long enough");
        assert!(retreat.ends(seconds(130)));
        assert_eq!(retreat.begin(seconds(130 + 201)), seconds(10));
    }
}
