//! Looks at copies that have not started, before a call that would keep the rescuer out of the driver, before memory is
//! freed, and before the layer closes.

use std::ops::ControlFlow::{self, Break, Continue};
use std::ops::Range;

use hal::Nanos;

use super::book::Book;
use super::callers::Takeover;
use super::carrier::Carrier;

/// A thread that will keep the rescuer out waits this long for a copy to become able to begin. After that its stream is
/// busy with other work, and its kernel may well begin after that work.
const READY_WITHIN: Nanos = Nanos::from_us(200);

/// The thread then waits this long for the copy to begin. With a free multiprocessor that takes some microseconds.
const BEGINS_WITHIN: Nanos = Nanos::from_ms(1);

/// The same for a thread that frees in stream order, and expects to return at once.
const LET_GO_WITHIN: Nanos = Nanos::from_us(50);

/// Such a thread tries this long to have a copy taken over that does not begin. After that another thread is inside the
/// driver, or every copy queue has copies that may wait for that very copy.
const TAKEN_OVER_WITHIN: Nanos = Nanos::from_ms(20);

/// The copies have begun, or will: no obstacle is known.
const WILL_BEGIN: ControlFlow<bool> = Break(true);

/// It is too early to tell.
const ASK_AGAIN: ControlFlow<bool> = Break(false);

impl Carrier {
    /// Leaves no copy under way that is known to need the rescuer. The thread has been about to keep that out since
    /// `since`, or to free `memory`. `suspects` tells that the program lately left no multiprocessor to a copy kernel.
    /// Returns whether it is so now; if not, the caller asks again.
    pub(super) fn stand_back(&self, since: Nanos, memory: Option<&Range<u64>>, suspects: bool) -> bool {
        let mut book = self.book();
        if !book.taken_over {
            if let Break(stands_back) = self.ask_prospect(&mut book, since, memory, suspects) {
                return stands_back;
            }
            if !self.take_over(&mut book) {
                // The copy is left to its kernel.
                return self.driver.host().now() >= since + TAKEN_OVER_WITHIN;
            }
        }
        self.go_on(&mut book);
        book.is_settled()
    }

    /// The future of the copies that have not begun, as far as the driver tells: the answer of
    /// [`Carrier::stand_back`], or `Continue` if an obstacle keeps them from beginning.
    fn ask_prospect(
        &self,
        book: &mut Book,
        since: Nanos,
        memory: Option<&Range<u64>>,
        suspects: bool,
    ) -> ControlFlow<bool> {
        let now = self.driver.host().now();
        let started = self.line.started();
        let follows = book.copies_now(started);
        let Some(first) = book.first_to_begin(started, memory) else { return WILL_BEGIN };
        if let Err(error) = self.ask_readiness(first, now) {
            self.note_failure(book, &error);
            return ASK_AGAIN;
        }
        let frees = memory.is_some();
        let (ready_within, begins_within) =
            if frees { (Nanos::ZERO, LET_GO_WITHIN) } else { (READY_WITHIN, BEGINS_WITHIN) };
        match first.ready_since {
            Some(ready_since) if now < ready_since + begins_within => ASK_AGAIN,
            Some(_) => Continue(()),
            // The copy comes after one that is being made, and can begin only when that is done.
            None if follows && !suspects => WILL_BEGIN,
            None if now < since + ready_within => ASK_AGAIN,
            None if suspects => Continue(()),
            None => WILL_BEGIN,
        }
    }

    /// Takes no copy any more, and leaves none behind that needs a thread. Returns whether that is so now. Copies that
    /// have not begun are taken over; with `insists`, even if threads are inside. If copies of the application keep the
    /// rescue out even then, they are left to their kernels.
    pub(super) fn close(&self, insists: bool) -> bool {
        let mut book = self.book();
        if !book.closed {
            // A copy that has begun ends by itself.
            let waits = !book.taken_over && book.first_to_begin(self.line.started(), None).is_some();
            if waits && !self.take_over(&mut book) {
                if !insists {
                    return false;
                }
                self.take_over_behind_scout(&mut book, Takeover::insist(&self.callers));
            }
            book.closed = true;
        }
        self.go_on(&mut book);
        book.is_settled()
    }
}
