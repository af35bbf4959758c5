//! The nodes of open guards and sections: they wait for the program, and later tasks wait for them.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread::{ThreadId, current};

use graph::{DataId, NodeId};
use overtake_tasks::task::Handle;
use overtake_tasks::within::Held;

/// Those that are open, by numbers in the order in which they came. The node of one that fails ends before its guard is
/// dropped, or never was in the graph.
#[derive(Default)]
pub(super) struct Guards(Mutex<BTreeMap<u64, Open>>);

/// A guard or a section that is open.
pub(super) struct Open {
    pub node: Handle,
    /// The thread that has it: the one that has asked for its bytes last, or has opened the section.
    pub thread: ThreadId,
    /// It stays in that thread, which alone can drop it: the bytes of its array.
    pub stays: Option<u64>,
    pub asked: Option<Box<dyn Asked>>,
    /// Adopted memory at home that a section writes: the results come with its end.
    pub lent: Vec<DataId>,
    /// The end of the arrays has left it: the program never has its bytes.
    pub is_left: bool,
}

/// An access whose bytes the program has not come to have.
pub(super) trait Asked: Send {
    /// Whether the end of the arrays leaves it, also where no task comes behind it.
    fn is_in_the_way(&self) -> bool;

    /// Ends it as the program would, with that lock held.
    fn leave(&self, held: &mut Held<'_>, node: &Handle);
}

impl Open {
    /// With this node, which any thread may end.
    pub fn new(node: &Handle) -> Open {
        let (node, thread) = (node.clone(), current().id());
        Open { node, thread, stays: None, asked: None, lent: Vec::new(), is_left: false }
    }

    /// Tasks wait for the program. One that it has just ended is no such guard any more, though it is here still.
    fn is_pending(&self, held: &mut Held<'_>) -> bool {
        !self.is_left && !self.node.is_done() && held.graph().held(self.node.node()) > 0
    }

    fn is_own(&self) -> bool {
        self.thread == current().id()
    }
}

impl Guards {
    /// One is open from now on. With the dispatcher's lock held, as its node is appended.
    pub fn add(&self, open: Open) -> u64 {
        let mut all = hal::locks::lock(&self.0);
        let number = all.last_key_value().map_or(0, |(last, _)| last + 1);
        all.insert(number, open);
        number
    }

    /// Whether a section that is open has this adopted memory. With that lock held too.
    pub fn have_lent(&self, held: &mut Held<'_>, data: DataId) -> bool {
        hal::locks::lock(&self.0).values().any(|open| open.lent.contains(&data) && open.is_pending(held))
    }

    /// The calling thread has the bytes from now on. Returns whether it may: the end of the arrays has not left it.
    pub fn comes(&self, number: u64) -> bool {
        hal::locks::lock(&self.0).get_mut(&number).is_none_or(|open| {
            (open.asked, open.thread) = (None, current().id());
            !open.is_left
        })
    }

    /// Whether the end of the arrays has left it.
    pub fn is_left(&self, number: u64) -> bool {
        hal::locks::lock(&self.0).get(&number).is_some_and(|open| open.is_left)
    }

    /// Those that the end of the arrays leaves: the program has never had their bytes, so nothing is lost. With that
    /// lock held too; what it returns is dropped without it.
    pub fn leave_asked(&self, held: &mut Held<'_>) -> Vec<(Handle, Box<dyn Asked>)> {
        let mut all = hal::locks::lock(&self.0);
        let leave = |open: &mut Open| {
            let (mut is_in_the_way, is_pending) = (open.asked.as_ref()?.is_in_the_way(), open.is_pending(held));
            held.graph().successors(open.node.node(), |_| is_in_the_way = true);
            let asked = open.asked.take_if(|_| is_in_the_way && is_pending)?;
            open.is_left = true;
            Some((open.node.clone(), asked))
        };
        all.values_mut().filter_map(leave).collect()
    }

    /// The guards that no thread but this one can drop: their nodes, and the bytes of their arrays.
    pub fn of_this_thread(&self) -> Vec<(Handle, u64)> {
        let all = hal::locks::lock(&self.0);
        let own = |open: &Open| open.stays.filter(|_| open.is_own()).map(|bytes| (open.node.clone(), bytes));
        all.values().filter_map(own).collect()
    }

    /// The nodes of those that have not ended.
    pub fn nodes(&self, held: &mut Held<'_>) -> Vec<NodeId> {
        self.nodes_of(held, |_| true)
    }

    /// The same of those that the end of the arrays does not wait for: the calling thread has them itself, or they are
    /// sections with adopted memory.
    pub fn own_nodes(&self, held: &mut Held<'_>) -> Vec<NodeId> {
        self.nodes_of(held, |open| open.is_own() || !open.lent.is_empty())
    }

    fn nodes_of(&self, held: &mut Held<'_>, is_asked: impl Fn(&Open) -> bool) -> Vec<NodeId> {
        let all = hal::locks::lock(&self.0);
        all.values().filter(|open| is_asked(open) && open.is_pending(held)).map(|open| open.node.node()).collect()
    }

    /// It is about to be dropped.
    pub fn remove(&self, number: u64) {
        hal::locks::lock(&self.0).remove(&number);
    }
}
