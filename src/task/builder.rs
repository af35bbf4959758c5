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

/// A task that is being described. [`TaskBuilder::submit`] submits it; dropping it does nothing.
#[must_use = "a task does nothing until it is submitted"]
pub struct TaskBuilder<'t, 'n> {
    shared: &'t Arc<Shared>,
    set: &'t Arc<Set>,
    name: &'n str,
    kind: Kind,
    work: Work,
    priority: Priority,
    after: SmallVec<[NodeId; FEW]>,
    outcomes: SmallVec<[Arc<Outcome>; FEW]>,
    after_launch: Vec<NodeId>,
    references: u32,
    /// It is to come after a task of another dispatcher.
    is_foreign: bool,
}

impl<'t, 'n> TaskBuilder<'t, 'n> {
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
            kind,
            work,
            priority: Priority::LOWEST,
            after: SmallVec::new(),
            outcomes: SmallVec::new(),
            after_launch: Vec::new(),
            references: 0,
            is_foreign: false,
        }
    }

    /// Its priority. The tasks before it inherit it.
    pub fn priority(self, priority: Priority) -> TaskBuilder<'t, 'n> {
        TaskBuilder { priority, ..self }
    }

    /// It comes after this task.
    pub fn after(mut self, task: &Handle) -> TaskBuilder<'t, 'n> {
        self.is_foreign |= !task.is_of(self.shared);
        self.after.push(task.node());
        self.outcomes.push(Arc::clone(task.shared_outcome()));
        self
    }

    /// It starts when this task has been launched: all its work has been submitted, or its function has run. A task of
    /// the device still comes after it on the device (PX-07).
    pub fn after_launch(mut self, task: &Handle) -> TaskBuilder<'t, 'n> {
        self.is_foreign |= !task.is_of(self.shared);
        self.after_launch.push(task.node());
        self
    }

    /// It has a reference, which [`Handle::release`] takes away: until then it does not start.
    pub fn held(self) -> TaskBuilder<'t, 'n> {
        TaskBuilder { references: self.references + 1, ..self }
    }

    /// Submits the task, and dispatches it if it is ready.
    pub fn submit(self) -> Result<Handle, Error> {
        let shared = self.shared;
        let mut held = shared.enter_here()?;
        self.check(&held)?;
        if let Some(handle) = self.after_a_failure() {
            return Ok(handle);
        }
        let is_stopped = self.set.is_stopped();
        let waits = !self.after_launch.is_empty();
        let references = self.references + u32::from(is_stopped) + u32::from(waits);
        let node = held.graph.append(&Spec { references, ..self.spec() })?;
        if waits {
            self.wait_for_launches(&mut held, node)?;
        }
        if is_stopped {
            self.set.waits(node);
        }
        let outcome = held.add(node, self.set);
        self.describe(&mut held, node);
        shared.pump(held);
        Ok(Handle::new(shared, node, outcome))
    }

    /// Submits the task as the one to which others refer by its name ([`crate::task::Tasks::named`]).
    pub fn submit_named(self) -> Result<Handle, Error> {
        let (shared, name) = (self.shared, self.set.name_of(self.name));
        let mut held = shared.enter_here()?;
        self.check(&held)?;
        let (node, outcome) = held.named(&name, self.set)?;
        held.graph.fill(node, &self.spec())?;
        held.graph.hold(node)?;
        self.wait_for_launches(&mut held, node)?;
        let is_stopped = self.set.is_stopped();
        self.describe(&mut held, node);
        if !is_stopped {
            held.graph.release(node)?;
        }
        shared.pump(held);
        Ok(Handle::new(shared, node, outcome))
    }

    fn check(&self, state: &State) -> Result<(), Error> {
        match () {
            () if state.is_closed => Err(Error::Closed),
            () if self.is_foreign => Err(Error::Foreign { task: format!("{:?}", self.name) }),
            () => Ok(()),
        }
    }

    /// Makes the edges from launches, and takes the reference away that the node has had until then.
    fn wait_for_launches(&self, held: &mut State, node: NodeId) -> Result<(), Refused> {
        let made = self.after_launch.iter().try_for_each(|first| {
            match held.graph.before_at(*first, node, Mark::Launched) {
                // It has been launched.
                Err(Refused::Finished { .. }) => Ok(()),
                made => made,
            }
        });
        held.graph.release(node)?;
        made
    }

    /// The graph forgets a failed task when it has ended. Its handle has the failure, and this task fails with it.
    fn after_a_failure(&self) -> Option<Handle> {
        let (node, fault) = self
            .after
            .iter()
            .zip(&self.outcomes)
            .find_map(|(node, outcome)| Some((*node, outcome.get()?.err()?.fault()?)))?;
        let outcome: Arc<Outcome> = Arc::default();
        outcome.set(Err(Error::NotRun { task: format!("{:?}", self.name), fault }));
        Some(Handle::new(self.shared, node, outcome))
    }

    fn spec(&self) -> Spec<'_> {
        let &TaskBuilder { kind, priority, name, ref after, references, .. } = self;
        Spec { kind, priority, name, after, references }
    }

    /// Gives the node its work.
    fn describe(self, held: &mut State, node: NodeId) {
        if !self.kind.is_device() {
            // Work before it may have been submitted without a mark.
            self.after.iter().for_each(|first| held.want(*first));
        }
        let expected = held.expectations.begun(&self.shared.overtake, self.kind, self.priority);
        debug_assert!(expected.is_ok(), "the graph refuses other priorities than the copy layer's: {expected:?}");
        if let Some(body) = held.body(node) {
            (body.kind, body.priority, body.work) = (self.kind, self.priority, self.work);
        }
    }
}
