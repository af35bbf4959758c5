//! Host time.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

/// A span or a point of host time, in nanoseconds. Points count from an origin that only the [`crate::Host`] knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// No time at all.
    pub const ZERO: Nanos = Nanos(0);
    /// A point that is never reached.
    pub const MAX: Nanos = Nanos(u64::MAX);

    /// `us` microseconds; more than 584 years are [`Nanos::MAX`].
    #[must_use]
    pub const fn from_us(us: u64) -> Nanos {
        Nanos(us.saturating_mul(1_000))
    }

    /// `ms` milliseconds; more than 584 years are [`Nanos::MAX`].
    #[must_use]
    pub const fn from_ms(ms: u64) -> Nanos {
        Nanos(ms.saturating_mul(1_000_000))
    }

    /// In microseconds, with fraction.
    #[must_use]
    pub fn as_us(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// In seconds, with fraction.
    #[must_use]
    pub fn as_secs(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// `self - earlier`, or zero where `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }
}

/// The longest is 584 years.
impl From<Duration> for Nanos {
    fn from(span: Duration) -> Nanos {
        Nanos(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Nanos> for Duration {
    fn from(span: Nanos) -> Duration {
        Duration::from_nanos(span.0)
    }
}

impl Add for Nanos {
    type Output = Nanos;
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Nanos) {
        *self = *self + other;
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    fn sub(self, other: Nanos) -> Nanos {
        self.since(other)
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} us", self.as_us())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_beyond_the_end_of_time_end_there() {
        assert_eq!((Nanos::from_us(3), Nanos::from_ms(3)), (Nanos(3_000), Nanos(3_000_000)));
        let most = u64::MAX / 1_000;
        assert_eq!((Nanos::from_us(most), Nanos::from_us(most + 1)), (Nanos(most * 1_000), Nanos::MAX));
        assert_eq!((Nanos::from_ms(u64::MAX), Nanos::from_us(u64::MAX)), (Nanos::MAX, Nanos::MAX));
        assert_eq!((Nanos::MAX + Nanos(1), Nanos(1) - Nanos(2)), (Nanos::MAX, Nanos::ZERO));
    }
}
