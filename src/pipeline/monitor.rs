//! Opening a pipeline, and its counts.

use std::fmt;
use std::sync::Arc;

use stages::{Refused, Ring, Role};

use crate::pipeline::consumer::Consumer;
use crate::pipeline::fault::Error;
use crate::pipeline::options::PipelineOptions;
use crate::pipeline::producer::Producer;
use crate::pipeline::record::{FrameRecord, PipelineStatistics};
use crate::pipeline::shared::Shared;
use crate::task::Tasks;

/// A FIFO of frames between two threads or sets of tasks, seen from beside it: its counts, and its records.
pub struct Pipeline<B> {
    shared: Arc<Shared<B>>,
}

/// A pipeline and its two ends.
pub type Opened<B> = (Pipeline<B>, Producer<B>, Consumer<B>);

impl<B: Send + Sync + 'static> Pipeline<B> {
    /// Opens a pipeline with a buffer for each stage and one more, which are used again and again. `make` is given the
    /// number of the buffer.
    pub fn open(
        tasks: &Tasks,
        options: PipelineOptions,
        make: impl FnMut(u8) -> Result<B, Error>,
    ) -> Result<Opened<B>, Error> {
        let stages = options.stages;
        // One more buffer than stages needs a number too.
        if stages == u8::MAX {
            return Err(Refused::Stages.into());
        }
        let members = Ring::new(stages)?.members(&[Role::Producer, Role::Consumer])?;
        let [producer, consumer] = <[_; 2]>::try_from(members).expect("one of each");
        let buffers = (0..=stages).map(make).collect::<Result<Vec<B>, Error>>()?;
        let shared = Arc::new(Shared::new(tasks, options, buffers)?);
        let (producer, consumer) =
            (Producer::new(Arc::clone(&shared), producer), Consumer::new(Arc::clone(&shared), consumer));
        Ok((Pipeline { shared }, producer, consumer))
    }

    /// The counts so far.
    #[must_use]
    pub fn statistics(&self) -> PipelineStatistics {
        self.shared.book(|book| book.statistics)
    }

    /// The records of the frames that have ended since the last call, in the order of their ends.
    #[must_use]
    pub fn take_records(&self) -> Vec<FrameRecord> {
        self.shared.book(|book| book.records.drain(..).collect())
    }
}

impl<B> fmt::Debug for Pipeline<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipeline").field("options", &self.shared.options).finish_non_exhaustive()
    }
}
