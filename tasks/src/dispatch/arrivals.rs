//! The entries of the mailboxes: tasks that are to be appended to the graph, and reports of the watch.

use std::sync::Arc;

use graph::{Kind, NodeId, Priority};

use crate::dispatch::body::Character;
use crate::dispatch::mailboxes::Mailboxes;
use crate::dispatch::marks::Mark;
use crate::work::function::Launch;
use crate::work::outcome::Outcome;
use crate::work::set::SetId;

/// The mailboxes of a dispatcher. A task has its number and its outcome before it is in the graph.
pub(crate) type Arrivals = Mailboxes<Mail, Number>;

/// The number of a task that is to come, and its outcome.
pub(crate) type Number = (NodeId, Arc<Outcome>);

/// A task of the device, for which nothing but its turn is to be waited.
pub(crate) struct Arrival {
    pub node: NodeId,
    pub after: Option<NodeId>,
    pub set: SetId,
    pub kind: Kind,
    pub device: u8,
    pub priority: Priority,
    pub character: Character,
    pub work: Launch,
}

/// An entry.
pub(crate) enum Entry {
    /// A task, and the length of its name.
    Task(Arrival, usize),
    /// A thread waits for this task.
    Want(NodeId),
    /// The device has come to this mark of a lane.
    Reached(u8, Mark),
}

/// Entries in their order.
#[derive(Default)]
pub(crate) struct Mail {
    pub entries: Vec<Entry>,
    /// The names of its tasks, without anything between them: none needs memory of its own.
    pub names: String,
}

impl Mail {
    pub fn submit(&mut self, arrival: Arrival, name: &str) {
        self.names.push_str(name);
        self.entries.push(Entry::Task(arrival, name.len()));
    }

    pub fn want(&mut self, node: NodeId) {
        self.entries.push(Entry::Want(node));
    }

    pub fn reached(&mut self, lane: u8, mark: Mark) {
        self.entries.push(Entry::Reached(lane, mark));
    }
}
