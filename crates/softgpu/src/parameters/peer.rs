use serde::{Deserialize, Serialize};

use super::check;
use super::copy_kernel::{check_table, interpolated};

/// Copies from one device to another, and kernels that reach the memory of another device.
///
/// The rates are published ones: 371 to 377 GB/s by `p2pBandwidthLatencyTest` between two of eight H100 SXM, one way,
/// with peer access (NVIDIA/nccl issue 1264), where NVLink could carry 450. Between two H100s with 18 links 391 to 395
/// were measured since (`reports/peers`). The host's cost of such copies is among its others (`push_ns`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PeerParameters {
    /// The time before the bytes of a copy move. Taken to be that of copies on the device.
    pub setup_ns: u64,
    /// Rate from one device to another, in GB/s, of each pair without an entry in `pairs_gbps`.
    pub gbps: f64,
    /// Rates by pair: a row for each device that the bytes come from, with an entry for each that they go to. Entries
    /// of a device with itself count for nothing.
    pub pairs_gbps: Vec<Vec<f64>>,
    /// Rate of a copy kernel that writes to another device, by its number of warps. Supposed: writes wait for nothing,
    /// as those to the host do.
    pub kernel_write_gbps: Vec<(u32, f64)>,
    /// Rate of one that reads from another device. Supposed: reads wait for their answers.
    pub kernel_read_gbps: Vec<(u32, f64)>,
    /// The time that the link stays occupied after such a kernel has stopped. Supposed.
    pub kernel_drain_ns: u64,
}

impl Default for PeerParameters {
    fn default() -> PeerParameters {
        PeerParameters {
            setup_ns: 2_200,
            gbps: 375.0,
            pairs_gbps: Vec::new(),
            kernel_write_gbps: vec![(16, 50.0), (128, 350.0), (256, 370.0)],
            kernel_read_gbps: vec![(16, 40.0), (128, 260.0), (256, 350.0)],
            kernel_drain_ns: 1_000,
        }
    }
}

impl PeerParameters {
    /// Two devices without NVLink, through a PCIe switch: 54 GB/s between PCIe Gen5 devices, as the program p2pmark
    /// has published.
    pub(super) fn over_pcie() -> PeerParameters {
        let slow = |table: Vec<(u32, f64)>| table.into_iter().map(|(warps, gbps)| (warps, gbps.min(51.0))).collect();
        let fast = PeerParameters::default();
        PeerParameters {
            gbps: 54.0,
            kernel_write_gbps: slow(fast.kernel_write_gbps),
            kernel_read_gbps: slow(fast.kernel_read_gbps),
            ..PeerParameters::default()
        }
    }

    /// The rate of one pair of devices.
    pub(crate) fn pair_gbps(&self, from: usize, to: usize) -> f64 {
        self.pairs_gbps.get(from).and_then(|row| row.get(to)).copied().unwrap_or(self.gbps)
    }

    /// The rate of a copy kernel of this many warps that writes to another device, or reads from it.
    pub(crate) fn kernel_gbps(&self, writes: bool, warps: u32) -> f64 {
        interpolated(if writes { &self.kernel_write_gbps } else { &self.kernel_read_gbps }, warps)
    }

    pub(super) fn check(&self) -> Result<(), String> {
        check::rates(&[("peer.gbps", self.gbps)])?;
        for (from, row) in self.pairs_gbps.iter().enumerate() {
            for (to, rate) in row.iter().enumerate().filter(|(to, _)| *to != from) {
                check::rates(&[(&format!("peer.pairs_gbps[{from}][{to}]"), *rate)])?;
            }
        }
        check_table("peer.kernel_write_gbps", &self.kernel_write_gbps)?;
        check_table("peer.kernel_read_gbps", &self.kernel_read_gbps)
    }
}

#[cfg(test)]
mod tests {
    use crate::Parameters;

    #[test]
    fn a_pair_has_the_rate_of_its_row_and_column() {
        let text = "[peer]\ngbps = 10.0\npairs_gbps = [[0.0, 370.0], [300.0, 0.0, 54.0]]\n";
        let peer = Parameters::from_toml(text).unwrap().peer;
        let rates = [(0, 1), (1, 0), (1, 2), (0, 2), (2, 0)].map(|(from, to)| peer.pair_gbps(from, to));
        assert_eq!(rates, [370.0, 300.0, 54.0, 10.0, 10.0]);
        let wrong = "[peer]\npairs_gbps = [[1.0, 2.0], [0.0, 1.0]]\n";
        assert!(Parameters::from_toml(wrong).unwrap_err().contains("peer.pairs_gbps[1][0]"));
    }
}
