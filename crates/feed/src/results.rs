//! The end of a feed that gets the results.
#![allow(unsafe_code)] // the result of a stage is reached by address; the kernel has done with it

use std::fmt;
use std::ops::Deref;
use std::time::Duration;

use hal::Nanos;
use overtake_pipelines::Error;
use stages::{Member, Stage};

use crate::shared::Line;

/// The end of a feed that gets the results, in the order of the stages. Dropping it ends the kernel: no further stage
/// is wanted.
pub struct FeedResults {
    line: Line,
    member: Member,
}

impl FeedResults {
    pub(super) fn new(line: &Line, member: Member) -> FeedResults {
        FeedResults { line: Line::clone(line), member }
    }

    /// Waits for the next result. [`Error::Ended`] behind the last.
    pub fn wait(&mut self) -> Result<FeedResult<'_>, Error> {
        let result = self.wait_by(None)?;
        Ok(result.expect("a wait without a deadline ends with a result"))
    }

    /// The next result, if it is there.
    pub fn try_wait(&mut self) -> Result<Option<FeedResult<'_>>, Error> {
        self.line.settle();
        let stage = self.full()?;
        Ok(stage.map(|stage| FeedResult { results: self, stage }))
    }

    /// Waits for the next result for a span of time.
    pub fn wait_for(&mut self, span: Duration) -> Result<Option<FeedResult<'_>>, Error> {
        let deadline = self.line.host().now() + Nanos::from(span);
        self.wait_by(Some(deadline))
    }

    fn wait_by(&mut self, deadline: Option<Nanos>) -> Result<Option<FeedResult<'_>>, Error> {
        let line = Line::clone(&self.line);
        let stage = line.until(deadline, || self.full())?;
        Ok(stage.map(|stage| FeedResult { results: self, stage }))
    }

    fn full(&mut self) -> Result<Option<Stage>, Error> {
        let FeedResults { line, member } = self;
        match member.try_wait().map_err(|error| line.error(error))? {
            None if line.has_ended() => {
                // Its last stages may have come in between.
                line.settle();
                let stage = member.try_wait().map_err(|error| line.error(error))?;
                stage.map_or_else(|| Err(line.ended()), |stage| Ok(Some(stage)))
            }
            stage => Ok(stage),
        }
    }
}

impl Drop for FeedResults {
    fn drop(&mut self) {
        self.line.quit();
        let _ = self.member.quit();
        self.line.turn();
    }
}

impl fmt::Debug for FeedResults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FeedResults").field("member", &self.member).finish_non_exhaustive()
    }
}

/// The result of a stage. Dropping it frees the stage.
pub struct FeedResult<'r> {
    results: &'r mut FeedResults,
    stage: Stage,
}

impl FeedResult<'_> {
    /// The number of the stage.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.stage.position
    }
}

impl Deref for FeedResult<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        let (start, length) = self.results.line.memory().result(self.stage.index);
        // SAFETY: the memory was zeroed when it was allocated, and lives as long as the results. All blocks of the
        // kernel have released the stage, and it is filled again only after this is dropped.
        unsafe { std::slice::from_raw_parts(start, length) }
    }
}

impl Drop for FeedResult<'_> {
    fn drop(&mut self) {
        // It has waited for the stage.
        let _ = self.results.member.release();
        self.results.line.turn();
    }
}

impl fmt::Debug for FeedResult<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FeedResult").field("stage", &self.stage).finish_non_exhaustive()
    }
}
