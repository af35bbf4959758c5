//! Tasks that are being described.

use std::sync::Arc;

use graph::{Kind, Mark, NodeId, Priority, Refused, Spec};
use smallvec::SmallVec;

use crate::dispatch::shared::Shared;
use crate::dispatch::state::State;
use crate::task::handle::Handle;
use crate::work::fault::Error;
use crate::work::function::Work;
use crate::work::lane::Submitted;
use crate::work::outcome::Outcome;
use crate::work::set::Set;

/// Tasks before another one that need no memory of their own.
const FEW: usize = 4;

/// The nodes of tasks.
type Nodes = SmallVec<[NodeId; FEW]>;

/// A task that is being described. [`TaskBuilder::submit`] submits it; dropping it does nothing.
#[must_use = "a task does nothing until it is submitted"]
pub struct TaskBuilder<'t, 'n> {
    shared: &'t Arc<Shared>,
    set: &'t Arc<Set>,
    name: &'n str,
    work: Work,
    kind: Kind,
    priority: Priority,
    references: u32,
    after: SmallVec<[&'n Handle; FEW]>,
    after_launch: Vec<&'n Handle>,
}

impl<'t, 'n> TaskBuilder<'t, 'n> {
    #[inline]
    pub(crate) fn new(
        shared: &'t Arc<Shared>,
        set: &'t Arc<Set>,
        name: &'n str,
        kind: Kind,
        work: Work,
    ) -> TaskBuilder<'t, 'n> {
        TaskBuilder {
            shared,
            set,
            name,
            work,
            kind,
            priority: Priority::LOWEST,
            references: 0,
            after: SmallVec::new(),
            after_launch: Vec::new(),
        }
    }

    /// Its priority. The tasks before it inherit it.
    #[inline]
    pub fn priority(mut self, priority: Priority) -> TaskBuilder<'t, 'n> {
        self.priority = priority;
        self
    }

    /// It comes after this task.
    #[inline]
    pub fn after(mut self, task: &'n Handle) -> TaskBuilder<'t, 'n> {
        self.after.push(task);
        self
    }

    /// It starts when this task has been launched: all its work has been submitted, or its function has run. A task of
    /// the device still comes after it on the device (PX-07).
    pub fn after_launch(mut self, task: &'n Handle) -> TaskBuilder<'t, 'n> {
        self.after_launch.push(task);
        self
    }

    /// It has a reference, which [`Handle::release`] takes away: until then it does not start.
    pub fn held(mut self) -> TaskBuilder<'t, 'n> {
        self.references += 1;
        self
    }

    /// Submits the task, and dispatches it if it is ready.
    pub fn submit(self) -> Result<Handle, Error> {
        let shared = self.shared;
        let mut held = shared.enter_here()?;
        let after = self.nodes_before(&held)?;
        if let Some(handle) = self.after_a_failure() {
            return Ok(handle);
        }
        let is_stopped = self.set.is_stopped();
        let waits = !self.after_launch.is_empty();
        let references = self.references + u32::from(is_stopped) + u32::from(waits);
        let node = held.graph.append(&Spec { references, ..self.spec(&after) })?;
        if waits {
            self.wait_for_launches(&mut held, node)?;
        }
        if is_stopped {
            self.set.waits(node);
        }
        let outcome = Arc::clone(&held.bodies.add(node, self.set).outcome);
        self.describe(&mut held, node, &after);
        shared.pump(held);
        Ok(Handle::new(shared, node, outcome))
    }

    /// Submits the task as the one to which others refer by its name ([`crate::task::Tasks::named`]).
    pub fn submit_named(self) -> Result<Handle, Error> {
        let (shared, name) = (self.shared, self.set.name_of(self.name));
        let mut held = shared.enter_here()?;
        let after = self.nodes_before(&held)?;
        let (node, outcome) = held.named(&name, self.set)?;
        held.graph.fill(node, &self.spec(&after))?;
        held.graph.hold(node)?;
        self.wait_for_launches(&mut held, node)?;
        let is_stopped = self.set.is_stopped();
        self.describe(&mut held, node, &after);
        if !is_stopped {
            held.graph.release(node)?;
        }
        shared.pump(held);
        Ok(Handle::new(shared, node, outcome))
    }

    /// The tasks that it comes after, if it can be submitted.
    #[inline]
    fn nodes_before(&self, state: &State) -> Result<Nodes, Error> {
        let is_foreign = |task: &&Handle| !task.is_of(self.shared);
        if state.is_closed {
            return Err(Error::Closed);
        }
        if self.after.iter().any(is_foreign) || self.after_launch.iter().any(is_foreign) {
            return Err(Error::Foreign { task: format!("{:?}", self.name) });
        }
        Ok(self.after.iter().map(|task| task.node()).collect())
    }

    /// Makes the edges from launches, and takes the reference away that the node has had until then.
    #[inline(never)]
    fn wait_for_launches(&self, held: &mut State, node: NodeId) -> Result<(), Refused> {
        let made = self.after_launch.iter().try_for_each(|first| {
            match held.graph.before_at(first.node(), node, Mark::Launched) {
                // It has been launched.
                Err(Refused::Finished { .. }) => Ok(()),
                made => made,
            }
        });
        held.graph.release(node)?;
        made
    }

    /// The graph forgets a failed task when it has ended. Its handle has the failure, and this task fails with it.
    #[inline]
    fn after_a_failure(&self) -> Option<Handle> {
        let failed = self.after.iter().find(|task| task.shared_outcome().has_failed())?;
        self.fail_after(failed)
    }

    #[cold]
    fn fail_after(&self, failed: &Handle) -> Option<Handle> {
        let fault = failed.outcome()?.err()?.fault()?;
        let outcome: Arc<Outcome> = Arc::default();
        outcome.set_failed(Error::NotRun { task: format!("{:?}", self.name), fault });
        Some(Handle::new(self.shared, failed.node(), outcome))
    }

    #[inline]
    fn spec<'a>(&'a self, after: &'a [NodeId]) -> Spec<'a> {
        let &TaskBuilder { kind, priority, name, references, .. } = self;
        Spec { kind, priority, name, after, references }
    }

    /// Gives the node its work.
    #[inline]
    fn describe(self, held: &mut State, node: NodeId, after: &[NodeId]) {
        if !self.kind.is_device() {
            // Work before it may have been submitted without a mark.
            after.iter().for_each(|first| held.want(*first));
        }
        let expected = held.expectations.begun(&self.shared.overtake, self.kind, self.priority);
        debug_assert!(expected.is_ok(), "the graph refuses other priorities than the copy layer's: {expected:?}");
        if let Some(body) = held.bodies.get(node) {
            (body.kind, body.priority, body.work) = (self.kind, self.priority, self.work);
        }
    }
}
