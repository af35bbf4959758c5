//! The outcome of a scenario.

use hal::Nanos;
use priority::Priority;

use super::words::History;

/// One chunk on an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    pub copy: usize,
    /// The index of the chunk in its copy.
    pub chunk: usize,
    /// The time at which it began.
    pub start: Nanos,
    /// The time at which it ended.
    pub end: Nanos,
}

/// The semaphores of one engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Semaphore {
    pub engine: usize,
    pub priority: Priority,
    /// Its values, each with the time from which it had them.
    pub history: History,
}

/// Nothing moves any more, and some copies are unfinished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// The time from which nothing moved.
    pub since: Nanos,
    /// The wait of each channel that has work.
    pub waits: Vec<String>,
}

/// The outcome of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The chunks in the order in which they began.
    pub runs: Vec<Run>,
    /// The time at which each copy began, by index; `None` if it never did.
    pub began: Vec<Option<Nanos>>,
    /// The time at which the last chunk of each copy ended.
    pub completed: Vec<Option<Nanos>>,
    /// The semaphores, by engine and priority.
    pub semaphores: Vec<Semaphore>,
    /// Set if the machine stood still before all was done.
    pub deadlock: Option<Deadlock>,
}

impl Outcome {
    /// The copies in the order in which they ran. A copy that was interrupted appears again.
    pub fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = self.runs.iter().map(|run| run.copy).collect();
        order.dedup();
        order
    }
}

/// A history as text: `0-1-0`.
pub fn text(history: &History) -> String {
    history.iter().map(|(_, value)| value.to_string()).collect::<Vec<_>>().join("-")
}
