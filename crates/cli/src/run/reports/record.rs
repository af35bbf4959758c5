//! What one process says about itself: the file that the drop-in writes. Fields that a file lacks are zero or empty,
//! and fields that it has beyond these are kept as they are where processes are listed.

use serde::{Deserialize, Serialize};

/// The version of the format that is understood.
pub const FORMAT: u32 = 1;

/// One process.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ProcessRecord {
    /// Version of the format.
    pub format: u32,
    /// Its number.
    pub pid: u32,
    /// What it ran.
    pub program: String,
    /// The same with arguments.
    pub command: Vec<String>,
    /// When it began.
    pub started_unix_ms: u64,
    /// Whether this was written at its end.
    #[serde(rename = "final")]
    pub is_final: bool,
    /// How far the drop-in had come.
    pub state: String,
    /// How the library got into it.
    pub deployment: String,
    /// Its devices.
    pub devices: Vec<DeviceRecord>,
    /// Copies that went to the driver without any context having a say in it.
    pub passed_on: Vec<ReasonRecord>,
    /// Its calls.
    pub calls: Vec<CallRecord>,
    /// What its user should know.
    pub warnings: Vec<String>,
}

/// One device, as one process has used it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct DeviceRecord {
    /// Its number in that process.
    pub device: i32,
    /// Its name.
    pub name: String,
    /// Copies by class.
    pub copies: Classes,
    /// Copies that went to the driver untouched.
    pub passed_on: Vec<ReasonRecord>,
    /// Chunks of copies on the copy engine.
    pub chunks: u64,
    /// Copies by kernel that the copy engine replaced, because the kernel found no multiprocessor.
    pub guard_rescues: u64,
    /// Copies that could not be made in any way.
    pub lost: u64,
    /// Times that overtake did without something for a while, because it had gone wrong too often.
    pub stand_downs: u64,
    /// Times that it has tried again after that.
    pub resumptions: u64,
    /// Times that the watchdog opened everything.
    pub rescues: u64,
    /// Times that a copy took over a higher priority.
    pub boosts: u64,
    /// Calls of the driver that failed inside overtake.
    pub errors: u64,
    /// Whether overtake gave up on this device, and left all further copies to the driver.
    pub stood_down: bool,
    /// How long copies took.
    pub latencies: Vec<LatencyRecord>,
}

/// Copies by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct Classes {
    /// Urgent ones.
    pub urgent: Amount,
    /// Bulk by copy kernel.
    pub kernel: Amount,
    /// Bulk by copy engine.
    pub engine: Amount,
}

/// Copies and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct Amount {
    /// How many.
    pub copies: u64,
    /// How much.
    pub bytes: u64,
}

impl Amount {
    /// Adds another amount.
    pub fn add(&mut self, other: Amount) {
        self.copies += other.copies;
        self.bytes += other.bytes;
    }
}

/// Copies that went to the driver untouched, for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct ReasonRecord {
    /// Why.
    pub reason: String,
    /// How many, and how much.
    #[serde(flatten)]
    pub amount: Amount,
}

/// How long the copies of one priority took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct LatencyRecord {
    /// The priority.
    pub priority: u8,
    /// How many were measured.
    pub count: u64,
    /// Half of them took no longer.
    pub p50_us: f64,
    /// All but one in a hundred took no longer.
    pub p99_us: f64,
    /// The longest.
    pub max_us: f64,
}

/// The calls of one symbol.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct CallRecord {
    /// The driver's function.
    pub symbol: String,
    /// Those that overtake dealt with.
    pub intercepted: u64,
    /// Those that it left to the driver.
    pub passed_on: u64,
}
