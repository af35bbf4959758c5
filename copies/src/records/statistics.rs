//! What happened so far, as users read it.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use crate::decide::Reason;

/// Copies of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassSnapshot {
    /// How many.
    pub copies: u64,
    /// How many bytes.
    pub bytes: u64,
}

/// Latencies of the tracked copies of one priority, from submission to completion as the watcher saw it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency {
    /// How many.
    pub count: u64,
    /// The median.
    pub p50_us: f64,
    /// One in a hundred was slower.
    pub p99_us: f64,
    /// The slowest.
    pub max_us: f64,
}

impl Latency {
    pub(super) fn of(histogram: &Histogram<u64>) -> Latency {
        let at = |quantile| histogram.value_at_quantile(quantile) as f64 / 1e3;
        Latency { count: histogram.len(), p50_us: at(0.5), p99_us: at(0.99), max_us: histogram.max() as f64 / 1e3 }
    }
}

/// What happened so far.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub struct Statistics {
    /// Copies that held others off, or went beside them.
    pub urgent: ClassSnapshot,
    /// Copies that went by kernel.
    pub kernel: ClassSnapshot,
    /// Copies that went in chunks through a channel.
    pub engine: ClassSnapshot,
    /// Copies that were passed on, by reason.
    pub native: BTreeMap<Reason, ClassSnapshot>,
    /// Chunks that engine copies were cut into.
    pub chunks: u64,
    /// How often the watchdog had to open the words.
    pub rescues: u64,
    /// How often a copy was boosted because something urgent depended on it.
    pub boosts: u64,
    /// Driver calls of ours that failed.
    pub errors: u64,
    /// Those of the copies by kernel that were guarded.
    pub guarded: ClassSnapshot,
    /// Those of the guarded copies that the copy engine made in the end, because their kernel had not begun in time.
    pub guard_rescues: u64,
    /// Guarded copies that could not be made in any way. From the first on every call in the context fails.
    pub lost: u64,
    /// How often something has gone wrong too often, so that the shim did without it for a while: words that are raised
    /// (`stood_down` then), or copies by kernel that are guarded.
    pub stand_downs: u64,
    /// How often it has been tried again after such a while.
    pub resumptions: u64,
    /// Whether the shim has stood down to plain copies.
    pub stood_down: bool,
    /// Latencies by priority.
    pub latencies: BTreeMap<u8, Latency>,
}
