//! A hold: a word kept up for the copies of one stream that have no tickets of their own.
//!
//! A hold is *needed* while a caller is inside the driver with such a copy, while copies stand behind a ticket that is
//! not done, and until the time at which the last of them should be complete.

use hal::Nanos;
use semaphores::Pending;
use terms::{Direction, Priority};

use crate::records::standing::Standing;
use crate::records::ticket::{Ticket, Tickets};

/// The device begins with a copy this long after its call has returned.
const START: Nanos = Nanos::from_us(2);
/// A hold stays up this much longer than its copies take: bulk in flight takes about as long to clear the link. If bulk
/// begins again before the copy is through, it fills the way to the host for tens of microseconds.
const SLACK: Nanos = Nanos::from_us(5);
/// One part in so many of their time is added to copies that stand behind a ticket: many copies follow each other
/// there, and bulk gains less by an early end of the hold than the last of these copies loses.
const TAIL_MARGIN: u64 = 16;

/// The place of a copy behind the last copy with a ticket. Give it back ([`super::burst::Burst::leave`]) when the call
/// of the copy has returned.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub(crate) struct Pass {
    pub(super) direction: Direction,
    /// The ticket in front of it.
    pub(super) ticket: Ticket,
    /// Whether the copy with that ticket is taken to be schedulable; the word is up for this copy only then.
    pub(super) ready: bool,
    /// Whether the ticket was done already: then time alone tells when this copy is complete.
    pub(super) seen: bool,
    /// How long after the ticket it is complete.
    pub(super) tail: Nanos,
    /// How long it takes on an idle engine.
    pub(super) expected: Nanos,
}

impl Pass {
    /// Whether time alone tells when the copy is complete: then it matters when its call has returned.
    pub(crate) fn is_timed(&self) -> bool {
        self.seen
    }
}

/// The hold of one stream on one engine. A copy of it is what the watcher remembers of its last look.
#[derive(Clone, Copy)]
pub(crate) struct Hold {
    direction: Direction,
    priority: Priority,
    pending: Option<Pending>,
    /// Callers inside the driver.
    inside: u32,
    /// Whether the watcher wants to know when the last of them has left.
    awaited: bool,
    /// The last copy behind a ticket that is not done.
    behind: Option<Pass>,
    /// When the engine should be through with the copies that time alone tells of.
    free_at: Nanos,
    /// The hold is needed until then, whatever else.
    until: Nanos,
}

impl Hold {
    pub(super) fn new(direction: Direction) -> Hold {
        Hold {
            direction,
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
    pub(super) fn is_up(&self) -> bool {
        self.pending.is_some()
    }

    /// Whether anything of it is left.
    pub(super) fn is_busy(&self) -> bool {
        self.pending.is_some() || self.inside > 0 || self.behind.is_some()
    }

    /// Takes on `priority` unless it is busy with another: a hold has one priority at a time. Whether it has it now.
    pub(super) fn take_on(&mut self, priority: Priority) -> bool {
        if !self.is_busy() {
            self.priority = priority;
        }
        self.priority == priority
    }

    /// A caller is about to enter the driver.
    pub(super) fn enter(&mut self, standing: &Standing) {
        // A hold that was down is news to the watcher, once the caller is out again.
        self.awaited |= self.raise(standing);
        self.inside += 1;
    }

    /// A caller has left the driver. Whether the watcher waits for that.
    pub(super) fn leave(&mut self) -> bool {
        self.inside -= 1;
        self.inside == 0 && std::mem::take(&mut self.awaited)
    }

    /// Whether it was down. A hold that a rescue has opened is down, whatever was pending.
    fn raise(&mut self, standing: &Standing) -> bool {
        if self.pending.is_some_and(|pending| standing.bank(self.direction).is_current(pending)) {
            return false;
        }
        self.pending = standing.raise(self.direction, self.priority);
        true
    }

    fn lower(&mut self, standing: &Standing) -> bool {
        let pending = self.pending.take();
        pending.inspect(|pending| standing.bank(self.direction).lower(*pending)).is_some()
    }

    /// One more copy stands behind a ticket. Copies behind an earlier ticket of the stream are complete before it.
    pub(super) fn follow(&mut self, pass: &Pass) {
        self.behind = Some(*pass);
    }

    /// One more copy, submitted at `now`, that time alone tells of.
    pub(super) fn lengthen(&mut self, now: Nanos, expected: Nanos) {
        self.free_at = self.free_at.max(now + START) + expected;
        self.until = self.until.max(self.free_at + SLACK);
    }

    pub(super) fn note_readiness(&mut self, standing: &Standing, tickets: &Tickets, now: Nanos) {
        let Some(last) = self.behind.filter(|last| tickets.is_done(last.ticket)) else { return };
        // The copy before them has completed, so they are running now.
        self.behind = None;
        self.free_at = self.free_at.max(now + last.tail);
        self.until = self.until.max(now + last.tail + Nanos(last.tail.0 / TAIL_MARGIN) + SLACK);
        if !last.ready {
            self.raise(standing);
        }
    }

    fn is_needed(&self, now: Nanos) -> bool {
        self.inside > 0 || now < self.until || self.behind.is_some_and(|last| last.ready)
    }

    /// Lowers the word if it is needed no more. Whether it did.
    pub(super) fn settle(&mut self, standing: &Standing, now: Nanos) -> bool {
        let lowered = !self.is_needed(now) && self.lower(standing);
        self.awaited = self.inside > 0;
        lowered
    }

    /// The copy with that ticket is not schedulable after all, so those behind it are not either: they raise when they
    /// are.
    pub(super) fn doubt(&mut self, standing: &Standing, ticket: Ticket) {
        if let Some(last) = self.behind.as_mut().filter(|last| last.ticket == ticket) {
            last.ready = false;
            self.until = Nanos::ZERO;
            self.lower(standing);
        }
    }

    /// It holds no other copy back from now on, whatever is still out.
    pub(super) fn let_through(&mut self, standing: &Standing) {
        self.lower(standing);
        self.behind = None;
        self.until = Nanos::ZERO;
    }

    /// Whether a ticket has become done since the last look.
    pub(crate) fn has_news(&self, tickets: &Tickets) -> bool {
        self.behind.is_some_and(|last| tickets.is_done(last.ticket))
    }

    /// The time that changes something, as seen at `now`.
    pub(crate) fn deadline(&self, now: Nanos) -> Nanos {
        let by_time = self.pending.is_some() && self.inside == 0 && self.until > now;
        if by_time { self.until } else { Nanos::MAX }
    }

    /// How long, from `now` on, the copies take for which the word is up.
    pub(crate) fn expected(&self, now: Nanos) -> Nanos {
        match (self.pending, self.behind) {
            (None, _) => Nanos::ZERO,
            (Some(_), Some(last)) => last.tail,
            (Some(_), None) => self.until.since(now),
        }
    }
}
