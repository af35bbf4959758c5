//! What the graph does not know about a node, in reusable slots: its function, its outcome, its copies.

use std::sync::Arc;

use copies::copy::CopyHandle;
use graph::{Direction, Kind, NodeId, Priority};

#[cfg(not(loom))]
use crate::dispatch::prefetch::LINE;
use crate::dispatch::prefetch::prefetch;
use crate::work::caught::apart;
use crate::work::fault::Error;
use crate::work::function::Work;
use crate::work::levels;
use crate::work::outcome::{Home, Outcome};
use crate::work::set::{Set, SetId};

/// The parts of a node that the graph does not know, in one line of the processor's cache.
#[repr(align(64))]
pub(crate) struct Body {
    pub node: NodeId,
    /// That of no set where there is no node any more, or not yet.
    pub set: SetId,
    /// It stays here for the next node, which has it if no handle does.
    pub outcome: Arc<Outcome>,
    /// Work that owns nothing stays here until the next node, too.
    pub work: Work,
    /// Its copies, which may have to be raised.
    pub copies: Box<[CopyHandle]>,
    pub character: Character,
    /// A handle waits for it.
    pub is_wanted: bool,
}

/// The properties of a task by which its copies are expected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Character {
    pub kind: Kinds,
    /// Its own, as it was submitted.
    pub priority: Priority,
    /// The number of its device, or [`ANNOUNCED`].
    pub device: u8,
}

/// The work of a task, in one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kinds {
    One(Kind),
    /// Copies to the device and to the host: the task is a replay.
    BothWays,
}

impl Kinds {
    /// The ways of the copies.
    #[inline]
    pub fn directions(self) -> &'static [Direction] {
        match self {
            Kinds::One(Kind::Copy(direction)) => &Direction::ALL[direction.index()..=direction.index()],
            Kinds::BothWays => &[Direction::HostToDevice, Direction::DeviceToHost],
            Kinds::One(_) => &[],
        }
    }
}

/// No device: the owner of the task expects its copies itself.
pub(crate) const ANNOUNCED: u8 = u8::MAX;

impl Character {
    /// That of a node without work.
    pub const EMPTY: Character = Character { kind: Kinds::One(Kind::Empty), priority: Priority::LOWEST, device: 0 };

    /// Of a task that is `announced` if its owner expects its copies itself.
    #[inline]
    pub fn new(kind: Kind, priority: Priority, device: u8, announced: bool) -> Character {
        Character { kind: Kinds::One(kind), priority, device: if announced { ANNOUNCED } else { device } }
    }
}

#[cfg(not(loom))] // whose atomics are larger
const _: () = assert!(size_of::<Body>() == LINE);

/// The rest of nodes that have ended: it runs code of others, so it is dropped without the lock.
#[derive(Default)]
pub(crate) struct Dead {
    /// Not without any while there are others.
    works: Vec<Work>,
    rare: Vec<RareDead>,
    /// Of tasks that were not accepted.
    refused: Vec<Work>,
}

/// Work that has been refused. It is dropped where this is.
pub(crate) struct RefusedWork(Vec<Work>);

impl Drop for RefusedWork {
    #[inline]
    fn drop(&mut self) {
        if !self.0.is_empty() {
            bury(Dead { works: std::mem::take(&mut self.0), ..Dead::default() });
        }
    }
}

/// The nodes for which there is room at first.
const ROOM: usize = 256;

/// The parts that few of them have.
struct RareDead {
    _copies: Box<[CopyHandle]>,
    /// Futures wait for it, or its failure is to be told.
    outcome: Option<Arc<Outcome>>,
}

