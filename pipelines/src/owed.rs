//! The arrival of a frame that is due when its tasks have ended.

use std::sync::Arc;

use overtake_tasks::task::{self, Handle};
use stages::{Admitted, Arrival};

use crate::book::Side;
use crate::fault::Error;
use crate::record::End;
use crate::shared::Shared;

/// A stage that one side has done with when these tasks have ended. It ends when this is dropped: by the function of a
/// task behind them, or with that task if it is not run.
pub(crate) struct Owed<B> {
    pub shared: Arc<Shared<B>>,
    pub side: Side,
    pub buffer: u8,
    pub position: u64,
    /// None if the stage has been handed over already: then the tasks only keep the buffers.
    pub arrival: Option<Arrival>,
    pub work: Vec<Handle>,
    /// It has failed even if its tasks do not.
    pub has_failed: bool,
    /// The place of a frame that its consumer has released.
    pub _admitted: Option<Admitted>,
}

impl<B: Send + Sync + 'static> Owed<B> {
    /// Submits a task behind the others, whose end is that of the stage.
    pub fn submit(self) -> Result<(), Error> {
        let owed = Arc::new(self);
        let Err(error) = owed.submit_behind(&owed.work) else { return Ok(()) };
        // No task will tell that these have ended, and the device may use the buffer until then.
        owed.work.iter().for_each(|task| drop(task.wait()));
        Err(error.into())
    }

    fn submit_behind(self: &Arc<Owed<B>>, work: &[Handle]) -> Result<(), task::Error> {
        let joined = self.join(work)?;
        if !matches!(joined.outcome(), Some(Err(_))) {
            return Ok(());
        }
        // It has failed with one of them at once, and others may still be under way.
        work.iter().filter(|task| !task.is_done()).try_for_each(|task| self.join(std::slice::from_ref(task)).map(drop))
    }

    fn join(self: &Arc<Owed<B>>, work: &[Handle]) -> Result<Handle, task::Error> {
        let (owed, shared) = (Arc::clone(self), &self.shared);
        let join = shared.tasks.light(&shared.options.name, move || {
            drop(owed);
            Ok(())
        });
        join.priority(shared.options.priority).after(work).submit()
    }
}

impl<B> Drop for Owed<B> {
    fn drop(&mut self) {
        if self.shared.may_enter().is_err() {
            std::mem::forget((self.arrival.take(), self._admitted.take(), Arc::clone(&self.shared)));
            return;
        }
        let failed = self.work.iter().find_map(|task| match task.outcome() {
            Some(Ok(())) => None,
            Some(Err(error)) => Some(error),
            None => Some(task::Error::Closed { task: None }),
        });
        let (now, has_failed) = (self.shared.now(), self.has_failed || failed.is_some());
        // The book first: the peer may use the stage as soon as the arrival has come.
        let arrival = self.arrival.take();
        self.shared.book(|book| match self.side {
            _ if arrival.is_none() => {}
            side if has_failed => book.fail(side, self.position, self.buffer, failed, now),
            Side::Consumer if !self.shared.has_many => book.end(self.buffer, End::Delivered, now),
            _ => {}
        });
        match arrival {
            Some(arrival) if has_failed => arrival.fail(),
            Some(arrival) => arrival.arrive(),
            None => {}
        }
        self.shared.settle();
    }
}
