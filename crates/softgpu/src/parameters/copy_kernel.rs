use serde::{Deserialize, Serialize};

use super::check;
use crate::Direction;

/// The copy kernel of the library.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CopyKernelParameters {
    /// Rate to the device, in GB/s, by the number of warps that move bytes (measured alone on the link). Between two
    /// numbers it is interpolated; it is proportional below the first and constant beyond the last.
    pub h2d_gbps: Vec<(u32, f64)>,
    /// The same to the host.
    pub d2h_gbps: Vec<(u32, f64)>,
    /// The most that one multiprocessor sends to the host, in GB/s (measured: 16 warps in one block).
    pub d2h_block_gbps: f64,
    /// By the number of warps: the time that the link stays occupied after the warps stop, by bytes that they have
    /// requested (measured: an urgent copy beside 64 and 96 warps takes 1 and 3 us longer than beside 16).
    pub h2d_drain_ns: Vec<(u32, f64)>,
    /// The same for bytes that they have sent (measured: beside 24, 64 and 96 warps it takes 3, 6 and 12 to 50 us
    /// longer).
    pub d2h_drain_ns: Vec<(u32, f64)>,
    /// Rate of fills, in GB/s. Not measured.
    pub fill_gbps: f64,
    /// From the first instruction of a launch that yields to its first move: the word is read over the bus first.
    pub gated_ns: u64,
    /// Until the first bytes come from the host's memory.
    pub h2d_latency_ns: u64,
    /// From a change of the host word until the warps see it: the mirroring block reads it over the bus (measured: a
    /// 64 KiB urgent copy on the engine, with the word raised by the CPU, takes 1 to 2 us longer than on an idle
    /// GPU).
    pub mirror_ns: u64,
    /// The model looks at the word this often. Bytes that flow in between are in flight when the word goes up.
    pub look_ns: u64,
}

impl Default for CopyKernelParameters {
    fn default() -> CopyKernelParameters {
        CopyKernelParameters {
            h2d_gbps: vec![(16, 19.5), (32, 36.5), (40, 46.3), (48, 50.8), (64, 51.0), (96, 50.7)],
            d2h_gbps: vec![(16, 50.3), (18, 51.5), (48, 52.2), (64, 51.9), (96, 52.0)],
            d2h_block_gbps: 38.0,
            h2d_drain_ns: vec![(16, 1_000.0), (50, 5_300.0), (64, 6_100.0), (96, 8_500.0)],
            d2h_drain_ns: vec![(16, 1_000.0), (24, 6_500.0), (50, 7_500.0), (64, 9_000.0), (96, 16_000.0)],
            fill_gbps: 100.0,
            gated_ns: 1_500,
            h2d_latency_ns: 1_500,
            mirror_ns: 1_000,
            look_ns: 500,
        }
    }
}

impl CopyKernelParameters {
    /// The rate of this many blocks of this many warps between host and device; infinite elsewhere, where the link
    /// bounds it.
    pub(crate) fn gbps(&self, direction: Direction, blocks: u32, warps: u32) -> f64 {
        match direction {
            Direction::HostToDevice => interpolated(&self.h2d_gbps, blocks * warps),
            Direction::DeviceToHost => {
                interpolated(&self.d2h_gbps, blocks * warps).min(self.d2h_block_gbps * f64::from(blocks))
            }
            Direction::OnDevice | Direction::Peer { .. } => f64::INFINITY,
        }
    }

    /// The time that the link stays occupied after this many warps have stopped.
    pub(crate) fn drain_ns(&self, direction: Direction, warps: u32) -> u64 {
        match direction {
            Direction::HostToDevice => interpolated(&self.h2d_drain_ns, warps) as u64,
            Direction::DeviceToHost => interpolated(&self.d2h_drain_ns, warps) as u64,
            Direction::OnDevice | Direction::Peer { .. } => 0,
        }
    }

    pub(super) fn check(&self) -> Result<(), String> {
        check::rates(&[("copy_kernel.fill_gbps", self.fill_gbps)])?;
        let tables = [
            ("h2d_gbps", &self.h2d_gbps),
            ("d2h_gbps", &self.d2h_gbps),
            ("h2d_drain_ns", &self.h2d_drain_ns),
            ("d2h_drain_ns", &self.d2h_drain_ns),
        ];
        for (name, table) in tables {
            check_table(&format!("copy_kernel.{name}"), table)?;
        }
        check::counts(&[("copy_kernel.look_ns", self.look_ns)])
    }
}

pub(super) fn check_table(name: &str, table: &[(u32, f64)]) -> Result<(), String> {
    let rising = table.windows(2).all(|pair| pair[0].0 < pair[1].0);
    let positive = table.iter().all(|&(warps, rate)| warps > 0 && rate.is_finite() && rate > 0.0);
    if table.is_empty() || !rising || !positive {
        return Err(format!("{name} must be pairs of warps, rising, and a positive number"));
    }
    Ok(())
}

/// The value at `at` of a table: proportional below its first entry, constant beyond its last.
pub(super) fn interpolated(table: &[(u32, f64)], at: u32) -> f64 {
    let mut below = (0, 0.0);
    for &(next, rate) in table {
        if at <= next {
            let part = f64::from(at - below.0) / f64::from(next - below.0);
            return below.1 + (rate - below.1) * part;
        }
        below = (next, rate);
    }
    below.1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters;

    #[test]
    fn rates_between_measured_numbers_of_warps_are_interpolated() {
        let copy = CopyKernelParameters::default();
        let to_device = |blocks, warps| copy.gbps(Direction::HostToDevice, blocks, warps);
        assert_eq!([to_device(1, 8), to_device(2, 16), to_device(4, 16), to_device(64, 16)], [9.75, 36.5, 51.0, 50.7]);
        assert!((to_device(5, 16) - 50.85).abs() < 1e-9);
        let to_host = |blocks, warps| copy.gbps(Direction::DeviceToHost, blocks, warps);
        assert_eq!([to_host(1, 16), to_host(2, 9)], [38.0, 51.5], "one multiprocessor sends no more");
        let falling = "[copy_kernel]\nh2d_gbps = [[4, 50.0], [2, 36.0]]\n";
        assert!(Parameters::from_toml(falling).unwrap_err().contains("copy_kernel.h2d_gbps"));
    }
}
