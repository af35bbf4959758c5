//! The nodes of guards and sections that are open: they wait for the program, and later tasks wait for them.

use std::sync::Mutex;

use graph::NodeId;

use crate::task::Handle;
use crate::work::lane::Submitted;

/// The nodes of open guards, each as often as it is added.
#[derive(Default)]
pub(super) struct Guards(Mutex<Vec<NodeId>>);

impl Guards {
    /// The node is that of a guard from now on.
    pub fn add(&self, task: &Handle) {
        hal::locks::lock(&self.0).push(task.node());
    }

    /// The guard is about to be dropped.
    pub fn remove(&self, task: &Handle) {
        let mut open = hal::locks::lock(&self.0);
        if let Some(place) = open.iter().position(|node| *node == task.node()) {
            open.swap_remove(place);
        }
    }

    pub fn has(&self, node: NodeId) -> bool {
        hal::locks::lock(&self.0).contains(&node)
    }

    pub fn count(&self) -> u64 {
        hal::locks::lock(&self.0).len() as u64
    }
}
