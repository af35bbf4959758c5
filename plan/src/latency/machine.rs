//! The machine of a plan, and the work beside it.

use hal::Nanos;
use options::Profile;

/// The parameters of a machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// Rate of copies to the device, in GB/s, beside bulk by the copy engines.
    pub h2d_gbps: f64,
    /// The same of copies to the host.
    pub d2h_gbps: f64,
    /// Rate of copies to the device, in GB/s, while a kernel makes bulk copies to the host, as it does where a
    /// stream tolerates no wait.
    pub h2d_beside_kernels_gbps: f64,
    /// The same of copies to the host, beside bulk to the device.
    pub d2h_beside_kernels_gbps: f64,
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
    /// The machine beside this background and streams that all tolerate such a wait. Short bulk makes use of any, and
    /// long bulk of one that is longer than two chunks; else it goes by kernels.
    pub(super) fn beside(&self, background: &Background, tolerated: Nanos) -> Machine {
        let by_kernel = background.has_bulk && tolerated.0 / 2 <= Profile::LIBRARY.chunk_max.0;
        let least = |plain: f64, beside: f64| if by_kernel { plain.min(beside) } else { plain };
        Machine {
            h2d_gbps: least(self.h2d_gbps, self.h2d_beside_kernels_gbps),
            d2h_gbps: least(self.d2h_gbps, self.d2h_beside_kernels_gbps),
            blocking: self.blocking + tolerated,
            ..*self
        }
    }

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
