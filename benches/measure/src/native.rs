//! CUDA alone: two streams, with or without stream priorities, whole copies or chunks.

use std::sync::Arc;

use hal::{Code, Nanos, Result, Stream};

use super::flow::{Cargo, Chunked, Flow, Plain, Queued};
use super::ground::Ground;
use super::method::{Flows, Method, Opened, Tally};

/// The cutting of bulk requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Not at all.
    Whole,
    /// Not at all, and nothing but copies is in the stream of bulk.
    Queued,
    /// Into chunks of this size, back to back.
    Chunks(u64),
    /// Into chunks of this size, each followed by an empty kernel.
    ChunksAndKernels(u64),
}

/// Plain copies in two streams.
pub struct Native {
    ground: Arc<Ground>,
    urgent: (Stream, Cargo),
    bulk: (Stream, Cargo),
    cut: Cut,
    /// For the counts of bulk, if they are not in its stream.
    counting: Stream,
}

/// First copies that take longer than this have failed.
const FIRST_COPIES: Nanos = Nanos::from_ms(5_000);

impl Native {
    /// Two streams with these CUDA priorities (lower is more urgent); the first is for urgent copies.
    pub fn new(ground: &Arc<Ground>, priorities: (i32, i32), cargo: (Cargo, Cargo), cut: Cut) -> Result<Native> {
        let bulk = (ground.stream(priorities.1)?, cargo.1);
        let urgent = (ground.stream(priorities.0)?, cargo.0);
        let counting = if cut == Cut::Queued { ground.stream(priorities.1)? } else { bulk.0 };
        Ok(Native { ground: Arc::clone(ground), urgent, bulk, cut, counting })
    }

    fn plain(&self, (stream, cargo): (Stream, Cargo)) -> Plain {
        Plain { ground: Arc::clone(&self.ground), cargo, stream }
    }
}

impl Method for Native {
    fn open(&self) -> Result<Opened> {
        let whole = self.plain(self.bulk);
        let bulk: Arc<dyn Flow> = match self.cut {
            Cut::Whole => Arc::new(whole),
            Cut::Queued => Arc::new(Queued::new(whole, self.counting)?),
            Cut::Chunks(chunk_bytes) => Arc::new(Chunked { whole, chunk_bytes, has_kernels: false }),
            Cut::ChunksAndKernels(chunk_bytes) => Arc::new(Chunked { whole, chunk_bytes, has_kernels: true }),
        };
        let flows = Flows { urgent: Arc::new(self.plain(self.urgent)), bulk };
        warm_up(&self.ground, &flows)?;
        Ok(Opened::Flows(flows))
    }

    fn close(&self, _: u64) -> Tally {
        Tally::default()
    }
}

/// Makes one copy of each flow and waits for it, so that the cost of the first use of a stream or a kernel is not
/// measured.
pub fn warm_up(ground: &Ground, flows: &Flows) -> Result<()> {
    flows.bulk.copy()?;
    flows.urgent.copy()?;
    if ground.rig().look(&[flows.bulk.stream(), flows.urgent.stream()], FIRST_COPIES)?.into_iter().all(|done| done) {
        return Ok(());
    }
    Err(Code::LAUNCH_TIMEOUT
        .at("cuStreamQuery")
        .because(format!("the first copies did not complete within {FIRST_COPIES}")))
}
