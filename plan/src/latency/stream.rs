//! A stream of a plan.

use hal::Nanos;

use crate::latency::busy::Demand;
use crate::latency::{Background, Machine};

/// Streams that are alike: each has a frame in every period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedStream {
    /// Their name.
    pub name: String,
    /// How many there are.
    pub count: u32,
    /// The time from one frame to the next; not zero.
    pub period: Nanos,
    /// A frame is on time if it is delivered so long after its capture at the latest.
    pub deadline: Nanos,
    /// A frame comes so long after its time at most.
    pub jitter: Nanos,
    /// A copy of a frame may wait so long for bulk; zero for no longer than it has to.
    pub tolerance: Nanos,
    /// Bytes that go to the device.
    pub upload_bytes: u64,
    /// The time of each kernel with the device to itself.
    pub kernels: Vec<Nanos>,
    /// Bytes that go to the host.
    pub download_bytes: u64,
}

impl PlannedStream {
    pub(super) fn kernels_span(&self, machine: &Machine) -> Nanos {
        self.kernels.iter().fold(Nanos::ZERO, |sum, kernel| sum + machine.kernel_setup + *kernel)
    }

    /// All that its frames ask of the one server.
    pub(super) fn demand(&self, machine: &Machine, background: &Background) -> Demand {
        let copies = u64::from(self.upload_bytes > 0) + u64::from(self.download_bytes > 0);
        let (kernels, has_kernels) = (self.kernels.len() as u64, u64::from(!self.kernels.is_empty()));
        let blocking = if background.has_bulk { copies * machine.blocking.0 } else { 0 };
        // The kernels of a frame follow each other on the device without a step of the host.
        let steps = (copies + has_kernels) * machine.step.0 + machine.notice.0;
        let work =
            machine.upload(self.upload_bytes) + self.kernels_span(machine) + machine.download(self.download_bytes);
        let span = work + Nanos(blocking + steps + kernels * background.kernel.0);
        Demand { count: self.count, span, period: self.period, jitter: self.jitter }
    }
}
