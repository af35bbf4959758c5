//! Runs: urgent copies of one stream that follow each other closely.
//!
//! Every completion write costs the device 1.4 us, a third of what a 64 KiB copy costs, and the host several driver
//! calls. So only every eighth copy of a stream gets one (`ticket_every`). Copies that follow while it is outstanding
//! are known to be complete a moment after it, by the time that copies take; copies that follow when it has been seen
//! on time are taken to be complete after the time that they take, unless bulk goes in chunks. That is an estimate,
//! which is good enough: a word expresses preference, never correctness, and handles of such copies ask the stream.

use std::sync::Mutex;

use hal::Nanos;

use crate::lock::lock;
use crate::monitor::{Ring, Ticket};

/// The run of one stream.
#[derive(Debug, Default)]
pub(crate) struct Run {
    last: Mutex<Option<Tail>>,
}

#[derive(Clone, Copy, Debug)]
struct Tail {
    ticket: Ticket,
    ready: bool,
    covered: u32,
    tail: Nanos,
}

/// What is known of a copy that has no ticket of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cover {
    /// The ticket of a copy before it.
    pub(crate) ticket: Ticket,
    /// How long after that ticket it is complete.
    pub(crate) tail: Nanos,
    /// Whether that copy was schedulable when it was submitted.
    pub(crate) ready: bool,
}

impl Run {
    /// A copy with a ticket of its own begins or continues a run.
    pub(crate) fn begin(&self, ticket: Ticket, ready: bool) {
        let tail = Tail { ticket, ready, covered: 0, tail: Nanos::ZERO };
        *lock(&self.last) = Some(tail);
    }

    /// What comes next in the stream is no part of the run: it may have to wait for something else.
    pub(crate) fn end(&self) {
        *lock(&self.last) = None;
    }

    /// Lets a copy that takes `expected` join the run, if there is one and its last ticket does not cover too many
    /// already.
    pub(crate) fn join(&self, ring: &Ring, expected: Nanos, ticket_every: u32) -> Option<Cover> {
        let mut last = lock(&self.last);
        let tail = last.as_mut()?;
        if ring.is_done(tail.ticket) || tail.covered + 1 >= ticket_every {
            return None;
        }
        tail.covered += 1;
        tail.tail += expected;
        Some(Cover { ticket: tail.ticket, tail: tail.tail, ready: tail.ready })
    }

    /// Lets a copy go on the strength of the last ticket, which has been seen, if that has not served for too many
    /// already.
    pub(crate) fn ride(&self, ring: &Ring, ticket_every: u32) -> Option<Ticket> {
        let mut last = lock(&self.last);
        let tail = last.as_mut()?;
        if !ring.is_done(tail.ticket) || !tail.ready || tail.covered + 1 >= ticket_every {
            return None;
        }
        tail.covered += 1;
        Some(tail.ticket)
    }
}
