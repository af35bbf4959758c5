//! Descriptions of tasks, before they are submitted.

mod append;
mod at_once;
mod room;

use std::sync::Arc;

use graph::{Kind, NodeId, Priority, Spec};
use smallvec::SmallVec;

use crate::dispatch::arrivals::Arrival;
use crate::dispatch::body::{Character, Kinds};
use crate::dispatch::mailboxes::Mailbox;
use crate::dispatch::ranks::{Candidate, Rank};
use crate::dispatch::shared::{Held, Shared};
use crate::task::handle::Handle;
use crate::work::fault::Error;
use crate::work::function::Work;
use crate::work::set::Set;

/// Tasks before another one that need no memory of their own.
const FEW: usize = 4;

/// The nodes of tasks.
type Nodes = SmallVec<[NodeId; FEW]>;

/// The description of a task. [`TaskBuilder::submit`] submits it; dropping it does nothing.
#[must_use = "a task does nothing until it is submitted"]
pub struct TaskBuilder<'t, 'n> {
    shared: &'t Arc<Shared>,
    set: &'t Set,
    name: &'n str,
    work: Work,
    /// The first tasks that it comes after.
    after: [Option<&'n Handle>; FEW],
    // It is moved by each of its methods, so all that is rare stands elsewhere.
    more: Option<Box<Rare<'n>>>,
    references: u32,
    kind: Kind,
    device: u8,
    in_copy_strand: bool,
    announced: bool,
    /// It copies to the device and to the host.
    copies_both_ways: bool,
    priority: Priority,
}

/// The rare parts of a description.
#[derive(Default)]
struct Rare<'n> {
    after: Vec<&'n Handle>,
    after_launch: Vec<&'n Handle>,
    /// How often its launch is repeated.
    retries: u32,
    /// Among the ready tasks of its priority, if a policy decides that.
    rank: Option<Rank>,
}

impl<'t, 'n> TaskBuilder<'t, 'n> {
    #[inline]
    pub(crate) fn new(
        shared: &'t Arc<Shared>,
        set: &'t Set,
        name: &'n str,
        kind: Kind,
        work: Work,
    ) -> TaskBuilder<'t, 'n> {
        let (after, priority) = ([None; FEW], Priority::LOWEST);
        TaskBuilder {
            shared,
            set,
            name,
            work,
            after,
            more: None,
            references: 0,
            kind,
            device: 0,
            in_copy_strand: false,
            announced: false,
            copies_both_ways: false,
            priority,
        }
    }

    /// Sets its priority. The tasks before it inherit it.
    #[inline]
    pub fn priority(mut self, priority: Priority) -> TaskBuilder<'t, 'n> {
        self.priority = priority;
        self
    }

    /// Sets the device that does its work, by its number among those of the dispatcher. The default is the first.
    #[inline]
    pub fn on(mut self, device: u8) -> TaskBuilder<'t, 'n> {
        self.device = device;
        self
    }

    /// It is a copy that goes behind the others of its kind ([`Spec::in_copy_strand`]).
    #[doc(hidden)]
    pub fn in_copy_strand(mut self) -> TaskBuilder<'t, 'n> {
        self.in_copy_strand = true;
        self
    }

    /// Its caller expects copies of this priority on the first device.
    #[inline]
    #[doc(hidden)]
    pub fn announced(mut self, expected: Option<Priority>) -> TaskBuilder<'t, 'n> {
        self.announced = expected == Some(self.priority) && self.device == 0;
        self
    }

    /// It is a replay, which may copy both ways, and whose caller may expect its copies.
    pub(crate) fn copying(mut self, both_ways: bool, announced: bool) -> TaskBuilder<'t, 'n> {
        (self.copies_both_ways, self.announced) = (both_ways, announced);
        self
    }

    /// Orders it after this task, or after these.
    ///
    /// ```
    /// # use overtake::{Options, Overtake, dispatch::{DispatchOptions, Dispatcher}, task::Tasks};
    /// # use std::sync::Arc;
    /// # let driver: Arc<dyn overtake::hal::Driver> = Arc::new(softgpu::SoftGpu::builder().build());
    /// # let overtake = Arc::new(Overtake::open(&driver, overtake::hal::Device(0), Options::default())?);
    /// # let dispatcher = Dispatcher::open(&overtake, DispatchOptions::default())?;
    /// let tasks = Tasks::new(&dispatcher);
    /// let (a, b) = (tasks.join("a").submit()?, tasks.join("b").after(&tasks.named("begin")?).submit()?);
    /// let both = tasks.join("both").after([&a, &b]).submit()?;
    /// # tasks.join("begin").submit_named()?;
    /// # both.wait()?;
    /// # Ok::<(), overtake::task::Error>(())
    /// ```
    #[inline]
    pub fn after(mut self, tasks: impl IntoIterator<Item = &'n Handle>) -> TaskBuilder<'t, 'n> {
        // In place: the description is moved by each method that takes it.
        tasks.into_iter().for_each(|task| self.follow(task));
        self
    }

    #[inline]
    fn follow(&mut self, task: &'n Handle) {
        match self.after.iter_mut().find(|place| place.is_none()) {
            Some(place) => *place = Some(task),
            None => self.more().after.push(task),
        }
    }

    /// Starts it when these tasks have been launched, that is, all their work has been submitted or their functions
    /// have run. A device task still comes after them on the device (PX-07). It does not run if one of them has failed.
    pub fn after_launch(mut self, tasks: impl IntoIterator<Item = &'n Handle>) -> TaskBuilder<'t, 'n> {
        self.more().after_launch.extend(tasks);
        self
    }

