//! The machine. The constants of copies were measured on one kind; on a slower link, or a device with few
//! multiprocessors, they are scaled.

use crate::workers::{BLOCK_WARPS_MAX, Workers};

/// What the constants of copies depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// The rate of a copy between host and device that has the link for itself, in GB/s.
    pub link_gbps: u32,
    /// The multiprocessors of the device, or of its instance.
    pub multiprocessors: u32,
}

/// A smaller device than the measured one gives copy kernels one multiprocessor in so many.
const KERNEL_SHARE: u32 = 8;

impl Machine {
    /// That of the measurements: an H100 or H200 on 16 lanes of PCIe 5.
    pub const MEASURED: Machine = Machine { link_gbps: 55, multiprocessors: 132 };

    /// The bytes that take as long here as `bytes` did in the measurements. A faster link leaves them as they are,
    /// because nothing was measured on one.
    #[must_use]
    #[inline(never)] // where a layer opens, so that the code is small
    pub fn bytes(self, bytes: u64) -> u64 {
        let (here, measured) = (u64::from(self.link_gbps), u64::from(Machine::MEASURED.link_gbps));
        if here >= measured { bytes } else { bytes / measured * here + bytes % measured * here / measured }
    }

    /// The warps of a copy kernel that fill the link here as `workers` did in the measurements. The bytes in flight are
    /// the rate times the latency; more of them would only delay urgent copies.
    #[must_use]
    pub fn workers(self, workers: Workers) -> Workers {
        let warps = self.bytes(u64::from(workers.blocks * workers.warps) * u64::from(Machine::MEASURED.link_gbps));
        let warps = warps.div_ceil(Machine::MEASURED.link_gbps.into()) as u32;
        let blocks = match self.multiprocessors < Machine::MEASURED.multiprocessors {
            // As few as hold them: fewer warps would not fill the link.
            true => workers.blocks.min(self.multiprocessors / KERNEL_SHARE).max(warps.div_ceil(BLOCK_WARPS_MAX)),
            false => workers.blocks,
        };
        let blocks = blocks.max(1);
        Workers { blocks, warps: warps.div_ceil(blocks).clamp(1, BLOCK_WARPS_MAX) }
    }
}
