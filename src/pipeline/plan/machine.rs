//! The machine of a plan, and the work beside it.

use hal::Nanos;

/// The parameters of a machine. Rates are those with both directions busy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// Rate of copies to the device, in GB/s.
    pub h2d_gbps: f64,
    /// Rate of copies to the host, in GB/s.
    pub d2h_gbps: f64,
    /// A copy takes so long beside its bytes.
    pub copy_setup: Nanos,
    /// A kernel takes so long beside its work.
    pub kernel_setup: Nanos,
    /// The longest time from the end of a part of a frame to the beginning of the next one, and from its capture to the
    /// first.
    pub step: Nanos,
    /// The longest time from the end of the last part until the frame counts as delivered.
    pub notice: Nanos,
    /// Bulk keeps a copy of a frame waiting for so long at most.
    pub blocking: Nanos,
}

impl Machine {
    /// The time of a copy to the device; none without bytes.
    pub(super) fn upload(&self, bytes: u64) -> Nanos {
        self.copy(bytes, self.h2d_gbps)
    }

    /// The same to the host.
    pub(super) fn download(&self, bytes: u64) -> Nanos {
        self.copy(bytes, self.d2h_gbps)
    }

    fn copy(&self, bytes: u64, gbps: f64) -> Nanos {
        if bytes == 0 {
            return Nanos::ZERO;
        }
        // 1 GB/s is a byte in a nanosecond.
        self.copy_setup + Nanos((bytes as f64 / gbps).ceil() as u64)
    }
}

/// Less urgent work beside the streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Background {
    /// Whether there are bulk copies.
    pub has_bulk: bool,
    /// Its kernels keep a kernel of a frame waiting for so long at most.
    pub kernel: Nanos,
}
