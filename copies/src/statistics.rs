//! What happened: counts, bytes and latencies.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use hal::Nanos;
use hdrhistogram::Histogram;
use semaphores::{Priorities, Priority};

use crate::copy::{Plan, Reason};
use crate::lock::lock;

/// Latencies up to a minute, to 1 %.
const LATENCY_NS_MAX: u64 = 60_000_000_000;

/// Counters that any thread bumps.
pub(crate) struct Counters {
    urgent: Class,
    kernel: Class,
    engine: Class,
    native: [Class; Reason::ALL.len()],
    chunks: AtomicU64,
    rescues: AtomicU64,
    boosts: AtomicU64,
    errors: AtomicU64,
    guarded: Class,
    guard_rescues: AtomicU64,
    stand_downs: AtomicU64,
    resumptions: AtomicU64,
    latencies: Mutex<Vec<Histogram<u64>>>,
}

/// On lines of its own: those who copy in bulk do not keep those in a hurry waiting for a line.
#[derive(Default)]
#[repr(align(128))]
struct Class {
    copies: AtomicU64,
    bytes: AtomicU64,
}

impl Class {
    fn add(&self, bytes: u64) {
        self.copies.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn snapshot(&self) -> ClassSnapshot {
        ClassSnapshot { copies: self.copies.load(Ordering::Relaxed), bytes: self.bytes.load(Ordering::Relaxed) }
    }
}

impl Counters {
    pub(crate) fn new(priorities: Priorities) -> Counters {
        let histogram = || Histogram::new_with_max(LATENCY_NS_MAX, 2).expect("the bounds are valid");
        Counters {
            urgent: Class::default(),
            kernel: Class::default(),
            engine: Class::default(),
            native: Reason::ALL.map(|_| Class::default()),
            chunks: AtomicU64::new(0),
            rescues: AtomicU64::new(0),
            boosts: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            guarded: Class::default(),
            guard_rescues: AtomicU64::new(0),
            stand_downs: AtomicU64::new(0),
            resumptions: AtomicU64::new(0),
            latencies: Mutex::new(priorities.iter().map(|_| histogram()).collect()),
        }
    }

    pub(crate) fn copied(&self, plan: Plan, bytes: u64) {
        match plan {
            Plan::Native(reason) => self.native[reason as usize].add(bytes),
            Plan::Urgent | Plan::UrgentKernel => self.urgent.add(bytes),
            Plan::Kernel { .. } => self.kernel.add(bytes),
            Plan::Engine { .. } => self.engine.add(bytes),
        }
    }

    pub(crate) fn chunked(&self, chunks: usize) {
        self.chunks.fetch_add(chunks as u64, Ordering::Relaxed);
    }

    pub(crate) fn rescued(&self) {
        self.rescues.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn stood_down(&self) {
        self.stand_downs.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn resumed(&self) {
        self.resumptions.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn boosted(&self) {
        self.boosts.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn failed(&self) {
        self.errors.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn guarded(&self, bytes: u64) {
        self.guarded.add(bytes);
    }

    pub(crate) fn guard_rescued(&self, copies: u64) {
        self.guard_rescues.fetch_add(copies, Ordering::Relaxed);
    }

    /// Called by the monitor only, so the lock is never contended by submitters.
    pub(crate) fn completed(&self, priority: Priority, latency: Nanos) {
        let mut latencies = lock(&self.latencies);
        if let Some(histogram) = latencies.get_mut(usize::from(priority.get()) - 1) {
            histogram.saturating_record(latency.0);
        }
    }

    pub(crate) fn snapshot(&self, stood_down: bool, lost: u64) -> Statistics {
        let latencies = lock(&self.latencies);
        let latencies = latencies.iter().enumerate().filter(|(_, histogram)| !histogram.is_empty());
        Statistics {
            urgent: self.urgent.snapshot(),
            kernel: self.kernel.snapshot(),
            engine: self.engine.snapshot(),
            native: Reason::ALL
                .iter()
                .map(|reason| (*reason, self.native[*reason as usize].snapshot()))
                .filter(|(_, class)| class.copies > 0)
                .collect(),
            chunks: self.chunks.load(Ordering::Relaxed),
            rescues: self.rescues.load(Ordering::Relaxed),
            boosts: self.boosts.load(Ordering::Relaxed),
            errors: self.errors.load(Ordering::Relaxed),
            guarded: self.guarded.snapshot(),
            guard_rescues: self.guard_rescues.load(Ordering::Relaxed),
            lost,
            stand_downs: self.stand_downs.load(Ordering::Relaxed),
            resumptions: self.resumptions.load(Ordering::Relaxed),
            stood_down,
            latencies: latencies.map(|(index, histogram)| (index as u8 + 1, Latency::of(histogram))).collect(),
        }
    }
}

/// Copies of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassSnapshot {
    /// How many.
    pub copies: u64,
    /// How many bytes.
    pub bytes: u64,
}

/// Latencies of the tracked copies of one priority, from submission to completion as the monitor saw it.
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
    fn of(histogram: &Histogram<u64>) -> Latency {
        let at = |quantile| histogram.value_at_quantile(quantile) as f64 / 1e3;
        Latency { count: histogram.len(), p50_us: at(0.5), p99_us: at(0.99), max_us: histogram.max() as f64 / 1e3 }
    }
}

/// What happened so far.
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
