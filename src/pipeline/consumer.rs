//! The end of a pipeline that empties frames.

use std::fmt;
use std::sync::{Arc, RwLockReadGuard, RwLockWriteGuard};

use copies::Priority;
use hal::Nanos;
use hal::locks::{read, write};
use stages::{Member, Stage};

use crate::pipeline::book::Side;
use crate::pipeline::fault::Error;
use crate::pipeline::owed::Owed;
use crate::pipeline::record::End;
use crate::pipeline::shared::Shared;
use crate::task::{Handle, Replay, TaskBuilder};

/// The end of a pipeline that empties frames. Dropping it tells the producer that no frame is wanted any more.
pub struct Consumer<B> {
    shared: Arc<Shared<B>>,
    member: Member,
}

/// A frame that the consumer has claimed.
struct Claimed {
    stage: Stage,
    buffer: u8,
    number: u64,
    before: Vec<Handle>,
}

impl<B: Send + Sync + 'static> Consumer<B> {
    pub(crate) fn new(shared: Arc<Shared<B>>, member: Member) -> Consumer<B> {
        Consumer { shared, member }
    }

    /// Waits for the next frame that is not dropped.
    pub fn wait(&mut self) -> Result<Filled<'_, B>, Error> {
        let claimed = loop {
            if let Some(claimed) = self.look()? {
                break claimed;
            }
            let Consumer { shared, member } = self;
            let stage = shared.wait(Side::Producer, |waiting| member.wait(waiting))?;
            if let Some(claimed) = self.claim(stage)? {
                break claimed;
            }
        };
        Ok(self.filled(claimed))
    }

    /// The next frame, if it is there.
    pub fn try_wait(&mut self) -> Result<Option<Filled<'_, B>>, Error> {
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

    /// Waits for the next frame until this time of the host. `None` if it passes first.
    pub fn wait_until(&mut self, deadline: Nanos) -> Result<Option<Filled<'_, B>>, Error> {
        let claimed = loop {
            if let Some(claimed) = self.look()? {
                break claimed;
            }
            let Consumer { shared, member } = self;
            let stage = shared.wait(Side::Producer, |waiting| member.wait_until(waiting, deadline.0))?;
            let Some(stage) = stage else { return Ok(None) };
            if let Some(claimed) = self.claim(stage)? {
                break claimed;
            }
        };
        Ok(Some(self.filled(claimed)))
    }

    /// The same for a span of time.
    pub fn wait_for(&mut self, span: Nanos) -> Result<Option<Filled<'_, B>>, Error> {
        let deadline = self.shared.now() + span;
        self.wait_until(deadline)
    }

    /// [`Consumer::wait`] as a future.
    pub async fn wait_async(&mut self) -> Result<Filled<'_, B>, Error> {
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
        match self.shared.book(|book| book.claim(stage.position, now)) {
            Some((buffer, number, before)) => Ok(Some(Claimed { stage, buffer, number, before })),
            None => {
                self.member.release()?;
                Ok(None)
            }
        }
    }

    fn filled(&mut self, claimed: Claimed) -> Filled<'_, B> {
        let Consumer { shared, member } = self;
        Filled { shared, member, claimed, work: Vec::new(), is_done: false }
    }
}

impl<B> fmt::Debug for Consumer<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("member", &self.member).finish_non_exhaustive()
    }
}

/// A frame that the consumer has. Dropping it releases it; in a panic, the producer gets an error.
pub struct Filled<'c, B: Send + Sync + 'static> {
    shared: &'c Arc<Shared<B>>,
    member: &'c mut Member,
    claimed: Claimed,
    work: Vec<Handle>,
    is_done: bool,
}

impl<B: Send + Sync + 'static> Filled<'_, B> {
    /// The frame's number.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.claimed.number
    }

    /// Its buffer, which no other thread uses now. If the frame was handed over before its tasks have ended, the
    /// contents are not there yet: see [`Filled::complete`].
    pub fn buffer(&self) -> RwLockReadGuard<'_, B> {
        read(&self.shared.buffers[usize::from(self.claimed.buffer)])
    }

    /// The same, to change it.
    pub fn buffer_mut(&mut self) -> RwLockWriteGuard<'_, B> {
        write(&self.shared.buffers[usize::from(self.claimed.buffer)])
    }

    /// Waits until the producer's tasks have ended, if the frame was handed over before that.
    pub fn complete(&self) -> Result<(), Error> {
        Ok(self.claimed.before.iter().try_for_each(Handle::wait)?)
    }

    /// The priority of its tasks.
    #[must_use]
    pub fn priority(&self) -> Priority {
        self.shared.priority(self.claimed.buffer)
    }

    /// Notes the time under this name in the frame's record.
    pub fn note(&mut self, name: &'static str) {
        let now = self.shared.now();
        self.shared.book(|book| book.note(self.claimed.buffer, name, now));
    }

    /// Submits a task that uses the frame, at the frame's priority, after the tasks that were handed over with it. The
    /// frame is released when it has ended.
    pub fn task<'n>(&'n mut self, task: TaskBuilder<'_, 'n>) -> Result<Handle, Error> {
        let task = task.priority(self.priority()).announced(self.shared.announced());
        let task = self.claimed.before.iter().fold(task, |task, before| task.after(before)).submit()?;
        self.work.push(task.clone());
        Ok(task)
    }

    /// Submits the replay of a template that uses the frame, as [`Filled::task`] does a task. The frame is released
    /// when all its tasks have ended.
    pub fn replay<'r, A: Send + Sync + 'static>(&'r mut self, replay: Replay<'r, A>) -> Result<Handle, Error> {
        let replay = replay.priority(self.priority()).announced(self.shared.announced());
        let before = &self.claimed.before;
        let replay = before.iter().fold(replay, |replay, before| replay.after(before)).submit()?;
        self.work.push(replay.clone());
        Ok(replay)
    }

    /// The producer gets the stage back when the tasks of the frame have ended.
    pub fn release(mut self) -> Result<(), Error> {
        self.finish(false)
    }

    fn finish(&mut self, has_failed: bool) -> Result<(), Error> {
        self.is_done = true;
        let Claimed { stage, buffer, .. } = self.claimed;
        let mut work = std::mem::take(&mut self.work);
        work.append(&mut self.claimed.before);
        if !work.is_empty() {
            let (shared, arrival) = (Arc::clone(self.shared), Some(self.member.release_later()?));
            let position = stage.position;
            return Owed { shared, side: Side::Consumer, buffer, position, arrival, work, has_failed }.submit();
        }
        let now = self.shared.now();
        if has_failed {
            self.shared.book(|book| book.fail(Side::Consumer, stage.position, buffer, None, now));
            self.member.release_failed()?;
        } else {
            self.shared.book(|book| book.end(buffer, End::Delivered, now));
            self.member.release()?;
        }
        Ok(())
    }
}

impl<B: Send + Sync + 'static> Drop for Filled<'_, B> {
    fn drop(&mut self) {
        if !self.is_done {
            // An error is that of a task, and its outcome tells it.
            let _ = self.finish(std::thread::panicking());
        }
    }
}

impl<B: Send + Sync + 'static> fmt::Debug for Filled<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filled").field("stage", &self.claimed.stage).finish_non_exhaustive()
    }
}
