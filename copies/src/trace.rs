//! What every copy did, for a picture: recorded only where `trace` is on.

use std::collections::HashMap;
use std::sync::Mutex;

use channels::Direction;
use hal::{Nanos, Stream};
use semaphores::Priority;

use crate::copy::Plan;
use crate::lock::lock;
use crate::monitor::Ticket;

/// Copies that are kept; what comes later is only counted.
const COPIES_MAX: usize = 1 << 20;

/// One copy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TracedCopy {
    /// When it was handed over, in the host's time.
    pub began: Nanos,
    /// When that call returned.
    pub returned: Nanos,
    /// When it was seen to have completed; `None` where nothing of its own says so.
    pub landed: Option<Nanos>,
    /// Its stream.
    pub stream: Stream,
    /// Its priority.
    pub priority: Priority,
    /// Which engine it needs, where that is known.
    pub direction: Option<Direction>,
    /// How many bytes.
    pub bytes: u64,
    /// Which way it went.
    pub plan: Plan,
}

/// The recorder.
#[derive(Default)]
pub(crate) struct Trace {
    is_on: bool,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    copies: Vec<(TracedCopy, Option<Ticket>)>,
    landings: HashMap<Ticket, Nanos>,
    left_out: u64,
}

impl Trace {
    pub(crate) fn new(is_on: bool) -> Trace {
        Trace { is_on, kept: Mutex::default() }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    /// A copy has been handed over.
    pub(crate) fn submitted(&self, copy: TracedCopy, ticket: Option<Ticket>) {
        let mut kept = lock(&self.kept);
        if kept.copies.len() < COPIES_MAX {
            kept.copies.push((copy, ticket));
        } else {
            kept.left_out += 1;
        }
    }

    /// A ticket has been seen to be done; perhaps before the call that it belongs to has returned.
    pub(crate) fn landed(&self, ticket: Ticket, now: Nanos) {
        if self.is_on {
            lock(&self.kept).landings.insert(ticket, now);
        }
    }

    /// All copies in the order in which their calls returned, and how many more there were.
    pub(crate) fn copies(&self) -> (Vec<TracedCopy>, u64) {
        let kept = lock(&self.kept);
        let landed = |ticket: &Option<Ticket>| ticket.and_then(|ticket| kept.landings.get(&ticket).copied());
        let whole = |(copy, ticket): &(TracedCopy, Option<Ticket>)| TracedCopy { landed: landed(ticket), ..*copy };
        (kept.copies.iter().map(whole).collect(), kept.left_out)
    }
}
