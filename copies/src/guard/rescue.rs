//! The rescuer: it finds that a copy is overdue, takes its carrier over, and has the copy engine make the copies that
//! no kernel makes.
#![allow(unsafe_code)] // copies and launches are unsafe; the promise is that of the caller that asked for the copy

use hal::{Error, Nanos, Result};

use super::book::{Book, Carried};
use super::callers::Takeover;
use super::carrier::Carrier;
use crate::kernel::Terms;
use crate::kernel::handshake::Maker;
use crate::records::Fence;

/// So many driver calls of the rescuer may fail in a row.
const FAILURES_MAX: u32 = 5;

/// After so many of them the copy engine gets no more tries.
const ENGINE_FAILURES_MAX: u32 = 2;

/// The time until the next look at a rescue, which goes on within microseconds.
const AT_ONCE: Nanos = Nanos::from_us(100);

/// The time for the first scout; no copy of the application enters the driver meanwhile. Each later scout may take
/// twice as long, up to the maximum: an engine that is busy with large copies comes to it later.
const SCOUT_WITHIN: Nanos = Nanos::from_ms(1);
const SCOUT_DOUBLED_MAX: u32 = 4;

impl Carrier {
    /// Asks the driver whether the first copy could have begun long ago, and takes over if it has not. Returns whether
    /// it has taken over. Waits for nothing.
    pub(super) fn take_over_if_overdue(&self, now: Nanos, patience: Nanos) -> bool {
        let Some(mut book) = self.try_book() else { return false };
        if book.taken_over {
            return false;
        }
        if let Some(first) = book.copies.front_mut() {
            match self.ask_readiness(first, now) {
                Ok(()) => book.failures = 0,
                Err(error) => self.note_failure(&mut book, &error),
            }
        }
        book.is_overdue(self.line.started(), now, patience) && self.take_over(&mut book)
    }

    /// Goes on with a rescue, if there is one. Returns the time of the next look. Calls the driver, and waits for
    /// nothing.
    pub(super) fn look(&self, now: Nanos, patience: Nanos) -> Option<Nanos> {
        let soon = Some(now + Nanos(patience.0 / 4));
        let Some(mut book) = self.try_book() else { return soon };
        match (book.taken_over, book.copies.is_empty()) {
            (true, _) if self.go_on(&mut book) => Some(now + AT_ONCE),
            (false, true) => None,
            _ => soon.filter(|_| !book.closed),
        }
    }

    /// Asks the driver whether the copy could begin, if that is not known yet.
    pub(super) fn ask_readiness(&self, copy: &mut Carried, now: Nanos) -> Result<()> {
        if copy.ready_since.is_none() {
            copy.ready_since = self.driver.event_query(copy.ready)?.then_some(now);
        }
        Ok(())
    }

    /// Cancels all pending copies, if those that replace them can be made: neither a thread inside the driver nor a
    /// copy queue keeps them out. Returns whether it has; if not, it will be tried again.
    pub(super) fn take_over(&self, book: &mut Book) -> bool {
        // A scout that is still on its way is answer enough. A driver that fails here gives its reason when the rescue
        // calls it.
        if !self.driver.stream_query(self.rescues).unwrap_or(true) {
            return false;
        }
        // While the take-over lives, no copy that the layer sees enters a queue, so the scout's result stays true.
        let Some(takeover) = Takeover::begin(&self.callers, self.driver.host()) else { return false };
        self.take_over_behind_scout(book, takeover)
    }

    /// Cancels all pending copies if a scout gets through, and no copy has begun meanwhile. Returns whether it has.
    ///
    /// A rescue in a copy queue behind copies of the application may wait there for ever, because those may wait for
    /// it. Its kernel needs no copy queue, so it is not cancelled then.
    pub(super) fn take_over_behind_scout(&self, book: &mut Book, takeover: Takeover) -> bool {
        let (started, within) = (self.line.started(), Nanos(SCOUT_WITHIN.0 << book.scouts_lost.min(SCOUT_DOUBLED_MAX)));
        let passed = self.scout.gets_through(&book.directions(), self.rescues, within);
        // If the driver refuses the scout, the rescue deals with the refusal.
        if passed.is_err() {
            self.records.counters.failed();
        }
        let passed = passed.unwrap_or(true);
        book.scouts_lost = if passed { 0 } else { book.scouts_lost + 1 };
        let stands_still = passed && self.line.started() == started;
        if stands_still {
            book.take_over(&self.line, takeover);
        }
        stands_still
    }

