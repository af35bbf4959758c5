//! Ranks: the order of ready tasks of the same priority, by a policy of the user.
//!
//! The submitting thread calls the policy, without a lock, before the task is in the graph. From then on the rank is a
//! number, so the order is total, and no thread that takes steps has to call user code for it.

use graph::{Graph, Kind, NodeId, Priority};

use crate::work::levels;

/// What a policy is told about a task: see [`crate::dispatch::Dispatcher::open_ranked`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Candidate<'c> {
    /// Its name.
    pub name: &'c str,
    /// What it does. A computation on arrays is a kernel, or a host function.
    pub kind: Kind,
    /// Its own priority.
    pub priority: Priority,
    /// The device that does its work, if a device does.
    pub device: u8,
    /// The number of tasks in the longest chain before it, without transfers, and perhaps without those that have
    /// ended.
    pub depth: u32,
    /// The bytes of all arrays that it uses.
    pub bytes: u64,
    /// The measured time of such a computation on this device, in ns (`ArrayOptions::measures`); 0 if there is none.
    pub expected_ns: u64,
}

impl<'c> Candidate<'c> {
    /// A task that uses no arrays, and comes after none.
    #[doc(hidden)]
    pub fn new(name: &'c str, kind: Kind, priority: Priority, device: u8) -> Candidate<'c> {
        Candidate { name, kind, priority, device, depth: 0, bytes: 0, expected_ns: 0 }
    }

    /// The same task at this depth, whose uses have so many bytes, and which is expected to take so long.
    #[doc(hidden)]
    pub fn with(self, depth: u32, bytes: u64, expected_ns: u64) -> Candidate<'c> {
        Candidate { depth, bytes, expected_ns, ..self }
    }
}

/// Ranks a task: of ready tasks of one priority that of the highest rank is the next.
pub type Policy = dyn Fn(&Candidate<'_>) -> u32 + Send + Sync;

/// The rank of a task, and its depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rank {
    value: u32,
    depth: u32,
}

/// The depths of tasks, where ranks decide.
#[derive(Default)]
pub(crate) struct Ranks {
    /// By the number of the node's slot.
    depths: Vec<(NodeId, u32)>,
    /// That of the task whose transfers are being appended.
    pub at_hand: Option<Rank>,
}

impl Rank {
    /// The policy's word about a task. Called without a lock.
    pub fn ask(policy: &Policy, candidate: &Candidate<'_>) -> Rank {
        levels::may_call_user();
        // An empty task is in no queue.
        let value = if candidate.kind == Kind::Empty { 0 } else { policy(candidate) };
        Rank { value, depth: candidate.depth }
    }
}

impl Ranks {
    /// The depth of a task behind these.
    pub fn depth_behind(&self, before: impl IntoIterator<Item = NodeId>) -> u32 {
        let known = |node: NodeId| {
            let found = self.depths.get(node.index()).filter(|(of, _)| *of == node);
            found.map(|(_, depth)| depth + 1)
        };
        before.into_iter().filter_map(known).max().unwrap_or(0)
    }

    /// A node has just been appended. It has this rank, or that of the task that it is appended for.
    #[inline(never)]
    pub fn give(&mut self, graph: &mut Graph, node: NodeId, rank: Option<Rank>) {
        let Some(rank) = rank.or(self.at_hand) else { return };
        if self.depths.len() <= node.index() {
            self.depths.resize(node.index() + 1, (NodeId::NONE, 0));
        }
        self.depths[node.index()] = (node, rank.depth);
        graph.set_rank(node, rank.value);
    }
}

impl Rank {
    /// A transfer is needed by a task with this rank too.
    pub fn raise(self, graph: &mut Graph, node: NodeId) {
        graph.set_rank(node, self.value.max(graph.rank(node)));
    }
}
