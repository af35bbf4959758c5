//! Loops: replays of a template, one after another, until a value on the host ends them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use graph::Priority;

use crate::task::handle::Handle;
use crate::task::tasks::Tasks;
use crate::task::template::Template;
use crate::work::fault::Error;
use crate::work::function::WorkResult;

/// A function of the host that gives the arguments of the next replay, or none.
type Next<A> = Box<dyn FnMut() -> WorkResult<Option<A>> + Send>;

impl<A: Send + Sync + 'static> Template<A> {
    /// Replays it for as long as `next` returns arguments: one replay after another, as tasks of this set. A worker
    /// thread of the dispatcher calls `next`, first at once, and then whenever a replay has ended and its results are
    /// on the host, so a value there can end the loop. The submitting thread does not wait.
    pub fn repeat<'r>(
        &'r self,
        tasks: &'r Tasks,
        next: impl FnMut() -> WorkResult<Option<A>> + Send + 'static,
    ) -> Repeat<'r, A> {
        Repeat { template: self, tasks, next: Box::new(next), priority: Priority::LOWEST, device: 0, after: Vec::new() }
    }
}

/// The description of a loop. [`Repeat::submit`] submits it; dropping it does nothing.
#[must_use = "a loop does nothing until it is submitted"]
pub struct Repeat<'r, A> {
    template: &'r Template<A>,
    tasks: &'r Tasks,
    next: Next<A>,
    priority: Priority,
    device: u8,
    after: Vec<&'r Handle>,
}

impl<'r, A: Send + Sync + 'static> Repeat<'r, A> {
    /// Gives all its tasks at least this priority.
    pub fn priority(mut self, priority: Priority) -> Repeat<'r, A> {
        self.priority = priority;
        self
    }

    /// Sets the device that does its work, by its number among those of the dispatcher. The default is the first.
    pub fn on(mut self, device: u8) -> Repeat<'r, A> {
        self.device = device;
        self
    }

    /// Orders it after this task.
    pub fn after(mut self, task: &'r Handle) -> Repeat<'r, A> {
        self.after.push(task);
        self
    }

    /// Submits it. The handle completes when the loop has ended. It fails if a replay fails, or if `next` returns an
    /// error or panics; there is no further replay then.
    pub fn submit(self) -> Result<Handle, Error> {
        let Repeat { template, tasks, next, priority, device, after } = self;
        let end = tasks.join("the end of a loop").priority(priority).held().submit()?;
        let round =
            Round { template: template.clone(), tasks: tasks.clone(), next, priority, device, end: end.clone() };
        match round.submit(&after) {
            Ok(()) => end.release().map(|()| end),
            Err(error) => {
                // None comes after it, and it has no work.
                end.release()?;
                Err(error)
            }
        }
    }
}

/// The loop before a round.
struct Round<A> {
    template: Template<A>,
    tasks: Tasks,
    next: Next<A>,
    priority: Priority,
    device: u8,
    end: Handle,
}

impl<A: Send + Sync + 'static> Round<A> {
    /// Submits the function that begins the round, behind these tasks. The end comes after it, and so inherits its
    /// failure, and gives it its priority.
    fn submit(self, after: &[&Handle]) -> Result<(), Error> {
        let (tasks, priority, end) = (self.tasks.clone(), self.priority, self.end.clone());
        let is_refused = Arc::<AtomicBool>::default();
        let is_void = Arc::clone(&is_refused);
        let begin = move || if is_void.load(Ordering::Acquire) { Ok(()) } else { self.begin() };
        let begin = tasks.host("the next of a loop", begin).priority(priority);
        // Held: it must not end before the order is known.
        let begin = begin.after(after.iter().copied()).held().submit()?;
        let ordered = begin.precede(&end);
        if let Some(Err(failure)) = begin.outcome() {
            // A task before it has failed.
            return Err(failure);
        }
        // Without room for the order, say, there is no round. The task ends all the same.
        is_refused.store(ordered.is_err(), Ordering::Release);
        let released = begin.release();
        ordered.and(released)
    }

    /// Asks for arguments, and submits the replay and the next round. While this runs the end waits for it.
    fn begin(mut self) -> WorkResult<()> {
        if let Some(arguments) = (self.next)()? {
            let replay = self.template.replay(&self.tasks, arguments).priority(self.priority).on(self.device);
            let replay = replay.submit()?;
            self.submit(&[&replay])?;
        }
        Ok(())
    }
}
