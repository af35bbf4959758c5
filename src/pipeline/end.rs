//! An end of a pipeline: its calls that wait for a stage to fill, and for a frame to empty.

use std::sync::Arc;

use hal::Nanos;
use stages::{Admitted, Member, Stage};

use crate::pipeline::book::Side;
use crate::pipeline::fault::Error;
use crate::pipeline::filled::{Claimed, Filled};
use crate::pipeline::filling::Filling;
use crate::pipeline::options::Behind;
use crate::pipeline::shared::Shared;

/// A member of the ring, in a pipeline.
pub(crate) struct End<B> {
    // First: it quits before the frames that end with that are counted.
    pub member: Member,
    pub shared: Arc<Shared<B>>,
    /// The use of the ring that it takes part in.
    of_use: u64,
    /// The stage that the consumer has come to. Its frame may still be replaced until it is admitted.
    came_to: Option<Stage>,
    _settling: Settling<B>,
}

/// Frames may end when a member has quit.
struct Settling<B>(Arc<Shared<B>>);

impl<B> Drop for Settling<B> {
    fn drop(&mut self) {
        self.0.settle();
    }
}

impl<B: Send + Sync + 'static> End<B> {
    pub fn new(shared: &Arc<Shared<B>>, member: Member) -> End<B> {
        let of_use = member.ring().uses();
        End { member, shared: Arc::clone(shared), of_use, came_to: None, _settling: Settling(Arc::clone(shared)) }
    }

    pub fn acquire<S>(&mut self) -> Result<Option<Filling<'_, B, S>>, Error> {
        let mut stage = self.free()?;
        if stage.is_none() && self.shared.options.behind == Behind::Block {
            let End { shared, member, .. } = self;
            stage = Some(shared.wait(Side::Consumer, |waiting| member.acquire(waiting))?);
        }
        Ok(self.begin(stage))
    }

    pub fn try_acquire<S>(&mut self) -> Result<Option<Filling<'_, B, S>>, Error> {
        match self.free()? {
            None if self.shared.options.behind == Behind::Block => Ok(None),
            stage => Ok(self.begin(stage)),
        }
    }

    pub fn acquire_until<S>(&mut self, deadline: Nanos) -> Result<Option<Filling<'_, B, S>>, Error> {
        let mut stage = self.free()?;
        if stage.is_none() && self.shared.options.behind == Behind::Block {
            let End { shared, member, .. } = self;
            stage = shared.wait(Side::Consumer, |waiting| member.acquire_until(waiting, deadline.0))?;
            if stage.is_none() {
                return Ok(None);
            }
        }
        Ok(self.begin(stage))
    }

    pub async fn acquire_async<S>(&mut self) -> Result<Option<Filling<'_, B, S>>, Error> {
        if self.shared.options.behind == Behind::Block && self.member.acquired().is_none() {
            let acquired = self.member.acquire_async().await;
            acquired.map_err(|error| self.shared.error(error, Side::Consumer))?;
        }
        let stage = self.free()?;
        Ok(self.begin(stage))
    }

    /// The next stage if it is free. One that was acquired for a frame that was given up is still there.
    fn free(&mut self) -> Result<Option<Stage>, Error> {
        if let Some(stage) = self.member.acquired() {
            return Ok(Some(stage));
        }
        self.member.try_acquire().map_err(|error| self.shared.error(error, Side::Consumer))
    }

    fn begin<S>(&mut self, stage: Option<Stage>) -> Option<Filling<'_, B, S>> {
        let (now, of_use) = (self.shared.now(), self.of_use);
        let End { shared, member, .. } = self;
        let (buffer, number) = match stage {
            None if !shared.options.behind.replaces() => {
                shared.book(|book| book.refuse(now));
                return None;
            }
            Some(stage) if shared.has_many => {
                // The tasks of the frame before are dropped without the lock.
                let (buffer, number, _before) = shared.book(|book| book.join(stage, of_use, now));
                (buffer, number)
            }
            stage => shared.book(|book| book.begin(stage.map(|stage| stage.index), now)),
        };
        Some(Filling::new(shared, member, stage, (buffer, number)))
    }

    pub fn wait<S>(&mut self) -> Result<Filled<'_, B, S>, Error> {
        let claimed = self.claimed(None)?.expect("a wait without a deadline ends with a frame");
        Ok(self.filled(claimed))
    }

    pub fn try_wait<S>(&mut self) -> Result<Option<Filled<'_, B, S>>, Error> {
        Ok(self.look()?.map(|claimed| self.filled(claimed)))
    }

    pub fn wait_until<S>(&mut self, deadline: Nanos) -> Result<Option<Filled<'_, B, S>>, Error> {
        Ok(self.claimed(Some(deadline))?.map(|claimed| self.filled(claimed)))
    }

    pub async fn wait_async<S>(&mut self) -> Result<Filled<'_, B, S>, Error> {
        let claimed = loop {
            if let Some(claimed) = self.look()? {
                break claimed;
            }
            if self.came_to.is_none() {
                let stage = self.member.wait_async().await;
                self.came_to = Some(stage.map_err(|error| self.shared.error(error, Side::Producer))?);
            }
            let admitted = match self.shared.ask() {
                Some(admitting) => Some(admitting.await),
                None => None,
            };
            if let Some(claimed) = self.claim_next(admitted)? {
                break claimed;
            }
        };
        Ok(self.filled(claimed))
    }

    /// Waits for the next frame that is not dropped. `None` if the deadline passes first.
    fn claimed(&mut self, deadline: Option<Nanos>) -> Result<Option<Claimed>, Error> {
        loop {
            if let Some(claimed) = self.look()? {
                return Ok(Some(claimed));
            }
            if !self.come(deadline)? {
                return Ok(None);
            }
            let admitted = match self.shared.ask() {
                Some(admitting) => {
                    let until_ns = deadline.map(|deadline| deadline.0);
                    match self.shared.wait(Side::Producer, |waiting| admitting.wait(waiting, until_ns))? {
                        None => return Ok(None),
                        admitted => admitted,
                    }
                }
                None => None,
            };
            if let Some(claimed) = self.claim_next(admitted)? {
                return Ok(Some(claimed));
            }
        }
    }

    /// The next frame that is not dropped, if it is there and may be admitted at once.
    fn look(&mut self) -> Result<Option<Claimed>, Error> {
        if self.came_to.is_none() {
            self.came_to = self.next_there()?;
        }
        let admitted = match &self.shared.options.admission {
            _ if self.came_to.is_none() => return Ok(None),
            Some(admission) => match admission.try_admit() {
                None => return Ok(None),
                admitted => admitted,
            },
            None => None,
        };
        self.claim_next(admitted)
    }

    /// Waits until the consumer has come to a stage. `false` if the deadline passes first.
    fn come(&mut self, deadline: Option<Nanos>) -> Result<bool, Error> {
        let End { shared, member, came_to, .. } = self;
        if came_to.is_none() {
            *came_to = shared.wait(Side::Producer, |waiting| match deadline {
                Some(deadline) => member.wait_until(waiting, deadline.0),
                None => member.wait(waiting).map(Some),
            })?;
        }
        Ok(came_to.is_some())
    }

    fn next_there(&mut self) -> Result<Option<Stage>, Error> {
        self.member.try_wait().map_err(|error| self.shared.error(error, Side::Producer))
    }

    /// The first frame that is not dropped, from the stage on that the consumer has come to. The place is for it.
    fn claim_next(&mut self, admitted: Option<Admitted>) -> Result<Option<Claimed>, Error> {
        while let Some(stage) = self.came_to.take() {
            if let Some(claimed) = self.claim(stage)? {
                return Ok(Some(Claimed { admitted, ..claimed }));
            }
            self.came_to = self.next_there()?;
        }
        Ok(None)
    }

    /// The frame of a stage, unless it is dropped: then the stage is released.
    fn claim(&mut self, stage: Stage) -> Result<Option<Claimed>, Error> {
        let now = self.shared.now();
        match self.shared.book(|book| book.claim(stage, now)) {
            Some((buffer, number, before)) => Ok(Some(Claimed { stage, buffer, number, before, admitted: None })),
            None => {
                self.member.release()?;
                Ok(None)
            }
        }
    }

    fn filled<S>(&mut self, claimed: Claimed) -> Filled<'_, B, S> {
        Filled::new(&self.shared, &mut self.member, claimed)
    }
}
