//! The counters behind [`Statistics`], which documents each of them: copies and bytes by the way that they went, and
//! latencies by priority.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use hal::Nanos;
use hdrhistogram::Histogram;
use priority::{Direction, Priorities, Priority};

use crate::decide::{Plan, Reason};
use crate::records::statistics::{ClassSnapshot, Latency, Moved, Statistics};
use hal::locks::lock;

/// Latencies up to a minute, with a precision of 1 %.
const LATENCY_NS_MAX: u64 = 60_000_000_000;

/// Counters that any thread may raise.
#[derive(Default)]
pub(crate) struct Counters {
    urgent: Directed,
    kernel: Directed,
    engine: Directed,
    staged: Directed,
    /// How long the callers of staged copies were blocked.
    pub(crate) staged_ns: Count,
    /// The bytes of staged copies that the driver has made.
    pub(crate) unstaged_bytes: Count,
    /// Copies that the driver made, by the reason for that.
    native: [Directed; Reason::ALL.len()],
    pub(crate) chunks: Count,
    pub(crate) rescues: Count,
    pub(crate) boosts: Count,
    errors: Count,
    pub(crate) guarded: Class,
    pub(crate) guard_rescues: Count,
    /// The kernels that the program launched for the first time, beside guarded copies.
    pub(crate) first_launches: Count,
    served: Class,
    service_launches: Count,
    pub(crate) stand_downs: Count,
    pub(crate) resumptions: Count,
    /// Of tracked copies, by priority - 1.
    latencies: Mutex<Vec<Histogram<u64>>>,
}

/// Copies of one way, by direction. The last are those whose direction nobody has asked for.
#[derive(Default)]
struct Directed([Class; Direction::COUNT + 1]);

impl Directed {
    #[inline(always)] // each copy is counted
    fn class(&self, direction: Option<Direction>) -> &Class {
        &self.0[direction.map_or(Direction::COUNT, Direction::index)]
    }

    #[inline(never)] // read twice a second, from many places
    fn of(&self, direction: Option<Direction>) -> ClassSnapshot {
        self.class(direction).snapshot()
    }

    #[inline(never)] // as above
    fn snapshot(&self) -> ClassSnapshot {
        self.0.iter().fold(ClassSnapshot::default(), |sum, class| sum + class.snapshot())
    }
}

/// A number of events.
#[derive(Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self, events: u64) {
        self.0.fetch_add(events, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Copies of one kind, on a cache line of their own, so that bulk copies of one thread do not delay urgent copies of
/// another.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct Class {
    copies: AtomicU64,
    bytes: AtomicU64,
}

impl Class {
    pub(crate) fn add(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.copies.fetch_add(1, Ordering::Relaxed);
    }

    fn snapshot(&self) -> ClassSnapshot {
        ClassSnapshot { copies: self.copies.load(Ordering::Relaxed), bytes: self.bytes.load(Ordering::Relaxed) }
    }
}

impl Counters {
    pub(crate) fn new(priorities: Priorities) -> Counters {
        let histogram = || Histogram::new_with_max(LATENCY_NS_MAX, 2).expect("the bounds are valid");
        let latencies = Mutex::new(priorities.iter().map(|_| histogram()).collect());
        Counters { latencies, ..Counters::default() }
    }

    /// A copy goes the way of a plan.
    #[inline(always)] // the plan is known where it is called
    pub(crate) fn copied(&self, plan: Plan, direction: Option<Direction>, bytes: u64) {
        let way = match plan {
            Plan::Native(reason) => &self.native[reason as usize],
            Plan::Urgent | Plan::UrgentKernel => &self.urgent,
            Plan::Kernel { .. } => &self.kernel,
            Plan::Staged { .. } => &self.staged,
            Plan::Engine { .. } => &self.engine,
        };
        way.class(direction).add(bytes);
    }

