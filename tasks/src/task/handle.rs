//! Handles of tasks.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use graph::{Label, NodeId, Priority, Refused, Stage};
use hal::primitive::{Ordering, fence};
use hal::{Nanos, Wait};

use crate::dispatch::shared::Shared;
use crate::work::fault::{Error, Fault, Reason};
use crate::work::lane::Lane;
use crate::work::outcome::Outcome;

/// A submitted task. Dropping the handle does not affect the task.
///
/// A handle is a future: awaiting it gives the outcome. It keeps only the outcome alive, and nothing of a dispatcher
/// that has been closed.
#[derive(Clone)]
pub struct Handle {
    node: NodeId,
    outcome: Arc<Outcome>,
}

impl Handle {
    pub(crate) fn new(node: NodeId, outcome: Arc<Outcome>) -> Handle {
        Handle { node, outcome }
    }

    /// The task's node in the graph.
    #[doc(hidden)]
    #[must_use]
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// Whether its task is of this dispatcher.
    pub(crate) fn is_of(&self, shared: &Arc<Shared>) -> bool {
        std::ptr::addr_eq(self.outcome.home().as_ptr(), Arc::as_ptr(shared))
    }

    pub(crate) fn shared(&self) -> Result<Arc<Shared>, Error> {
        #[cfg(all(test, not(loom)))]
        tests::meanwhile(self);
        self.outcome.home().upgrade().and_then(|home| home.downcast().ok()).ok_or(Error::Closed { task: None })
    }

    pub(crate) fn shared_outcome(&self) -> &Arc<Outcome> {
        &self.outcome
    }

