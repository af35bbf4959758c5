//! An end of a pipeline: the calls that wait for a free stage, and for a frame.

use std::sync::Arc;

use hal::Nanos;
use stages::{Admitted, Member, Stage};

use crate::book::Side;
use crate::fault::Error;
use crate::filled::{Claimed, Filled};
use crate::filling::Filling;
use crate::options::Behind;
use crate::seat::Seat;
use crate::shared::Shared;

/// A member of the ring, in a pipeline.
pub(crate) struct PipelineEnd<B> {
    // First: it quits before the frames that end with that are counted.
    pub seat: Seat,
    pub shared: Arc<Shared<B>>,
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

impl<B: Send + Sync + 'static> PipelineEnd<B> {
    pub fn new(shared: &Arc<Shared<B>>, member: Member) -> PipelineEnd<B> {
        let seat = Seat { member, admitted: None };
        PipelineEnd { seat, shared: Arc::clone(shared), came_to: None, _settling: Settling(Arc::clone(shared)) }
    }

    pub fn acquire<S>(&mut self) -> Result<Option<Filling<'_, B, S>>, Error> {
        let mut stage = self.free()?;
        if stage.is_none() && self.shared.options.behind == Behind::Block {
            let PipelineEnd { shared, seat, .. } = self;
            stage = Some(shared.wait(Side::Consumer, |waiting| seat.member.acquire(waiting))?);
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
            let PipelineEnd { shared, seat, .. } = self;
            stage = shared.wait(Side::Consumer, |waiting| seat.member.acquire_until(waiting, deadline.0))?;
            if stage.is_none() {
                return Ok(None);
            }
        }
        Ok(self.begin(stage))
    }

    pub async fn acquire_async<S>(&mut self) -> Result<Option<Filling<'_, B, S>>, Error> {
        if self.shared.options.behind == Behind::Block && self.seat.member.acquired().is_none() {
            let acquired = self.seat.member.acquire_async().await;
            acquired.map_err(|error| self.shared.error(error, Side::Consumer))?;
        }
        let stage = self.free()?;
        Ok(self.begin(stage))
    }

    /// The next stage if it is free. One that was acquired for a frame that was given up is still there.
    fn free(&mut self) -> Result<Option<Stage>, Error> {
        if let Some(stage) = self.seat.member.acquired() {
            return Ok(Some(stage));
        }
        self.seat.member.try_acquire().map_err(|error| self.shared.error(error, Side::Consumer))
    }

    fn begin<S>(&mut self, stage: Option<Stage>) -> Option<Filling<'_, B, S>> {
        let now = self.shared.now();
        let PipelineEnd { shared, seat, .. } = self;
        let (buffer, number) = match stage {
            None if !shared.options.behind.replaces() => {
                shared.book(|book| book.refuse(now));
                return None;
            }
            Some(stage) if shared.has_many => {
                // The tasks of the frame before are dropped without the lock.
                let (buffer, number, _before) = shared.book(|book| book.join(stage, now));
                (buffer, number)
            }
            stage => shared.book(|book| book.begin(stage.map(|stage| stage.index), now)),
        };
        Some(Filling::new(shared, &mut seat.member, stage, (buffer, number)))
    }

    pub fn wait<S>(&mut self) -> Result<Filled<'_, B, S>, Error> {
        if let Some(claimed) = self.look()? {
            return Ok(self.filled(claimed));
        }
        let claimed = self.awaited(None)?.expect("a wait without a deadline ends with a frame");
        Ok(self.filled(claimed))
    }

    pub fn try_wait<S>(&mut self) -> Result<Option<Filled<'_, B, S>>, Error> {
        Ok(self.look()?.map(|claimed| self.filled(claimed)))
    }

    pub fn wait_until<S>(&mut self, deadline: Nanos) -> Result<Option<Filled<'_, B, S>>, Error> {
        Ok(self.awaited(Some(deadline))?.map(|claimed| self.filled(claimed)))
    }

    pub async fn wait_async<S>(&mut self) -> Result<Filled<'_, B, S>, Error> {
        let claimed = loop {
            if let Some(claimed) = self.look()? {
                break claimed;
            }
            let stage = match self.came_to {
                Some(stage) => stage,
                None => {
                    let stage = self.seat.member.wait_async().await;
                    stage.map_err(|error| self.shared.error(error, Side::Producer))?
                }
            };
            let admitted = match self.shared.ask() {
                Some(admitting) => {
                    self.came_to = Some(stage);
                    Some(admitting.await)
                }
                None => None,
            };
            if let Some(claimed) = self.claim_admitted(stage, admitted)? {
                break claimed;
            }
        };
        Ok(self.filled(claimed))
    }

    /// Waits for the next frame that is not dropped. `None` if the deadline passes first.
    fn awaited(&mut self, deadline: Option<Nanos>) -> Result<Option<Claimed>, Error> {
        loop {
            if let Some(claimed) = self.look()? {
                return Ok(Some(claimed));
            }
            let Some(stage) = self.come(deadline)? else { return Ok(None) };
            let admitted = match self.shared.ask() {
                Some(admitting) => {
                    self.came_to = Some(stage);
                    let until_ns = deadline.map(|deadline| deadline.0);
                    match self.shared.wait(Side::Producer, |waiting| admitting.wait(waiting, until_ns))? {
                        None => return Ok(None),
                        admitted => admitted,
                    }
                }
                None => None,
            };
            if let Some(claimed) = self.claim_admitted(stage, admitted)? {
                return Ok(Some(claimed));
            }
        }
    }

    /// The next frame that is not dropped, if it is there and may be admitted at once.
    fn look(&mut self) -> Result<Option<Claimed>, Error> {
        if self.shared.options.admission.is_some() {
            return self.look_with_admission();
        }
        match self.next_there()? {
            Some(stage) => self.claim_from(stage),
            None => Ok(None),
        }
    }

    #[inline(never)] // pipelines without an admission would carry it with them
    fn look_with_admission(&mut self) -> Result<Option<Claimed>, Error> {
        if self.came_to.is_none() {
            self.came_to = self.next_there()?;
        }
        let Some(stage) = self.came_to else { return Ok(None) };
        match self.shared.try_admit() {
            None => Ok(None),
            admitted => self.claim_admitted(stage, admitted),
        }
    }

    /// Waits until the consumer has come to a stage. `None` if the deadline passes first.
    fn come(&mut self, deadline: Option<Nanos>) -> Result<Option<Stage>, Error> {
        let PipelineEnd { shared, seat, came_to, .. } = self;
        if came_to.is_some() {
            return Ok(*came_to);
        }
        shared.wait(Side::Producer, |waiting| match deadline {
            Some(deadline) => seat.member.wait_until(waiting, deadline.0),
            None => seat.member.wait(waiting).map(Some),
        })
    }

    #[inline]
    fn next_there(&mut self) -> Result<Option<Stage>, Error> {
        self.seat.member.try_wait().map_err(|error| self.shared.error(error, Side::Producer))
    }

    /// The first frame that is not dropped, from this stage on, if it is there. The stages of the others are released.
    #[inline]
    fn claim_from(&mut self, first: Stage) -> Result<Option<Claimed>, Error> {
        let mut stage = first;
        loop {
            let now = self.shared.now();
            if let Some((buffer, number, before)) = self.shared.book(|book| book.claim(stage, now)) {
                return Ok(Some(Claimed { stage, buffer, number, before }));
            }
            self.seat.member.release()?;
            match self.next_there()? {
                Some(next) => stage = next,
                None => return Ok(None),
            }
        }
    }

    /// The same for a consumer that has come to this stage. The place is that of the frame.
    fn claim_admitted(&mut self, stage: Stage, admitted: Option<Admitted>) -> Result<Option<Claimed>, Error> {
        self.came_to = None;
        let claimed = self.claim_from(stage)?;
        self.seat.admitted = admitted.filter(|_| claimed.is_some());
        Ok(claimed)
    }

    fn filled<S>(&mut self, claimed: Claimed) -> Filled<'_, B, S> {
        Filled::new(&self.shared, &mut self.seat, claimed)
    }
}
