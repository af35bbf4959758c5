//! Holds: a word kept up for several copies of one stream, which have no tickets of their own.
//!
//! A hold is *needed* while a caller is inside the driver with such a copy, while copies stand behind a ticket that is
//! not done, and until the time at which the last of them should be complete.

use std::sync::Arc;

use hal::Nanos;
use semaphores::{Bank, Pending, Priority};

use crate::monitor::{Shared, Ticket};

/// So long after its call has returned the device begins with a copy.
const START: Nanos = Nanos::from_us(2);
/// For so long a hold stays up beyond the time that copies take: what bulk has in flight takes about as long to clear
/// the link. If bulk begins again before the copy is through, it fills the way to the host for tens of microseconds.
const SLACK: Nanos = Nanos::from_us(5);
/// One in so many parts of their time is added to copies that stand behind a ticket: many follow each other there, and
/// what bulk gains by a word that is lowered before the last of them is through costs that one far more.
const TAIL_MARGIN: u64 = 16;

/// The copies behind a ticket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Behind {
    pub(crate) ticket: Ticket,
    /// How long after the ticket they are complete.
    pub(crate) tail: Nanos,
    /// Whether they are taken to be schedulable already.
    pub(crate) ready: bool,
}

/// What there is to be seen about a hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outlook {
    /// Whether there is anything at all.
    pub(crate) busy: bool,
    /// The ticket whose completion changes something.
    pub(crate) ticket: Option<Ticket>,
    /// The time that changes something.
    pub(crate) deadline: Nanos,
    /// How long the copies that hold others off will take yet.
    pub(crate) expected: Nanos,
}

impl Outlook {
    /// Nothing to be seen.
    pub(crate) const NOTHING: Outlook =
        Outlook { busy: false, ticket: None, deadline: Nanos::MAX, expected: Nanos::ZERO };
}

/// The hold of one stream on one engine.
pub(crate) struct Hold {
    bank: Arc<Bank>,
    priority: Priority,
    pending: Option<Pending>,
    /// Callers inside the driver.
    inside: u32,
    /// Whether the monitor wants to know when the last of them has left.
    awaited: bool,
    behind: Option<Behind>,
    /// When the engine should be through with the copies that time alone tells of.
    free_at: Nanos,
    /// Needed until then, whatever else.
    until: Nanos,
}

impl Hold {
    pub(crate) fn new(bank: &Arc<Bank>) -> Hold {
        Hold {
            bank: Arc::clone(bank),
            priority: Priority::LOWEST,
            pending: None,
            inside: 0,
            awaited: false,
            behind: None,
            free_at: Nanos::ZERO,
            until: Nanos::ZERO,
        }
    }

    /// Whether it keeps a word up.
    pub(crate) fn is_up(&self) -> bool {
        self.pending.is_some()
    }

    fn is_busy(&self) -> bool {
        self.pending.is_some() || self.inside > 0 || self.behind.is_some()
    }

    /// Whether a copy of `priority` can share it: a hold has one priority at a time.
    pub(crate) fn takes(&mut self, priority: Priority) -> bool {
        if !self.is_busy() {
            self.priority = priority;
        }
        self.priority == priority
    }

    /// A caller is about to enter the driver.
    pub(crate) fn enter(&mut self, shared: &Shared) {
        // A hold that was down is news to the monitor, once the caller is out again.
        self.awaited |= self.raise(shared);
        self.inside += 1;
    }

    /// A caller has left the driver. Says whether the monitor waits for that.
    pub(crate) fn leave(&mut self) -> bool {
        self.inside -= 1;
        self.inside == 0 && std::mem::take(&mut self.awaited)
    }

    /// Says whether it was down. What a rescue has opened is down, whatever was pending.
    fn raise(&mut self, shared: &Shared) -> bool {
        if self.pending.is_some_and(|pending| self.bank.is_current(pending)) {
            return false;
        }
        self.pending = Some(self.bank.raise(self.priority));
        // Asked after the raise: whoever stands down opens the words after he has said so.
        if shared.is_passive() {
            self.lower();
        }
        true
    }

    fn lower(&mut self) -> bool {
        let pending = self.pending.take();
        pending.inspect(|pending| self.bank.lower(*pending)).is_some()
    }

    /// One more copy, that is complete a while after a ticket. What stood behind an earlier ticket of the stream is
    /// complete before.
    pub(crate) fn follow(&mut self, behind: Behind) {
        self.behind = Some(behind);
    }

    /// One more copy, submitted at `now`, that time alone tells of.
    pub(crate) fn lengthen(&mut self, now: Nanos, expected: Nanos) {
        self.free_at = self.free_at.max(now + START) + expected;
        self.until = self.until.max(self.free_at + SLACK);
    }

    pub(crate) fn note_readiness(&mut self, shared: &Shared, now: Nanos) {
        let Some(behind) = self.behind.filter(|behind| shared.ring.is_done(behind.ticket)) else { return };
        // The copy before them has completed, so they are running now.
        self.behind = None;
        self.free_at = self.free_at.max(now + behind.tail);
        self.until = self.until.max(now + behind.tail + Nanos(behind.tail.0 / TAIL_MARGIN) + SLACK);
        if !behind.ready {
            self.raise(shared);
        }
    }

    fn is_needed(&self, now: Nanos) -> bool {
        self.inside > 0 || now < self.until || self.behind.is_some_and(|behind| behind.ready)
    }

    /// Lowers the word if it is needed no more. Says whether it did.
    pub(crate) fn settle(&mut self, now: Nanos) -> bool {
        !self.is_needed(now) && self.lower()
    }

    pub(crate) fn outlook(&mut self, now: Nanos) -> Outlook {
        self.awaited = self.inside > 0;
        let by_time = self.pending.is_some() && self.inside == 0 && self.until > now;
        let left = self.behind.map_or(self.until.since(now), |behind| behind.tail);
        Outlook {
            busy: self.is_busy(),
            ticket: self.behind.map(|behind| behind.ticket),
            deadline: if by_time { self.until } else { Nanos::MAX },
            expected: if self.pending.is_some() { left } else { Nanos::ZERO },
        }
    }

    /// What stands behind that ticket is not schedulable after all, and raises when it is.
    pub(crate) fn doubt(&mut self, ticket: Ticket) {
        if let Some(behind) = self.behind.as_mut().filter(|behind| behind.ticket == ticket) {
            behind.ready = false;
            self.until = Nanos::ZERO;
            self.lower();
        }
    }

    /// It holds nobody back, whatever is still out.
    pub(crate) fn let_through(&mut self) {
        self.lower();
        self.behind = None;
        self.until = Nanos::ZERO;
    }
}
