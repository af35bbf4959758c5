//! Counts, bytes and latencies so far.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use hal::Nanos;
use hdrhistogram::Histogram;
use terms::{Direction, Priorities, Priority};

use super::told;
use crate::decide::{Plan, Reason};
use crate::records::statistics::{ClassSnapshot, Latency, Statistics};
use hal::locks::lock;

/// Latencies up to a minute, with a precision of 1 %.
const LATENCY_NS_MAX: u64 = 60_000_000_000;

/// Counters that any thread may raise.
pub(crate) struct Counters {
    urgent: Class,
    kernel: Class,
    engine: Class,
    staged: Class,
    staged_ns: AtomicU64,
    unstaged_bytes: AtomicU64,
    native: [Class; Reason::ALL.len()],
    on_device: Class,
    between_devices: Class,
    chunks: AtomicU64,
    rescues: AtomicU64,
    boosts: AtomicU64,
    errors: AtomicU64,
    guarded: Class,
    guard_rescues: AtomicU64,
    first_launches: AtomicU64,
    served: Class,
    service_launches: AtomicU64,
    stand_downs: AtomicU64,
    resumptions: AtomicU64,
    latencies: Mutex<Vec<Histogram<u64>>>,
}

/// Copies of one kind, on a cache line of their own, so that bulk copies of one thread do not delay urgent copies of
/// another.
#[derive(Default)]
#[repr(align(128))]
struct Class {
    copies: AtomicU64,
    bytes: AtomicU64,
}

impl Class {
    /// Counts a copy, and returns its number in this class, from 1.
    fn add(&self, bytes: u64) -> u64 {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.copies.fetch_add(1, Ordering::Relaxed) + 1
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
            staged: Class::default(),
            staged_ns: AtomicU64::new(0),
            unstaged_bytes: AtomicU64::new(0),
            native: Reason::ALL.map(|_| Class::default()),
            on_device: Class::default(),
            between_devices: Class::default(),
            chunks: AtomicU64::new(0),
            rescues: AtomicU64::new(0),
            boosts: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            guarded: Class::default(),
            guard_rescues: AtomicU64::new(0),
            first_launches: AtomicU64::new(0),
            served: Class::default(),
            service_launches: AtomicU64::new(0),
            stand_downs: AtomicU64::new(0),
            resumptions: AtomicU64::new(0),
            latencies: Mutex::new(priorities.iter().map(|_| histogram()).collect()),
        }
    }

    #[inline(always)] // the plan is known where it is called
    pub(crate) fn copied(&self, plan: Plan, bytes: u64) {
        let class = match plan {
            Plan::Native(reason) => &self.native[reason as usize],
            Plan::Urgent | Plan::UrgentKernel => &self.urgent,
            Plan::Kernel { .. } => &self.kernel,
            Plan::Staged { .. } => &self.staged,
            Plan::Engine { .. } => &self.engine,
        };
        told::went(plan, class.add(bytes), bytes);
    }

    /// A copy that was counted already went in this direction.
    pub(crate) fn went(&self, direction: Direction, bytes: u64) {
        match direction {
            Direction::DeviceToDevice => _ = self.on_device.add(bytes),
            Direction::Peer => _ = self.between_devices.add(bytes),
            Direction::HostToDevice | Direction::DeviceToHost => {}
        }
    }

    pub(crate) fn chunked(&self, chunks: usize) {
        self.chunks.fetch_add(chunks as u64, Ordering::Relaxed);
    }

    /// A staged copy has kept its caller for so long.
    pub(crate) fn staged_for(&self, span: Nanos) {
        self.staged_ns.fetch_add(span.0, Ordering::Relaxed);
    }

    /// The driver has made so many bytes of a staged copy.
    pub(crate) fn left_over(&self, bytes: u64) {
        self.unstaged_bytes.fetch_add(bytes, Ordering::Relaxed);
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

    /// So many copies and sets shared a launch.
    pub(crate) fn served(&self, copies: usize, bytes: u64) {
        self.served.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.served.copies.fetch_add(copies as u64, Ordering::Relaxed);
        self.service_launches.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn guard_rescued(&self, copies: u64) {
        self.guard_rescues.fetch_add(copies, Ordering::Relaxed);
    }

    /// The program launches a kernel for the first time, beside guarded copies.
    pub(crate) fn launched_first(&self) {
        self.first_launches.fetch_add(1, Ordering::Relaxed);
    }

    /// Only the watcher calls this, so no submitting thread waits for the lock.
    pub(crate) fn completed(&self, priority: Priority, latency: Nanos) {
        let mut latencies = lock(&self.latencies);
        if let Some(histogram) = latencies.get_mut(priority.index()) {
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
            staged: self.staged.snapshot(),
            unstaged_bytes: self.unstaged_bytes.load(Ordering::Relaxed),
            staged_us: self.staged_ns.load(Ordering::Relaxed) / 1_000,
            native: Reason::ALL
                .iter()
                .map(|reason| (*reason, self.native[*reason as usize].snapshot()))
                .filter(|(_, class)| class.copies > 0)
                .collect(),
            on_device: self.on_device.snapshot(),
            between_devices: self.between_devices.snapshot(),
            chunks: self.chunks.load(Ordering::Relaxed),
            rescues: self.rescues.load(Ordering::Relaxed),
            boosts: self.boosts.load(Ordering::Relaxed),
            errors: self.errors.load(Ordering::Relaxed),
            guarded: self.guarded.snapshot(),
            guard_rescues: self.guard_rescues.load(Ordering::Relaxed),
            first_launches: self.first_launches.load(Ordering::Relaxed),
            served: self.served.snapshot(),
            service_launches: self.service_launches.load(Ordering::Relaxed),
            lost,
            stand_downs: self.stand_downs.load(Ordering::Relaxed),
            resumptions: self.resumptions.load(Ordering::Relaxed),
            stood_down,
            crowded: 0,
            latencies: latencies.map(|(index, histogram)| (index as u8 + 1, Latency::of(histogram))).collect(),
        }
    }
}
