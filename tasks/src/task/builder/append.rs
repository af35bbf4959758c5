//! Appends tasks to the graph, under the dispatcher's lock: those that the same call does not launch.

use std::sync::Arc;

use graph::{Access, NodeId, Spec};

use super::{Nodes, TaskBuilder};
use crate::dispatch::faults::Origin;
use crate::dispatch::shared::Held;
use crate::dispatch::state::State;
use crate::task::handle::Handle;
use crate::work::fault::{Error, Fault};
use crate::work::function::Work;

impl<'n> TaskBuilder<'_, 'n> {
    /// Appends the task, after those that its use of data asks for. The caller has it dispatched
    /// ([`crate::dispatch::shared::Shared::pump`]), also if it is refused: its work, which is the user's, is dropped
    /// behind the lock then.
    pub(crate) fn append(&mut self, held: &mut Held<'_>, accesses: &[Access]) -> Result<Handle, Error> {
        let appended = self.try_append(held, accesses);
        held.dead.add_refused(&mut self.work);
        appended.map_err(|error| self.naming(error))
    }

    /// The refusal names the tasks before this one that have ended.
    pub(super) fn naming(&self, error: Error) -> Error {
        self.all_before().fold(error, |error, first| first.naming(error))
    }

    /// Leaves the work where it is if there is no node for it.
    pub(super) fn try_append(&mut self, held: &mut State, accesses: &[Access]) -> Result<Handle, Error> {
        let (set, mut after) = (self.set, self.nodes_before(held)?);
        if self.follows_failure()
            && let Some(handle) = Handle::behind_a_failure(self.all_before(), self.name, || format!("{:?}", self.name))
        {
            return Ok(handle);
        }
        let is_stopped = set.is_stopped();
        let spec = Spec { references: self.references + u32::from(is_stopped), ..self.spec(&after) };
        let node = if self.has_besides() {
            self.with_besides(|besides| held.graph.append_besides(&spec, accesses, besides))?
        } else if accesses.is_empty() {
            held.graph.append(&spec)?
        } else {
            held.graph.append_using(&spec, accesses)?
        };
        if !accesses.is_empty() && !self.kind.is_device() {
            after.clear();
            held.graph.predecessors(node, |first| after.push(first));
        }
        held.give_rank(node, self.rank_given());
        if is_stopped {
            set.waits(node);
        }
        let outcome = Arc::clone(&held.bodies.add(node, set).outcome);
        self.describe(held, node, &after);
        Ok(Handle::new(node, outcome))
    }

    /// Submits the task as the one to which others refer by its name ([`crate::task::Tasks::named`]).
    pub fn submit_named(mut self) -> Result<Handle, Error> {
        let shared = self.shared;
        let mut held = shared.enter_here()?;
        if shared.policy.is_some() {
            held = self.rank(held)?;
        }
        let submitted = self.fill_named(&mut held);
        held.dead.add_refused(&mut self.work);
        shared.pump(held);
        submitted
    }

    fn fill_named(&mut self, held: &mut State) -> Result<Handle, Error> {
        let (set, after) = (self.set, self.nodes_before(held)?);
        let (node, outcome, is_new) = held.named(&set.name_of(self.name), set)?;
        let filled = self.with_besides(|besides| held.graph.fill_besides(node, &self.spec(&after), besides));
        if let Err(refused) = filled {
            if is_new {
                // No other task refers to it.
                held.graph.release(node)?;
            }
            return Err(refused.into());
        }
        held.give_rank(node, self.rank_given());
        let handle = Handle::new(node, outcome);
        if let Some(fault) = Handle::fault_before(self.all_before()) {
            let cause = held.faults.keep(Origin::Unknown, Fault::clone(&fault));
            held.graph.give_up(node, cause);
            return Ok(handle);
        }
        self.describe(held, node, &after);
        // The reference that it has had since it was named.
        if set.is_stopped() {
            set.waits(node);
        } else {
            held.graph.release(node)?;
        }
        Ok(handle)
    }

    /// Whether it comes after others in other ways than that it starts behind them.
    #[inline]
    fn has_besides(&self) -> bool {
        self.more.as_ref().is_some_and(|more| !more.after_launch.is_empty())
    }

    fn with_besides<T>(&self, append: impl FnOnce(&[NodeId]) -> T) -> T {
        append(&self.launched_before().map(Handle::node).collect::<Nodes>())
    }

    /// Those of whose launch it comes after.
    fn launched_before(&self) -> impl Iterator<Item = &'n Handle> {
        self.more.iter().flat_map(|more| more.after_launch.iter().copied())
    }

    /// The tasks whose failure is its own.
    fn all_before(&self) -> impl Iterator<Item = &'n Handle> {
        self.before().chain(self.launched_before())
    }

    /// The node of a task that it comes after, if that is one of the same dispatcher.
    #[inline]
    fn node_of(&self, task: &Handle) -> Result<NodeId, Error> {
        if task.is_of(self.shared) { Ok(task.node()) } else { Err(Error::Foreign { task: format!("{:?}", self.name) }) }
    }

    /// Whether a task that it comes after has failed.
    #[inline]
    fn follows_failure(&self) -> bool {
        let has_failed = |task: &Handle| task.shared_outcome().has_failed();
        self.after.iter().map_while(|task| *task).any(has_failed)
            || self
                .more
                .as_ref()
                .is_some_and(|more| more.after.iter().chain(&more.after_launch).any(|it| has_failed(it)))
    }

    /// The nodes that it comes after, if it can be submitted.
    fn nodes_before(&self, state: &State) -> Result<Nodes, Error> {
        if state.is_closed {
            return Err(Error::Closed { task: Some(format!("{:?}", self.name)) });
        }
        if self.retries_most() > 0 {
            self.work.may_be_repeated(self.name)?;
        }
        // The few first: an iterator over all would cost a tenth of the submission.
        let mut nodes = Nodes::new();
        for task in self.after.iter().map_while(|task| *task) {
            nodes.push(self.node_of(task)?);
        }
        if let Some(more) = &self.more {
            for task in &more.after {
                nodes.push(self.node_of(task)?);
            }
            more.after_launch.iter().try_for_each(|task| self.node_of(task).map(drop))?;
        }
        Ok(nodes)
    }

    /// Gives the node its work.
    fn describe(&mut self, held: &mut State, node: NodeId, after: &[NodeId]) {
        if !self.kind.is_device() {
            // Work before it may have been submitted without a mark.
            after.iter().for_each(|first| held.want(*first));
        }
        let (retries, character) = (self.retries_most(), self.character());
        held.expect(character);
        if let Some(body) = held.bodies.get(node) {
            let work = std::mem::replace(&mut self.work, Work::Nothing);
            body.character = character;
            // It has none: to look whether there is some to drop would cost as much.
            std::mem::forget(std::mem::replace(&mut body.work, work.repeated(retries)));
        }
    }
}
