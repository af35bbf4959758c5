//! A stream of bulk beside one of urgent copies.

use std::sync::Arc;

use hal::Nanos;
use overtake::copy::Plan;
use overtake::{Overtake, PriorityStream};

use crate::failure::{Failure, Outcome};
use crate::lane::level;
use crate::memory::Pinned;
use crate::place::Buffer;
use crate::rig::Rig;
use crate::{bed, raw};

/// The size of an urgent copy here.
pub const URGENT_BYTES: u64 = 64 << 10;
/// Longer than the watcher needs to see that no bulk is left.
pub const LONG: Nanos = Nanos::from_ms(20);

/// A layer with a stream of bulk, one of urgent copies, and memory for both.
pub struct Streams<'a> {
    pub rig: &'a Rig,
    pub overtake: Overtake,
    pub bulk: PriorityStream,
    pub urgent: PriorityStream,
    pub host: Arc<Pinned>,
    pub device: Buffer,
}

impl Streams<'_> {
    pub fn new(rig: &Rig, overtake: Overtake, urgent: PriorityStream, bytes: u64) -> Result<Streams<'_>, Failure> {
        let bulk = overtake.adopt(rig.stream()?, level(1))?;
        Ok(Streams { rig, overtake, bulk, urgent, host: rig.pinned(bytes)?, device: rig.buffer(bytes)? })
    }

    /// The plan of an urgent copy to the device, which has completed.
    pub fn urgent_plan(&self) -> Result<Plan, Failure> {
        let plan = raw::htod(&self.urgent, self.device, &self.host, URGENT_BYTES)?.plan();
        self.urgent.synchronize()?;
        Ok(plan)
    }

    /// Waits for all bulk, and until a lull has begun.
    pub fn wait_for_lull(&self) -> Outcome {
        self.rest()?;
        self.rig.driver().host().sleep(LONG);
        Ok(())
    }

    /// Waits for all bulk.
    pub fn rest(&self) -> Outcome {
        self.bulk.synchronize()?;
        bed::at_rest(self.rig, &self.overtake)
    }
}
