//! A circuit breaker: it decides when a feature has failed too often to be used further, and how long to wait before it
//! is tried again. Pure.
//!
//! Failures fill a leaky bucket for each source, which drains at a steady rate. A full bucket opens the breaker for a
//! pause. Each pause is twice as long as the previous one, unless there was no failure for a long time.

use hal::Nanos;

/// The first pause.
const FIRST: Nanos = Nanos::from_ms(10_000);

/// The longest pause.
const LONGEST: Nanos = Nanos::from_ms(3_600_000);

/// After this many times the last pause without trouble, the next pause is a first one again.
const FORGOTTEN_AFTER: u64 = 10;

/// The failures that are borne.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// So many that are not forgiven open the breaker. 0 is taken for 1.
    pub failures_max: u32,
    /// One is forgiven each time this span has passed.
    pub forgive_every: Nanos,
}

/// The failures of one source.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    failures: u32,
    forgave_at: Nanos,
}

impl Bucket {
    /// Those that are left at `now`, and the time up to which some have been forgiven.
    fn at(self, limits: &Limits, now: Nanos) -> Bucket {
        let spans = now.since(self.forgave_at).0 / limits.forgive_every.0;
        Bucket {
            failures: self.failures.saturating_sub(u32::try_from(spans).unwrap_or(u32::MAX)),
            forgave_at: self.forgave_at + Nanos(spans * limits.forgive_every.0),
        }
    }
}

/// The breaker of a feature with so many sources of failures.
#[derive(Clone, Copy, Debug)]
pub struct Breaker<const SOURCES: usize> {
    limits: Limits,
    buckets: [Bucket; SOURCES],
    pause: Nanos,
    /// The end of the pause, while it is open.
    until: Option<Nanos>,
    closed_at: Nanos,
}

impl<const SOURCES: usize> Breaker<SOURCES> {
    /// A closed one without a record, at `now`.
    #[must_use]
    pub fn new(limits: Limits, now: Nanos) -> Breaker<SOURCES> {
        let buckets = [Bucket { failures: 0, forgave_at: now }; SOURCES];
        Breaker { limits, buckets, pause: Nanos::ZERO, until: None, closed_at: Nanos::ZERO }
    }

    /// Counts a failure of this source. Returns how long to do without the feature, if it opens the breaker.
    pub fn fail(&mut self, source: usize, now: Nanos) -> Option<Nanos> {
        let (most, bucket) = (self.limits.failures_max.max(1), &mut self.buckets[source]);
        *bucket = bucket.at(&self.limits, now);
        bucket.failures = bucket.failures.saturating_add(1).min(most);
        if bucket.failures < most || self.until.is_some() {
            return None;
        }
        let forgotten = now.since(self.closed_at).0 / FORGOTTEN_AFTER > self.pause.0;
        self.pause = match self.pause {
            Nanos::ZERO => FIRST,
            _ if forgotten => FIRST,
            pause => (pause + pause).min(LONGEST),
        };
        self.until = Some(now + self.pause);
        Some(self.pause)
    }

    /// The failures of a source that are not forgiven at `now`.
    #[must_use]
    pub fn unforgiven(&self, source: usize, now: Nanos) -> u32 {
        self.buckets[source].at(&self.limits, now).failures
    }

    /// Closes it if the pause is over. Returns whether it closed just now: then the feature is tried again, without a
    /// record.
    pub fn close_if_over(&mut self, now: Nanos) -> bool {
        let is_over = self.until.is_some_and(|until| now >= until);
        if is_over {
            (self.until, self.closed_at) = (None, now);
            self.buckets = [Bucket { failures: 0, forgave_at: now }; SOURCES];
        }
        is_over
    }

    /// The end of the pause, while it is open.
    #[must_use]
    pub fn open_until(&self) -> Option<Nanos> {
        self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { failures_max: 4, forgive_every: Nanos::from_ms(1_000) };

    fn seconds(seconds: u64) -> Nanos {
        Nanos::from_ms(1_000 * seconds)
    }

    /// Fails until it opens.
    fn open(breaker: &mut Breaker<1>, now: Nanos) -> Nanos {
        (0..LIMITS.failures_max).find_map(|_| breaker.fail(0, now)).expect("it opens")
    }

    #[test]
    fn one_failure_in_each_span_is_forgiven() {
        let mut breaker = Breaker::<1>::new(LIMITS, Nanos::ZERO);
        let at = |tenth: u64| Nanos::from_ms(100 * tenth);
        assert_eq!([11, 12, 13].map(|tenth| breaker.fail(0, at(tenth))), [None; 3]);
        assert_eq!([13, 20, 30].map(|tenth| breaker.unforgiven(0, at(tenth))), [3, 2, 1]);
        assert_eq!([21, 21].map(|tenth| breaker.fail(0, at(tenth))), [None, Some(FIRST)]);
        assert_eq!((breaker.open_until(), breaker.fail(0, at(22))), (Some(at(21) + FIRST), None), "it is open");
    }

    #[test]
    fn each_source_has_its_own_failures() {
        let mut breaker = Breaker::<2>::new(LIMITS, Nanos::ZERO);
        let some = [0, 1, 0, 1, 0, 1].map(|source| breaker.fail(source, Nanos(7)));
        assert_eq!((some, breaker.fail(1, Nanos(7))), ([None; 6], Some(FIRST)));
    }

    #[test]
    fn each_pause_is_longer_and_ends_once() {
        let (mut breaker, mut now) = (Breaker::<1>::new(LIMITS, Nanos::ZERO), seconds(1_000));
        assert!(!breaker.close_if_over(now) && breaker.open_until().is_none(), "nothing has gone wrong");
        for pause in [10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 3_600, 3_600] {
            assert_eq!(open(&mut breaker, now), seconds(pause));
            assert_eq!(breaker.open_until(), Some(now + seconds(pause)));
            assert!(!breaker.close_if_over(now + seconds(pause - 1)));
            now += seconds(pause);
            assert!(breaker.close_if_over(now) && !breaker.close_if_over(now));
            assert_eq!(breaker.unforgiven(0, now), 0, "it begins without a record");
            now += seconds(5);
        }
    }

    #[test]
    fn after_long_success_the_first_pause_is_short_again() {
        let mut breaker = Breaker::<1>::new(LIMITS, Nanos::ZERO);
        assert_eq!(open(&mut breaker, seconds(1)), seconds(10));
        assert!(breaker.close_if_over(seconds(11)));
        assert_eq!(open(&mut breaker, seconds(11 + 99)), seconds(20), "not long enough");
        assert!(breaker.close_if_over(seconds(130)));
        assert_eq!(open(&mut breaker, seconds(130 + 201)), seconds(10));
    }
}
