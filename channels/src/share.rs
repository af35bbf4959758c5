//! The starvation bound: bulk copies get a share of the time even under endless urgent traffic (T6).
//!
//! Pure. While a word has been up, a debt grows; while it is down, the debt shrinks. When the debt says that bulk has
//! had less than its share, waiters are let through for one slice, in which they share the link with what they waited
//! for.

use hal::Nanos;

/// What a slice is worth to bulk, because urgent copies go on during it: on an H100 bulk that was let through for 5 %
/// of the time got 4.2 % of its bandwidth.
const WORTH: f64 = 0.7;

/// What share bulk is guaranteed, and in slices of what length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShareOptions {
    /// The guaranteed share of the time, `0.0..1.0`; 0 means none.
    pub share: f64,
    /// How long bulk is let through at a time.
    pub slice: Nanos,
}

impl Default for ShareOptions {
    fn default() -> ShareOptions {
        ShareOptions { share: 0.05, slice: Nanos::from_us(500) }
    }
}

/// The debt of one waiting priority.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    options: ShareOptions,
    seen_at: Nanos,
    debt: f64,
    exempt_until: Option<Nanos>,
}

impl Share {
    /// No debt at `now`.
    #[must_use]
    pub fn new(options: ShareOptions, now: Nanos) -> Share {
        Share { options, seen_at: now, debt: 0.0, exempt_until: None }
    }

    /// Accounts for the time since the last step, during which something above was pending or not (`held`), and says
    /// whether waiters are exempt from now on.
    pub fn step(&mut self, now: Nanos, held: bool) -> bool {
        let passed = now.since(self.seen_at).0 as f64;
        self.seen_at = now;
        if self.options.share <= 0.0 {
            return false;
        }
        if let Some(until) = self.exempt_until {
            if now < until {
                return true;
            }
            self.exempt_until = None;
            self.debt = 0.0;
            return false;
        }
        let share = self.options.share.min(0.99);
        self.debt = (self.debt + if held { passed * share } else { -passed * (1.0 - share) }).max(0.0);
        if self.debt >= self.price() {
            self.exempt_until = Some(now + self.options.slice);
        }
        self.exempt_until.is_some()
    }

    /// The debt that a slice pays off: what bulk gets of it beyond its share of that time. Never nothing, so that
    /// shares beyond the worth of a slice leave urgent copies something too.
    fn price(&self) -> f64 {
        self.options.slice.0 as f64 * (WORTH - self.options.share).max(0.01)
    }

    /// When it must be stepped again at the latest, if something above stays pending.
    #[must_use]
    pub fn deadline(&self) -> Nanos {
        if let Some(until) = self.exempt_until {
            return until;
        }
        if self.options.share <= 0.0 {
            return Nanos::MAX;
        }
        let share = self.options.share.min(0.99);
        let missing = self.price() - self.debt;
        self.seen_at + Nanos((missing / share).max(0.0) as u64 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share of the time that waiters are let through when something above is pending for `held_percent` of it.
    fn open_share(options: ShareOptions, held_percent: u64) -> f64 {
        let mut share = Share::new(options, Nanos::ZERO);
        let (mut open, mut exempt, total) = (0u64, false, 100_000u64);
        for tick in 1..=total {
            let held = tick % 100 < held_percent;
            open += u64::from(exempt || !held);
            exempt = share.step(Nanos::from_us(tick * 10), held);
        }
        open as f64 / total as f64
    }

    #[test]
    fn endless_urgent_traffic_leaves_bulk_its_share() {
        let share = open_share(ShareOptions::default(), 100);
        assert!((0.049 / WORTH..0.06 / WORTH).contains(&share), "{share}");
        let half = ShareOptions { share: 0.5, ..ShareOptions::default() };
        assert!((0.49 / WORTH..0.55 / WORTH).contains(&open_share(half, 100)));
        let most = ShareOptions { share: 0.99, ..ShareOptions::default() };
        assert!((0.9..1.0).contains(&open_share(most, 100)), "{}", open_share(most, 100));
    }

    #[test]
    fn bulk_that_has_its_share_gets_no_exemption() {
        assert!((0.1..0.105).contains(&open_share(ShareOptions::default(), 90)));
        assert_eq!(open_share(ShareOptions { share: 0.0, ..ShareOptions::default() }, 100), 0.0);
    }

    #[test]
    fn the_deadline_is_when_the_exemption_begins() {
        let mut share = Share::new(ShareOptions::default(), Nanos::ZERO);
        let deadline = share.deadline();
        assert!(!share.step(Nanos(deadline.0 - 2_000), true));
        assert!(share.step(deadline, true));
        assert_eq!(share.deadline(), deadline + ShareOptions::default().slice);
    }
}
