//! A hold: a raised word for those copies of one stream that have no fence of their own.
//!
//! A hold is *needed* while a caller is inside the driver with such a copy, while such copies follow a fence that is
//! not done, and until the last of them should be complete.

use hal::Nanos;
use priority::{Direction, Priority};
use semaphores::Pending;

use crate::records::fence::{Fence, Fences};
use crate::records::standing::Standing;

/// The time from the return of a copy's call until the device begins the copy.
const START: Nanos = Nanos::from_us(2);
/// A hold stays up this much longer than its copies take. That is about the time that bulk in flight needs to leave the
/// link. If bulk begins again before the copy is complete, it fills the way to the host for tens of microseconds.
const SLACK: Nanos = Nanos::from_us(5);
/// One part in so many is added to the time of copies behind a fence. Many copies follow each other there, and the
/// last of them would lose more by an early end of the hold than bulk would gain.
const TAIL_MARGIN: u64 = 16;

/// The place of a copy behind the last copy with a fence. Return it ([`super::burst::Burst::leave`]) when the call of
/// the copy has returned.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub(crate) struct Pass {
    pub(super) direction: Direction,
    /// The fence in front of it.
    pub(super) fence: Fence,
    /// Whether the copy with that fence counts as schedulable. Only then is the word up for this copy.
    pub(super) ready: bool,
    /// Whether the fence was done already. Then the completion of this copy is estimated by time alone.
    pub(super) seen: bool,
    /// The time from the fence until this copy is complete.
    pub(super) tail: Nanos,
    /// The time that it takes on an idle engine.
    pub(super) expected: Nanos,
}

impl Pass {
    /// Whether the completion of the copy is estimated by time alone. Then the return of its call matters.
    pub(crate) fn is_timed(&self) -> bool {
        self.seen
    }
}

/// The hold of one stream on one engine. The watcher keeps a copy of it from its last look.
#[derive(Clone, Copy)]
pub(crate) struct Hold {
    direction: Direction,
    priority: Priority,
    pending: Option<Pending>,
    /// The number of callers inside the driver.
    inside: u32,
    /// Whether the watcher waits until the last of them has left.
    awaited: bool,
    /// The last copy behind a fence that is not done.
    behind: Option<Pass>,
    /// The time at which the engine should have made all copies that are estimated by time.
    free_at: Nanos,
    /// The hold is needed until this time in any case.
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

    /// Whether the hold is needed or a word of it is up.
    pub(super) fn is_busy(&self) -> bool {
        self.pending.is_some() || self.inside > 0 || self.behind.is_some()
    }

    /// Takes on `priority`, unless it is busy with another: a hold has one priority at a time. Returns whether it has
    /// it now.
    pub(super) fn take_on(&mut self, priority: Priority) -> bool {
        if !self.is_busy() {
            self.priority = priority;
        }
        self.priority == priority
    }

    pub(super) fn enter(&mut self, standing: &Standing) {
        // The watcher has to hear of a hold that was down, once the caller is out again.
        self.awaited |= self.raise(standing);
        self.inside += 1;
    }

    /// Returns whether the watcher waits for this.
    pub(super) fn leave(&mut self) -> bool {
        self.inside -= 1;
        self.inside == 0 && std::mem::take(&mut self.awaited)
    }

    /// Raises the word if it was down, and returns whether it was. A hold that a rescue has opened is down.
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

    /// Adds a copy behind a fence. Copies behind an earlier fence of the stream are complete before it.
    pub(super) fn follow(&mut self, pass: &Pass) {
        self.behind = Some(*pass);
    }

    /// Adds a copy that was submitted at `now` and is estimated by time alone.
    pub(super) fn lengthen(&mut self, now: Nanos, expected: Nanos) {
        self.free_at = self.free_at.max(now + START) + expected;
        self.until = self.until.max(self.free_at + SLACK);
    }

    pub(super) fn note_readiness(&mut self, standing: &Standing, fences: &Fences, now: Nanos) {
        let Some(last) = self.behind.filter(|last| fences.is_done(last.fence)) else { return };
        // The copy of the fence has completed, so those behind it run now.
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

    /// Lowers the word if it is needed no more. Returns whether it has.
    pub(super) fn settle(&mut self, standing: &Standing, now: Nanos) -> bool {
        let lowered = !self.is_needed(now) && self.lower(standing);
        self.awaited = self.inside > 0;
        lowered
    }

    /// The copy with that fence is not schedulable, so those behind it are not either. They raise when they become so.
    pub(super) fn doubt(&mut self, standing: &Standing, fence: Fence) {
        if let Some(last) = self.behind.as_mut().filter(|last| last.fence == fence) {
            last.ready = false;
            self.until = Nanos::ZERO;
            self.lower(standing);
        }
    }

    /// Lowers the word for good, with copies still under way.
    pub(super) fn let_through(&mut self, standing: &Standing) {
        self.lower(standing);
        self.behind = None;
        self.until = Nanos::ZERO;
    }

    /// Whether a fence has become done since the last look.
    pub(crate) fn has_news(&self, fences: &Fences) -> bool {
        self.behind.is_some_and(|last| fences.is_done(last.fence))
    }

    /// The next time that changes anything, as seen at `now`.
    pub(crate) fn deadline(&self, now: Nanos) -> Nanos {
        let by_time = self.pending.is_some() && self.inside == 0 && self.until > now;
        if by_time { self.until } else { Nanos::MAX }
    }

    /// The time from `now` until the copies of the raised word are complete.
    pub(crate) fn expected(&self, now: Nanos) -> Nanos {
        match (self.pending, self.behind) {
            (None, _) => Nanos::ZERO,
            (Some(_), Some(last)) => last.tail,
            (Some(_), None) => self.until.since(now),
        }
    }
}
