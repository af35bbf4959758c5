//! The counters of a dispatcher.

/// The counters of a dispatcher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DispatchStatistics {
    /// Calls of functions that launch work.
    pub launches: u64,
    /// Host functions that have run, including light ones.
    pub functions: u64,
    /// Events that lanes waited for before a launch.
    pub joins: u64,
    /// Events recorded in lanes: for joins, and for threads that wait.
    pub marks: u64,
    /// Wake-ups of the dispatcher's threads, each of which costs the waking thread microseconds.
    pub wakes: u64,
    /// Submitted copies that were raised because a more urgent task began to wait for them.
    pub lifts: u64,
    /// Captures that a task's function left open in its lane. They were ended, and the task failed.
    pub captures_ended: u64,
    /// Launches that failed and were retried ([`crate::task::TaskBuilder::retries`]).
    pub retries: u64,
    /// Replays of fixed templates that were one launch of a graph ([`crate::task::Template::fixed`]).
    pub graph_launches: u64,
    /// Replays of fixed templates whose steps were launched one by one, because they could not become a graph.
    pub graph_fallbacks: u64,
    /// Whether the device has failed. No device task runs any more then.
    pub is_device_lost: bool,
}
