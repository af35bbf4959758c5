//! Percentiles, exact on the samples.

use serde::{Deserialize, Serialize};

/// Samples in nanoseconds, sorted, never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distribution {
    sorted_ns: Vec<u64>,
}

/// The numbers of a distribution that a table shows, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The number of samples.
    pub samples: usize,
    /// The smallest.
    pub min_us: f64,
    /// Half of the samples are at most this.
    pub p50_us: f64,
    /// Nine in ten are at most this; nothing where too few samples carry it.
    pub p90_us: Option<f64>,
    /// Ninety-nine in a hundred are at most this; nothing where too few samples carry it.
    pub p99_us: Option<f64>,
    /// The largest.
    pub max_us: f64,
}

/// A rank within this of a whole number is that number: `0.07 * 100` is not 7 in binary floating point.
const RANK_TOLERANCE: f64 = 1e-9;
/// A percentile in the tail needs this many samples beyond it: fewer are anecdotes.
const SAMPLES_BEYOND: f64 = 10.0;

/// Whether `samples` are enough for the percentile `share`: 1 000 for the 99th, 100 for the 90th.
#[must_use]
pub fn carries(samples: usize, share: f64) -> bool {
    samples as f64 * (1.0 - share) >= SAMPLES_BEYOND - RANK_TOLERANCE
}

impl Distribution {
    /// From samples in any order; `None` where there are none, because then no percentile exists.
    #[must_use]
    pub fn new(mut samples_ns: Vec<u64>) -> Option<Distribution> {
        samples_ns.sort_unstable();
        (!samples_ns.is_empty()).then_some(Distribution { sorted_ns: samples_ns })
    }

    /// The number of samples; at least one.
    #[must_use]
    pub fn samples(&self) -> usize {
        self.sorted_ns.len()
    }

    /// The samples in ascending order.
    #[must_use]
    pub fn sorted_ns(&self) -> &[u64] {
        &self.sorted_ns
    }

    /// The smallest sample that at least the share `share` of all samples does not exceed (nearest rank): always a
    /// value that was measured, never one in between. Shares outside 0 to 1 are clamped.
    #[must_use]
    pub fn quantile_ns(&self, share: f64) -> u64 {
        let count = self.sorted_ns.len();
        let rank = (share.clamp(0.0, 1.0) * count as f64 - RANK_TOLERANCE).ceil() as usize;
        self.sorted_ns[rank.clamp(1, count) - 1]
    }

    /// [`Distribution::quantile_ns`] in microseconds.
    #[must_use]
    pub fn quantile_us(&self, share: f64) -> f64 {
        self.quantile_ns(share) as f64 / 1e3
    }

    /// [`Distribution::quantile_us`] of a percentile in the tail, where enough samples carry it.
    #[must_use]
    pub fn tail_us(&self, share: f64) -> Option<f64> {
        carries(self.samples(), share).then(|| self.quantile_us(share))
    }

    /// The numbers that a table shows.
    #[must_use]
    pub fn summary(&self) -> Summary {
        Summary {
            samples: self.samples(),
            min_us: self.quantile_us(0.0),
            p50_us: self.quantile_us(0.5),
            p90_us: self.tail_us(0.9),
            p99_us: self.tail_us(0.99),
            max_us: self.quantile_us(1.0),
        }
    }
}

/// A figure in several rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The median: the larger of the two in the middle, where there are two.
    pub median: f64,
    /// The smallest.
    pub least: f64,
    /// The largest.
    pub most: f64,
    /// The number of rounds.
    pub rounds: usize,
}

impl Spread {
    /// Of the figures of all rounds; `None` without any.
    #[must_use]
    pub fn of(mut figures: Vec<f64>) -> Option<Spread> {
        figures.sort_unstable_by(f64::total_cmp);
        let (least, most) = (*figures.first()?, *figures.last()?);
        Some(Spread { median: figures[figures.len() / 2], least, most, rounds: figures.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hundred() -> Distribution {
        Distribution::new((1..=100).rev().map(|us| us * 1_000).collect()).unwrap()
    }

    #[test]
    fn percentiles_are_samples_at_the_nearest_rank() {
        let expected =
            Summary { samples: 100, min_us: 1.0, p50_us: 50.0, p90_us: Some(90.0), p99_us: None, max_us: 100.0 };
        assert_eq!(hundred().summary(), expected);
    }

    #[test]
    fn a_tail_needs_ten_samples_beyond_it() {
        let tails = |samples: u64| {
            let summary = Distribution::new((1..=samples).collect()).unwrap().summary();
            (summary.p90_us, summary.p99_us)
        };
        assert_eq!(tails(99), (None, None));
        assert_eq!(tails(999), (Some(0.9), None));
        assert_eq!(tails(1_000), (Some(0.9), Some(0.99)));
        assert!(carries(10_000, 0.999) && !carries(9_999, 0.999));
    }

    #[test]
    fn binary_fractions_do_not_move_a_rank() {
        for percent in 1..=100_u64 {
            assert_eq!(hundred().quantile_ns(percent as f64 / 100.0), percent * 1_000);
        }
    }

    #[test]
    fn a_spread_is_the_middle_and_both_ends() {
        let expected = Spread { median: 1.5, least: 0.5, most: 9.0, rounds: 3 };
        assert_eq!(Spread::of(vec![9.0, 0.5, 1.5]), Some(expected));
        assert_eq!(Spread::of(vec![]), None);
    }

    #[test]
    fn few_samples_and_wild_shares() {
        assert_eq!(Distribution::new(vec![]), None);
        let one = Distribution::new(vec![7]).unwrap();
        assert_eq!([-1.0, 0.0, 0.5, 1.0, 2.0].map(|share| one.quantile_ns(share)), [7; 5]);
        let two = Distribution::new(vec![9, 1]).unwrap();
        assert_eq!([0.0, 0.5, 0.51, 1.0].map(|share| two.quantile_ns(share)), [1, 1, 9, 9]);
    }
}