    /// The failure of the first of these tasks that has failed.
    pub(crate) fn fault_before<'h>(mut before: impl Iterator<Item = &'h Handle>) -> Option<Arc<Fault>> {
        before.find(|task| task.outcome.has_failed())?.outcome()?.err()?.fault()
    }

    /// The graph forgets a failed task when it has ended. Its handle has the failure, and a task after it fails with
    /// it: that one's handle, if there is such a failure.
    pub(crate) fn behind_a_failure<'h>(
        mut before: impl Iterator<Item = &'h Handle>,
        name: &str,
        task: impl FnOnce() -> String,
    ) -> Option<Handle> {
        let failed = before.find(|task| task.outcome.has_failed())?;
        let fault = failed.outcome()?.err()?.fault()?;
        let error = Error::NotRun { task: task(), fault, is_own: false };
        Some(Handle::new(failed.node, Outcome::failed(failed.outcome.home(), name, error)))
    }

    /// The task's outcome, if it has ended. If it ran, its work is done, and so is everything before it. If it did not
    /// run, because another task failed or it was cancelled, tasks before it may still be running.
    #[must_use]
    pub fn outcome(&self) -> Option<Result<(), Error>> {
        self.outcome.get()
    }

    /// Whether all work of the task has been submitted, or its function has run.
    #[must_use]
    pub fn is_launched(&self) -> bool {
        let stage = || Ok(self.shared()?.enter_here()?.graph.stage(self.node));
        self.outcome_or(stage).map_or_else(|stage| matches!(stage, Ok(Stage::Launched | Stage::Ended)), |_| true)
    }

    /// Whether the task has ended.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.outcome.is_known()
    }

    /// Waits until the task has ended, and returns its outcome. Functions of tasks must not call this.
    pub fn wait(&self) -> Result<(), Error> {
        self.wait_within(None).map(drop)
    }

    /// The same with a timeout in the host's time. Returns `None` if it expires; the task continues.
    ///
    /// ```
    /// # use overtake::{Options, Overtake, dispatch::{DispatchOptions, Dispatcher}, task::Tasks};
    /// # use std::{sync::Arc, time::Duration};
    /// # let driver: Arc<dyn overtake::hal::Driver> = Arc::new(softgpu::SoftGpu::builder().build());
    /// # let overtake = Arc::new(Overtake::open(&driver, overtake::hal::Device(0), Options::default())?);
    /// # let dispatcher = Dispatcher::open(&overtake, DispatchOptions::default())?;
    /// let task = Tasks::new(&dispatcher).join("held").held().submit()?;
    /// assert_eq!(task.wait_for(Duration::from_millis(5))?, None);
    /// task.release()?;
    /// assert_eq!(task.wait_for(Duration::from_millis(5))?, Some(()));
    /// # Ok::<(), overtake::task::Error>(())
    /// ```
    pub fn wait_for(&self, span: Duration) -> Result<Option<()>, Error> {
        self.wait_within(Some(span))
    }

    fn wait_within(&self, span: Option<Duration>) -> Result<Option<()>, Error> {
        self.wait_by(|shared| span.map(|span| shared.deadline(span)))
    }

    /// Waits until the time of the host that `deadline` tells. Returns `None` if that has passed.
    pub(crate) fn wait_by(&self, deadline: impl FnOnce(&Shared) -> Option<Nanos>) -> Result<Option<()>, Error> {
        let waits = || {
            let shared = self.shared()?;
            let deadline = deadline(&shared);
            shared.wait_for(self.node, deadline, &mut || self.outcome.is_known())
        };
        match self.outcome_or(waits) {
            Ok(outcome) => outcome.map(Some),
            Err(Ok(Wait::Stuck)) => Err(Error::Stuck { task: self.name() }),
            Err(Ok(Wait::Deadline)) => Ok(None),
            Err(Ok(Wait::Met)) => Err(Error::Closed { task: None }),
            Err(Err(error)) => Err(error),
        }
    }

    /// The outcome, or the answer of the dispatcher that is asked while there is none. That cannot be asked any more if
    /// the task has ended, and it has been closed, since the outcome was looked at first: so that is looked at again.
    fn outcome_or<T>(&self, ask: impl FnOnce() -> Result<T, Error>) -> Result<Result<(), Error>, Result<T, Error>> {
        if let Some(outcome) = self.outcome.get() {
            return Ok(outcome);
        }
        let answer = ask();
        self.outcome_again().ok_or(answer)
    }

    /// The outcome, looked at again after the dispatcher has been asked.
    fn outcome_again(&self) -> Option<Result<(), Error>> {
        // A failed `upgrade` orders nothing by itself.
        fence(Ordering::Acquire);
        self.outcome.get()
    }

    /// The task as errors name it.
    #[must_use]
    pub fn name(&self) -> String {
        match self.known() {
            Ok(label) => label.to_string(),
            Err(unknown) => unknown.to_owned(),
        }
    }

    /// The task, with the name that its dispatcher has for it, or that is kept here since it has ended.
    fn known(&self) -> Result<Label, &'static str> {
        let kept = || self.outcome.name().map(|name| Label { id: self.node, name });
        if let Some(label) = kept() {
            return Ok(label);
        }
        let ask = || {
            let shared = self.shared().map_err(|_| "(of a dispatcher that is closed)")?;
            let held = shared.enter_here().map_err(|_| "(of another process)")?;
            Ok(held.graph.label(self.node))
        };
        let answer = ask();
        // It may have ended meanwhile: then the dispatcher may not know it any more, or know another one by its number.
        self.outcome_again().and_then(|_| kept()).map_or(answer, Ok)
    }

    /// The refusal names this task, if that has ended: the dispatcher does not know it any more, or knows another one
    /// by its number. It takes no lock of the dispatcher's, which may be held.
    pub(crate) fn naming(&self, mut error: Error) -> Error {
        if let Error::Refused(refused) = &mut error
            && let Some(task) = refused.task_mut().filter(|task| task.id == self.node)
            && let Some(name) = self.outcome.name()
        {
            task.name = name;
        }
        error
    }

    /// Orders these tasks, which must not have started, after this one (start-after and finish-before, PX-02).
    pub fn precede<'h>(&self, others: impl IntoIterator<Item = &'h Handle>) -> Result<(), Error> {
        others.into_iter().try_for_each(|other| other.succeed(self))
    }

    /// Orders this task, which must not have started, after these.
    pub fn succeed<'h>(&self, others: impl IntoIterator<Item = &'h Handle>) -> Result<(), Error> {
        let shared = self.shared()?;
        others.into_iter().try_for_each(|first| {
            if !first.is_of(&shared) {
                return Err(Error::Foreign { task: self.name() });
            }
            shared.order(first.node, self.node).map_err(|error| match error {
                Error::Refused(Refused::Finished { task, .. }) => {
                    let [finished, kept] = if task.id == first.node { [first, self] } else { [self, first] };
                    finished.naming(Error::Refused(Refused::Finished { task, other: kept.name() }))
                }
                error => first.naming(self.naming(error)),
            })
        })
    }

    /// Adds a reference. The task does not start until [`Handle::release`] removes it (PX-03).
    pub fn hold(&self) -> Result<(), Error> {
        let held = self.shared()?.enter_here()?.graph.hold(self.node);
        held.map_err(|refused| self.naming(refused.into()))
    }

    /// Removes a reference. A task without references can start.
    pub fn release(&self) -> Result<(), Error> {
        if let Some(Err(_)) = self.outcome.get() {
            // A task that fails gives its references back.
            return Ok(());
        }
        match self.shared().and_then(|shared| shared.release(self.node)) {
            // It has failed meanwhile.
            Err(_) if matches!(self.outcome_again(), Some(Err(_))) => Ok(()),
            released => released.map_err(|error| self.naming(error)),
        }
    }

    /// Cancels the task if it has not started: it ends as not run ([`Error::NotRun`]), as do the tasks that were
    /// ordered after it or need its results. A computation that writes an array which the cancelled task would have
    /// read still runs, after everything that the reader came after. Returns whether the task was cancelled. Tasks
    /// before it continue, as do tasks that have started, replays, and joins, which have no work to skip.
    ///
    /// The elements that a cancelled computation was going to write are lost, as with one that fails, although nothing
    /// has touched them: submitting it invalidated their copies in other memories. `write` and `read_write` of them
    /// fail until a `discard`.
    ///
    /// In PhysX order (`Order::PhysX`) a device task starts when it is ready, and tasks after a cancelled task run, as
    /// they do after a failed one.
    ///
    /// ```
    /// # use overtake::{Options, Overtake, dispatch::{DispatchOptions, Dispatcher}, task::{Error, Tasks}};
    /// # use std::sync::Arc;
    /// # let driver: Arc<dyn overtake::hal::Driver> = Arc::new(softgpu::SoftGpu::builder().build());
    /// # let overtake = Arc::new(Overtake::open(&driver, overtake::hal::Device(0), Options::default())?);
    /// # let dispatcher = Dispatcher::open(&overtake, DispatchOptions::default())?;
    /// let task = Tasks::new(&dispatcher).host("late", || Ok(())).held().submit()?;
    /// assert!(task.cancel()?);
    /// assert!(matches!(task.wait(), Err(Error::NotRun { .. })));
    /// # Ok::<(), overtake::task::Error>(())
    /// ```
    pub fn cancel(&self) -> Result<bool, Error> {
        if self.is_done() {
            return Ok(false);
        }
        let shared = match self.shared() {
            // It has ended meanwhile.
            Err(_) if self.outcome_again().is_some() => return Ok(false),
            shared => shared?,
        };
        let mut held = shared.enter_here()?;
        let may = held.bodies.get(self.node).is_some_and(|body| body.work.is_whole());
        let is_cancelled = may && held.graph.can_give_up(self.node);
        if is_cancelled {
            let cause = held.fault(self.node, Reason::Cancelled);
            held.graph.give_up(self.node, cause);
        }
        shared.pump(held);
        Ok(is_cancelled)
    }

    /// Changes the task's own priority. The tasks before it inherit it.
    pub fn raise(&self, to: Priority) -> Result<(), Error> {
        let shared = self.shared()?;
        let mut held = shared.enter_here()?;
        let raised = held.graph.set_priority(self.node, to);
        shared.pump(held);
        raised.map_err(|mut refused| {
            if let (Refused::Priority { task, .. }, Some(name)) = (&mut refused, self.outcome.name()) {
                *task = name;
            }
            refused.into()
        })
    }
}

