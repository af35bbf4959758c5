//! The nodes of open guards and sections: they wait for the program, and later tasks wait for them.

use std::sync::{Arc, Mutex};
use std::thread::{ThreadId, current};

use graph::{DataId, NodeId};
use overtake_tasks::task::{Error, Fault, Handle, Reason};
use overtake_tasks::within::Held;

/// The nodes of open guards. One that fails ends before its guard is dropped, or never was in the graph.
#[derive(Default)]
pub(super) struct Guards(Mutex<Vec<Open>>);

struct Open {
    node: Handle,
    /// The thread that has opened it.
    thread: ThreadId,
    /// It stays in that thread, which alone can drop it: the bytes of its array.
    stays: Option<u64>,
    asked: Option<Asked>,
    /// Adopted memory at home that a section writes: the results come with its end.
    lent: Vec<DataId>,
    /// The end of the arrays has left it: the program never has its bytes.
    is_left: bool,
}

/// An access that is to write adopted memory, and whose bytes the program has not come to have.
pub(super) struct Asked {
    /// It ends when they are there.
    pub there: Handle,
    /// The memory would not get its results behind it.
    pub keeps_back: bool,
    /// Ends it as the program would, with that lock held.
    pub leave: Leave,
}

pub(super) type Leave = Box<dyn Fn(&mut Held<'_>) + Send>;

impl Open {
    /// Tasks wait for the program. One that it has just ended is no such guard any more, though it is here still.
    fn is_pending(&self, held: &mut Held<'_>) -> bool {
        !self.is_left && !self.node.is_done() && held.graph().held(self.node.node()) > 0
    }
}

/// Why the end of the arrays has left an access.
pub(super) const LEFT: &str =
    "its arrays were dropped before the program had its elements: end the access before, or ask for them";

impl Guards {
    /// The node is that of a guard of the calling thread from now on. With the dispatcher's lock held, as it is
    /// appended.
    pub fn add(&self, node: &Handle, stays: Option<u64>, asked: Option<Asked>) {
        self.push(node, stays, asked, Vec::new());
    }

    /// The same of a section, with the adopted memory that it writes at home.
    pub fn add_section(&self, node: &Handle, lent: Vec<DataId>) {
        self.push(node, None, None, lent);
    }

    fn push(&self, node: &Handle, stays: Option<u64>, asked: Option<Asked>, lent: Vec<DataId>) {
        let open = Open { node: node.clone(), thread: current().id(), stays, asked, lent, is_left: false };
        hal::locks::lock(&self.0).push(open);
    }

    /// Whether a section that is open has this adopted memory. With that lock held too.
    pub fn have_lent(&self, held: &mut Held<'_>, data: DataId) -> bool {
        hal::locks::lock(&self.0).iter().any(|open| open.lent.contains(&data) && open.is_pending(held))
    }

    /// The program has the bytes. With that lock held too.
    pub fn comes(&self, node: &Handle) -> Result<(), Error> {
        let mut open = hal::locks::lock(&self.0);
        let Some(open) = open.iter_mut().find(|open| is_of(open, node)) else { return Ok(()) };
        open.asked = None;
        if !open.is_left {
            return Ok(());
        }
        let fault = Fault { task: node.name(), reason: Reason::Returned(LEFT.to_owned()) };
        Err(Error::NotRun { task: node.name(), fault: Arc::new(fault), is_own: true })
    }

    /// Leaves those that keep results back or whose bytes do not come: the program has never had them, so nothing is
    /// lost. With that lock held too: the caller calls what it gets, and drops it without the lock.
    pub fn leave_asked(&self, held: &mut Held<'_>) -> Vec<Leave> {
        let mut open = hal::locks::lock(&self.0);
        let leave = |open: &mut Open| {
            let asked = open.asked.take_if(|asked| asked.keeps_back || asked.there.has_failed())?;
            open.is_left = true;
            Some(asked.leave)
        };
        open.iter_mut().filter(|open| open.is_pending(held)).filter_map(leave).collect()
    }

    /// Another thread may drop the guard.
    pub fn leaves_its_thread(&self, node: &Handle) {
        let mut open = hal::locks::lock(&self.0);
        open.iter_mut().filter(|open| is_of(open, node)).for_each(|open| open.stays = None);
    }

    /// The guards that no thread but this one can drop: their nodes, and the bytes of their arrays.
    pub fn of_this_thread(&self) -> Vec<(Handle, u64)> {
        let (open, this) = (hal::locks::lock(&self.0), current().id());
        let own = |open: &Open| open.stays.filter(|_| open.thread == this).map(|bytes| (open.node.clone(), bytes));
        open.iter().filter_map(own).collect()
    }

    /// Those that have not ended; of those that this thread has opened, if asked.
    pub fn nodes(&self, held: &mut Held<'_>, are_own: bool) -> Vec<NodeId> {
        let (open, this) = (hal::locks::lock(&self.0), current().id());
        let asked = open.iter().filter(|open| (!are_own || open.thread == this) && open.is_pending(held));
        asked.map(|open| open.node.node()).collect()
    }

    /// The guard is about to be dropped.
    pub fn remove(&self, task: &Handle) {
        let mut open = hal::locks::lock(&self.0);
        if let Some(place) = open.iter().rposition(|open| is_of(open, task)) {
            open.swap_remove(place);
        }
    }

    /// So many of their nodes have not ended.
    pub fn pending(&self, held: &mut Held<'_>) -> u64 {
        hal::locks::lock(&self.0).iter().filter(|open| open.is_pending(held)).count() as u64
    }
}

fn is_of(open: &Open, node: &Handle) -> bool {
    open.node.is_same(node)
}
