//! A frame that its producer fills.

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, RwLockReadGuard, RwLockWriteGuard};

use copies::Priority;
use hal::Nanos;
use hal::locks::{read, write};
use overtake_tasks::task::{Handle, Replay, TaskBuilder};
use stages::{Member, Stage};

use crate::book::Side;
use crate::fault::Error;
use crate::owed::Owed;
use crate::record::{Dropped, End};
use crate::shared::Shared;
use crate::sharing::Alone;

/// A frame that is being filled. Dropping it gives the frame up; if the thread panics, the consumer gets an error.
pub struct Filling<'p, B: Send + Sync + 'static, S = Alone> {
    shared: &'p Arc<Shared<B>>,
    member: &'p mut Member,
    /// None if it is filled before a stage is free.
    stage: Option<Stage>,
    buffer: u8,
    number: u64,
    work: Vec<Handle>,
    is_done: bool,
    _sharing: PhantomData<S>,
}

impl<B: Send + Sync + 'static> Filling<'_, B> {
    /// Its buffer, with write access.
    pub fn buffer_mut(&mut self) -> RwLockWriteGuard<'_, B> {
        write(&self.shared.buffers[usize::from(self.buffer)])
    }
}

impl<'p, B: Send + Sync + 'static, S> Filling<'p, B, S> {
    /// In a stage, or in the spare buffer. With the number of its buffer, and its own.
    pub(crate) fn new(
        shared: &'p Arc<Shared<B>>,
        member: &'p mut Member,
        stage: Option<Stage>,
        (buffer, number): (u8, u64),
    ) -> Filling<'p, B, S> {
        let (work, is_done) = (Vec::new(), false);
        Filling { shared, member, stage, buffer, number, work, is_done, _sharing: PhantomData }
    }

    /// The frame's number.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Its buffer, which only the frame's producers use at this time.
    pub fn buffer(&self) -> RwLockReadGuard<'_, B> {
        read(&self.shared.buffers[usize::from(self.buffer)])
    }

    /// The priority of its tasks.
    #[must_use]
    pub fn priority(&self) -> Priority {
        self.shared.priority(self.buffer)
    }

    /// Sets the time of its capture, which otherwise is when its stage was acquired.
    pub fn captured_at(&mut self, at: Nanos) {
        self.shared.book_here(|book| book.captured(self.buffer, at));
    }

    /// Records the current time under this name in the frame's record.
    pub fn note(&mut self, name: &'static str) {
        let now = self.shared.now();
        self.shared.book_here(|book| book.note(self.buffer, name, now));
    }

    /// Submits a task that is part of the frame, such as its upload, at the frame's priority (PL-12).
    pub fn task(&mut self, task: TaskBuilder<'_, '_>) -> Result<Handle, Error> {
        if self.shared.options.behind.replaces() {
            return Err(Error::WorkTooEarly);
        }
        let task = task.priority(self.priority()).announced(self.shared.announced()).submit()?;
        self.work.push(task.clone());
        Ok(task)
    }

    /// Submits the replay of a template that is part of the frame, like [`Filling::task`].
    pub fn replay<A: Send + Sync + 'static>(&mut self, replay: Replay<'_, A>) -> Result<Handle, Error> {
        if self.shared.options.behind.replaces() {
            return Err(Error::WorkTooEarly);
        }
        let replay = replay.priority(self.priority()).announced(self.shared.announced()).submit()?;
        self.work.push(replay.clone());
        Ok(replay)
    }

    /// The consumer gets the frame when its tasks have ended.
    pub fn commit(mut self) -> Result<(), Error> {
        self.finish(false)
    }

    /// The consumer gets the frame at once: its tasks come after those of this frame on the device, and no host thread
    /// waits in between.
    pub fn hand_over(mut self) -> Result<(), Error> {
        self.finish(true)
    }

    fn finish(&mut self, is_handed_over: bool) -> Result<(), Error> {
        self.is_done = true;
        self.shared.may_enter()?;
        let Some(stage) = self.place()? else { return Ok(()) };
        let (now, work) = (self.shared.now(), std::mem::take(&mut self.work));
        let handed_over = if is_handed_over { work.clone() } else { Vec::new() };
        drop(self.shared.book(|book| match self.shared.has_many {
            true => {
                book.commit_part(stage, now, handed_over);
                Vec::new()
            }
            false => book.commit(stage, now, handed_over),
        }));
        if work.is_empty() || is_handed_over {
            self.member.commit()?;
        }
        if work.is_empty() {
            return Ok(());
        }
        let arrival = if is_handed_over { None } else { Some(self.member.commit_later()?) };
        self.owe(stage, work, arrival, false).submit()
    }

    fn owe(&self, stage: Stage, work: Vec<Handle>, arrival: Option<stages::Arrival>, has_failed: bool) -> Owed<B> {
        let (shared, buffer) = (Arc::clone(self.shared), self.buffer);
        Owed {
            shared,
            side: Side::Producer,
            buffer,
            position: stage.position,
            arrival,
            work,
            has_failed,
            _admitted: None,
        }
    }

    /// The stage of the frame. One that has been filled in the spare buffer gets its stage now; if none is free, it
    /// takes the place of another frame.
    fn place(&mut self) -> Result<Option<Stage>, Error> {
        if self.stage.is_some() {
            return Ok(self.stage);
        }
        let now = self.shared.now();
        match self.member.try_acquire() {
            Ok(Some(stage)) => {
                self.shared.book(|book| book.place(stage.index));
                Ok(Some(stage))
            }
            Ok(None) => {
                self.shared.book(|book| book.replace(now));
                Ok(None)
            }
            Err(error) => {
                self.shared.book(|book| book.end(self.buffer, End::Dropped(Dropped::GivenUp), now));
                Err(self.shared.error(error, Side::Consumer))
            }
        }
    }

    /// The frame fails: its consumer is told when its tasks have ended.
    fn fail(&mut self, stage: Stage) {
        let (now, work) = (self.shared.now(), std::mem::take(&mut self.work));
        if work.is_empty() {
            self.shared.book(|book| book.fail(Side::Producer, stage.position, self.buffer, None, now));
            let _ = self.member.commit_failed();
        } else if let Ok(arrival) = self.member.commit_later() {
            // An error has been waited for: the tasks have ended.
            let _ = self.owe(stage, work, Some(arrival), true).submit();
        }
    }
}

impl<B: Send + Sync + 'static, S> Drop for Filling<'_, B, S> {
    fn drop(&mut self) {
        if self.is_done || self.shared.may_enter().is_err() {
            return;
        }
        match self.stage {
            // Its tasks use the buffer: the stage cannot be filled again at once.
            Some(stage) if std::thread::panicking() || !self.work.is_empty() => self.fail(stage),
            // The next `acquire` gives its part of the frame again.
            _ if self.shared.has_many => {}
            _ => {
                let now = self.shared.now();
                self.shared.book(|book| book.end(self.buffer, End::Dropped(Dropped::GivenUp), now));
            }
        }
    }
}

impl<B: Send + Sync + 'static, S> fmt::Debug for Filling<'_, B, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filling").field("number", &self.number).field("stage", &self.stage).finish_non_exhaustive()
    }
}
