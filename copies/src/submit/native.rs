//! The native way: the driver's own call, for copies that are alone, and for those that can go no other way.
#![allow(unsafe_code)] // copies are unsafe; the caller's promise is passed on; the tests make some

use channels::{Shape, copy_shape};
use hal::Result;
use priority::Direction;

use crate::decide::{Plan, Reason, Setback, Spent, is_tracked};
use crate::native::Native;
use crate::records::Room;
use crate::state::{SEEN_RUN_BYTES, StreamState};
use crate::submit::asked::{Asked, Planned, Went};

impl Asked<'_> {
    /// Has the driver make the copy. With [`Direction::Peer`] it finds the direction.
    ///
    /// # Safety
    /// As for [`super::submit`].
    #[inline(always)]
    pub(super) unsafe fn copy_natively(&self, direction: Direction) -> Result<()> {
        // SAFETY: passed on to the caller. A batch always has a call of its own.
        unsafe { copy_natively(self.stream, &self.cargo.first().shape, direction, self.native) }
    }
}

#[inline(never)] // it is large, and several ways come here
unsafe fn copy_natively(
    stream: &StreamState,
    shape: &Shape,
    direction: Direction,
    native: Option<&Native<'_>>,
) -> Result<()> {
    stream.note_engine();
    stream.natively(|| match native {
        Some(native) => native.result(),
        // SAFETY: passed on to the caller.
        None => unsafe { copy_shape(&*stream.inner.driver, direction, shape, stream.stream) },
    })
}

impl Planned<'_> {
    /// # Safety
    /// As for [`super::submit`].
    pub(super) unsafe fn go_natively(&self) -> Went {
        if self.is_bulk() && self.placed.ends_lull_late() {
            self.inner().records.traffic(self.direction()).end_lull();
        }
        // SAFETY: passed on to the caller.
        let copy = || unsafe { self.asked.copy_natively(self.direction()) };
        if self.is_seen_to_end() {
            return self.go_tracked(|tracked, _| {
                self.take_turn(tracked.room.unwrap_or_default())?;
                Ok(copy()?)
            });
        }
        copy()?;
        self.give_way();
        Ok(None)
    }

    /// Whether the watcher sees the copy complete. Of bulk without a lull it sees the last copy of each run.
    fn is_seen_to_end(&self) -> bool {
        let ends_run = || self.asked.stream.ends_run(self.asked.cargo.bytes(), SEEN_RUN_BYTES);
        is_tracked(&self.placed.known, self.plan, self.spent)
            && (self.plan != Plan::Native(Reason::LeftAlone) || ends_run())
    }

    /// Whether a copy that goes whole in its turn still may, beside the bulk that is counted now. The fence behind it
    /// ends the turn.
    fn take_turn(&self, room: Room) -> Went<()> {
        if self.spent != Some(Spent::Stated) {
            return Ok(());
        }
        self.engine().note_turns();
        let budget = self.asked.budget(self.direction(), room);
        budget.admits_whole().then_some(()).ok_or(Setback::Occupied.into())
    }

    /// Lets other streams have their turn behind a bulk copy. Without this the engine goes on with the same stream as
    /// long as that has copies and no other work (facts, section 2).
    fn give_way(&self) {
        let (inner, stream) = (self.inner(), self.asked.stream.stream);
        if self.gives_way() && !stream.is_legacy() {
            // If the write fails, others wait longer, and have no other harm: the copy itself has gone.
            let written = inner.driver.mem_op(stream, inner.records.fences.write_nothing());
            written.unwrap_or_else(|_| inner.records.counters.failed());
        }
    }
}

#[cfg(test)]
mod tests {
    use hal::{HostAllocFlags, Nanos};
    use options::Options;
    use priority::Priority;

    use super::*;
    use crate::cargo::Cargo;
    use crate::overtake::Overtake;
    use crate::request::Request;
    use crate::stream::PriorityStream;
    use crate::submit::asked::{Miss, Placed};

    const SHORT_BYTES: u64 = 4 << 20;
    const LONG_BYTES: u64 = 16 << 20;

    /// A copy of a stream with all answers, and the plan that follows from them.
    fn planned<'a>(stream: &'a PriorityStream, request: &'a Request) -> (Placed<'a>, Plan, Option<Spent>) {
        let mut placed = Placed::new(Asked::new(stream.state(), Cargo::One(request), None));
        let (plan, spent) = placed.plan();
        (placed, plan, spent)
    }

    /// Three threads have decided on their copies before the first of these is counted.
    #[test]
    fn a_turn_that_another_thread_has_taken_is_not_taken_twice() {
        let driver = crate::soft::driver();
        let overtake = Overtake::attach(&driver, Options::default()).unwrap();
        let streams = [(); 3].map(|()| overtake.stream(Priority::LOWEST).unwrap());
        let expected = overtake.expect(overtake.priorities().highest(), None).unwrap();
        let camera = expected.tolerating(Nanos::from_us(150));
        let host = driver.host_alloc(LONG_BYTES, HostAllocFlags::PORTABLE).unwrap();
        let device = driver.mem_alloc(LONG_BYTES).unwrap();
        let requests = [SHORT_BYTES, SHORT_BYTES, LONG_BYTES].map(|bytes| Request::htod(device, host, bytes));
        let copies: Vec<_> = streams.iter().zip(&requests).map(|(stream, request)| planned(stream, request)).collect();
        let plans: Vec<_> = copies.iter().map(|(_, plan, spent)| (*plan, *spent)).collect();
        let whole = (Plan::Native(Reason::WithinBudget), Some(Spent::Stated));
        assert_eq!(plans, [whole, whole, (Plan::Engine { raises: false }, None)]);
        let go = |(placed, plan, spent): &(Placed<'_>, Plan, Option<Spent>)| {
            // SAFETY: both sides have `LONG_BYTES`, and live until the streams are idle.
            unsafe { Planned { placed, asked: &placed.asked, plan: *plan, spent: *spent }.go() }
        };
        assert!(go(&copies[0]).is_ok());
        for late in &copies[1..] {
            assert!(matches!(go(late), Err(Miss::Setback(Setback::Occupied))), "{:?}", late.1);
        }
        streams.iter().for_each(|stream| stream.synchronize().unwrap());
        drop(copies);
        drop((camera, streams, overtake));
        // SAFETY: no copy is under way any more.
        unsafe { driver.host_free(host) }.unwrap();
        driver.mem_free(device).unwrap();
    }
}
