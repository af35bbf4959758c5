//! What every copy did, for a picture: recorded only where `trace` is on.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use hal::{Nanos, Stream};
use terms::{Direction, Priority};

use crate::decide::Plan;
use crate::records::ticket::Ticket;
use hal::locks::lock;

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
    copies: Mutex<Vec<(TracedCopy, Option<Ticket>)>>,
    landings: Mutex<HashMap<Ticket, Nanos>>,
    left_out: AtomicU64,
}

impl Trace {
    pub(crate) fn new(is_on: bool) -> Trace {
        Trace { is_on, ..Trace::default() }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    /// A copy has been handed over.
    pub(crate) fn submitted(&self, copy: TracedCopy, ticket: Option<Ticket>) {
        let mut copies = lock(&self.copies);
        if copies.len() < COPIES_MAX {
            copies.push((copy, ticket));
        } else {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A ticket has been seen to be done; perhaps before the call that it belongs to has returned.
    pub(crate) fn landed(&self, ticket: Ticket, now: Nanos) {
        if self.is_on {
            lock(&self.landings).insert(ticket, now);
        }
    }

    /// All copies in the order in which their calls returned, and how many more there were.
    pub(crate) fn copies(&self) -> (Vec<TracedCopy>, u64) {
        let (copies, landings) = (lock(&self.copies), lock(&self.landings));
        let landed = |ticket: &Option<Ticket>| ticket.and_then(|ticket| landings.get(&ticket).copied());
        let whole = |(copy, ticket): &(TracedCopy, Option<Ticket>)| TracedCopy { landed: landed(ticket), ..*copy };
        (copies.iter().map(whole).collect(), self.left_out.load(Ordering::Relaxed))
    }
}
