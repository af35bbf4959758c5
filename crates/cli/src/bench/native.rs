//! What CUDA does by itself: two streams, with or without stream priorities.

use std::sync::Arc;

use channels::Direction;
use channels::probe::Rig;
use hal::{Code, Nanos, Result, Stream};

use super::{BULK_LANE, Method, URGENT_LANE};

/// Plain copies in two streams.
pub struct Native {
    rig: Arc<Rig>,
    direction: Direction,
    urgent: (Stream, u64),
    bulk: (Stream, u64),
}

/// A first copy that takes longer than this will not come.
const FIRST_COPY: Nanos = Nanos::from_ms(5_000);

impl Native {
    /// Two streams of the rig with these CUDA priorities (lower is more urgent), for copies of these sizes.
    pub fn new(rig: &Arc<Rig>, direction: Direction, priorities: (i32, i32), bytes: (u64, u64)) -> Result<Native> {
        let bulk = (rig.stream(priorities.1)?, bytes.1);
        let urgent = (rig.stream(priorities.0)?, bytes.0);
        // Streams get their hardware queues in turn, so two that are made and used one after the other do not share one:
        // what is measured is the copy engine, not a shared queue.
        rig.copy(direction, BULK_LANE, bytes.1.min(bytes.0), bulk.0)?;
        rig.copy(direction, URGENT_LANE, bytes.0, urgent.0)?;
        if !rig.look(&[bulk.0, urgent.0], FIRST_COPY)?.into_iter().all(|done| done) {
            return Err(Code::LAUNCH_TIMEOUT.at("cuStreamQuery").because("the first copies did not complete"));
        }
        Ok(Native { rig: Arc::clone(rig), direction, urgent, bulk })
    }
}

impl Method for Native {
    fn rig(&self) -> &Rig {
        &self.rig
    }

    fn submit_urgent(&self, sequence: u32) -> Result<()> {
        let (stream, bytes) = self.urgent;
        self.rig.copy(self.direction, URGENT_LANE, bytes, stream)?;
        self.rig.driver().mem_op(stream, self.count_urgent(sequence))
    }

    fn submit_bulk(&self, request: u32) -> Result<()> {
        let (stream, bytes) = self.bulk;
        self.rig.copy(self.direction, BULK_LANE, bytes, stream)?;
        self.rig.driver().mem_op(stream, self.count_bulk(request))
    }

    fn urgent_bytes(&self) -> u64 {
        self.urgent.1
    }

    fn bulk_bytes(&self) -> u64 {
        self.bulk.1
    }

    fn streams(&self) -> Vec<Stream> {
        vec![self.urgent.0, self.bulk.0]
    }
}
