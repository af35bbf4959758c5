//! A call that the watcher makes now and then, whether copies go or not.

use hal::Nanos;

/// The time between two calls.
const PERIOD: Nanos = Nanos::from_ms(500);

/// Made on the watcher's thread, so it waits for nothing and never calls the driver.
pub(crate) type Call = fn();

pub(super) struct Beat {
    /// `None` in virtual time, which would never come to rest.
    call: Option<Call>,
    due: Nanos,
}

impl Beat {
    pub(super) fn new(call: Option<Call>, is_virtual: bool) -> Beat {
        Beat { call: call.filter(|_| !is_virtual), due: Nanos::ZERO }
    }

    /// The time of the next call.
    pub(super) fn due(&self) -> Nanos {
        self.call.map_or(Nanos::MAX, |_| self.due)
    }

    /// Makes the call if it is time.
    pub(super) fn keep(&mut self, now: Nanos) {
        if let Some(call) = self.call.filter(|_| now >= self.due) {
            call();
            self.due = now + PERIOD;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    static CALLS: AtomicU32 = AtomicU32::new(0);

    fn call() {
        CALLS.fetch_add(1, Ordering::Relaxed);
    }

    #[test]
    fn a_beat_comes_at_once_and_then_twice_a_second_in_real_time_only() {
        let mut beat = Beat::new(Some(call), false);
        for (ms, calls) in [(3, 1), (4, 1), (502, 1), (503, 2), (1_002, 2), (2_000, 3), (2_001, 3)] {
            beat.keep(Nanos::from_ms(ms));
            assert_eq!(CALLS.load(Ordering::Relaxed), calls, "at {ms} ms");
        }
        assert_eq!(beat.due(), Nanos::from_ms(2_500));
        for mut none in [Beat::new(Some(call), true), Beat::new(None, false)] {
            none.keep(Nanos::from_ms(9_000));
            assert_eq!((CALLS.load(Ordering::Relaxed), none.due()), (3, Nanos::MAX));
        }
    }
}
