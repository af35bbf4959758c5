//! The nodes of open guards and sections: they wait for the program, and later tasks wait for them.

use std::sync::Mutex;
use std::thread::{ThreadId, current};

use graph::NodeId;
use overtake_tasks::task::Handle;

/// The nodes of open guards. One that fails ends before its guard is dropped, or never was in the graph.
#[derive(Default)]
pub(super) struct Guards(Mutex<Vec<Open>>);

struct Open {
    node: Handle,
    own: Option<Own>,
    /// The program has not come to have its bytes, of adopted memory, which would not get its results behind it.
    is_asked: bool,
}

/// A guard that stays in its thread, which alone can drop it.
pub(super) struct Own {
    thread: ThreadId,
    /// Of the array.
    bytes: u64,
}

impl Own {
    /// One of the calling thread.
    pub fn of(bytes: u64) -> Own {
        Own { thread: current().id(), bytes }
    }
}

impl Guards {
    /// The node is that of a guard from now on. With the dispatcher's lock held, as it is appended.
    pub fn add(&self, node: &Handle, own: Option<Own>, is_asked: bool) {
        hal::locks::lock(&self.0).push(Open { node: node.clone(), own, is_asked });
    }

    /// The program has the bytes. With that lock held too.
    pub fn comes(&self, node: &Handle) {
        let mut open = hal::locks::lock(&self.0);
        open.iter_mut().filter(|open| is_of(open, node)).for_each(|open| open.is_asked = false);
    }

    /// Whether nothing is lost if it is given up: the program was to write its bytes, and has never had them.
    pub fn is_asked(&self, node: NodeId) -> bool {
        hal::locks::lock(&self.0).iter().any(|open| open.is_asked && open.node.node() == node)
    }

    /// Another thread may drop the guard.
    pub fn leaves_its_thread(&self, node: &Handle) {
        let mut open = hal::locks::lock(&self.0);
        open.iter_mut().filter(|open| is_of(open, node)).for_each(|open| open.own = None);
    }

    /// The guards that no thread but this one can drop: their nodes, and the bytes of their arrays.
    pub fn of_this_thread(&self) -> Vec<(Handle, u64)> {
        let (open, this) = (hal::locks::lock(&self.0), current().id());
        let own =
            |open: &Open| open.own.as_ref().filter(|own| own.thread == this).map(|own| (open.node.clone(), own.bytes));
        open.iter().filter_map(own).collect()
    }

    /// The guard is about to be dropped.
    pub fn remove(&self, task: &Handle) {
        let mut open = hal::locks::lock(&self.0);
        if let Some(place) = open.iter().position(|open| is_of(open, task)) {
            open.swap_remove(place);
        }
    }

    pub fn has(&self, node: NodeId) -> bool {
        hal::locks::lock(&self.0).iter().any(|open| open.node.node() == node)
    }

    /// So many of their nodes have not ended.
    pub fn pending(&self) -> u64 {
        hal::locks::lock(&self.0).iter().filter(|open| !open.node.is_done()).count() as u64
    }
}

fn is_of(open: &Open, node: &Handle) -> bool {
    open.node.is_same(node)
}
