//! Urgent copies: the driver's own call, with the word raised until the copy has completed.
//!
//! Most urgent copies follow the last fence of their stream, and their completion is estimated from it. A fence for
//! each copy would cost a burst a third of its speed.
#![allow(unsafe_code)] // copies are unsafe; the caller's promise is passed on

use hal::{Nanos, Result};
use priority::Direction;

use crate::decide::Setback;
use crate::submit::asked::{Asked, Planned, Went};
use hal::locks::lock;

impl Asked<'_> {
    /// Goes behind the last fence of the stream, with so many bytes; `None` if no fence covers the copy. The word is
    /// up before the driver is called.
    ///
    /// # Safety
    /// As for [`super::submit`].
    #[inline(always)]
    pub(super) unsafe fn go_covered(&self, direction: Direction, bytes: u64) -> Option<Result<()>> {
        let (stream, inner) = (self.stream, self.inner());
        let engine = inner.engine(direction);
        let (records, expected) = (&*inner.records, engine.expected(bytes));
        let timely = !engine.has_had_turns();
        let mut burst = lock(&stream.burst);
        let entered = burst.enter(&records.standing, &records.fences, direction, self.priority, expected, timely);
        drop(burst);
        let pass = entered.as_ref()?;
        let submitted = {
            let _first = inner.pace.urgent();
            // SAFETY: passed on to the caller.
            unsafe { self.copy_natively(direction) }
        };
        let now = if pass.is_timed() { inner.driver.host().now() } else { Nanos::ZERO };
        records.leave(&stream.burst, pass, submitted.is_err(), now);
        Some(submitted)
    }
}

impl Planned<'_> {
    /// # Safety
    /// As for [`super::submit`].
    pub(super) unsafe fn go_urgently(&self) -> Went {
        let known = &self.placed.known;
        let may_follow = known.depends != Some(true) && known.is_ready != Some(false);
        if may_follow && !known.is_blocking && known.setback.is_none() {
            // SAFETY: passed on to the caller.
            let covered = unsafe { self.asked.go_covered(self.direction(), self.asked.cargo.bytes()) };
            return covered.map_or(Err(Setback::Uncovered.into()), |submitted| Ok(submitted.map(|()| None)?));
        }
        // SAFETY: passed on to the caller.
        self.go_tracked(|_, _| Ok(unsafe { self.asked.copy_natively(self.direction()) }?))
    }
}
