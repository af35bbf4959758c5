use serde::{Deserialize, Serialize};

use super::check;

/// Copy engines and links.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EngineParameters {
    /// The time before the bytes of a copy move (facts 2: the gap between consecutive copies; facts 3: 64 copies of
    /// 64 KiB in 251 us).
    pub h2d_setup_ns: u64,
    /// The same for copies to the host (measured: 64 copies of 64 KiB take 194 to 199 us).
    pub d2h_setup_ns: u64,
    /// The same for copies on the device. Not measured.
    pub d2d_setup_ns: u64,
    /// The time that the engine needs to turn from a queue that still holds work to another one (fits the chunk sweep
    /// of facts 2 and the raise per copy of facts 3).
    pub switch_ns: u64,
    /// Copies to the device of at most this many bytes need no engine: they run among the stream's kernels (measured:
    /// up to 24 KiB are not held up by bulk copies, 32 KiB are).
    pub inline_bytes_max: u64,
    /// Device time of such a copy, without its bytes (measured: 4 B 17 us, 24 KiB 25 us, synchronisation included).
    pub inline_ns: u64,
    /// Device time of each KiB of such a copy.
    pub inline_kib_ns: u64,
    /// Rate to the device, in GB/s (facts 2: 55.2).
    pub h2d_gbps: f64,
    /// Rate to the host, in GB/s (facts 9: 55).
    pub d2h_gbps: f64,
    /// Rate of a copy on the device, in GB/s. Not measured; about 40 % of the memory bandwidth, each byte going twice.
    pub d2d_gbps: f64,
    /// Slice of a process while another one waits for the engine (facts 7: p50 571 us, p99 1 058 us).
    pub slice_ns: u64,
}

impl Default for EngineParameters {
    fn default() -> EngineParameters {
        EngineParameters {
            h2d_setup_ns: 2_600,
            d2h_setup_ns: 1_800,
            d2d_setup_ns: 2_200,
            switch_ns: 2_600,
            inline_bytes_max: 24_576,
            inline_ns: 1_500,
            inline_kib_ns: 250,
            h2d_gbps: 55.2,
            d2h_gbps: 55.0,
            d2d_gbps: 1_300.0,
            slice_ns: 1_060_000,
        }
    }
}

impl EngineParameters {
    pub(super) fn check(&self) -> Result<(), String> {
        check::rates(&[
            ("engine.h2d_gbps", self.h2d_gbps),
            ("engine.d2h_gbps", self.d2h_gbps),
            ("engine.d2d_gbps", self.d2d_gbps),
        ])?;
        check::counts(&[("engine.slice_ns", self.slice_ns)])
    }
}
