//! What came out.

use hal::Nanos;
use semaphores::Priority;

use super::words::History;

/// One chunk on an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The copy.
    pub copy: usize,
    /// Which of its chunks.
    pub chunk: usize,
    /// When it began.
    pub start: Nanos,
    /// When it ended.
    pub end: Nanos,
}

/// The semaphores of one engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Semaphore {
    /// The engine.
    pub engine: usize,
    /// The priority.
    pub priority: Priority,
    /// From when on it read what.
    pub history: History,
}

/// Nothing moves any more, and not all is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// Since when.
    pub since: Nanos,
    /// What each channel that has work waits for.
    pub waits: Vec<String>,
}

/// What came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The chunks in the order in which they began.
    pub runs: Vec<Run>,
    /// When each copy began, by index; `None` where it never did.
    pub began: Vec<Option<Nanos>>,
    /// When the last chunk of each copy ended.
    pub completed: Vec<Option<Nanos>>,
    /// The semaphores, by engine and priority.
    pub semaphores: Vec<Semaphore>,
    /// Whether the machine stood still before all was done.
    pub deadlock: Option<Deadlock>,
}

impl Outcome {
    /// The copies in the order in which they ran; one that was interrupted appears again.
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
