//! Sets of tasks.

use std::sync::Arc;
use std::time::Duration;

use graph::{Direction, Kind, NodeId};
use hal::Wait;

use crate::dispatch::Dispatcher;
use crate::dispatch::body::Body;
use crate::dispatch::shared::Shared;
use crate::task::builder::TaskBuilder;
use crate::task::handle::Handle;
use crate::work::fault::{Error, Fault};
use crate::work::function::{Launch, Launches, Replays, Work, WorkResult};
use crate::work::set::{Set, SetId};

/// A set of tasks: tasks are submitted to it. Clones are the same set. It keeps the streams of its dispatcher open even
/// after that has been closed, so drop it with the dispatcher.
#[derive(Clone)]
pub struct Tasks(Arc<Membership>);

/// The part that clones of a set share.
struct Membership {
    shared: Arc<Shared>,
    set: Arc<Set>,
}

impl Drop for Membership {
    fn drop(&mut self) {
        if let Ok(mut held) = self.shared.enter_here() {
            held.sets.let_go(self.set.id());
        }
    }
}

impl Tasks {
    /// A new set. Several sets may share a dispatcher.
    #[must_use]
    pub fn new(dispatcher: &Dispatcher) -> Tasks {
        Tasks::with_name(dispatcher, "")
    }

    /// A new set with a name, which is the namespace for the names of its tasks ([`Tasks::named`]).
    #[must_use]
    pub fn with_name(dispatcher: &Dispatcher, name: &str) -> Tasks {
        Tasks::of(dispatcher.shared(), name)
    }

    /// A new set of the same dispatcher.
    #[doc(hidden)]
    pub fn beside(&self) -> Tasks {
        Tasks::of(&self.0.shared, "")
    }

    /// A new set of this dispatcher.
    pub(crate) fn of(shared: &Arc<Shared>, name: &str) -> Tasks {
        // In the child of a fork it is one that no task is submitted to.
        let set = shared.enter_here().map(|mut held| held.sets.add(name));
        let set = set.unwrap_or_else(|_| Arc::new(Set::new(name, SetId::NONE)));
        Tasks(Arc::new(Membership { shared: Arc::clone(shared), set }))
    }

