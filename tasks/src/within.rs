//! The dispatcher from within, for the crates of this repository that build on tasks: arrays and pipelines. Users have
//! no use for it, and it changes without notice.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use copies::{Overtake, PriorityStream};
use graph::{Access, Cause, Graph, Kind, NodeId};
use hal::{Driver, Host, Nanos};

use crate::dispatch::body::Kinds;
use crate::dispatch::faults::Origin;
use crate::dispatch::{inside, shared};
use crate::task::{Error, Fault, Handle, Lane, Reason, TaskBuilder, Tasks};
use crate::work::lane::{Call, Site};

pub use crate::dispatch::ranks::{Policy, Rank};
pub use crate::work::function::Function;
pub use crate::work::levels::{Level, OfUser, give_back, take};
pub use crate::work::retry::ONCE;

/// The dispatcher of a set of tasks.
#[derive(Clone, Copy)]
pub struct Within<'s>(&'s Arc<shared::Shared>);

/// Its state, locked.
pub struct Held<'s>(shared::Held<'s>);

impl Tasks {
    /// The dispatcher from within.
    #[inline]
    pub fn within(&self) -> Within<'_> {
        Within(self.shared())
    }

    /// The tasks that have not ended.
    pub fn pending(&self) -> u64 {
        self.set().pending()
    }

    /// The failure by which work was lost, if it was.
    pub fn loss(&self) -> Option<Arc<Fault>> {
        self.set().loss()
    }
}

impl Handle {
    /// Whether both are of one task.
    pub fn is_same(&self, other: &Handle) -> bool {
        Arc::ptr_eq(self.shared_outcome(), other.shared_outcome())
    }

    /// Waits until that time of the host, or as long as it takes. Returns whether the task has ended.
    pub fn wait_until(&self, deadline: Option<Nanos>) -> Result<bool, Error> {
        self.wait_by(|_| deadline).map(|ended| ended.is_some())
    }

    /// Whether the task has ended with a failure.
    #[inline]
    pub fn has_failed(&self) -> bool {
        self.shared_outcome().has_failed()
    }
}

impl TaskBuilder<'_, '_> {
    /// Appends the task with the lock held, after those that its use of data asks for. The caller takes steps
    /// ([`Within::pump`]), also if it is refused: its work, which is the user's, is dropped behind the lock then.
    pub fn append_in(mut self, held: &mut Held<'_>, accesses: &[Access]) -> Result<Handle, Error> {
        self.append(&mut held.0, accesses)
    }
}

impl<'s> Within<'s> {
    /// The lock, for a caller that may be in the child of a fork, behind the tasks that its thread has left.
    #[inline]
    pub fn enter(self) -> Result<Held<'s>, Error> {
        self.0.enter_here().map(Held)
    }

    /// Refuses the child of a fork, before a lock is taken that another thread of the parent may have held.
    #[inline]
    pub fn may_enter(self) -> Result<(), Error> {
        self.0.may_enter()
    }

    /// The lock for a caller that has the order of submissions: it takes no step before it has let go of that.
    #[inline]
    pub fn enter_in_order(self) -> Result<Held<'s>, Error> {
        self.0.enter_in_order().map(Held)
    }

    /// Lets go of the lock, behind the steps that can be taken.
    #[inline]
    pub fn pump(self, held: Held<'s>) {
        self.0.pump(held.0);
    }

    /// Whether the calling thread runs a function of the dispatcher: then it cannot wait for the end of one.
    pub fn is_inside(self) -> bool {
        inside::is_inside(Arc::as_ptr(self.0).addr())
    }

    /// Whether the task is one of this dispatcher.
    pub fn has(self, task: &Handle) -> bool {
        task.is_of(self.0)
    }

    /// Whether the lane is one of this dispatcher.
    pub fn has_lane(self, lane: &Lane<'_>) -> bool {
        std::ptr::from_ref(lane.site.inside).addr() == Arc::as_ptr(self.0).addr()
    }

    #[inline]
    pub fn driver(self) -> &'s Arc<dyn Driver> {
        &self.0.driver
    }

    /// The copy layers, one for each device.
    pub fn layers(self) -> &'s [Arc<Overtake>] {
        &self.0.layers
    }

    /// The number of lanes, of all devices.
    pub fn lanes(self) -> usize {
        self.0.lanes.len()
    }

    /// It ranks tasks, if there is one.
    pub fn policy(self) -> Option<&'s Policy> {
        self.0.policy.as_deref()
    }

    /// The time of the host so long from now.
    pub fn deadline(self, span: Duration) -> Nanos {
        self.0.deadline(span)
    }

    /// Waits until the graph has room for a task.
    pub fn await_room(self, deadline: Option<Nanos>) -> Result<(), Error> {
        self.0.await_room(deadline)
    }

    /// Runs a wait for work of the tasks. The thread on watch looks often meanwhile.
    pub fn awaited<T>(self, wait: impl FnOnce(&dyn Host) -> T) -> T {
        self.0.awaited(wait)
    }
}

