//! The nodes of guards and sections that are open: they wait for the program, and later tasks wait for them.

use std::sync::{Arc, Mutex};

use graph::NodeId;

use crate::task::Handle;
use crate::work::lane::Submitted;

/// The nodes of open guards. One that fails ends before its guard is dropped, or never was in the graph.
#[derive(Default)]
pub(super) struct Guards(Mutex<Vec<Handle>>);

impl Guards {
    /// The node is that of a guard from now on. With the dispatcher's lock held, as it is appended.
    pub fn add(&self, node: &Handle) {
        hal::locks::lock(&self.0).push(node.clone());
    }

    /// The guard is about to be dropped.
    pub fn remove(&self, task: &Handle) {
        let mut open = hal::locks::lock(&self.0);
        let is_it = |other: &Handle| Arc::ptr_eq(other.shared_outcome(), task.shared_outcome());
        if let Some(place) = open.iter().position(is_it) {
            open.swap_remove(place);
        }
    }

    pub fn has(&self, node: NodeId) -> bool {
        hal::locks::lock(&self.0).iter().any(|open| open.node() == node)
    }

    /// So many of their nodes have not ended.
    pub fn pending(&self) -> u64 {
        hal::locks::lock(&self.0).iter().filter(|open| !open.is_done()).count() as u64
    }
}