    /// Copies so far by direction and way, as far as there were any.
    #[inline(never)] // as above
    fn moved(&self) -> Vec<Moved> {
        let ways =
            [("urgent", &self.urgent), ("kernel", &self.kernel), ("engine", &self.engine), ("staged", &self.staged)];
        let directions = || Direction::ALL.into_iter().map(Some).chain([None]);
        let of = |direction| {
            let natively = self.native.iter().fold(ClassSnapshot::default(), |sum, way| sum + way.of(direction));
            let ways = ways.map(|(way, counts)| (way, counts.of(direction)));
            ways.into_iter().chain([("native", natively)]).map(move |(way, class)| Moved { direction, way, class })
        };
        directions().flat_map(of).filter(|moved| moved.class.copies > 0).collect()
    }

    pub(crate) fn failed(&self) {
        self.errors.add(1);
    }

    /// So many copies and sets shared a launch.
    pub(crate) fn served(&self, copies: usize, bytes: u64) {
        self.served.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.served.copies.fetch_add(copies as u64, Ordering::Relaxed);
        self.service_launches.add(1);
    }

    /// A tracked copy has completed. Only the watcher calls this, so no submitting thread waits for the lock.
    pub(crate) fn completed(&self, priority: Priority, latency: Nanos) {
        let mut latencies = lock(&self.latencies);
        if let Some(histogram) = latencies.get_mut(priority.index()) {
            histogram.saturating_record(latency.0);
        }
    }

    pub(crate) fn snapshot(&self, stood_down: bool, lost: u64) -> Statistics {
        let latencies = lock(&self.latencies);
        let latencies = latencies.iter().enumerate().filter(|(_, histogram)| !histogram.is_empty());
        let moved = self.moved();
        let by_all_ways = |direction| {
            let its = moved.iter().filter(|moved| moved.direction == Some(direction));
            its.fold(ClassSnapshot::default(), |sum, moved| sum + moved.class)
        };
        Statistics {
            urgent: self.urgent.snapshot(),
            kernel: self.kernel.snapshot(),
            engine: self.engine.snapshot(),
            staged: self.staged.snapshot(),
            unstaged_bytes: self.unstaged_bytes.get(),
            staged_us: self.staged_ns.get() / 1_000,
            native: Reason::ALL
                .iter()
                .map(|reason| (*reason, self.native[*reason as usize].snapshot()))
                .filter(|(_, class)| class.copies > 0)
                .collect(),
            on_device: by_all_ways(Direction::DeviceToDevice),
            between_devices: by_all_ways(Direction::Peer),
            moved,
            chunks: self.chunks.get(),
            rescues: self.rescues.get(),
            boosts: self.boosts.get(),
            errors: self.errors.get(),
            guarded: self.guarded.snapshot(),
            guard_rescues: self.guard_rescues.get(),
            first_launches: self.first_launches.get(),
            served: self.served.snapshot(),
            service_launches: self.service_launches.get(),
            lost,
            stand_downs: self.stand_downs.get(),
            resumptions: self.resumptions.get(),
            stood_down,
            latencies: latencies.map(|(index, histogram)| (index as u8 + 1, Latency::of(histogram))).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_counted_by_direction_and_way() {
        let counters = Counters::new(Priorities::new(7).unwrap());
        let [to_device, on_device] = [Direction::HostToDevice, Direction::DeviceToDevice].map(Some);
        counters.copied(Plan::Urgent, to_device, 5);
        counters.copied(Plan::Native(Reason::Alone), None, 7);
        counters.copied(Plan::Native(Reason::LeftAlone), on_device, 11);
        counters.copied(Plan::Native(Reason::Alone), on_device, 1);
        counters.copied(Plan::Kernel { raises: false }, on_device, 2);
        let counted = counters.snapshot(false, 0);
        let moved: Vec<_> =
            counted.moved.iter().map(|its| (its.direction, its.way, its.class.copies, its.class.bytes)).collect();
        let expected = [
            (to_device, "urgent", 1, 5),
            (on_device, "kernel", 1, 2),
            (on_device, "native", 2, 12),
            (None, "native", 1, 7),
        ];
        assert_eq!(moved, expected);
        let alone = counted.native[&Reason::Alone];
        assert_eq!((alone.copies, alone.bytes, counted.urgent.bytes), (2, 8, 5));
        assert_eq!((counted.on_device.copies, counted.on_device.bytes, counted.between_devices.copies), (3, 14, 0));
    }
}