/// One task where a builder takes several: `.after(&task)` as well as `.after([&one, &other])`.
impl<'h> IntoIterator for &'h Handle {
    type Item = &'h Handle;
    type IntoIter = std::iter::Once<&'h Handle>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        std::iter::once(self)
    }
}

impl Lane<'_> {
    /// Makes the other task, which must not have started, wait until this one has completed (PX-19).
    pub fn completes(&mut self, other: &Handle) -> Result<(), Error> {
        self.refuse_capture("completes another task")?;
        if other.outcome.home().as_ptr().cast::<()>().addr() != std::ptr::from_ref(self.site.inside).addr() {
            return Err(Error::Foreign { task: other.name() });
        }
        self.site.inside.completes(self.call.node, other.node).map_err(|error| other.naming(error))
    }
}

impl Future for Handle {
    type Output = Result<(), Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.outcome_or(|| self.shared()?.want(self.node)) {
            Ok(outcome) => Poll::Ready(outcome),
            Err(Ok(())) => self.outcome.poll(context.waker()).map_or(Poll::Pending, Poll::Ready),
            Err(Err(error)) => Poll::Ready(Err(error)),
        }
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("node", &self.node).field("outcome", &self.outcome.get()).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::cell::Cell;
    use std::sync::Weak;

    use super::*;

