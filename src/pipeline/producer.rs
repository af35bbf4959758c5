//! The producer's end of a pipeline.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hal::Nanos;
use stages::Member;

use crate::pipeline::end::End;
use crate::pipeline::fault::Error;
use crate::pipeline::filling::Filling;
use crate::pipeline::shared::Shared;

/// The end of a pipeline that fills frames. Dropping it ends the pipeline behind the frames that are committed.
pub struct Producer<B>(End<B>);

impl<B: Send + Sync + 'static> Producer<B> {
    pub(crate) fn new(shared: &Arc<Shared<B>>, member: Member) -> Producer<B> {
        Producer(End::new(shared, member))
    }

    /// A frame begins. `None` if the pipeline drops it, which is counted.
    pub fn acquire(&mut self) -> Result<Option<Filling<'_, B>>, Error> {
        self.0.acquire()
    }

    /// The same without a wait: a pipeline that keeps every frame answers `None`, and no frame has begun then.
    pub fn try_acquire(&mut self) -> Result<Option<Filling<'_, B>>, Error> {
        self.0.try_acquire()
    }

    /// The same, waiting until this time of the host.
    pub fn acquire_until(&mut self, deadline: Nanos) -> Result<Option<Filling<'_, B>>, Error> {
        self.0.acquire_until(deadline)
    }

    /// The same for a span of time.
    pub fn acquire_for(&mut self, span: Duration) -> Result<Option<Filling<'_, B>>, Error> {
        self.0.acquire_until(self.0.shared.now() + Nanos::from(span))
    }

    /// [`Producer::acquire`] as a future.
    pub async fn acquire_async(&mut self) -> Result<Option<Filling<'_, B>>, Error> {
        self.0.acquire_async().await
    }
}

impl<B> fmt::Debug for Producer<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("member", &self.0.seat.member).finish_non_exhaustive()
    }
}
