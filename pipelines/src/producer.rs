//! The producer's end of a pipeline.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hal::Nanos;
use stages::Member;

use crate::end::PipelineEnd;
use crate::fault::Error;
use crate::filling::Filling;
use crate::shared::Shared;

/// The end of a pipeline that fills frames. Dropping it ends the pipeline after the committed frames.
pub struct Producer<B>(PipelineEnd<B>);

impl<B: Send + Sync + 'static> Producer<B> {
    pub(crate) fn new(shared: &Arc<Shared<B>>, member: Member) -> Producer<B> {
        Producer(PipelineEnd::new(shared, member))
    }

    /// Begins a frame. Returns `None` if the pipeline drops it, which is counted.
    pub fn acquire(&mut self) -> Result<Option<Filling<'_, B>>, Error> {
        self.0.acquire()
    }

    /// The same without waiting. If no stage is free, a pipeline that keeps every frame returns `None` and begins none.
    pub fn try_acquire(&mut self) -> Result<Option<Filling<'_, B>>, Error> {
        self.0.try_acquire()
    }

    /// The same with a timeout.
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
