//! Cells of tables: one figure of several runs.

use report::format;

/// A cell without content.
pub const NONE: &str = "-";

/// The median of values, and their range if there are several: `13.2 (11.9 to 15.1)`.
pub fn spread(values: &[f64], show: impl Fn(f64) -> String) -> String {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (Some(lowest), Some(highest)) = (sorted.first(), sorted.last()) else { return NONE.to_owned() };
    let texts = [median(&sorted), *lowest, *highest].map(show);
    let [middle, low, high] = texts;
    if low == high { middle } else { format!("{middle} ({low} to {high})") }
}

/// The lowest and highest of values: `0.9 to 1.4`.
pub fn range(values: &[f64], show: impl Fn(f64) -> String) -> String {
    let lowest = values.iter().copied().reduce(f64::min).map(&show);
    let highest = values.iter().copied().reduce(f64::max).map(&show);
    match (lowest, highest) {
        (Some(lowest), Some(highest)) if lowest != highest => format!("{lowest} to {highest}"),
        (Some(one), _) => one,
        _ => NONE.to_owned(),
    }
}

/// The median of sorted values: the middle one, or the mean of the two in the middle.
pub fn median(sorted: &[f64]) -> f64 {
    let (low, high) = ((sorted.len() - 1) / 2, sorted.len() / 2);
    f64::midpoint(sorted[low], sorted[high])
}

/// A factor: `1.24`.
pub fn factor(value: f64) -> String {
    if value < 9.995 { format!("{value:.2}") } else { format::grouped(value, 0) }
}

/// A bandwidth.
pub fn gbps(value: f64) -> String {
    format!("{value:.1}")
}

/// The tail of the distribution of one run.
pub struct Tail<'a> {
    pub samples: usize,
    /// Its 99th percentile, if the run has it.
    pub p99_us: Option<f64>,
    pub max_us: Option<f64>,
    /// All samples, if they are stored.
    pub latencies_ns: &'a [u64],
}

/// The 99th percentile. If every run has one: median and range. Else, if the samples are stored: that of all samples
/// together. Else the maximum, with the number of samples.
pub fn tail(runs: &[Tail<'_>]) -> String {
    let samples: usize = runs.iter().map(|run| run.samples).sum();
    let carried: Vec<f64> =
        runs.iter().filter(|run| report::carries(run.samples, 0.99)).filter_map(|run| run.p99_us).collect();
    if !runs.is_empty() && carried.len() == runs.len() {
        return spread(&carried, format::us);
    }
    let pooled: Vec<u64> = runs.iter().flat_map(|run| run.latencies_ns.iter().copied()).collect();
    if pooled.len() == samples && report::carries(samples, 0.99) {
        let p99_us = report::Distribution::new(pooled).map(|all| all.quantile_us(0.99));
        return p99_us.map_or(NONE.to_owned(), |p99_us| format!("{} together", format::us(p99_us)));
    }
    let longest = runs.iter().filter_map(|run| run.max_us).reduce(f64::max);
    longest.map_or(NONE.to_owned(), |longest| {
        format!("max {} of {}", format::us(longest), format::grouped(samples as f64, 0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads_show_median_and_range() {
        assert_eq!(spread(&[3.0, 1.0, 2.0], format::us), "2.0 (1.0 to 3.0)");
        assert_eq!(spread(&[1.0, 2.0], format::us), "1.5 (1.0 to 2.0)");
        assert_eq!(spread(&[2.0], format::us), "2.0");
        assert_eq!(spread(&[2.01, 2.02], format::us), "2.0", "a range that is not seen is none");
        assert_eq!((spread(&[], format::us), range(&[3.0, 1.0], format::us)), ("-".into(), "1.0 to 3.0".into()));
    }

    #[test]
    fn a_tail_is_only_shown_where_samples_carry_it() {
        let hundreds: Vec<u64> = (1..=500).map(|us| us * 1_000).collect();
        let run = |samples, p99_us, latencies_ns| Tail { samples, p99_us, max_us: Some(700.0), latencies_ns };
        let few = || run(500, Some(600.0), &[]);
        assert_eq!(tail(&[run(1_000, Some(5.0), &[]), run(1_000, Some(7.0), &[])]), "6.0 (5.0 to 7.0)");
        assert_eq!(tail(&[few()]), "max 700 of 500", "a percentile that few samples give is not believed");
        assert_eq!(tail(&[few(), few()]), "max 700 of 1,000", "samples that are not stored cannot be put together");
        assert_eq!(tail(&[run(500, None, &hundreds), run(500, None, &hundreds)]), "495 together");
        assert_eq!(tail(&[]), "-");
    }
}
