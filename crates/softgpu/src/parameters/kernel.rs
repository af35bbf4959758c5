use serde::{Deserialize, Serialize};

use super::{EngineParameters, check};

/// Kernels and memsets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KernelParameters {
    /// From the head of the queue to the first instruction. Not measured by itself; the usual 2 us.
    pub start_ns: u64,
    /// The additional time while an engine of the device reads the host's memory at full rate, because the launch is
    /// fetched from there (measured: 64 copies of 64 KiB by kernel beside bulk to the device take 27 us each).
    pub start_behind_reads_ns: u64,
    /// The same while another kernel polls a word of the host's memory (fits copies of three priorities at once, of
    /// which the lower two go by copy kernel beside one that stands still).
    pub start_beside_looks_ns: u64,
    /// From the end of a kernel to the write behind it (measured, with `gated_ns` and `h2d_latency_ns` of the copy
    /// kernel: requests of 64 KiB to 1 MiB, a write behind each, take 9.6 us beside their bytes to the device and 8.1
    /// us to the host).
    pub end_to_write_ns: u64,
    /// Ceiling of multiprocessors reading host memory, in GB/s (facts 6: about 51).
    pub h2d_gbps: f64,
    /// Their share of the link to the device while the engine copies over it (measured: 1 MiB by 16 blocks takes 33
    /// us longer then, of which 9 are the write behind it).
    pub h2d_contended_gbps: f64,
    /// The time until the first bytes of a move come in that case: reads wait behind those of the engine (measured:
    /// each round of reads of a kernel of few warps takes 3 us longer then).
    pub h2d_contended_latency_ns: u64,
    /// Ceiling of multiprocessors writing host memory, in GB/s (facts 6: 52.3).
    pub d2h_gbps: f64,
    /// Their share of the link to the host while the engine copies over it (measured: 1 MiB by 16 blocks takes 9 us
    /// longer then, of which 2 are the write behind it).
    pub d2h_contended_gbps: f64,
    /// Their rate, either way, while the engine makes copies of less than 256 KiB (fits the rate of bulk by kernel in
    /// its share of the time under endless urgent copies: 3.1 to 3.6 GB/s of 7 %).
    pub beside_short_gbps: f64,
    /// Ceiling of multiprocessors moving bytes on the device, in GB/s. Not measured.
    pub d2d_gbps: f64,
    /// Rate of a memset, in GB/s. Not measured.
    pub memset_gbps: f64,
    /// The most dynamic shared memory of a block (measured: a launch that asks for more is refused).
    pub shared_bytes_max: u32,
}

impl Default for KernelParameters {
    fn default() -> KernelParameters {
        KernelParameters {
            start_ns: 2_000,
            start_behind_reads_ns: 3_000,
            start_beside_looks_ns: 5_800,
            end_to_write_ns: 3_100,
            h2d_gbps: 51.0,
            h2d_contended_gbps: 24.0,
            h2d_contended_latency_ns: 3_000,
            d2h_gbps: 52.3,
            d2h_contended_gbps: 37.0,
            beside_short_gbps: 45.0,
            d2d_gbps: 1_300.0,
            memset_gbps: 2_000.0,
            shared_bytes_max: 49_152,
        }
    }
}

impl KernelParameters {
    pub(super) fn check(&self, engine: &EngineParameters) -> Result<(), String> {
        check::rates(&[
            ("kernel.h2d_gbps", self.h2d_gbps),
            ("kernel.d2h_gbps", self.d2h_gbps),
            ("kernel.h2d_contended_gbps", self.h2d_contended_gbps),
            ("kernel.d2h_contended_gbps", self.d2h_contended_gbps),
            ("kernel.d2d_gbps", self.d2d_gbps),
            ("kernel.memset_gbps", self.memset_gbps),
        ])?;
        let contended =
            [("h2d", self.h2d_contended_gbps, engine.h2d_gbps), ("d2h", self.d2h_contended_gbps, engine.d2h_gbps)];
        match contended.iter().find(|(_, kernels, engine)| kernels >= engine) {
            Some((name, ..)) => Err(format!("kernel.{name}_contended_gbps must be less than engine.{name}_gbps")),
            None => Ok(()),
        }
    }
}
