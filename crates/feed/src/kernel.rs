//! The kernel of a feed, from beside it.

use std::fmt;

use overtake_pipelines::Error;

use crate::shared::Line;

/// The kernel of a feed.
pub struct FeedKernel {
    line: Line,
}

impl FeedKernel {
    pub(super) fn new(line: &Line) -> FeedKernel {
        FeedKernel { line: Line::clone(line) }
    }

    /// Ends it at its next look, whether stages are left or not. A plain store: any thread may do that at any time,
    /// also while a call of another one waits in the driver.
    pub fn end(&self) {
        self.line.quit();
    }

    /// Whether it has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.line.settle();
        self.line.has_ended()
    }

    /// Waits until it has ended. Returns its error, if it has failed.
    pub fn wait(&self) -> Result<(), Error> {
        let line = &self.line;
        line.until(None, || Ok(line.has_ended().then_some(())))?;
        line.fault().map_or(Ok(()), |fault| Err(Error::Driver(fault)))
    }
}

impl fmt::Debug for FeedKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FeedKernel").field("options", &self.line.options).finish_non_exhaustive()
    }
}
