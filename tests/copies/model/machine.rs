//! A model for each trial, and the objects that are left on it.

use std::sync::Arc;

use hal::Driver;
use softgpu::{Builder, SoftGpu};

use crate::failure::Failure;
use crate::rig::Rig;

/// Runs a check on a model of its own.
pub fn on<T>(
    configure: impl FnOnce(Builder) -> Builder,
    check: impl FnOnce(&SoftGpu, &Rig) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let gpu = configure(SoftGpu::builder()).build();
    let driver: Arc<dyn Driver> = Arc::new(gpu.clone());
    let rig = Rig::new(&driver)?;
    // This stream is made at its first use, and the program does not free it.
    driver.stream_query(hal::Stream::PER_THREAD)?;
    let result = check(&gpu, &rig);
    let end = rig.finish();
    result.and_then(|value| end.map(|()| value))
}

/// The objects of a model that its user has to free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    pub allocations: usize,
    pub events: usize,
    pub streams: usize,
    pub modules: usize,
    pub graphs: usize,
}

impl Held {
    pub fn by(gpu: &SoftGpu) -> Held {
        let live = gpu.live();
        let (allocations, events) = (live.allocations, live.events);
        Held { allocations, events, streams: live.streams, modules: live.modules, graphs: live.graphs }
    }

    pub fn sum(self) -> usize {
        self.allocations + self.events + self.streams + self.modules + self.graphs
    }
}
