//! An end of a pipeline: its calls that wait for a stage to fill, and for a frame to empty.

use std::sync::Arc;

use hal::Nanos;
use stages::{Member, Stage};

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
        End { member, shared: Arc::clone(shared), of_use, _settling: Settling(Arc::clone(shared)) }
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
        let claimed = loop {
            if let Some(claimed) = self.look()? {
                break claimed;
            }
            let End { shared, member, .. } = self;
            let stage = shared.wait(Side::Producer, |waiting| member.wait(waiting))?;
            if let Some(claimed) = self.claim(stage)? {
                break claimed;
            }
        };
        Ok(self.filled(claimed))
    }

    pub fn try_wait<S>(&mut self) -> Result<Option<Filled<'_, B, S>>, Error> {
        Ok(self.look()?.map(|claimed| self.filled(claimed)))
    }

    fn look(&mut self) -> Result<Option<Claimed>, Error> {
        loop {
            let stage = self.member.try_wait().map_err(|error| self.shared.error(error, Side::Producer))?;
            let Some(stage) = stage else { return Ok(None) };
            let claimed = self.claim(stage)?;
            if claimed.is_some() {
                return Ok(claimed);
            }
        }
    }

    pub fn wait_until<S>(&mut self, deadline: Nanos) -> Result<Option<Filled<'_, B, S>>, Error> {
        let claimed = loop {
            if let Some(claimed) = self.look()? {
                break claimed;
            }
            let End { shared, member, .. } = self;
            let stage = shared.wait(Side::Producer, |waiting| member.wait_until(waiting, deadline.0))?;
            let Some(stage) = stage else { return Ok(None) };
            if let Some(claimed) = self.claim(stage)? {
                break claimed;
            }
        };
        Ok(Some(self.filled(claimed)))
    }

    pub async fn wait_async<S>(&mut self) -> Result<Filled<'_, B, S>, Error> {
        let claimed = loop {
            let stage = self.member.wait_async().await;
            let stage = stage.map_err(|error| self.shared.error(error, Side::Producer))?;
            if let Some(claimed) = self.claim(stage)? {
                break claimed;
            }
        };
        Ok(self.filled(claimed))
    }

    /// The frame of a stage, unless it is dropped: then the stage is released.
    fn claim(&mut self, stage: Stage) -> Result<Option<Claimed>, Error> {
        let now = self.shared.now();
        match self.shared.book(|book| book.claim(stage, now)) {
            Some((buffer, number, before)) => Ok(Some(Claimed { stage, buffer, number, before })),
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
