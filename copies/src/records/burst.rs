//! Bursts: urgent copies of one stream in close succession, which share one raise.
//!
//! Each completion write costs the device 1.4 us, a third of the time of a 64 KiB copy, and the host several driver
//! calls. So only every eighth copy of a stream gets a fence, and one in four of those while the word stays up from
//! one fence to the next. The completion of the others is estimated. Copies after an outstanding fence complete a
//! moment after it, by the time that such copies take. If a fence is done on time, and no bulk goes in chunks, later
//! copies are assumed to complete in the time that they take. An estimate is good enough: a word expresses preference,
//! never correctness, and handles of such copies ask the stream.
//!
//! The copies share a [`Hold`] on each engine. It is raised once, extended by each copy, and lowered by the watcher.
//! Such a copy takes the lock of the burst twice, and needs no driver call, allocation or clock beyond its own.
//!
//! A burst also keeps the *trust* in its stream: whether copies can start when they are submitted. A copy that still
//! waits for earlier work of its stream must not hold back other copies (traps T1, T2). Asking first would cost each
//! urgent copy a microsecond, and most can start at once, so copies of a trusted stream raise at submission. If a copy
//! does not complete in the time that it and all copies pending with it should take, it is suspect: its word is lowered
//! at once. The next copies of the stream are submitted with care: behind a marker, which raises for them when they can
//! start. If the caller states whether a copy can start ([`crate::copy::Request::ready`]), that overrides the trust.

use hal::Nanos;
use priority::{Direction, Priority};

use crate::records::fence::{Fence, Fences};
use crate::records::hold::{Hold, Pass};
use crate::records::standing::Standing;

/// While the word stays up from one fence to the next, a fence covers so many times as many copies.
const BURST: u32 = 4;

/// The number of copies that are submitted with care after a doubted one.
pub(crate) const CAREFUL_COPIES: u32 = 64;

/// The burst of one stream.
pub(crate) struct Burst {
    /// The place of the last copy, if a copy may follow it.
    last: Option<Pass>,
    /// The number of copies that have followed the fence of that place.
    followers: u32,
    /// The number of copies that the fence covers, its own included.
    serves: u32,
    /// The number of copies that a fence covers if no word is up.
    fence_every: u32,
    /// The number of copies that are still to be submitted with care.
    careful: u32,
    /// By direction.
    holds: [Hold; Direction::COUNT],
    /// Whether the watcher has it on its list.
    watched: bool,
}

impl Burst {
    /// The burst of a stream in which one in `fence_every` copies has a fence.
    pub(crate) fn new(fence_every: u32) -> Burst {
        let holds = Direction::ALL.map(Hold::new);
        Burst { last: None, followers: 0, serves: 0, fence_every, careful: 0, holds, watched: false }
    }

    /// A copy with a fence of its own begins or continues the burst; `ready` tells whether it counts as schedulable.
    /// Returns the time of the copies between it and the fence before it.
    pub(crate) fn begin(&mut self, direction: Direction, fence: Fence, ready: bool) -> Nanos {
        let goes_on = self.fence_every > 1 && self.holds.iter().any(Hold::is_up);
        self.serves = if goes_on { self.fence_every.saturating_mul(BURST) } else { self.fence_every };
        self.followers = 0;
        let first = Pass { direction, fence, ready, seen: false, tail: Nanos::ZERO, expected: Nanos::ZERO };
        self.last.replace(first).map_or(Nanos::ZERO, |before| before.tail)
    }

    /// Ends the burst: the next copy of the stream may have to wait for other work.
    pub(crate) fn end(&mut self) {
        self.last = None;
    }

    /// Lets a copy go without a fence if the last fence covers it, and raises for it, unless the copies before it
    /// wait to become schedulable. `timely` tells whether copies on this engine complete in the time that they take.
    pub(crate) fn enter(
        &mut self,
        standing: &Standing,
        fences: &Fences,
        direction: Direction,
        priority: Priority,
        expected: Nanos,
        timely: bool,
    ) -> Option<Pass> {
        let last = self.last.as_mut()?;
        if self.followers + 1 >= self.serves {
            return None;
        }
        let seen = fences.is_done(last.fence);
        let hold = &mut self.holds[direction.index()];
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

    /// The call of the copy has returned, at `now`, or has `failed` and there is no copy. Returns whether the watcher
    /// waits for that.
    pub(crate) fn leave(&mut self, pass: &Pass, failed: bool, now: Nanos) -> bool {
        if failed
            && !pass.seen
            && let Some(last) = self.last.as_mut().filter(|last| last.fence == pass.fence)
        {
            // There is no copy, so it adds no time between the fence and later copies.
            last.tail = last.tail - pass.expected;
        }
        let hold = &mut self.holds[pass.direction.index()];
        match pass.seen {
            _ if failed => {}
            false => hold.follow(pass),
            true => hold.lengthen(now, pass.expected),
        }
        pass.ready && hold.leave()
    }

    /// Puts the burst on the watcher's list. Returns whether it was not there: then the caller hands it over.
    pub(crate) fn enlist(&mut self) -> bool {
        !std::mem::replace(&mut self.watched, true)
    }

    /// Whether the next copy, which has a fence of its own, is to be submitted with care. Counts that copy.
    pub(crate) fn take_care(&mut self) -> bool {
        let careful = self.careful > 0;
        self.careful = self.careful.saturating_sub(1);
        careful
    }

    /// Raises for copies that have become schedulable. From now on copies behind a fence that is done are estimated by
    /// time.
    pub(crate) fn note_readiness(&mut self, standing: &Standing, fences: &Fences, now: Nanos) {
        self.holds.iter_mut().for_each(|hold| hold.note_readiness(standing, fences, now));
    }

    /// Lowers the words of copies that are complete by now, and calls `lowered` for their engines. Returns the holds,
    /// or `None` if all are over and the watcher may forget the burst.
    pub(crate) fn settle(
        &mut self,
        standing: &Standing,
        now: Nanos,
        mut lowered: impl FnMut(usize),
    ) -> Option<[Hold; Direction::COUNT]> {
        for (engine, hold) in self.holds.iter_mut().enumerate() {
            if hold.settle(standing, now) {
                lowered(engine);
            }
        }
        self.watched = self.holds.iter().any(Hold::is_busy);
        self.watched.then_some(self.holds)
    }

    /// The copy of that fence did not complete in its time. The copies behind it hold no other copy back either, and
    /// the next copies of the stream are submitted with care.
    pub(crate) fn doubt(&mut self, standing: &Standing, fence: Fence) {
        self.careful = CAREFUL_COPIES;
        self.last.iter_mut().filter(|last| last.fence == fence).for_each(|last| last.ready = false);
        self.holds.iter_mut().for_each(|hold| hold.doubt(standing, fence));
    }

    /// No thread watches the burst any more, so it holds no copy back.
    pub(crate) fn abandon(&mut self, standing: &Standing) {
        self.watched = false;
        self.holds.iter_mut().for_each(|hold| hold.let_through(standing));
    }
}

#[cfg(test)]
mod tests;
