//! Properties that only a model can show: faults, machines with few queues, and leftovers.

pub mod bounds;
pub mod buffers;
pub mod captures;
pub mod closing;
pub mod deadlock;
pub mod faults;
pub mod faulty;
pub mod flat;
pub mod guard;
pub mod heaps;
pub mod panics;
pub mod queues;
pub mod rescue;
mod stall;

use std::sync::Arc;

use hal::Driver;
use softgpu::{Builder, SoftGpu};

use crate::failure::Outcome;
use crate::rig::Rig;

/// Runs a check on a model of its own.
fn on(configure: impl FnOnce(Builder) -> Builder, check: impl FnOnce(&SoftGpu, &Rig) -> Outcome) -> Outcome {
    let gpu = configure(SoftGpu::builder()).build();
    let driver: Arc<dyn Driver> = Arc::new(gpu.clone());
    let rig = Rig::new(&driver)?;
    // This stream is made at its first use, and the program does not free it.
    driver.stream_query(hal::Stream::PER_THREAD)?;
    let outcome = check(&gpu, &rig);
    outcome.and(rig.finish())
}

/// The objects of a model that its user has to free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    allocations: usize,
    events: usize,
    streams: usize,
    modules: usize,
}

impl Held {
    fn by(gpu: &SoftGpu) -> Held {
        let live = gpu.live();
        let (allocations, events) = (live.allocations, live.events);
        Held { allocations, events, streams: live.streams, modules: live.modules }
    }

    fn sum(self) -> usize {
        self.allocations + self.events + self.streams + self.modules
    }
}