    thread_local! {
        /// The end of the task that this thread asks a dispatcher for next.
        static ENDS: Cell<Option<Result<(), Error>>> = const { Cell::new(None) };
    }

    /// A handle is about to ask for its dispatcher: its task may end in between.
    pub(super) fn meanwhile(handle: &Handle) {
        let Some(end) = ENDS.take() else { return };
        handle.outcome.keep_name("late");
        match end {
            Ok(()) => handle.outcome.set_done(),
            Err(error) => handle.outcome.set_failed(error),
        };
    }

    /// A task that ends while a call asks for its dispatcher, which has been closed then.
    fn ends(end: Result<(), Error>) -> Handle {
        let home: crate::work::outcome::Home = Weak::<()>::new();
        ENDS.set(Some(end));
        Handle::new(NodeId::NONE, Outcome::new(&home))
    }

    #[test]
    fn calls_beside_the_end_of_a_task_answer_as_after_it() {
        let failed = || Err(Error::Stuck { task: String::new() });
        let told = [
            ends(Ok(())).is_launched(),
            ends(Ok(())).name().contains("late"),
            // A task that fails gives its references back.
            ends(failed()).release().is_ok(),
            matches!(ends(Ok(())).cancel(), Ok(false)),
            matches!(ends(failed()).cancel(), Ok(false)),
        ];
        assert_eq!(told, [true; 5]);
        assert!(matches!(ends(Ok(())).release(), Err(Error::Closed { .. })), "one that ends well had none to give");
    }

    #[test]
    fn an_end_goes_before_the_refusal_of_a_dispatcher_that_is_closed_meanwhile() {
        let home: crate::work::outcome::Home = Weak::<()>::new();
        let handle = Handle::new(NodeId::NONE, Outcome::new(&home));
        let closed = || Err::<(), _>(Error::Closed { task: None });
        assert!(matches!(handle.outcome_or(closed), Err(Err(Error::Closed { .. }))), "it has not ended");
        let ends = || {
            handle.outcome.set_done();
            closed()
        };
        assert!(matches!(handle.outcome_or(ends), Ok(Ok(()))));
        assert!(matches!(handle.outcome_or(closed), Ok(Ok(()))), "it is known");
    }
}
