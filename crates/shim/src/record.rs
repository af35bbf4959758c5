//! The figures of one context in a report, as this crate writes them and `overtake run` reads them. Fields that a file
//! lacks are zero or empty. A field that is unknown here gets lost in sums, but the JSON report has each file as it is.

use std::borrow::Cow;

use copies::{ClassSnapshot, Direction, Statistics};
use serde::{Deserialize, Serialize};

use crate::context::Local;

/// The version of the format.
pub const FORMAT: u32 = 1;

/// The beginning of the names of the folders that `overtake run` makes for reports, and removes at its end.
pub const RUN_FOLDER: &str = "overtake-run-";

/// Numbers of copies by latency: one for each range between two of [`copies::BOUNDS_US`].
pub type Buckets = [u64; copies::BOUNDS_US.len() + 1];

/// One context, or the sums of several closed ones of a device.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct DeviceRecord {
    /// The number of the device in that process.
    pub device: i32,
    /// Its name.
    pub name: String,
    /// Where the system has it, such as `0000:18:00.0`.
    pub pci: String,
    /// The number of contexts: closed ones are summed up.
    pub contexts: u64,
    /// The copies that overtake made or ordered.
    pub copies: Classes,
    /// The same copies, and those that went to the driver, by direction and way.
    pub moved: Vec<MovedRecord>,
    /// Copies that went to the driver unchanged.
    pub passed_on: Vec<ReasonRecord>,
    /// The bytes that the driver copied because no slot was free.
    pub unstaged_bytes: u64,
    /// The time that callers spent in staged copies.
    pub staged_us: u64,
    /// Copies that a guard stood beside.
    pub guarded: Amount,
    /// Copies by kernel that the copy engine replaced, because the kernel found no multiprocessor.
    pub guard_rescues: u64,
    /// Kernels that were launched for the first time beside bulk.
    pub first_launches: u64,
    /// Copies that could not be made in any way.
    pub lost: u64,
    /// The number of pauses that overtake made because something had failed too often.
    pub stand_downs: u64,
    /// The number of times that it tried again after a pause.
    pub resumptions: u64,
    /// Copies within the device, whatever their way; `copies` and `passed_on` count them too.
    pub on_device: Amount,
    /// Likewise, between devices.
    pub between_devices: Amount,
    /// Chunks of copies on the copy engine.
    pub chunks: u64,
    /// The number of times that the watchdog opened all words.
    pub rescues: u64,
    /// The number of times that a copy was given a higher priority.
    pub boosts: u64,
    /// Driver calls inside overtake that failed.
    pub errors: u64,
    /// Whether overtake gave up on this device and left all later copies to the driver.
    pub stood_down: bool,
    /// Latencies by priority.
    pub latencies: Vec<LatencyRecord>,
}

/// The copies that overtake made or ordered, by their way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct Classes {
    /// Urgent ones.
    pub urgent: Amount,
    /// Bulk by copy kernel.
    pub kernel: Amount,
    /// Bulk by copy engine.
    pub engine: Amount,
    /// Pageable copies through pinned slots.
    pub staged: Amount,
}

