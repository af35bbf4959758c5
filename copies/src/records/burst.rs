//! Bursts: urgent copies of one stream that follow each other closely and share one raise.
//!
//! Every completion write costs the device 1.4 us, a third of what a 64 KiB copy costs, and the host several driver
//! calls. So only every eighth copy of a stream gets a ticket (`ticket_every`), and one in four of those while the word
//! stays up from one ticket to the next. Copies that follow while that ticket is outstanding are known to be complete a
//! moment after it, by the time that copies take; copies that follow when it has been seen on time are taken to be
//! complete after the time that they take, unless bulk goes in chunks. That is an estimate, which is good enough: a
//! word expresses preference, never correctness, and handles of such copies ask the stream.
//!
//! The copies share a [`Hold`] on each engine: it is raised once, lengthened by every copy, and lowered by the watcher.
//! Such a copy costs its caller the lock around the burst twice, and no call, allocation or clock beyond its own.
//!
//! A burst also keeps the *trust* in its stream: whether copies are schedulable when they are submitted. A copy that
//! still waits for earlier work of its stream must not hold others back (traps T1, T2). Finding out beforehand costs
//! every urgent copy a microsecond, and most are schedulable at once. So copies of a trusted stream raise at
//! submission. One that does not complete in the time that it and everything pending beside it should take is doubted:
//! its word is lowered at once, and the next copies of the stream are submitted with care: behind a marker that raises
//! for them when they have become schedulable.

use hal::Nanos;
use terms::{Direction, Priority};

use crate::records::hold::{Hold, Pass};
use crate::records::standing::{Standing, index};
use crate::records::ticket::{Ticket, Tickets};

/// A ticket serves so many times as many copies while the word stays up from one ticket to the next.
const BURST: u32 = 4;

/// Copies that are submitted with care after one was doubted.
pub(crate) const CAREFUL_COPIES: u32 = 64;

/// The burst of one stream.
pub(crate) struct Burst {
    /// The place of the last copy, if another may follow it.
    last: Option<Pass>,
    /// How many copies have followed the ticket of that place.
    followers: u32,
    /// How many copies that ticket serves, its own included.
    serves: u32,
    /// How many copies a ticket serves that comes out of the blue.
    ticket_every: u32,
    /// How many copies are still to be submitted with care.
    careful: u32,
    /// H2D and D2H.
    holds: [Hold; 2],
    /// Whether the watcher has it on its list.
    watched: bool,
}

impl Burst {
    /// The burst of a stream where every so-many-th copy has a ticket.
    pub(crate) fn new(ticket_every: u32) -> Burst {
        let holds = [Direction::HostToDevice, Direction::DeviceToHost].map(Hold::new);
        Burst { last: None, followers: 0, serves: 0, ticket_every, careful: 0, holds, watched: false }
    }

    /// A copy with a ticket of its own begins or continues a burst; `ready` says whether it is taken to be schedulable.
    /// How long the copies take that stand between it and the ticket before it.
    pub(crate) fn begin(&mut self, direction: Direction, ticket: Ticket, ready: bool) -> Nanos {
        let goes_on = self.ticket_every > 1 && self.holds.iter().any(Hold::is_up);
        self.serves = if goes_on { self.ticket_every.saturating_mul(BURST) } else { self.ticket_every };
        self.followers = 0;
        let first = Pass { direction, ticket, ready, seen: false, tail: Nanos::ZERO, expected: Nanos::ZERO };
        self.last.replace(first).map_or(Nanos::ZERO, |before| before.tail)
    }

    /// The next copy of the stream may have to wait for something else, so it does not belong to the burst.
    pub(crate) fn end(&mut self) {
        self.last = None;
    }

    /// Lets a copy go without a ticket if the last one still serves, and holds off what is below it from now on. The
    /// word is up when this returns, if it is to be up at all. `timely` says that time alone may tell when a copy of
    /// this engine is complete.
    pub(crate) fn enter(
        &mut self,
        standing: &Standing,
        tickets: &Tickets,
        direction: Direction,
        priority: Priority,
        expected: Nanos,
        timely: bool,
    ) -> Option<Pass> {
        let last = self.last.as_mut()?;
        if self.followers + 1 >= self.serves {
            return None;
        }
        let seen = tickets.is_done(last.ticket);
        let hold = &mut self.holds[index(direction)];
        let by_time = last.ready && timely && self.careful == 0;
        if (seen && !by_time) || !hold.take_on(priority) {
            return None;
        }
        self.careful = self.careful.saturating_sub(1);
        self.followers += 1;
        if !seen {
            last.tail += expected;
        }
        if last.ready {
            hold.enter(standing);
        }
        Some(Pass { direction, seen, expected, ..*last })
    }

    /// The call of the copy has returned: at `now`, if time alone tells when the copy is complete; `failed` where there
    /// is no copy. Whether the watcher waits for that.
    pub(crate) fn leave(&mut self, pass: &Pass, failed: bool, now: Nanos) -> bool {
        if failed
            && !pass.seen
            && let Some(last) = self.last.as_mut().filter(|last| last.ticket == pass.ticket)
        {
            // It takes no time between the ticket and the copies that come after it.
            last.tail = last.tail - pass.expected;
        }
        let hold = &mut self.holds[index(pass.direction)];
        match pass.seen {
            _ if failed => {}
            false => hold.follow(pass),
            true => hold.lengthen(now, pass.expected),
        }
        pass.ready && hold.leave()
    }

    /// Puts it on the watcher's list. Whether it was not there, so that the caller has to hand it over.
    pub(crate) fn enlist(&mut self) -> bool {
        !std::mem::replace(&mut self.watched, true)
    }

    /// Whether the next copy, which has a ticket of its own, is to be submitted with care; counts that copy.
    pub(crate) fn take_care(&mut self) -> bool {
        let careful = self.careful > 0;
        self.careful = self.careful.saturating_sub(1);
        careful
    }

    /// Raises for copies that have become schedulable, and reckons by time from now on those that followed a ticket
    /// that is done.
    pub(crate) fn note_readiness(&mut self, standing: &Standing, tickets: &Tickets, now: Nanos) {
        self.holds.iter_mut().for_each(|hold| hold.note_readiness(standing, tickets, now));
    }

    /// Lowers what is complete by now. The holds as they are then, or `None` where nothing is left of them and the
    /// watcher may forget about it; `lowered` hears of the engines whose words it no longer holds up.
    pub(crate) fn settle(
        &mut self,
        standing: &Standing,
        now: Nanos,
        mut lowered: impl FnMut(usize),
    ) -> Option<[Hold; 2]> {
        for (engine, hold) in self.holds.iter_mut().enumerate() {
            if hold.settle(standing, now) {
                lowered(engine);
            }
        }
        self.watched = self.holds.iter().any(Hold::is_busy);
        self.watched.then_some(self.holds)
    }

    /// The copy of that ticket did not complete in its time, so those behind it hold no others back either, and the
    /// next copies of the stream are submitted with care.
    pub(crate) fn doubt(&mut self, standing: &Standing, ticket: Ticket) {
        self.careful = CAREFUL_COPIES;
        self.last.iter_mut().filter(|last| last.ticket == ticket).for_each(|last| last.ready = false);
        self.holds.iter_mut().for_each(|hold| hold.doubt(standing, ticket));
    }

    /// No thread watches it any more, so it holds no copies back.
    pub(crate) fn abandon(&mut self, standing: &Standing) {
        self.watched = false;
        self.holds.iter_mut().for_each(|hold| hold.let_through(standing));
    }
}

#[cfg(test)]
mod tests;
