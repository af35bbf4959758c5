//! A member of a ring: it acquires and commits stages, waits for them and releases them.

use std::sync::Arc;

use crate::arrival::Arrival;
use crate::cursor::{Cursor, Stage};
use crate::patience::Goal;
use crate::refused::{Error, Refused};
use crate::ring::Ring;
use crate::role::Role;
use crate::waiting::Waiting;
use crate::word::Look;

/// A member of a ring. Dropping it quits (PL-07); in a panic, its peers get an error for the stages in its hand.
///
/// Every call checks that it makes sense, and changes nothing otherwise.
#[derive(Debug)]
pub struct Member {
    ring: Arc<Ring>,
    role: Role,
    /// The next stage to fill.
    head: Cursor,
    /// The next stage to empty.
    tail: Cursor,
    has_acquired: bool,
    has_waited: bool,
    has_quit: bool,
    /// It has been told that a consumer failed with the stage that it acquires.
    is_told: bool,
}

impl Member {
    pub(crate) fn new(ring: &Arc<Ring>, role: Role) -> Member {
        Member {
            ring: Arc::clone(ring),
            role,
            head: Cursor::default(),
            tail: Cursor::default(),
            has_acquired: false,
            has_waited: false,
            has_quit: false,
            is_told: false,
        }
    }

    /// Its role.
    #[must_use]
    pub fn role(&self) -> Role {
        self.role
    }

    /// The ring.
    #[must_use]
    pub fn ring(&self) -> &Arc<Ring> {
        &self.ring
    }

    /// The stage that it has acquired and not committed, if any.
    #[must_use]
    pub fn acquired(&self) -> Option<Stage> {
        self.has_acquired.then(|| self.head.stage())
    }

    /// Acquires the next stage to fill, if it is free (PL-03).
    #[inline]
    pub fn try_acquire(&mut self) -> Result<Option<Stage>, Error> {
        self.may_acquire()?;
        let word = self.ring.consumed.load(self.head.index);
        if word.is_left() {
            return Err(Error::Deserted);
        }
        match word.look(self.head.round.other()) {
            Look::Open => Ok(None),
            Look::Deserted => Err(Error::Deserted),
            Look::Over { is_spoilt: true } if !self.is_told => {
                self.is_told = true;
                Err(Error::Spoilt { position: self.head.position - u64::from(self.ring.stages) })
            }
            Look::Over { .. } => {
                self.has_acquired = true;
                Ok(Some(self.head.stage()))
            }
        }
    }

    /// Acquires the next stage to fill, and waits until it is free.
    #[inline]
    pub fn acquire(&mut self, waiting: &dyn Waiting) -> Result<Stage, Error> {
        loop {
            if let Some(stage) = self.try_acquire()? {
                return Ok(stage);
            }
            self.free_goal().wait(waiting, None)?;
        }
    }

    /// The same until a time. `None` if it passes first: nothing has changed then.
    pub fn acquire_until(&mut self, waiting: &dyn Waiting, deadline_ns: u64) -> Result<Option<Stage>, Error> {
        match self.try_acquire()? {
            None if self.free_goal().wait(waiting, Some(deadline_ns))? => self.try_acquire(),
            answer => Ok(answer),
        }
    }

    /// Commits the acquired stage (PL-04): it is complete when all producers have committed theirs.
    #[inline]
    pub fn commit(&mut self) -> Result<(), Refused> {
        let stage = self.committed()?;
        self.ring.produced.arrive(stage, false);
        Ok(())
    }

    /// Commits the acquired stage as one that has failed: the consumers get an error for it.
    pub fn commit_failed(&mut self) -> Result<(), Refused> {
        let stage = self.committed()?;
        self.ring.produced.arrive(stage, true);
        Ok(())
    }

    /// Commits the acquired stage, which is complete when the arrival has come.
    pub fn commit_later(&mut self) -> Result<Arrival, Refused> {
        let stage = self.committed()?;
        Ok(Arrival::produced(&self.ring, stage))
    }

    #[inline]
    fn committed(&mut self) -> Result<u8, Refused> {
        self.is_producer()?;
        if !self.has_acquired {
            return Err(Refused::NotAcquired);
        }
        let stage = self.head.index;
        self.head = self.head.next(self.ring.stages);
        (self.has_acquired, self.is_told) = (false, false);
        Ok(stage)
    }

    /// The next stage to empty, if it is complete (PL-05).
    #[inline]
    pub fn try_wait(&mut self) -> Result<Option<Stage>, Error> {
        self.may_wait()?;
        match self.ring.produced.look(self.tail.index, self.tail.round) {
            Look::Open => Ok(None),
            Look::Deserted => Err(Error::Deserted),
            Look::Over { is_spoilt: false } => {
                self.has_waited = true;
                Ok(Some(self.tail.stage()))
            }
            Look::Over { is_spoilt: true } => {
                let position = self.tail.position;
                self.has_waited = true;
                self.release()?;
                Err(Error::Spoilt { position })
            }
        }
    }

