//! Tasks that are being described.

use std::sync::Arc;

use graph::{Kind, NodeId, Priority, Spec};

use crate::dispatch::shared::Shared;
use crate::dispatch::state::{Body, State};
use crate::task::handle::Handle;
use crate::work::count::Count;
use crate::work::entered::Submitted;
use crate::work::fault::Error;
use crate::work::function::Work;
use crate::work::outcome::Outcome;

/// A task that is being described. [`TaskBuilder::submit`] submits it; dropping it does nothing.
#[must_use = "a task does nothing until it is submitted"]
pub struct TaskBuilder<'t, 'n> {
    shared: &'t Arc<Shared>,
    count: &'t Arc<Count>,
    name: &'n str,
    kind: Kind,
    work: Work,
    priority: Priority,
    after: Vec<(NodeId, Arc<Outcome>)>,
    references: u32,
}

impl<'t, 'n> TaskBuilder<'t, 'n> {
    pub(crate) fn new(
        shared: &'t Arc<Shared>,
        count: &'t Arc<Count>,
        name: &'n str,
        kind: Kind,
        work: Work,
    ) -> TaskBuilder<'t, 'n> {
        TaskBuilder { shared, count, name, kind, work, priority: Priority::LOWEST, after: Vec::new(), references: 0 }
    }

    /// Its priority. The tasks before it inherit it.
    pub fn priority(self, priority: Priority) -> TaskBuilder<'t, 'n> {
        TaskBuilder { priority, ..self }
    }

    /// It comes after this task.
    pub fn after(mut self, task: &Handle) -> TaskBuilder<'t, 'n> {
        self.after.push((task.node(), Arc::clone(task.shared_outcome())));
        self
    }

    /// It has a reference, which [`Handle::release`] takes away: until then it does not start.
    pub fn held(self) -> TaskBuilder<'t, 'n> {
        TaskBuilder { references: self.references + 1, ..self }
    }

    /// Submits the task, and dispatches it if it is ready.
    pub fn submit(self) -> Result<Handle, Error> {
        let TaskBuilder { shared, count, name, kind, work, priority, after, references } = self;
        let mut held = shared.enter();
        if held.is_closed {
            return Err(Error::Closed);
        }
        // The graph forgets a failed task when it has ended. Its handle has the failure.
        let failed = after.iter().find_map(|(node, outcome)| Some((*node, outcome.get()?.err()?.fault()?)));
        if let Some((node, fault)) = failed {
            let outcome: Arc<Outcome> = Arc::default();
            outcome.set(Err(Error::NotRun { task: format!("{name:?}"), fault }));
            return Ok(Handle::new(shared, node, outcome));
        }
        let nodes: Vec<NodeId> = after.iter().map(|(node, _)| *node).collect();
        let node = held.graph.append(&Spec { kind, priority, name, after: &nodes, references })?;
        if !kind.is_device() {
            // Work before it may have been submitted without a mark.
            nodes.iter().for_each(|first| held.want(*first));
        }
        held.expectations.begun(&shared.overtake, kind, priority)?;
        let outcome: Arc<Outcome> = Arc::default();
        count.begun();
        let body = Body {
            node,
            kind,
            priority,
            work,
            outcome: Arc::clone(&outcome),
            count: Arc::clone(count),
            is_wanted: false,
        };
        put(&mut held, body);
        shared.pump(held);
        Ok(Handle::new(shared, node, outcome))
    }
}

fn put(state: &mut State, body: Body) {
    let index = body.node.index();
    if index >= state.bodies.len() {
        state.bodies.resize_with(index + 1, || None);
    }
    state.bodies[index] = Some(body);
}
