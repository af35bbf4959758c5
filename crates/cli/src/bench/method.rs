//! A way to move urgent bytes past bulk bytes.

use std::collections::BTreeMap;
use std::sync::Arc;

use hal::Result;

use super::flow::Flow;

/// What a method submits while it is open.
#[derive(Clone)]
pub struct Flows {
    /// Urgent copies.
    pub urgent: Arc<dyn Flow>,
    /// Bulk requests.
    pub bulk: Arc<dyn Flow>,
}

/// What opening a method came to.
pub enum Opened {
    /// It is open.
    Flows(Flows),
    /// This machine cannot do it, and why.
    Unavailable(String),
}

/// What overtake says of itself since a method was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How often the watchdog had to open the semaphores.
    pub rescues: u64,
    /// Copies that went another way than the method's, by reason.
    pub fallbacks: BTreeMap<String, u64>,
    /// Bulk bytes that went in chunks, and in how many.
    pub chunked: (u64, u64),
    /// Whether it has stood down.
    pub stood_down: bool,
}

impl Tally {
    /// Both together.
    #[must_use]
    pub fn and(mut self, other: Tally) -> Tally {
        for (reason, count) in other.fallbacks {
            *self.fallbacks.entry(reason).or_default() += count;
        }
        Tally {
            rescues: self.rescues + other.rescues,
            fallbacks: self.fallbacks,
            chunked: (self.chunked.0 + other.chunked.0, self.chunked.1 + other.chunked.1),
            stood_down: self.stood_down || other.stood_down,
        }
    }

    /// The mean size of a chunk.
    #[must_use]
    pub fn chunk_bytes(&self) -> Option<u64> {
        self.chunked.0.checked_div(self.chunked.1)
    }
}

/// One way to submit urgent copies and bulk requests.
///
/// A method is open only while it is measured: what it needs beside its streams, such as a thread that watches
/// completions, must not disturb the others.
pub trait Method: Send + Sync {
    /// Opens it; both flows have been used once and everything is idle.
    fn open(&self) -> Result<Opened>;
    /// Closes it, when nothing is outstanding and its flows are dropped, and says what overtake said. It has made so
    /// many urgent copies.
    fn close(&self, urgent_copies: u64) -> Tally;
}
