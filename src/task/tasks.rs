//! Sets of tasks.

use std::sync::Arc;

use graph::{Direction, Kind, NodeId};
use hal::Wait;
use hal::locks::lock;

use crate::dispatch::Dispatcher;
use crate::dispatch::shared::Shared;
use crate::dispatch::state::Body;
use crate::task::builder::TaskBuilder;
use crate::work::count::Count;
use crate::work::fault::Error;
use crate::work::function::{Launches, Work, WorkResult};

/// A set of tasks, to which tasks are submitted. Clones are the same set.
#[derive(Clone)]
pub struct Tasks {
    shared: Arc<Shared>,
    count: Arc<Count>,
}

impl Tasks {
    /// A new set. Several may share a dispatcher.
    #[must_use]
    pub fn new(dispatcher: &Dispatcher) -> Tasks {
        Tasks { shared: Arc::clone(dispatcher.shared()), count: Arc::default() }
    }

    /// A task that copies from the host to the device. `launch` submits the copies to the lane that it is given.
    pub fn upload<'n>(&self, name: &'n str, launch: impl Launches) -> TaskBuilder<'_, 'n> {
        self.launching(name, Kind::Copy(Direction::HostToDevice), launch)
    }

    /// A task that runs kernels.
    pub fn kernel<'n>(&self, name: &'n str, launch: impl Launches) -> TaskBuilder<'_, 'n> {
        self.launching(name, Kind::Kernel, launch)
    }

    /// A task that copies from the device to the host.
    pub fn download<'n>(&self, name: &'n str, launch: impl Launches) -> TaskBuilder<'_, 'n> {
        self.launching(name, Kind::Copy(Direction::DeviceToHost), launch)
    }

    fn launching<'n>(&self, name: &'n str, kind: Kind, launch: impl Launches) -> TaskBuilder<'_, 'n> {
        let mut launch = launch;
        TaskBuilder::new(&self.shared, &self.count, name, kind, Work::Launch(Box::new(move |lane| launch.launch(lane))))
    }

    /// A function of the host, for a worker thread. It starts when the work of the device before it is complete.
    pub fn host<'n>(
        &self,
        name: &'n str,
        run: impl FnOnce() -> WorkResult<()> + Send + 'static,
    ) -> TaskBuilder<'_, 'n> {
        TaskBuilder::new(&self.shared, &self.count, name, Kind::Host, Work::Function(Box::new(run)))
    }

    /// A short function of the host, for the thread that finds it ready. It must not wait.
    pub fn light<'n>(
        &self,
        name: &'n str,
        run: impl FnOnce() -> WorkResult<()> + Send + 'static,
    ) -> TaskBuilder<'_, 'n> {
        TaskBuilder::new(&self.shared, &self.count, name, Kind::Light, Work::Function(Box::new(run)))
    }

    /// A task without work, which joins others.
    pub fn join<'n>(&self, name: &'n str) -> TaskBuilder<'_, 'n> {
        TaskBuilder::new(&self.shared, &self.count, name, Kind::Empty, Work::Nothing)
    }

    /// A group: its tasks of the device are dispatched when it is dropped, and not before (PX-12).
    #[must_use]
    pub fn group(&self) -> Group<'_> {
        self.shared.enter().graph.begin_group();
        Group { tasks: self }
    }

    /// Waits until all tasks of the set have ended. Not for the functions of tasks.
    pub fn wait(&self) -> Result<(), Error> {
        self.shared.check_process()?;
        if self.count.is_none() {
            return Ok(());
        }
        let mut held = self.shared.enter();
        held.flush = true;
        self.shared.pump(held);
        let end = self.shared.driver.host().wait_until(None, &mut || self.count.is_none());
        match end {
            Wait::Stuck => Err(Error::Stuck { task: self.oldest() }),
            _ => Ok(()),
        }
    }

    /// A task of the set that has not ended, for an error.
    fn oldest(&self) -> String {
        let held = lock(&self.shared.state);
        let of_this_set = |body: &&Body| Arc::ptr_eq(&body.count, &self.count);
        let node: Option<NodeId> = held.bodies.iter().flatten().find(of_this_set).map(|body| body.node);
        node.map_or_else(|| "(none)".to_owned(), |node| held.graph.label(node).to_string())
    }
}

impl std::fmt::Debug for Tasks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tasks").field("count", &self.count).finish_non_exhaustive()
    }
}

/// A group of tasks that is open.
#[derive(Debug)]
pub struct Group<'t> {
    tasks: &'t Tasks,
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        let mut held = self.tasks.shared.enter();
        held.graph.end_group();
        self.tasks.shared.pump(held);
    }
}