    /// Goes on with a carrier that was taken over. Returns whether there is more to do at once.
    pub(super) fn go_on(&self, book: &mut Book) -> bool {
        let started = self.line.started();
        // A launch that has ended by copying is done before the next one has started.
        self.tidy(book);
        let (settled, rescued) = book.settle(started, self.line.outcome());
        self.records.counters.guard_rescues.add(rescued);
        if settled {
            self.rescue(book);
        } else if let Err(error) = self.driver.stream_query(self.copies) {
            // A kernel that does not write its outcome may have died.
            self.note_failure(book, &error);
        }
        if book.copies.is_empty() && !book.closed {
            match self.driver.stream_query(self.copies) {
                Ok(drained) => book.taken_over = !drained,
                Err(error) => self.note_failure(book, &error),
            }
        }
        if book.is_settled() {
            book.takeover = None;
        }
        !book.is_settled()
    }

    /// Submits, in order, the copies that no kernel makes.
    fn rescue(&self, book: &mut Book) {
        let mut copying = None;
        for index in 0..book.copies.len() {
            let copy = &mut book.copies[index];
            if copy.maker == Maker::Kernel {
                copying = Some(copy.number);
            }
            while copy.maker >= Maker::Rescuer && copy.maker < Maker::Written {
                // A call that fails once may succeed at the next look; a call that always fails has a cause.
                let by_kernel = book.failures >= ENGINE_FAILURES_MAX;
                if let Err(error) = self.advance(copy, copying, by_kernel) {
                    return self.note_failure(book, &error);
                }
                book.failures = 0;
            }
        }
    }

    /// The next step of a rescue. `copying` is the launch before it that makes its copy itself; `by_kernel` tells that
    /// the copy engine will not make this one.
    fn advance(&self, copy: &mut Carried, copying: Option<u32>, by_kernel: bool) -> Result<()> {
        let driver = &*self.driver;
        match copy.maker {
            Maker::Rescuer => driver.stream_wait_event(self.rescues, copy.ready)?,
            // SAFETY: the caller that asked for the copy keeps its ranges until it has completed, and it has not: only
            // its kernel, which was cancelled, or this copy makes it complete.
            Maker::Joined => unsafe { self.copy_instead(copy, by_kernel)? },
            _ => {
                // Two threads may give one stream copies that know nothing of each other, and `done` only ever grows.
                if let Some(number) = copying {
                    driver.mem_op(self.rescues, self.line.wait_done(number))?;
                }
                driver.mem_op(self.rescues, self.line.write_done(copy.number))?;
            }
        }
        copy.maker = match copy.maker {
            Maker::Rescuer => Maker::Joined,
            Maker::Joined => Maker::Copied,
            _ => Maker::Written,
        };
        Ok(())
    }

    /// Makes the copy by copy engine, which needs no multiprocessor. The driver refuses that if the application has
    /// freed the memory in stream order since, even before the stream reaches the free. A kernel still reaches the
    /// memory.
    ///
    /// # Safety
    /// The ranges are valid until the copy has completed.
    unsafe fn copy_instead(&self, copy: &Carried, by_kernel: bool) -> Result<()> {
        if by_kernel {
            let terms = Terms { workers: copy.workers, yields: None, handshake: None, stream: self.rescues };
            // SAFETY: passed on to the caller; the kernel gets the same ranges.
            return unsafe { copy.load.launch(&self.kernel, terms) };
        }
        // SAFETY: passed on to the caller.
        unsafe { copy.load.copy_by_engine(&*self.driver, copy.direction, self.rescues) }
    }

    /// Counts a failed driver call. After too many in a row no thread shall wait for a copy that will never be made:
    /// the copies that are not done are lost, and the context fails from then on.
    pub(super) fn note_failure(&self, book: &mut Book, error: &Error) {
        self.records.counters.failed();
        book.failures += 1;
        if book.failures < FAILURES_MAX {
            return;
        }
        (book.closed, book.taken_over) = (true, true);
        self.line.cancel(book.last);
        self.tidy(book);
        // Counted before any waiting thread goes on and asks. If the context itself has failed, the driver reports
        // that.
        if !book.copies.is_empty() && self.driver.stream_query(self.rescues).is_ok() {
            let fences: Vec<Fence> = book.copies.iter().map(|copy| copy.fence).collect();
            self.records.standing.lose(&fences, error);
        }
        self.line.finish(book.last);
        self.tidy(book);
    }
}
