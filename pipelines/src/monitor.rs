//! Opening a pipeline, and its counters.

use std::fmt;
use std::sync::Arc;

use hal::Code;
use overtake_tasks::task::Tasks;
use stages::{Refused, Ring, Role};

use crate::consumer::Consumer;
use crate::fault::Error;
use crate::member::Member;
use crate::options::{Behind, PipelineOptions};
use crate::producer::Producer;
use crate::record::{FrameRecord, PipelineStatistics};
use crate::shared::Shared;

/// A FIFO of frames between two threads or sets of tasks, seen from outside: its counters and records.
pub struct Pipeline<B> {
    pub(crate) shared: Arc<Shared<B>>,
}

/// A pipeline and its two ends.
pub type Opened<B> = (Pipeline<B>, Producer<B>, Consumer<B>);

impl<B: Send + Sync + 'static> Pipeline<B> {
    /// Opens a pipeline with a buffer for each stage and one more, all of which are reused. `make` gets the number of
    /// the buffer.
    pub fn open(
        tasks: &Tasks,
        options: PipelineOptions,
        make: impl FnMut(u8) -> Result<B, Error>,
    ) -> Result<Opened<B>, Error> {
        let pipeline = Pipeline::new(tasks, options, make, false)?;
        let members = pipeline.shared.ring.members(&[Role::Producer, Role::Consumer])?;
        let [producer, consumer] = <[_; 2]>::try_from(members).expect("one of each");
        let (producer, consumer) =
            (Producer::new(&pipeline.shared, producer), Consumer::new(&pipeline.shared, consumer));
        Ok((pipeline, producer, consumer))
    }

    /// Opens a pipeline whose frames several members fill together and several empty. Returns members with these roles,
    /// in this order. It keeps every frame ([`Behind::Block`]).
    pub fn with_members(
        tasks: &Tasks,
        options: PipelineOptions,
        roles: &[Role],
        make: impl FnMut(u8) -> Result<B, Error>,
    ) -> Result<(Pipeline<B>, Vec<Member<B>>), Error> {
        if options.behind != Behind::Block {
            let why = "members that share frames have to agree on each: they keep every frame, by Behind::Block";
            return Err(Code::INVALID_VALUE.at("overtake Pipeline").because(why).into());
        }
        if options.admission.is_some() {
            let why = "members that share frames may wait for each other, and an admission could keep one of them out";
            return Err(Code::INVALID_VALUE.at("overtake Pipeline").because(why).into());
        }
        let pipeline = Pipeline::new(tasks, options, make, true)?;
        let members = pipeline.shared.ring.members(roles)?;
        let members = members.into_iter().map(|member| Member::new(&pipeline.shared, member)).collect();
        Ok((pipeline, members))
    }

    fn new(
        tasks: &Tasks,
        options: PipelineOptions,
        make: impl FnMut(u8) -> Result<B, Error>,
        has_many: bool,
    ) -> Result<Pipeline<B>, Error> {
        tasks.within().may_enter()?;
        let stages = options.stages;
        // One more buffer than stages needs a number too.
        if stages == u8::MAX {
            return Err(Refused::Stages.into());
        }
        let ring = Ring::new(stages)?;
        let buffers = (0..=stages).map(make).collect::<Result<Vec<B>, Error>>()?;
        Ok(Pipeline { shared: Arc::new(Shared::new(tasks, options, buffers, ring, has_many)?) })
    }

    /// The counters so far.
    #[must_use]
    pub fn statistics(&self) -> PipelineStatistics {
        self.shared.book_here(|book| book.statistics)
    }

    /// Takes the records of the frames that have ended since the last call, in the order in which they ended.
    #[must_use]
    pub fn take_records(&self) -> Vec<FrameRecord> {
        self.shared.book_here(|book| book.records.drain(..).collect())
    }

    /// Takes only the oldest record. The others are kept, as many as the options say.
    #[must_use]
    pub fn take_record(&self) -> Option<FrameRecord> {
        self.shared.book_here(|book| book.records.pop_front())
    }
}

impl<B> fmt::Debug for Pipeline<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipeline").field("options", &self.shared.options).finish_non_exhaustive()
    }
}