impl Dead {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.works.is_empty()
    }

    /// Memory for those of some nodes at once.
    #[inline]
    pub fn make_room(&mut self) {
        if self.works.capacity() == 0 {
            self.works.reserve(ROOM);
        }
    }

    /// Work that is none of a node's.
    pub fn add_work(&mut self, work: Work) {
        if !work.is_bare() {
            self.works.push(work);
        }
    }

    /// Takes the same of a task that has been refused, if it owns anything. What it holds may be the last of the user's
    /// that waits for tasks: it is dropped without the turn.
    #[inline]
    pub fn add_refused(&mut self, work: &mut Work) {
        if !work.is_bare() {
            self.take_refused_work(work);
        }
    }

    #[cold]
    fn take_refused_work(&mut self, work: &mut Work) {
        self.works.push(Work::Nothing);
        self.refused.push(std::mem::replace(work, Work::Nothing));
    }

    /// The work that has been refused, until the returned value is dropped.
    #[inline]
    pub fn take_refused(&mut self) -> RefusedWork {
        RefusedWork(std::mem::take(&mut self.refused))
    }

    /// The copies of a node that has not ended, and is done with them.
    pub fn add_copies(&mut self, copies: Box<[CopyHandle]>) {
        self.works.push(Work::Nothing);
        self.rare.push(RareDead { _copies: copies, outcome: None });
    }
}

/// All bodies, by the slots of their nodes.
pub(crate) struct Bodies {
    slots: Vec<Body>,
    home: Home,
}

impl Bodies {
    /// None. `home` is the dispatcher's.
    pub fn new(home: Home) -> Bodies {
        Bodies { slots: Vec::new(), home }
    }

    /// The body of a node that is about to leave the graph, if it has one that has not ended.
    #[inline]
    pub fn leaving(&mut self, node: NodeId) -> Option<&mut Body> {
        self.slots.get_mut(node.index()).filter(|body| body.set != SetId::NONE)
    }

    /// The body of a node that has not ended.
    #[inline]
    pub fn get(&mut self, node: NodeId) -> Option<&mut Body> {
        self.slots.get_mut(node.index()).filter(|body| body.node == node && body.set != SetId::NONE)
    }

    /// The same, also of a node that is to come: the mailboxes are emptied one behind the other, so the wait
    /// for a task may be found before the task is.
    #[inline]
    pub fn get_or_reserved(&mut self, node: NodeId) -> Option<&mut Body> {
        self.slots.get_mut(node.index()).filter(|body| body.node == node)
    }

    /// The body of a node that is being launched.
    #[inline]
    pub fn running(&mut self, node: NodeId) -> &mut Body {
        let body = &mut self.slots[node.index()];
        debug_assert!(body.node == node && body.set != SetId::NONE, "a node that is being launched has not ended");
        body
    }

    /// The place in memory of the body in this slot, if there is one.
    #[inline]
    pub fn place(&self, slot: usize) -> *const u8 {
        self.slots.as_ptr().wrapping_add(slot).cast()
    }

    /// The outcome of the body in this slot is about to be changed.
    #[inline]
    pub fn bring_outcome(&self, slot: usize) {
        if let Some(body) = self.slots.get(slot) {
            prefetch(Arc::as_ptr(&body.outcome).cast());
        }
    }

    /// The function of the body in this slot is about to be called.
    #[inline]
    pub fn bring_work(&self, slot: usize) {
        if let Some(place) = self.slots.get(slot).and_then(|body| body.work.place()) {
            prefetch(place);
        }
    }

    /// Whether the task of this outcome is one of the dispatcher's.
    #[inline]
    pub fn are_home_of(&self, outcome: &Outcome) -> bool {
        Home::ptr_eq(outcome.home(), &self.home)
    }

    /// A body for a new node, without work.
    #[inline(always)] // a call would be a third of it
    pub fn add(&mut self, node: NodeId, set: &Set) -> &mut Body {
        let body = self.renew(node);
        set.begun();
        body.set = set.id();
        body.character = Character::EMPTY;
        body
    }

    /// The outcome of a node that is to come.
    pub fn reserve(&mut self, node: NodeId) -> Arc<Outcome> {
        Arc::clone(&self.renew(node).outcome)
    }

    /// That node has come.
    pub fn fill(&mut self, node: NodeId, set: &Set, character: Character, work: Work) {
        let body = &mut self.slots[node.index()];
        set.begun();
        body.set = set.id();
        (body.character, body.work) = (character, work);
    }

    #[inline(always)] // as `add`
    fn renew(&mut self, node: NodeId) -> &mut Body {
        let index = node.index();
        if index >= self.slots.len() {
            self.grow(node);
        }
        let body = &mut self.slots[index];
        Outcome::renew(&mut body.outcome, &self.home);
        (body.node, body.is_wanted) = (node, false);
        body.work.clear();
        body
    }