    /// The dispatcher.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.0.shared
    }

    pub(crate) fn set(&self) -> &Set {
        &self.0.set
    }

    /// From now on, submitted tasks wait until the set is started (PX-01).
    pub fn stop(&self) {
        let Ok(mut held) = self.0.shared.enter_here() else { return };
        if self.0.set.stop() {
            held.graph.end_simulation();
        }
        self.0.shared.pump(held);
    }

    /// Starts the tasks that have been submitted since the set was stopped, unless something else holds them.
    pub fn start(&self) -> Result<(), Error> {
        let mut held = self.0.shared.enter_here()?;
        let Some(waiting) = self.0.set.start() else { return Ok(()) };
        held.graph.begin_simulation();
        let mut released = Ok(());
        for node in waiting {
            // The program may have started it, or it has ended meanwhile.
            if held.graph.held(node) > 0 {
                released = released.and(held.graph.release(node));
            }
        }
        self.0.shared.pump(held);
        Ok(released?)
    }

    /// The task of this name, to which others can refer even before it is submitted ([`TaskBuilder::submit_named`]). It
    /// is held by a reference until then. If the reference is released instead ([`Handle::release`]), the tasks after
    /// it run without it (PX-05).
    pub fn named(&self, name: &str) -> Result<Handle, Error> {
        let mut held = self.0.shared.enter_here()?;
        let (node, outcome, _) = held.named(&self.0.set.name_of(name), &self.0.set)?;
        drop(held);
        Ok(Handle::new(node, outcome))
    }

    /// The first failure of a task of the set.
    #[must_use]
    pub fn failure(&self) -> Option<Arc<Fault>> {
        self.0.set.failure()
    }

    /// A task that copies from the host to the device. `launch` submits the copies to the lane that it is given.
    pub fn upload<'n>(&self, name: &'n str, launch: impl Launches) -> TaskBuilder<'_, 'n> {
        self.launching(name, Kind::Copy(Direction::HostToDevice), launch)
    }

    /// A task that copies between two devices, in a lane of one of them ([`TaskBuilder::on`]).
    pub fn between_devices<'n>(&self, name: &'n str, launch: impl Launches) -> TaskBuilder<'_, 'n> {
        self.launching(name, Kind::Copy(Direction::Peer), launch)
    }

    /// A task that runs kernels.
    pub fn kernel<'n>(&self, name: &'n str, launch: impl Launches) -> TaskBuilder<'_, 'n> {
        self.launching(name, Kind::Kernel, launch)
    }

    /// A task that copies from the device to the host.
    pub fn download<'n>(&self, name: &'n str, launch: impl Launches) -> TaskBuilder<'_, 'n> {
        self.launching(name, Kind::Copy(Direction::DeviceToHost), launch)
    }

    /// The same of a launch that has memory already.
    #[doc(hidden)]
    pub fn kernel_of<'n>(&self, name: &'n str, launch: Box<dyn Launches>) -> TaskBuilder<'_, 'n> {
        let work = Work::Launch(Launch::Own(launch));
        TaskBuilder::new(&self.0.shared, &self.0.set, name, Kind::Kernel, work)
    }

    /// The replay of a template as one task, whose first step is of this kind.
    pub(crate) fn span<'n>(&self, name: &'n str, kind: Kind, span: impl Replays + 'static) -> TaskBuilder<'_, 'n> {
        let work = Work::Launch(Launch::Span(Box::new(span)));
        TaskBuilder::new(&self.0.shared, &self.0.set, name, kind, work)
    }

    #[inline]
    fn launching<'n>(&self, name: &'n str, kind: Kind, launch: impl Launches) -> TaskBuilder<'_, 'n> {
        TaskBuilder::new(&self.0.shared, &self.0.set, name, kind, Work::Launch(Launch::own(launch)))
    }

    /// A host function, run by a worker thread. It starts when the device work before it is complete.
    pub fn host<'n>(
        &self,
        name: &'n str,
        run: impl FnOnce() -> WorkResult<()> + Send + 'static,
    ) -> TaskBuilder<'_, 'n> {
        TaskBuilder::new(&self.0.shared, &self.0.set, name, Kind::Host, Work::function(run))
    }

    /// A short host function, run by the thread that finds it ready. It must not wait.
    pub fn light<'n>(
        &self,
        name: &'n str,
        run: impl FnOnce() -> WorkResult<()> + Send + 'static,
    ) -> TaskBuilder<'_, 'n> {
        TaskBuilder::new(&self.0.shared, &self.0.set, name, Kind::Light, Work::function(run))
    }

    /// A task without work, which ends when the tasks before it have.
    pub fn join<'n>(&self, name: &'n str) -> TaskBuilder<'_, 'n> {
        TaskBuilder::new(&self.0.shared, &self.0.set, name, Kind::Empty, Work::Nothing)
    }

    /// Opens a group: its device tasks are dispatched only when it is dropped (PX-12).
    pub fn group(&self) -> Result<Group, Error> {
        self.0.shared.enter_here()?.graph.begin_group();
        // From here on dropping it ends the group.
        let mut group = Group { tasks: self.clone(), before: None, behind: None };
        group.before = Some(self.join("before the group").held().submit()?);
        group.behind = Some(self.join("behind the group").held().submit()?);
        Ok(group)
    }

    /// Waits until all tasks of the set have ended. Functions of tasks must not call this.
    pub fn wait(&self) -> Result<(), Error> {
        self.wait_within(None).map(drop)
    }

    /// The same with a timeout in the host's time. Returns `None` if it expires; the tasks continue.
    pub fn wait_for(&self, span: Duration) -> Result<Option<()>, Error> {
        self.wait_within(Some(span))
    }

    fn wait_within(&self, span: Option<Duration>) -> Result<Option<()>, Error> {
        let (shared, set) = (&self.0.shared, &self.0.set);
        let held = shared.enter_here()?;
        if set.is_idle() {
            return Ok(Some(()));
        }
        match shared.wait_for_all(held, span.map(|span| shared.deadline(span)), &mut || set.is_idle()) {
            Wait::Stuck => Err(Error::Stuck { task: self.oldest() }),
            Wait::Deadline => Ok(None),
            Wait::Met => Ok(Some(())),
        }
    }

    /// A task of the set that has not ended, for an error.
    #[doc(hidden)]
    pub fn oldest(&self) -> String {
        let Ok(mut held) = self.0.shared.enter_here() else { return "(none)".to_owned() };
        let of_this_set = |body: &&mut Body| body.set == self.0.set.id();
        let node: Option<NodeId> = held.bodies.iter_mut().find(of_this_set).map(|body| body.node);
        node.map_or_else(|| "(none)".to_owned(), |node| held.graph.label(node).to_string())
    }
}

impl std::fmt::Debug for Tasks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tasks").field("set", &self.0.set).finish_non_exhaustive()
    }
}

/// A group of tasks that is open.
#[derive(Debug)]
pub struct Group {
    tasks: Tasks,
    before: Option<Handle>,
    behind: Option<Handle>,
}

impl Group {
    /// A task that ends when the group is dropped, before the group's tasks are dispatched. Others can be ordered after
    /// it (PX-23).
    #[must_use]
    pub fn before(&self) -> &Handle {
        self.before.as_ref().expect("made with the group")
    }

    /// A task that ends when the ready tasks of the group have been dispatched. It may end earlier if another thread is
    /// dispatching when the group is dropped.
    #[must_use]
    pub fn behind(&self) -> &Handle {
        self.behind.as_ref().expect("made with the group")
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let shared = &self.tasks.0.shared;
        let release = |join: &Option<Handle>| {
            if let Some(join) = join
                && let Err(error) = shared.release(join.node())
            {
                log::debug!("a join of a group has ended before: {error}");
            }
        };
        release(&self.before);
        let Ok(mut held) = shared.enter_here() else { return };
        held.graph.end_group();
        shared.pump(held);
        // Where another thread has the turn it may not have dispatched all of them by now. To wait until no task of the
        // device is ready could take for ever, because others submit meanwhile.
        release(&self.behind);
    }
}
