//! The consumer's end of a pipeline.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hal::Nanos;
use stages::Member;

use crate::end::PipelineEnd;
use crate::fault::Error;
use crate::filled::Filled;
use crate::shared::Shared;

/// The end of a pipeline that empties frames. Dropping it tells the producer that no more frames are wanted.
pub struct Consumer<B>(PipelineEnd<B>);

impl<B: Send + Sync + 'static> Consumer<B> {
    pub(crate) fn new(shared: &Arc<Shared<B>>, member: Member) -> Consumer<B> {
        Consumer(PipelineEnd::new(shared, member))
    }

    /// Waits for the next frame that is not dropped.
    pub fn wait(&mut self) -> Result<Filled<'_, B>, Error> {
        self.0.wait()
    }

    /// The next frame, if it is there.
    pub fn try_wait(&mut self) -> Result<Option<Filled<'_, B>>, Error> {
        self.0.try_wait()
    }

    /// The same with a timeout: `None` if it passes first.
    pub fn wait_for(&mut self, span: Duration) -> Result<Option<Filled<'_, B>>, Error> {
        self.0.wait_until(self.0.shared.now() + Nanos::from(span))
    }

    /// [`Consumer::wait`] as a future.
    pub async fn wait_async(&mut self) -> Result<Filled<'_, B>, Error> {
        self.0.wait_async().await
    }
}

impl<B> fmt::Debug for Consumer<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("member", &self.0.seat.member).finish_non_exhaustive()
    }
}
