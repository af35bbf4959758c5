//! A stream of bulk beside one of urgent copies.

use std::sync::Arc;

use overtake::{Overtake, PriorityStream};

use crate::bed;
use crate::failure::{Failure, Outcome};
use crate::lane::level;
use crate::memory::Pinned;
use crate::place::Buffer;
use crate::rig::Rig;

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

    /// Waits for all bulk.
    pub fn rest(&self) -> Outcome {
        self.bulk.synchronize()?;
        bed::at_rest(self.rig, &self.overtake)
    }
}