impl Held<'_> {
    #[inline]
    pub fn graph(&mut self) -> &mut Graph {
        &mut self.0.graph
    }

    /// Takes note of all that has ended.
    pub fn collect(&mut self) {
        self.0.collect();
    }

    /// A thread or a function waits for the node.
    pub fn want(&mut self, node: NodeId) {
        self.0.want(node);
    }

    /// A thread waits for all work.
    pub fn flush(&mut self) {
        self.0.flush = true;
    }

    /// Keeps the failure of a task.
    pub fn fault(&mut self, node: NodeId, reason: Reason) -> Cause {
        self.0.fault(node, reason)
    }

    /// Keeps a failure that is known already.
    pub fn keep(&mut self, fault: Fault) -> Cause {
        self.0.faults.keep(Origin::Unknown, fault)
    }

    /// A join that has not ended fails, for this reason, and with it those that need it. It is itself no failure of its
    /// set.
    pub fn give_up(&mut self, node: NodeId, reason: Reason) {
        self.0.give_up(node, reason);
    }

    /// The depth of a task behind these, if a policy ranks tasks.
    pub fn depth_behind(&self, before: impl IntoIterator<Item = NodeId>) -> u32 {
        self.0.depth_behind(before)
    }

    /// The tasks that are appended now, and have no rank of their own, are for one that has this.
    #[inline]
    pub fn rank_others_as(&mut self, rank: Option<Rank>) {
        self.0.rank_others_as(rank);
    }

    /// The tasks of a set that have not ended, and whether each is an empty one.
    pub fn pending_of(&mut self, tasks: &Tasks) -> Vec<(NodeId, bool)> {
        let set = tasks.set().id();
        let of_this_set = self.0.bodies.iter_mut().filter(|body| body.set == set);
        of_this_set.map(|body| (body.node, matches!(body.character.kind, Kinds::One(Kind::Empty)))).collect()
    }

    /// Whether all that has not ended is among these nodes.
    pub fn has_only(&mut self, nodes: &BTreeSet<NodeId>) -> bool {
        self.0.dead.is_empty() && self.0.bodies.iter_mut().all(|body| nodes.contains(&body.node))
    }
}

impl Lane<'_> {
    /// The stream of the lane, for work that the dispatcher knows of.
    #[inline]
    pub fn own_stream(&self) -> &PriorityStream {
        self.stream
    }

    /// Runs `body` with a lane in this stream of that device, for the same task.
    pub fn elsewhere<T>(&mut self, device: u8, stream: &PriorityStream, body: impl FnOnce(&mut Lane<'_>) -> T) -> T {
        let Call { node, lane, priority, .. } = *self.call;
        let call = Call { node, turn: Cell::new(0), lane, priority, can_begin: Cell::new(None) };
        let Site { inside, driver, lent, of_a_group, .. } = *self.site;
        let site = Site { inside, driver, lent, device, of_a_group };
        body(&mut Lane { site: &site, stream, call: &call, copies: self.copies, beside: None })
    }

    /// The function is called once more.
    pub fn next_turn(&self) {
        self.call.turn.set(self.call.turn.get() + 1);
    }
}

/// Leaves a kernel for the thread with the turn while there is none, as a thread does that has seen one: for tests of
/// what the next thread may do.
pub fn leave(tasks: &Tasks, launch: impl crate::task::Launches) {
    use crate::dispatch::arrivals::Arrival;
    use crate::dispatch::body::Character;
    use crate::work::function::Launch;

    let index = tasks.shared().mailboxes.own().0;
    tasks.shared().mailboxes.post(index);
    // Its mailbox has numbers from now on.
    tasks.shared().look_in();
    let (index, mut mailbox) = tasks.shared().mailboxes.own();
    let (node, _) = mailbox.store.pop().expect("there are some");
    let (kind, priority, set) = (Kind::Kernel, graph::Priority::LOWEST, tasks.set().id());
    let (character, work) = (Character::new(kind, priority, 0, false), Launch::own(launch));
    mailbox.mail.submit(Arrival { node, after: None, set, kind, device: 0, priority, character, work }, "left");
    drop(mailbox);
    assert!(tasks.shared().mailboxes.post(index), "no thread has the turn");
}
