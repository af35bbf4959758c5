//! Members that share the frames of a pipeline: several fill a frame, and several empty it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hal::Nanos;
use stages::Role;

use crate::end::PipelineEnd;
use crate::fault::Error;
use crate::filled::Filled;
use crate::filling::Filling;
use crate::shared::Shared;
use crate::sharing::Together;

/// A part of a frame that several members fill: `B` says how they change it beside each other, such as by atomics, by
/// locks, or by the tasks of a [`crate::StageBuffer`].
pub type FillingPart<'m, B> = Filling<'m, B, Together>;

/// A frame that several members empty.
pub type FilledPart<'m, B> = Filled<'m, B, Together>;

/// A member of a pipeline: it fills frames together with all other producers, empties them beside all other consumers,
/// or both, as its role says (PL-02). A frame comes to the consumers when all producers have committed their parts of
/// it, and its stage is free when all consumers have released it. A member that is dropped is waited for no more.
pub struct Member<B>(PipelineEnd<B>);

/// Members keep every frame.
const KEPT: &str = "a wait without a deadline ends with a stage";

impl<B: Send + Sync + 'static> Member<B> {
    pub(crate) fn new(shared: &Arc<Shared<B>>, member: stages::Member) -> Member<B> {
        Member(PipelineEnd::new(shared, member))
    }

    /// Its role.
    #[must_use]
    pub fn role(&self) -> Role {
        self.0.seat.member.role()
    }

    /// Waits for its part of the next frame. One that it has given up comes again.
    pub fn acquire(&mut self) -> Result<FillingPart<'_, B>, Error> {
        Ok(self.0.acquire()?.expect(KEPT))
    }

    /// The same, if it is free.
    pub fn try_acquire(&mut self) -> Result<Option<FillingPart<'_, B>>, Error> {
        self.0.try_acquire()
    }

    /// The same with a timeout.
    pub fn acquire_for(&mut self, span: Duration) -> Result<Option<FillingPart<'_, B>>, Error> {
        self.0.acquire_until(self.0.shared.now() + Nanos::from(span))
    }

    /// [`Member::acquire`] as a future.
    pub async fn acquire_async(&mut self) -> Result<FillingPart<'_, B>, Error> {
        Ok(self.0.acquire_async().await?.expect(KEPT))
    }

    /// Waits for the next frame.
    pub fn wait(&mut self) -> Result<FilledPart<'_, B>, Error> {
        self.0.wait()
    }

    /// The next frame, if it is there.
    pub fn try_wait(&mut self) -> Result<Option<FilledPart<'_, B>>, Error> {
        self.0.try_wait()
    }

    /// The same with a timeout: `None` if it passes first.
    pub fn wait_for(&mut self, span: Duration) -> Result<Option<FilledPart<'_, B>>, Error> {
        self.0.wait_until(self.0.shared.now() + Nanos::from(span))
    }

    /// [`Member::wait`] as a future.
    pub async fn wait_async(&mut self) -> Result<FilledPart<'_, B>, Error> {
        self.0.wait_async().await
    }
}

impl<B> fmt::Debug for Member<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member").field("member", &self.0.seat.member).finish_non_exhaustive()
    }
}
