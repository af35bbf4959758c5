//! A frame that its consumer holds.

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, RwLockReadGuard, RwLockWriteGuard};

use copies::Priority;
use hal::locks::{read, write};
use overtake_tasks::task::{Handle, Replay, TaskBuilder};
use stages::Stage;

use crate::book::Side;
use crate::fault::Error;
use crate::owed::Owed;
use crate::record::End;
use crate::seat::Seat;
use crate::shared::Shared;
use crate::sharing::Alone;

/// A frame that the consumer has claimed.
pub(crate) struct Claimed {
    pub stage: Stage,
    pub buffer: u8,
    pub number: u64,
    pub before: Vec<Handle>,
}

/// A frame that the consumer holds. Dropping it releases it; if the thread panics, the producer gets an error.
pub struct Filled<'c, B: Send + Sync + 'static, S = Alone> {
    shared: &'c Arc<Shared<B>>,
    seat: &'c mut Seat,
    claimed: Claimed,
    work: Vec<Handle>,
    is_done: bool,
    _sharing: PhantomData<S>,
}

impl<B: Send + Sync + 'static> Filled<'_, B> {
    /// Its buffer, with write access.
    pub fn buffer_mut(&mut self) -> RwLockWriteGuard<'_, B> {
        write(&self.shared.buffers[usize::from(self.claimed.buffer)])
    }
}

impl<'c, B: Send + Sync + 'static, S> Filled<'c, B, S> {
    pub(crate) fn new(shared: &'c Arc<Shared<B>>, seat: &'c mut Seat, claimed: Claimed) -> Filled<'c, B, S> {
        Filled { shared, seat, claimed, work: Vec::new(), is_done: false, _sharing: PhantomData }
    }

    /// The frame's number.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.claimed.number
    }

    /// Its buffer, which only the frame's consumers use now. If the frame was handed over before its tasks have ended,
    /// the contents are not there yet: see [`Filled::complete`].
    pub fn buffer(&self) -> RwLockReadGuard<'_, B> {
        read(&self.shared.buffers[usize::from(self.claimed.buffer)])
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
        self.shared.book_here(|book| book.note(self.claimed.buffer, name, now));
    }

    /// Submits a task that uses the frame, at the frame's priority, after the tasks that were handed over with it. The
    /// frame is released when it has ended.
    pub fn task<'n>(&'n mut self, task: TaskBuilder<'_, 'n>) -> Result<Handle, Error> {
        let task = task.priority(self.priority()).announced(self.shared.announced());
        let task = task.after(&self.claimed.before).submit()?;
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
        self.shared.may_enter()?;
        let _admitted = self.seat.admitted.take();
        let Claimed { stage, buffer, .. } = self.claimed;
        let mut work = std::mem::take(&mut self.work);
        work.append(&mut self.claimed.before);
        if !work.is_empty() {
            let (shared, arrival) = (Arc::clone(self.shared), Some(self.seat.member.release_later()?));
            let (side, position) = (Side::Consumer, stage.position);
            return Owed { shared, side, buffer, position, arrival, work, has_failed, _admitted }.submit();
        }
        let now = self.shared.now();
        if has_failed {
            self.shared.book(|book| book.fail(Side::Consumer, stage.position, buffer, None, now));
            self.seat.member.release_failed()?;
        } else {
            if !self.shared.has_many {
                self.shared.book(|book| book.end(buffer, End::Delivered, now));
            }
            self.seat.member.release()?;
        }
        self.shared.settle();
        Ok(())
    }
}

impl<B: Send + Sync + 'static, S> Drop for Filled<'_, B, S> {
    fn drop(&mut self) {
        if !self.is_done {
            // An error is that of a task, and its outcome tells it.
            let _ = self.finish(std::thread::panicking());
        }
    }
}

impl<B: Send + Sync + 'static, S> fmt::Debug for Filled<'_, B, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filled").field("stage", &self.claimed.stage).finish_non_exhaustive()
    }
}
