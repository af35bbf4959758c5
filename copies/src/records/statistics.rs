//! The counts of a context in the form that users read.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use priority::Direction;

use crate::decide::Reason;

/// Copies of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassSnapshot {
    /// The number of copies.
    pub copies: u64,
    /// The number of their bytes.
    pub bytes: u64,
}

impl std::ops::Add for ClassSnapshot {
    type Output = ClassSnapshot;

    fn add(self, other: ClassSnapshot) -> ClassSnapshot {
        ClassSnapshot { copies: self.copies + other.copies, bytes: self.bytes + other.bytes }
    }
}

/// Copies that went one way in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// `None` if nobody has asked for it.
    pub direction: Option<Direction>,
    /// `urgent`, `kernel`, `engine`, `staged` or `native`.
    pub way: &'static str,
    /// Their number and bytes.
    pub class: ClassSnapshot,
}

/// The upper bounds of [`Latency::buckets`]; the last bucket has none.
pub const BOUNDS_US: [u64; 31] = [
    1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1_000, 1_500, 2_000, 3_000, 5_000, 7_000,
    10_000, 15_000, 20_000, 30_000, 50_000, 70_000, 100_000, 1_000_000,
];

/// Latencies of the tracked copies of one priority, from submission to completion as the watcher saw it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency {
    /// The number of measured copies.
    pub count: u64,
    /// The median.
    pub p50_us: f64,
    /// One in a hundred was slower.
    pub p99_us: f64,
    /// The slowest.
    pub max_us: f64,
    /// All of them together.
    pub sum_us: f64,
    /// The number in each range between two of [`BOUNDS_US`].
    pub buckets: [u64; BOUNDS_US.len() + 1],
}

impl Latency {
    pub(super) fn of(histogram: &Histogram<u64>) -> Latency {
        let at = |quantile| histogram.value_at_quantile(quantile) as f64 / 1e3;
        let (mut buckets, mut sum_ns) = ([0; BOUNDS_US.len() + 1], 0.0);
        for cell in histogram.iter_recorded() {
            let (value_ns, count) = (cell.value_iterated_to(), cell.count_at_value());
            buckets[BOUNDS_US.partition_point(|bound_us| bound_us * 1_000 < value_ns)] += count;
            sum_ns += histogram.median_equivalent(value_ns) as f64 * count as f64;
        }
        Latency {
            count: histogram.len(),
            p50_us: at(0.5),
            p99_us: at(0.99),
            max_us: histogram.max() as f64 / 1e3,
            sum_us: sum_ns / 1e3,
            buckets,
        }
    }
}

/// The counts so far.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub struct Statistics {
    /// Copies that held other copies off, or went beside them.
    pub urgent: ClassSnapshot,
    /// Copies that went by kernel.
    pub kernel: ClassSnapshot,
    /// Copies that went in chunks through a channel.
    pub engine: ClassSnapshot,
    /// Pageable copies that went through pinned slots.
    pub staged: ClassSnapshot,
    /// Those of their bytes that the driver moved all the same: no slot came in time, or the system gave no page.
    pub unstaged_bytes: u64,
    /// The time that their callers spent on them, without the wait for earlier work of their streams.
    pub staged_us: u64,
    /// Copies that went to the driver unchanged, by reason.
    pub native: BTreeMap<Reason, ClassSnapshot>,
    /// All copies so far by direction and way. They are counted above too.
    pub moved: Vec<Moved>,
    /// Copies on one device by all ways together, as far as their places were asked for. They are counted above too.
    pub on_device: ClassSnapshot,
    /// The same between devices.
    pub between_devices: ClassSnapshot,
    /// Chunks that engine copies were cut into.
    pub chunks: u64,
    /// The times that the watchdog opened the words.
    pub rescues: u64,
    /// The times that a copy was boosted because an urgent one depended on it.
    pub boosts: u64,
    /// Failed driver calls of the layer.
    pub errors: u64,
    /// The copies by kernel that were guarded: bulk, and urgent ones where these go by kernel.
    pub guarded: ClassSnapshot,
    /// The guarded copies that the copy engine made, because their kernel had not begun in time.
    pub guard_rescues: u64,
    /// The kernels and graphs that the program launched for the first time while guarded copies were under way. Where
    /// the driver loads a kernel then, the next copies of all streams wait for those.
    pub first_launches: u64,
    /// The copies and sets that shared launches of the copy service. `kernel` counts each launch as one copy.
    pub served: ClassSnapshot,
    /// The launches of the copy service.
    pub service_launches: u64,
    /// Guarded copies that could not be made in any way. From the first one on every call in the context fails.
    pub lost: u64,
    /// The times that a part of the layer stood down for a while after too many rescues: the raising of words (see
    /// `stood_down`), or guarded copies by kernel.
    pub stand_downs: u64,
    /// The times that such a part came back.
    pub resumptions: u64,
    /// Whether the layer has stood down to plain copies.
    pub stood_down: bool,
    /// Latencies by priority.
    pub latencies: BTreeMap<u8, Latency>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_has_the_median_the_slow_ones_and_the_slowest() {
        let mut histogram = Histogram::new(3).unwrap();
        (1..=1_000).for_each(|us| histogram.record(us * 1_000).unwrap());
        let Latency { count, p50_us, p99_us, max_us, sum_us, buckets } = Latency::of(&histogram);
        let is_near = |value: f64, expected: f64| (value / expected - 1.0).abs() < 0.002;
        assert_eq!(count, 1_000);
        assert!(
            is_near(p50_us, 500.0) && is_near(p99_us, 990.0) && is_near(max_us, 1_000.0),
            "{p50_us} {p99_us} {max_us}"
        );
        assert!(is_near(sum_us, 500_500.0), "{sum_us}");
        assert_eq!(buckets.iter().sum::<u64>(), 1_000);
        let ten = BOUNDS_US.iter().position(|bound_us| *bound_us == 10).unwrap();
        // A value at a bound may fall into the next bucket: a cell of the histogram reaches beyond it.
        let below = buckets[..=ten].iter().sum::<u64>();
        assert!((9..=10).contains(&below), "{below} of at most 10 us: {buckets:?}");
    }
}
