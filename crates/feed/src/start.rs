//! A feed before its kernel runs.
#![allow(unsafe_code)] // a launch is unsafe; the caller's promise is passed on

use std::fmt;

use copies::Overtake;
use hal::{Attribute, Code, StreamFlags};
use overtake_pipelines::Error;
use overtake_tasks::task::{Arguments, Kernel, Shape};
use stages::{Ring, Role};

use crate::memory::Memory;
use crate::shared::{Line, Shared};
use crate::{FeedKernel, FeedOptions, FeedResults, Feeder};

/// A feed before its kernel runs: memory, words and streams, all that the way of a stage needs. To make any of it later
/// could wait for the kernel.
pub struct Feed {
    shared: Shared,
    members: [stages::Member; 2],
    blocks_max: u32,
}

/// The three ends of a feed.
pub type Started = (Feeder, FeedResults, FeedKernel);

impl Feed {
    /// Makes all parts of a feed.
    pub fn open(overtake: &Overtake, options: FeedOptions) -> Result<Feed, Error> {
        let members = Ring::new(options.stages)?.members(&[Role::Producer, Role::Consumer])?;
        let members = <[_; 2]>::try_from(members).expect("one of each");
        let context = overtake.cuda_context();
        let memory = Memory::new(overtake, &options)?;
        let multiprocessors = context
            .call(|driver| driver.device_attribute(Attribute::MULTIPROCESSOR_COUNT, driver.context_device()?))?;
        let left = (multiprocessors.max(0) as u32).saturating_sub(options.leave);
        let blocks_max = left.saturating_mul(options.blocks_each);
        let _entered = context.enter()?;
        let upload = overtake.stream(options.priority)?;
        let kernel = context.call(|driver| driver.stream_create(StreamFlags::NON_BLOCKING, 0))?;
        Ok(Feed { shared: Shared::new(options, context, upload, kernel, memory), members, blocks_max })
    }

    /// The most blocks that the kernel may have, so that it leaves multiprocessors to others.
    #[must_use]
    pub fn blocks_max(&self) -> u32 {
        self.blocks_max
    }

    /// Launches the kernel. Its first parameter is the feed, and `arguments` adds the others to it. No call that waits
    /// for the device may be made until the kernel has ended.
    ///
    /// # Safety
    /// The kernel consumes the feed as `overtake_pipeline.cuh` says, writes nothing of it but its results, and uses
    /// only memory that is there until it has ended, as its arguments and its shape say.
    pub unsafe fn start(
        self,
        kernel: &Kernel,
        shape: &Shape,
        arguments: impl FnOnce(Arguments) -> Arguments,
    ) -> Result<Started, Error> {
        let Feed { mut shared, members: [producer, consumer], blocks_max } = self;
        let blocks = shape.grid.iter().fold(1_u32, |blocks, count| blocks.saturating_mul(*count));
        if blocks > blocks_max {
            let why = format!(
                "kernel {} has {blocks} blocks, and {blocks_max} leave {} multiprocessors to others",
                kernel.name(),
                shared.options.leave
            );
            return Err(Code::INVALID_VALUE.at("overtake Feed::start").because(why).into());
        }
        let mut arguments = arguments(Arguments::new().address(shared.memory().control()));
        let place = (shared.options.device, shared.kernel);
        // SAFETY: the first argument is the feed's, whose memory lives until the kernel has ended; the caller vouches
        // for the others.
        shared.context.call(|driver| unsafe { kernel.launch(driver, place, shape, &mut arguments) })?;
        shared.is_started = true;
        let line = Line::new(shared);
        Ok((Feeder::new(&line, producer), FeedResults::new(&line, consumer), FeedKernel::new(&line)))
    }
}

impl fmt::Debug for Feed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feed").field("options", &self.shared.options).finish_non_exhaustive()
    }
}
