//! The end of a feed that fills stages.
#![allow(unsafe_code)] // the bytes of a stage are reached by address; only the stage's holder has them

use std::fmt;
use std::time::Duration;

use hal::{MemOp, Nanos};
use overtake_pipelines::Error;
use stages::{Member, Stage};

use crate::shared::{Line, UnderWay};

/// `OVERTAKE_CLOSED` in `overtake_pipeline.cuh`.
const CLOSED: u32 = 1;

/// The end of a feed that fills stages. Dropping it closes the feed behind the stages that are committed; in a panic,
/// the kernel ends at once.
pub struct Feeder {
    line: Line,
    member: Member,
    is_closed: bool,
}

impl Feeder {
    pub(super) fn new(line: &Line, member: Member) -> Feeder {
        Feeder { line: Line::clone(line), member, is_closed: false }
    }

    /// Waits for a free stage.
    pub fn acquire(&mut self) -> Result<FeedStage<'_>, Error> {
        let acquired = self.acquire_by(None)?;
        Ok(acquired.expect("a wait without a deadline ends with a stage"))
    }

    /// A free stage, if there is one.
    pub fn try_acquire(&mut self) -> Result<Option<FeedStage<'_>>, Error> {
        self.line.settle();
        let stage = self.free()?;
        Ok(stage.map(|stage| FeedStage { feeder: self, stage }))
    }

    /// Waits for a free stage for a span of time.
    pub fn acquire_for(&mut self, span: Duration) -> Result<Option<FeedStage<'_>>, Error> {
        let deadline = self.line.host().now() + Nanos::from(span);
        self.acquire_by(Some(deadline))
    }

    fn acquire_by(&mut self, deadline: Option<Nanos>) -> Result<Option<FeedStage<'_>>, Error> {
        let line = Line::clone(&self.line);
        let stage = line.until(deadline, || self.free())?;
        Ok(stage.map(|stage| FeedStage { feeder: self, stage }))
    }

    /// The next stage if it is free. One that was given up is still there.
    fn free(&mut self) -> Result<Option<Stage>, Error> {
        if self.line.has_ended() {
            return Err(self.line.ended());
        }
        match self.member.acquired() {
            Some(stage) => Ok(Some(stage)),
            None => self.member.try_acquire().map_err(|error| self.line.error(error)),
        }
    }

    /// The stages that are committed are the last: the kernel ends when it has consumed them.
    pub fn close(mut self) -> Result<(), Error> {
        self.end()
    }

    fn end(&mut self) -> Result<(), Error> {
        self.is_closed = true;
        let (line, order) = (&self.line, MemOp::write32(self.line.memory().order(), CLOSED));
        let closed = line.context.call(|driver| driver.mem_op(line.upload.raw(), order));
        // Without the word the kernel would wait for ever.
        closed.inspect_err(|_| line.quit())?;
        Ok(())
    }
}

impl Drop for Feeder {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.line.quit();
        } else if !self.is_closed {
            // The kernel ends either way.
            let _ = self.end();
        }
        let _ = self.member.quit();
        self.line.turn();
    }
}

impl fmt::Debug for Feeder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feeder").field("member", &self.member).finish_non_exhaustive()
    }
}

/// A stage that is being filled. Dropping it gives it up: the next `acquire` gives it again.
pub struct FeedStage<'f> {
    feeder: &'f mut Feeder,
    stage: Stage,
}

impl FeedStage<'_> {
    /// How many stages were committed before it.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.stage.position
    }

    /// Its bytes in pinned memory of the host.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let (start, length) = self.feeder.line.memory().bytes(self.stage.index);
        // SAFETY: the memory was zeroed when it was allocated, and lives as long as the feeder. The upload that read it
        // before has completed, because the kernel has released the stage behind it; and this stage is its only holder.
        unsafe { std::slice::from_raw_parts_mut(start, length) }
    }

    /// Uploads the bytes, and behind them the word that the kernel looks at. After an error the kernel does not get the
    /// stage, and the next `acquire` gives it again.
    pub fn commit(self) -> Result<(), Error> {
        let Feeder { line, member, .. } = self.feeder;
        let (memory, stream) = (line.memory(), &line.upload);
        let request = memory.upload(self.stage.index);
        let word = MemOp::write32(memory.committed(), (self.stage.position + 1) as u32);
        let upload = line.context.call(|driver| {
            // SAFETY: both sides are memory of the feed, which lives until the kernel has ended behind the copy.
            let upload = unsafe { stream.memcpy_async(&request) }?;
            driver.mem_op(stream.raw(), word)?;
            Ok(upload)
        })?;
        let arrival = member.commit_later()?;
        line.submitted(UnderWay { arrival, upload });
        Ok(())
    }
}

impl fmt::Debug for FeedStage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FeedStage").field("stage", &self.stage).finish_non_exhaustive()
    }
}
