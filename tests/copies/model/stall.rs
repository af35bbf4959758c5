//! An urgent copy that makes no progress while its word is up: the situation that the layer must survive, on demand.

use std::sync::Arc;

use hal::Nanos;
use overtake::copy::CopyHandle;
use overtake::{Options, Overtake, PriorityStream};
use softgpu::{Direction, Fault, SoftGpu};

use crate::bed;
use crate::failure::{Failure, Outcome};
use crate::lane::level;
use crate::memory::Pinned;
use crate::place::Buffer;
use crate::raw;
use crate::rig::Rig;

/// The size of an urgent copy here.
pub const URGENT_BYTES: u64 = 64 << 10;
/// The size of a bulk copy here.
pub const BULK_BYTES: u64 = 1 << 20;

/// A low and a high stream, and an engine that can be stopped.
pub struct Stall<'a> {
    gpu: &'a SoftGpu,
    rig: &'a Rig,
    pub overtake: Overtake,
    /// Priority 1.
    pub low: PriorityStream,
    /// Priority 3.
    pub high: PriorityStream,
    memory: (Arc<Pinned>, Buffer),
}

impl<'a> Stall<'a> {
    /// Options under which only the watchdog lets bulk pass.
    pub fn new(gpu: &'a SoftGpu, rig: &'a Rig, options: Options) -> Result<Stall<'a>, Failure> {
        let mut options = options.with_profile(|profile| profile.kernel_wait_max = Nanos::from_ms(10_000));
        options.profile.share.share = 0.0;
        let overtake = bed::open(rig, options)?;
        let (low, high) = (overtake.adopt(rig.stream()?, level(1))?, overtake.adopt(rig.stream()?, level(3))?);
        let memory = (rig.pinned(BULK_BYTES)?, rig.buffer(BULK_BYTES)?);
        let stall = Stall { gpu, rig, overtake, low, high, memory };
        stall.make_careful(&stall.high)?;
        Ok(stall)
    }

    /// Makes a copy of the stream take too long, so that the stream is doubted. From then on the layer knows when its
    /// copies can run, and only their completion or the watchdog lowers their raises.
    pub fn make_careful(&self, stream: &PriorityStream) -> Outcome {
        self.stop_the_engine(5);
        self.urgent_of(stream)?.wait()?;
        bed::at_rest(self.rig, &self.overtake)
    }

    /// The engine to the device starts no copy for `ms` milliseconds.
    fn stop_the_engine(&self, ms: u64) {
        let direction = Direction::HostToDevice;
        self.gpu.inject(Fault::DelayEngine { device: 0, direction, span_ns: ms * 1_000_000 });
    }

    pub fn urgent(&self) -> Result<CopyHandle, Failure> {
        self.urgent_of(&self.high)
    }

    /// A copy of that size in another stream.
    pub fn urgent_of(&self, stream: &PriorityStream) -> Result<CopyHandle, Failure> {
        Ok(raw::htod(stream, self.memory.1, &self.memory.0, URGENT_BYTES)?)
    }

    /// An urgent copy that the engine does not start for `ms` milliseconds, while its word is up.
    pub fn stalled(&self, ms: u64) -> Result<CopyHandle, Failure> {
        self.stop_the_engine(ms);
        let urgent = self.urgent()?;
        let overtake = &self.overtake;
        bed::eventually(self.rig, "the word goes up", || bed::raised(overtake) == 1)?;
        Ok(urgent)
    }

    pub fn bulk(&self) -> Result<CopyHandle, Failure> {
        Ok(raw::htod(&self.low, self.memory.1, &self.memory.0, BULK_BYTES)?)
    }
}
