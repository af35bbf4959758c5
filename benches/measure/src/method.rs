//! A way to move urgent bytes past bulk bytes.

use std::collections::BTreeMap;
use std::sync::Arc;

use hal::Result;

use super::flow::Flow;

/// The flows of a method while it is open.
#[derive(Clone)]
pub struct Flows {
    pub urgent: Arc<dyn Flow>,
    pub bulk: Arc<dyn Flow>,
}

/// The result of opening a method.
pub enum Opened {
    /// It is open.
    Flows(Flows),
    /// This machine does not support it, for this reason.
    Unavailable(String),
}

/// The statistics of overtake since a method was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The number of times that the watchdog opened the semaphores.
    pub rescues: u64,
    /// Copies that went another way than the method's, by reason.
    pub fallbacks: BTreeMap<String, u64>,
    /// Bulk bytes that went in chunks, and the number of these chunks.
    pub chunked: (u64, u64),
    /// Whether overtake has stood down.
    pub stood_down: bool,
}

impl Tally {
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
/// A method is open only while it is measured: its helpers, such as a thread that watches completions, must not
/// disturb other measurements.
pub trait Method: Send + Sync {
    /// Opens the method. Both flows have been used once then, and everything is idle.
    fn open(&self) -> Result<Opened>;
    /// Closes the method and returns overtake's statistics. Nothing may be outstanding, and its flows must have been
    /// dropped. It has made this many urgent copies.
    fn close(&self, urgent_copies: u64) -> Tally;
}