    /// If its function returns an error, it is called again, up to `most` times: in the same lane, after the other
    /// ready tasks. The tasks after it wait, and fail with the last error if no call succeeds.
    ///
    /// The caller promises that the function may run again even if part of its work has been submitted: it must not
    /// read the bytes that it writes. Host tasks are refused, because their function can only be called once.
    pub fn retries(mut self, most: u32) -> TaskBuilder<'t, 'n> {
        self.more().retries = most;
        self
    }

    fn more(&mut self) -> &mut Rare<'n> {
        self.more.get_or_insert_default()
    }

    /// Adds a reference: it does not start until [`Handle::release`] removes it.
    pub fn held(mut self) -> TaskBuilder<'t, 'n> {
        self.references += 1;
        self
    }

    /// Submits the task, and dispatches it if it is ready.
    pub fn submit(self) -> Result<Handle, Error> {
        if self.shared.mailboxes.is_attended() && self.is_plain() {
            return self.submit_beside();
        }
        self.submit_here()
    }

    /// Whether it is a task of the device that waits for a few others at most, and for its turn.
    #[inline]
    fn is_usual(&self) -> bool {
        let has_launch = self.more.is_none() && matches!(self.work, Work::Launch(_));
        has_launch && self.references == 0 && !self.set.is_stopped()
    }

    /// Whether it waits for one other task at most besides.
    #[inline]
    fn is_plain(&self) -> bool {
        self.after[1].is_none() && self.is_usual()
    }

    /// Whether a task before it is of its dispatcher, and has not failed.
    #[inline]
    fn may_follow(first: &Handle, is_own: impl Fn(&Handle) -> bool) -> bool {
        is_own(first) && !first.shared_outcome().has_failed()
    }

    /// Leaves the task to the thread that has the turn, which takes it without being waited for.
    #[inline(never)]
    fn submit_beside(self) -> Result<Handle, Error> {
        let (shared, mailboxes) = (self.shared, &self.shared.mailboxes);
        let is_known = shared.process.is_this() && shared.layer().priorities().contains(self.priority);
        let is_known = is_known && usize::from(self.device) < shared.layers.len();
        if !is_known {
            return self.submit_here();
        }
        // Looked at with the mailbox at hand: a task that fails later finds this one there.
        let may_follow = |first: &Handle| Self::may_follow(first, |first| first.is_of(shared));
        let may_leave = |mailbox: &Mailbox<_, _>| !mailbox.is_closed && self.after[0].is_none_or(may_follow);
        let Some((index, mut mailbox, (node, outcome))) = shared.number(may_leave) else { return self.submit_here() };
        let character = self.character();
        let TaskBuilder { set, name, work, after, kind, device, priority, .. } = self;
        if let Work::Launch(work) = work {
            let (after, set) = (after[0].map(Handle::node), set.id());
            mailbox.mail.submit(Arrival { node, after, set, kind, device, priority, character, work }, name);
        }
        drop(mailbox);
        if mailboxes.post(index) {
            shared.look_in();
        }
        Ok(Handle::new(node, outcome))
    }

    /// Appends the task to the graph, and takes the steps that are there. `cold` says nothing of the tasks: it has the
    /// compiler keep the registers for those that are launched at once, which took a twentieth more without.
    #[cold]
    #[inline(never)]
    pub(super) fn submit_otherwise(mut self, held: Held<'t>) -> Result<Handle, Error> {
        let shared = self.shared;
        let mut held = shared.behind_news(held);
        if shared.policy.is_some() {
            held = self.rank(held)?;
        }
        let appended = self.append(&mut held, &[]);
        shared.pump(held);
        appended
    }

    /// Asks the policy for its rank, without the lock.
    #[inline(never)]
    fn rank(&mut self, held: Held<'_>) -> Result<Held<'t>, Error> {
        let shared = self.shared;
        let depth = held.depth_behind(self.before().map(Handle::node));
        drop(held);
        let &mut TaskBuilder { name, kind, priority, device, .. } = self;
        let candidate = Candidate { depth, ..Candidate::new(name, kind, priority, device) };
        self.more().rank = shared.policy.as_ref().map(|policy| Rank::ask(&**policy, &candidate));
        shared.enter_here()
    }

    /// It has this rank, that a policy has given it.
    #[doc(hidden)]
    pub fn ranked(mut self, rank: Option<Rank>) -> TaskBuilder<'t, 'n> {
        if rank.is_some() {
            self.more().rank = rank;
        }
        self
    }

    fn rank_given(&self) -> Option<Rank> {
        self.more.as_ref().and_then(|more| more.rank)
    }

    /// How often its launch may be repeated.
    fn retries_most(&self) -> u32 {
        self.more.as_ref().map_or(0, |more| more.retries)
    }

    /// The tasks that it comes after.
    fn before(&self) -> impl Iterator<Item = &'n Handle> {
        let more = self.more.iter().flat_map(|more| more.after.iter().copied());
        self.after.iter().copied().flatten().chain(more)
    }

    #[inline]
    fn spec<'a>(&'a self, after: &'a [NodeId]) -> Spec<'a> {
        let &TaskBuilder { kind, priority, name, references, device, in_copy_strand, .. } = self;
        Spec { kind, priority, name, after, references, device, in_copy_strand }
    }

    #[inline]
    fn character(&self) -> Character {
        let &TaskBuilder { kind, priority, device, announced, copies_both_ways, .. } = self;
        let character = Character::new(kind, priority, device, announced);
        if copies_both_ways { Character { kind: Kinds::BothWays, ..character } } else { character }
    }
}