/// Copies and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct Amount {
    /// Their number.
    pub copies: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Copies that went one way in one direction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct MovedRecord {
    /// `h2d`, `d2h`, `d2d`, `p2p` or `unknown`.
    pub direction: Cow<'static, str>,
    /// `urgent`, `kernel`, `engine`, `staged` or `native`.
    pub way: Cow<'static, str>,
    /// Their number.
    pub copies: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Copies that went to the driver unchanged, for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct ReasonRecord {
    /// Its word.
    pub reason: Cow<'static, str>,
    /// Their number.
    pub copies: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The latencies of the copies of one priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct LatencyRecord {
    /// The priority.
    pub priority: u8,
    /// The number of measured copies.
    pub count: u64,
    /// The median. None for several contexts, whose percentiles do not add up.
    pub p50_us: Option<f64>,
    /// The 99th percentile, likewise.
    pub p99_us: Option<f64>,
    /// The longest.
    pub max_us: f64,
    /// All together.
    pub sum_us: f64,
    /// The number in each range.
    pub buckets: Buckets,
}

impl Amount {
    /// Adds other copies.
    pub fn add(&mut self, other: Amount) {
        self.copies += other.copies;
        self.bytes += other.bytes;
    }
}

impl LatencyRecord {
    fn add(&mut self, other: &LatencyRecord) {
        if other.count == 0 {
            return;
        }
        let is_first = self.count == 0;
        self.p50_us = other.p50_us.filter(|_| is_first);
        self.p99_us = other.p99_us.filter(|_| is_first);
        self.count += other.count;
        self.max_us = self.max_us.max(other.max_us);
        self.sum_us += other.sum_us;
        self.buckets.iter_mut().zip(other.buckets).for_each(|(sum, count)| *sum += count);
    }
}

impl From<&copies::Moved> for MovedRecord {
    fn from(moved: &copies::Moved) -> MovedRecord {
        let (direction, class) = (moved.direction.map_or("unknown", Direction::name), moved.class);
        MovedRecord { direction: direction.into(), way: moved.way.into(), copies: class.copies, bytes: class.bytes }
    }
}

impl From<ClassSnapshot> for Amount {
    fn from(class: ClassSnapshot) -> Amount {
        Amount { copies: class.copies, bytes: class.bytes }
    }
}

impl DeviceRecord {
    pub(crate) fn of(local: &Local) -> DeviceRecord {
        let statistics = local.overtake.statistics();
        let latency = |(priority, latency): (&u8, &copies::Latency)| LatencyRecord {
            priority: *priority,
            count: latency.count,
            p50_us: Some(latency.p50_us),
            p99_us: Some(latency.p99_us),
            max_us: latency.max_us,
            sum_us: latency.sum_us,
            buckets: latency.buckets,
        };
        let passed_on = |(reason, class): (&copies::copy::Reason, &ClassSnapshot)| ReasonRecord {
            reason: reason.name().into(),
            copies: class.copies,
            bytes: class.bytes,
        };
        let Statistics { urgent, kernel, engine, staged, .. } = statistics;
        DeviceRecord {
            device: local.device.0,
            name: local.name.clone(),
            pci: local.pci.clone(),
            contexts: 1,
            copies: Classes {
                urgent: urgent.into(),
                kernel: kernel.into(),
                engine: engine.into(),
                staged: staged.into(),
            },
            moved: statistics.moved.iter().map(MovedRecord::from).collect(),
            passed_on: statistics.native.iter().map(passed_on).collect(),
            unstaged_bytes: statistics.unstaged_bytes,
            staged_us: statistics.staged_us,
            guarded: statistics.guarded.into(),
            guard_rescues: statistics.guard_rescues,
            first_launches: statistics.first_launches,
            lost: statistics.lost,
            stand_downs: statistics.stand_downs,
            resumptions: statistics.resumptions,
            on_device: statistics.on_device.into(),
            between_devices: statistics.between_devices.into(),
            chunks: statistics.chunks,
            rescues: statistics.rescues,
            boosts: statistics.boosts,
            errors: statistics.errors,
            stood_down: statistics.stood_down,
            latencies: statistics.latencies.iter().map(latency).collect(),
        }
    }

    /// The figures of several, of any devices.
    #[must_use]
    pub fn sum<'a>(parts: impl IntoIterator<Item = &'a DeviceRecord>) -> DeviceRecord {
        parts.into_iter().fold(DeviceRecord::default(), |mut sum, part| {
            sum.add(part);
            sum
        })
    }

    /// The latencies of the most urgent priority.
    #[must_use]
    pub fn most_urgent(&self) -> Option<&LatencyRecord> {
        self.latencies.iter().filter(|latency| latency.count > 0).max_by_key(|latency| latency.priority)
    }

    /// Adds the figures of another context of the same device.
    pub fn add(&mut self, other: &DeviceRecord) {
        self.contexts += other.contexts;
        self.copies.urgent.add(other.copies.urgent);
        self.copies.kernel.add(other.copies.kernel);
        self.copies.engine.add(other.copies.engine);
        self.copies.staged.add(other.copies.staged);
        self.guarded.add(other.guarded);
        self.on_device.add(other.on_device);
        self.between_devices.add(other.between_devices);
        self.unstaged_bytes += other.unstaged_bytes;
        self.staged_us += other.staged_us;
        self.guard_rescues += other.guard_rescues;
        self.first_launches += other.first_launches;
        self.lost += other.lost;
        self.stand_downs += other.stand_downs;
        self.resumptions += other.resumptions;
        self.chunks += other.chunks;
        self.rescues += other.rescues;
        self.boosts += other.boosts;
        self.errors += other.errors;
        self.stood_down |= other.stood_down;
        for passed in &other.passed_on {
            match self.passed_on.iter_mut().find(|sum| sum.reason == passed.reason) {
                Some(sum) => (sum.copies, sum.bytes) = (sum.copies + passed.copies, sum.bytes + passed.bytes),
                None => self.passed_on.push(passed.clone()),
            }
        }
        for moved in &other.moved {
            match self.moved.iter_mut().find(|sum| (&sum.direction, &sum.way) == (&moved.direction, &moved.way)) {
                Some(sum) => (sum.copies, sum.bytes) = (sum.copies + moved.copies, sum.bytes + moved.bytes),
                None => self.moved.push(moved.clone()),
            }
        }
        for latency in &other.latencies {
            match self.latencies.iter_mut().find(|sum| sum.priority == latency.priority) {
                Some(sum) => sum.add(latency),
                None => self.latencies.push(*latency),
            }
        }
    }

    /// Adds the counts of this context to the sums.
    pub(crate) fn add_to(&self, totals: &mut crate::statistics::Statistics) {
        totals.stood_down |= u32::from(self.stood_down);
        totals.urgent_copies += self.copies.urgent.copies;
        totals.urgent_bytes += self.copies.urgent.bytes;
        totals.kernel_copies += self.copies.kernel.copies;
        totals.kernel_bytes += self.copies.kernel.bytes;
        // Staged copies are on the copy engine in pieces.
        totals.engine_copies += self.copies.engine.copies + self.copies.staged.copies;
        totals.engine_bytes += self.copies.engine.bytes + self.copies.staged.bytes;
        totals.passed_on_copies += self.passed_on.iter().map(|class| class.copies).sum::<u64>();
        totals.passed_on_bytes += self.passed_on.iter().map(|class| class.bytes).sum::<u64>();
        totals.chunks += self.chunks;
        totals.rescues += self.rescues;
        totals.errors += self.errors;
    }
}