    /// Waits for the next stage to empty.
    #[inline]
    pub fn wait(&mut self, waiting: &dyn Waiting) -> Result<Stage, Error> {
        loop {
            if let Some(stage) = self.try_wait()? {
                return Ok(stage);
            }
            self.full_goal().wait(waiting, None)?;
        }
    }

    /// The same until a time. `None` if it passes first: nothing has changed then.
    pub fn wait_until(&mut self, waiting: &dyn Waiting, deadline_ns: u64) -> Result<Option<Stage>, Error> {
        match self.try_wait()? {
            None if self.full_goal().wait(waiting, Some(deadline_ns))? => self.try_wait(),
            answer => Ok(answer),
        }
    }

    /// Releases the stage (PL-06): it is free when all consumers have released it.
    #[inline]
    pub fn release(&mut self) -> Result<(), Refused> {
        let stage = self.released()?;
        self.ring.consumed.arrive(stage, false);
        Ok(())
    }

    /// Releases the stage as one that this member has failed with: the producers get an error.
    pub fn release_failed(&mut self) -> Result<(), Refused> {
        let stage = self.released()?;
        self.ring.consumed.arrive(stage, true);
        Ok(())
    }

    /// Releases the stage, which is free when the arrival has come.
    pub fn release_later(&mut self) -> Result<Arrival, Refused> {
        let stage = self.released()?;
        Ok(Arrival::consumed(&self.ring, stage))
    }

    #[inline]
    fn released(&mut self) -> Result<u8, Refused> {
        self.is_consumer()?;
        if !self.has_waited {
            return Err(Refused::NotWaited);
        }
        let stage = self.tail.index;
        self.tail = self.tail.next(self.ring.stages);
        self.has_waited = false;
        Ok(stage)
    }

    /// Takes part no more: peers do not wait for it. Returns whether the ring is free now (PL-07).
    pub fn quit(&mut self) -> Result<bool, Refused> {
        if self.has_quit {
            return Err(Refused::Quit);
        }
        self.has_quit = true;
        (self.has_acquired, self.has_waited) = (false, false);
        let ring = &self.ring;
        for (takes_part, side, mut at) in
            [(self.role.produces(), &ring.produced, self.head), (self.role.consumes(), &ring.consumed, self.tail)]
        {
            for _ in 0..if takes_part { ring.stages } else { 0 } {
                side.leave(at.index, |_| at.round);
                at = at.next(ring.stages);
            }
        }
        Ok(ring.leave())
    }

    /// Leaves the ring to another process: the caller is in the child of a fork, and the peers are the parent's. From
    /// now on all calls are refused, and no peer is told, when it is dropped either.
    pub fn forsake(&mut self) {
        self.has_quit = true;
    }

    pub(crate) fn free_goal(&self) -> Goal<'_> {
        Goal { side: &self.ring.consumed, stage: self.head.index, round: self.head.round.other() }
    }

    pub(crate) fn full_goal(&self) -> Goal<'_> {
        Goal { side: &self.ring.produced, stage: self.tail.index, round: self.tail.round }
    }

    #[inline]
    fn is_producer(&self) -> Result<(), Refused> {
        match () {
            () if self.has_quit => Err(Refused::Quit),
            () if !self.role.produces() => Err(Refused::NotProducer),
            () => Ok(()),
        }
    }

    #[inline]
    fn is_consumer(&self) -> Result<(), Refused> {
        match () {
            () if self.has_quit => Err(Refused::Quit),
            () if !self.role.consumes() => Err(Refused::NotConsumer),
            () => Ok(()),
        }
    }

    #[inline]
    fn may_acquire(&self) -> Result<(), Refused> {
        self.is_producer()?;
        if self.has_acquired {
            return Err(Refused::Acquired);
        }
        let ahead = self.head.position.wrapping_sub(self.tail.position);
        if self.role == Role::Both && ahead == u64::from(self.ring.stages) {
            return Err(Refused::OwnRelease);
        }
        Ok(())
    }

    #[inline]
    fn may_wait(&self) -> Result<(), Refused> {
        self.is_consumer()?;
        if self.has_waited {
            return Err(Refused::Waited);
        }
        if self.role == Role::Both && self.head.position == self.tail.position {
            return Err(Refused::OwnCommit);
        }
        Ok(())
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // The stages that it has in hand have failed. It may have none, and then each answers so.
            let _ = (self.commit_failed(), self.release_failed());
        }
        // It may have quit already.
        let _ = self.quit();
    }
}
