//! The report of one process, as `overtake run` reads it from the file that the drop-in writes
//! (`crates/shim/src/report.rs`). Fields that a file lacks are zero or empty. A field that is unknown here gets lost in
//! sums, but the JSON report has each file as it is.

use serde::{Deserialize, Serialize};
use shim::live::BOUNDS_US;
use shim::observed::Observed;

/// The version of the format that this command understands.
pub const FORMAT: u32 = 1;

/// One process.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ProcessRecord {
    /// The version of its format: see [`FORMAT`].
    pub format: u32,
    /// The process's number.
    pub pid: u32,
    /// The program that it ran.
    pub program: String,
    /// The program with its arguments.
    pub command: Vec<String>,
    /// The time at which it began.
    pub started_unix_ms: u64,
    /// The time at which it was written.
    pub written_unix_ms: u64,
    /// Whether it is the last one, which is written when the process exits. A killed process has an earlier one.
    #[serde(rename = "final")]
    pub is_final: bool,
    /// The state that the drop-in had reached.
    pub state: String,
    /// How the drop-in came into the process: `preload`, `shadow` or `audit`; `c` for the C library alone.
    pub deployment: String,
    pub devices: Vec<DeviceRecord>,
    /// The copies to which the automatic rule gave a priority.
    pub automatic: Automatic,
    /// Copies that went to the driver before any context was found for them.
    pub passed_on: Vec<ReasonRecord>,
    pub calls: Vec<CallRecord>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    /// What was seen of its copies.
    pub observed: Option<Observed>,
}

/// The copies that the rule of demand has ranked; none with other rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct Automatic {
    /// Copies of streams that moved little.
    pub first: Amount,
    /// Copies of busy streams.
    pub bulk: Amount,
    /// The number of waits that lifted copies of streams which had been busy.
    pub waits: u64,
}

/// One device, as one process used it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct DeviceRecord {
    /// Its number in that process.
    pub device: i32,
    pub name: String,
    /// Where the system has it.
    pub pci: String,
    /// The number of contexts: closed ones are summed up.
    pub contexts: usize,
    pub copies: Classes,
    /// The same copies, and those that went to the driver, by direction and way.
    pub moved: Vec<MovedRecord>,
    /// Copies that went to the driver unchanged.
    pub passed_on: Vec<ReasonRecord>,
    /// Copies within the device, whatever their way; `copies` and `passed_on` count them too.
    pub on_device: Amount,
    /// Likewise, between devices.
    pub between_devices: Amount,
    /// Chunks of copies on the copy engine.
    pub chunks: u64,
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

/// Copies that went one way in one direction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct MovedRecord {
    /// `h2d`, `d2h`, `d2d`, `p2p` or `unknown`.
    pub direction: String,
    /// `urgent`, `kernel`, `engine`, `staged` or `native`.
    pub way: String,
    #[serde(flatten)]
    pub amount: Amount,
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
    pub copies: u64,
    pub bytes: u64,
}

impl Amount {
    pub fn add(&mut self, other: Amount) {
        self.copies += other.copies;
        self.bytes += other.bytes;
    }
}

/// Copies that went to the driver unchanged, for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct ReasonRecord {
    pub reason: String,
    #[serde(flatten)]
    pub amount: Amount,
}

/// Numbers of copies by latency.
pub type Buckets = [u64; BOUNDS_US.len() + 1];

/// The latencies of the copies of one priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct LatencyRecord {
    pub priority: u8,
    /// The number of measured copies.
    pub count: u64,
    /// None for several contexts, whose percentiles do not add up.
    pub p50_us: Option<f64>,
    pub p99_us: Option<f64>,
    pub max_us: f64,
    pub sum_us: f64,
    /// The number in each range between two of [`BOUNDS_US`].
    pub buckets: Buckets,
}

/// The calls of one symbol.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct CallRecord {
    pub symbol: String,
    /// Calls that overtake handled.
    pub intercepted: u64,
    /// Calls that it left to the driver.
    pub passed_on: u64,
}
