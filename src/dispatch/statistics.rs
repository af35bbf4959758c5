//! The counters of a dispatcher.

/// The counts of a dispatcher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DispatchStatistics {
    /// Calls of functions that launch work.
    pub launches: u64,
    /// Functions of the host that have been run, light ones included.
    pub functions: u64,
    /// Events that a lane waited for before a launch.
    pub joins: u64,
    /// Events recorded in lanes: for joins, and for threads that wait.
    pub marks: u64,
    /// Threads of the dispatcher that were woken, which takes the thread that wakes them microseconds.
    pub wakes: u64,
    /// Submitted copies that were raised because a more urgent task came to wait for them.
    pub lifts: u64,
    /// Captures that a task's function had begun in its lane and not ended. They were ended, and the task failed.
    pub captures_ended: u64,
    /// Launches that failed and were repeated ([`crate::task::TaskBuilder::retries`]).
    pub retries: u64,
    /// Replays of fixed templates that were one launch of a graph ([`crate::task::Template::fixed`]).
    pub graph_launches: u64,
    /// Replays of fixed templates whose steps were launched one by one, as they can be no graph.
    pub graph_fallbacks: u64,
    /// Whether the device has failed. No task of the device runs any more.
    pub is_device_lost: bool,
}
