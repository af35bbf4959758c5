use serde::{Deserialize, Serialize};

use super::check;

/// Stream memory operations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MemopParameters {
    /// A write (facts 5: each adds 1.4 us to its stream).
    pub write_ns: u64,
    /// A write while an engine of the device reads the host's memory at full rate: the answer to its barrier comes
    /// after the bytes that the engine has requested (measured: a copy to the host takes 8 to 11 us longer then).
    pub write_behind_reads_ns: u64,
    /// A write while an engine of the device writes the host's memory at full rate: it goes after the bytes that the
    /// engine has sent (measured: a copy to the device takes 2 us longer then).
    pub write_behind_writes_ns: u64,
    /// A write while a kernel polls a word of the host's memory: its barrier waits for those reads too (measured:
    /// beside a copy kernel that stands still, 4.0 to 4.3 us of a 64 KiB copy come after its caller's last call, and
    /// 2.6 to 2.9 without, in either direction).
    pub write_beside_looks_ns: u64,
    /// From an event to the wait behind it (measured: requests of 64 KiB to 1 MiB through a channel take 9 to 10 us
    /// beside their bytes; events join them, and a wait stands before each chunk).
    pub event_to_wait_ns: u64,
    /// From an event to the write behind it while an engine runs (fits the cost of a bracket for an urgent copy
    /// beside chunks: 11 to 13 us at the least, 15 to 25 in the median).
    pub event_to_write_busy_ns: u64,
    /// Each further write of a batch (facts 5: a channel with one batched lower adds 2.2 us, not 2.8).
    pub batched_write_ns: u64,
    /// A satisfied wait on host memory (facts 2: 1.2 us).
    pub wait_host_ns: u64,
    /// A satisfied wait on device memory (facts 2: 0.5 us).
    pub wait_device_ns: u64,
    /// The wait behind a copy is looked at this long before the copy's end (fits the chunk sweep of facts 2: an
    /// urgent copy that comes in the last microseconds of a chunk waits for the next one too).
    pub wait_lead_ns: u64,
    /// An unsatisfied wait looks again after this time (fits the bracket per copy of facts 3: 657 us for 64 copies).
    pub wait_poll_ns: u64,
    /// The spread of that time, evenly earlier or later: the hardware's looks are out of step with the commands of
    /// other queues.
    pub wait_poll_spread_ns: u64,
}

impl Default for MemopParameters {
    fn default() -> MemopParameters {
        MemopParameters {
            write_ns: 1_400,
            write_behind_reads_ns: 12_000,
            write_behind_writes_ns: 3_200,
            write_beside_looks_ns: 2_800,
            event_to_wait_ns: 4_200,
            event_to_write_busy_ns: 15_000,
            batched_write_ns: 1_000,
            wait_host_ns: 1_200,
            wait_device_ns: 500,
            wait_lead_ns: 4_500,
            wait_poll_ns: 16_000,
            wait_poll_spread_ns: 4_000,
        }
    }
}

impl MemopParameters {
    pub(super) fn check(&self) -> Result<(), String> {
        check::counts(&[("memop.wait_poll_ns", self.wait_poll_ns)])?;
        if self.wait_poll_spread_ns >= self.wait_poll_ns {
            return Err("memop.wait_poll_spread_ns must be less than memop.wait_poll_ns".to_owned());
        }
        Ok(())
    }
}
