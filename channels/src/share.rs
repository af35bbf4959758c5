//! The starvation bound: bulk copies get a share of the time even under endless urgent traffic (T6).
//!
//! Pure. A debt grows while a word is up, and shrinks while it is down. When the debt shows that bulk has had less
//! than its share, waiting copies pass for one slice. During the slice they share the link with the urgent copies.

use hal::Nanos;

/// The part of a slice that bulk really gets, because urgent copies go on during it. On an H100, bulk that passed for
/// 5 % of the time got 4.2 % of its bandwidth.
const WORTH: f64 = 0.7;

/// The guaranteed share of bulk, and the length of a slice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShareOptions {
    /// The guaranteed share of the time, `0.0..1.0`; 0 means none.
    pub share: f64,
    /// Bulk passes for this long at a time.
    pub slice: Nanos,
}

impl ShareOptions {
    /// The share and the slices that bulk has.
    pub const DEFAULT: ShareOptions = ShareOptions { share: 0.05, slice: Nanos::from_us(500) };
}

impl Default for ShareOptions {
    fn default() -> ShareOptions {
        ShareOptions::DEFAULT
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
    /// Begins without debt.
    #[must_use]
    pub fn new(options: ShareOptions, now: Nanos) -> Share {
        Share { options, seen_at: now, debt: 0.0, exempt_until: None }
    }

    /// Accounts for the time since the last step, in which a more urgent copy was pending or not (`held`). Returns
    /// whether waiting copies are exempt from now on.
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

    /// The debt that a slice pays off: the time that bulk gets in it beyond its share. It is never zero, so that
    /// shares beyond the worth of a slice leave some time to urgent copies too.
    fn price(&self) -> f64 {
        self.options.slice.0 as f64 * (WORTH - self.options.share).max(0.01)
    }

    /// The latest time of the next step, if a more urgent copy stays pending.
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

    /// The share of time in which waiting copies pass while a more urgent copy is pending for `held_percent` of it.
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