    #[cold]
    fn grow(&mut self, node: NodeId) {
        let home = &self.home;
        self.slots.resize_with(node.index() + 1, || Body {
            node,
            set: SetId::NONE,
            outcome: Outcome::new(home),
            work: Work::Nothing,
            copies: Box::default(),
            character: Character::EMPTY,
            is_wanted: false,
        });
    }

    /// All bodies of nodes that have not ended.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Body> {
        self.slots.iter_mut().filter(|body| body.set != SetId::NONE)
    }
}

impl Body {
    /// The task has failed. Returns whether that is to be told.
    #[cold]
    pub fn fail(&mut self, error: Error, set: Option<&Set>) -> bool {
        if let Some(set) = set {
            set.failed(error.fault());
        }
        self.outcome.set_failed(error);
        true
    }

    /// The launch has made these copies.
    #[cold]
    pub fn add_copies(&mut self, copies: &mut Vec<CopyHandle>) {
        let mut all = std::mem::take(&mut self.copies).into_vec();
        all.append(copies);
        self.copies = all.into_boxed_slice();
    }

    /// Takes the parts that are dropped without the lock, with the outcome if it is to be told.
    #[inline(always)] // a call would be a third of it
    pub fn bury(&mut self, is_to_be_told: bool, dead: &mut Dead) {
        if is_to_be_told || !self.copies.is_empty() {
            self.bury_rare(is_to_be_told, dead);
        } else if !self.work.is_bare() {
            dead.works.push(std::mem::replace(&mut self.work, Work::Nothing));
        }
    }

    #[cold]
    fn bury_rare(&mut self, is_to_be_told: bool, dead: &mut Dead) {
        dead.works.push(std::mem::replace(&mut self.work, Work::Nothing));
        let outcome = is_to_be_told.then(|| Arc::clone(&self.outcome));
        dead.rare.push(RareDead { _copies: std::mem::take(&mut self.copies), outcome });
    }
}

/// Drops the rest of ended nodes, tells of their failures, and wakes their futures. All that runs code of others; its
/// panics must not reach the thread that dispatches.
#[inline(never)]
pub(crate) fn bury(dead: Dead) {
    levels::may_call_user();
    bury_each(dead.rare, tell);
    bury_each(dead.works, drop);
    bury_each(dead.refused, drop);
}

fn bury_each<T>(all: Vec<T>, mut bury: impl FnMut(T)) {
    let mut rest = all.into_iter();
    // A panic ends one round of this, with the one node that it is about.
    while rest.len() > 0 {
        apart(|| rest.by_ref().for_each(&mut bury));
    }
}

fn tell(dead: RareDead) {
    if let Some(outcome) = &dead.outcome {
        apart(|| {
            if let Some(Err(error @ Error::Failed(_))) = outcome.get() {
                log::warn!("{error}");
            }
        });
        apart(|| outcome.wake());
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::work::function::{Launch, More};
    use crate::work::lane::Lane;
    use crate::work::sets::Sets;
    use graph::{Graph, Spec};
    use std::sync::Weak;

    /// Work that owns nothing is left where it is, and is none of the next node's. Other work is dropped elsewhere.
    #[test]
    fn work_that_owns_nothing_stays_until_the_next_node() {
        let node = Graph::new(graph::Options::default()).unwrap().append(&Spec::of(Kind::Empty)).unwrap();
        let (set, mut bodies) = (Sets::default().add(""), Bodies::new(Weak::<()>::new()));
        let text = String::from("a task owns this");
        let owns = move |_: &mut Lane<'_>| Ok(if text.is_empty() { More::Again } else { More::Done });
        let works = [Launch::own(|_: &mut Lane<'_>| Ok(More::Done)), Launch::own(owns)];
        for (work, stays) in works.into_iter().zip([true, false]) {
            let (body, mut dead) = (bodies.add(node, &set), Dead::default());
            assert!(matches!(body.work, Work::Nothing), "the node before has left its work to this one");
            body.work = Work::Launch(work);
            body.bury(false, &mut dead);
            assert_eq!((dead.is_empty(), matches!(body.work, Work::Launch(_))), (stays, stays));
        }
    }
}
