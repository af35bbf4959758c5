//! The report of one process, as `overtake run` reads it from the file that the drop-in writes
//! (`crates/shim/src/report.rs`). Fields that a file lacks are zero or empty.

use serde::{Deserialize, Serialize};
use shim::observed::Observed;
use shim::record::{Amount, DeviceRecord, ReasonRecord};

/// One process.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ProcessRecord {
    /// The version of its format: see [`shim::record::FORMAT`].
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
