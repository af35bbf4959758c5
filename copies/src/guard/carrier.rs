//! A carrier: the streams and words over which copies of one application stream go by guarded kernel.
#![allow(unsafe_code)] // copies and launches are unsafe; the caller's promise is passed on

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use channels::{Direction, Refusal, Shape, copy_shape};
use hal::locks::unpoisoned;
use hal::{Driver, Error, Event, Host, Nanos, Result, Stream, StreamFlags};
use semaphores::Words;

use super::book::{Book, Maker, Pending, User};
use super::callers::Callers;
use super::handshake::{Line, Verdict, is_reached, verdict};
use crate::kernel::{CopyKernel, Descriptor, INLINE_DESCRIPTORS, Workers, Yield};
use crate::pool::Pool;
use crate::records::Records;

/// Copies on a carrier at once: well below what a stream holds before a submission blocks, because its lock is held.
const PENDING_MAX: usize = 256;

/// How often driver calls of the rescuer may fail in a row.
const FAILURES_MAX: u32 = 5;

/// After how many of them a copy is no longer offered to the copy engine.
const ENGINE_FAILURES_MAX: u32 = 2;

/// How soon to look again at what decides itself within microseconds.
const AT_ONCE: Nanos = Nanos::from_us(100);

/// A copy that asks for a carrier.
pub(crate) struct Guarded<'a> {
    /// The application's stream.
    pub(crate) stream: Stream,
    /// What to copy, as the driver names it.
    pub(crate) shapes: &'a [Shape],
    /// The same for the kernel, as the device sees it; as many as one launch takes.
    pub(crate) descriptors: &'a [Descriptor],
    /// Which engine a rescue takes.
    pub(crate) direction: Direction,
    /// Who copies.
    pub(crate) workers: Workers,
    /// What the kernel yields to.
    pub(crate) yields: Yield,
}

/// The streams and words.
pub(super) struct Carrier {
    driver: Arc<dyn Driver>,
    /// Where kernels go.
    pub(super) copies: Stream,
    /// Where the word is waited for that says that a copy is done.
    pub(super) waits: Stream,
    /// Where copies go that kernels did not make.
    pub(super) rescues: Stream,
    line: Line,
    book: Mutex<Book>,
}

/// What a carrier is to a stream that asks for one.
pub(super) enum Offer<'a> {
    /// It has copies of the stream under way, and takes another.
    Present(MutexGuard<'a, Book>),
    /// It has copies of the stream under way, and takes no other: none may go by any other carrier either.
    Refused,
    /// Nobody has it.
    Free(MutexGuard<'a, Book>),
    /// Somebody else has it, or it takes nothing at present.
    Taken,
}

/// What a submission left behind.
pub(super) struct Carried {
    /// What the application's stream has to wait for; `None` where the driver could not be told.
    pub(super) leave: Option<Event>,
    pub(super) number: u32,
}

/// What somebody who is about to keep the rescuer out gives the copies that have not begun.
pub(super) struct Notice {
    pub(super) since: Nanos,
    /// How long they may take until they could begin.
    pub(super) ready_within: Nanos,
    /// How long from then until they have begun.
    pub(super) begins_within: Nanos,
    /// Which copies it is about, where not about all: those that touch this memory.
    pub(super) memory: Option<Range<u64>>,
    /// Whether the program has been seen to leave no multiprocessor to a copy kernel.
    pub(super) suspects: bool,
}

/// What may become of copies that have not begun.
enum Prospect {
    /// They have, or will: nothing is known to keep them.
    Well,
    Open,
    /// Something keeps them.
    Ill,
}

/// What a look at a carrier came to.
#[derive(Default)]
pub(super) struct Looked {
    /// When to look again.
    pub(super) again: Option<Nanos>,
    /// Whether it was taken over at this look.
    pub(super) taken_over: bool,
}

impl Carrier {
    /// Makes the streams of the `index`th carrier in the current context.
    pub(super) fn new(driver: &Arc<dyn Driver>, words: &Arc<Words>, index: u64) -> Result<Carrier> {
        let mut carrier = Carrier {
            driver: Arc::clone(driver),
            copies: Stream::DEFAULT,
            waits: Stream::DEFAULT,
            rescues: Stream::DEFAULT,
            line: Line::new(words, index),
            book: Mutex::default(),
        };
        // The places that become free on multiprocessors go to the most urgent stream first.
        let made = driver.priority_range().and_then(|range| {
            for stream in [&mut carrier.copies, &mut carrier.waits, &mut carrier.rescues] {
                *stream = driver.stream_create(StreamFlags::NON_BLOCKING, range.greatest)?;
            }
            Ok(())
        });
        made.inspect_err(|_| carrier.end(&Pool::default()))?;
        Ok(carrier)
    }

    fn try_book(&self) -> Option<MutexGuard<'_, Book>> {
        match self.book.try_lock() {
            Ok(book) => Some(book),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The book, in the host's time: whoever holds it makes driver calls, though none that waits for the device.
    pub(super) fn book(&self, host: &dyn Host) -> MutexGuard<'_, Book> {
        loop {
            if let Some(book) = self.try_book() {
                return book;
            }
            host.pause();
        }
    }

    fn tidy(&self, book: &mut Book, events: &Pool<Event>) {
        book.tidy(self.line.done()).into_iter().for_each(|event| events.give(event));
    }

    /// What this carrier is to `user`.
    pub(super) fn offer(&self, user: User, events: &Pool<Event>) -> Offer<'_> {
        let mut book = self.book(self.driver.host());
        self.tidy(&mut book, events);
        match (book.user == Some(user), book.takes(user) && book.pending.len() < PENDING_MAX) {
            (true, true) => Offer::Present(book),
            (true, false) => Offer::Refused,
            (false, true) => Offer::Free(book),
            (false, false) => Offer::Taken,
        }
    }

    /// The stream of that handle has gone. What it has under way goes on; the handle may come back as another stream.
    pub(super) fn forget(&self, stream: Stream) {
        let mut book = self.book(self.driver.host());
        book.user = book.user.map(|user| if user.has_handle(stream) { User::GONE } else { user });
    }

    /// Counts launches on from `number`, as after so many of them without a take-over. Nothing is under way.
    pub(super) fn skip_to(&mut self, number: u32) {
        unpoisoned(self.book.get_mut()).last = number;
        self.line.skip_to(number);
    }

    /// Runs a kernel that is cancelled before it begins: whatever the driver does at a first launch is done, and the
    /// words are seen to work. Waits for it.
    pub(super) fn try_out(&self, kernel: &CopyKernel, yields: Yield) -> Result<bool> {
        // Nothing has been launched, so that everything up to 0 is cancelled and done.
        // SAFETY: it copies nothing; the words outlive the streams (see `Guard`).
        unsafe {
            kernel.launch_guarded(&[], Workers { blocks: 1, warps: 1 }, yields, &self.line.handshake(0), self.copies)?
        };
        self.driver.stream_synchronize(self.copies)?;
        Ok(verdict(0, self.line.started(), self.line.outcome()) == Verdict::Cancelled)
    }

    /// Launches the copy's kernel to run after `ready`. An error means that nothing was launched.
    ///
    /// # Safety
    /// The ranges of the shapes stay valid until the copy has completed, and the device sees them as the descriptors
    /// say.
    pub(super) unsafe fn carry(
        &self,
        mut book: MutexGuard<'_, Book>,
        copy: &Guarded<'_>,
        ready: Event,
        tools: &Tools<'_>,
    ) -> std::result::Result<Carried, Refusal> {
        // Nobody takes over while the book is in hand, and what was taken over has gone: see `Book::takes`.
        debug_assert!(!book.taken_over && !book.closed, "a carrier that takes nothing was given a copy");
        self.line.pass(book.done());
        let number = book.last.wrapping_add(1);
        self.driver.stream_wait_event(self.copies, ready)?;
        let handshake = self.line.handshake(number);
        // SAFETY: passed on to the caller; the words outlive the streams (see `Guard`).
        unsafe { tools.kernel.launch_guarded(copy.descriptors, copy.workers, copy.yields, &handshake, self.copies)? };
        book.last = number;
        book.user = Some(User::here(copy.stream));
        book.pending.push_back(Pending {
            number,
            ready,
            ready_since: None,
            shapes: copy.shapes.to_vec(),
            direction: copy.direction,
            descriptors: copy.descriptors.to_vec(),
            workers: copy.workers,
            maker: Maker::Kernel,
        });
        // From here on the copy is under way, whatever fails.
        let waited = self.driver.mem_op(self.waits, self.line.wait_done(number));
        let leave = waited.and_then(|()| tools.events.mark(&*self.driver, self.waits));
        Ok(Carried { leave: leave.inspect_err(|_| tools.records.counters.failed()).ok(), number })
    }

    /// Waits on the host until a copy is done, where its stream cannot be made to.
    pub(super) fn wait_here(&self, number: u32, ask_every: Nanos) -> Result<()> {
        let host = self.driver.host();
        let mut is_done = || is_reached(self.line.done(), number);
        while !is_done() {
            host.wait_until(Some(host.now() + ask_every), &mut is_done);
            self.driver.stream_query(self.copies)?;
        }
        Ok(())
    }

    /// Looks whether something is overdue, and goes on with rescues. Calls the driver, and waits for nothing.
    pub(super) fn look(&self, now: Nanos, patience: Nanos, tools: &Tools<'_>) -> Looked {
        let (soon, at_once) = (Some(now + Nanos(patience.0 / 4)), Some(now + AT_ONCE));
        let Some(mut book) = self.try_book() else { return Looked { again: soon, taken_over: false } };
        self.tidy(&mut book, tools.events);
        let overdue = !book.taken_over && self.is_overdue(&mut book, now, patience, tools);
        let overdue = overdue && self.take_over(&mut book, tools);
        let again = match (book.taken_over, book.pending.is_empty()) {
            (true, _) if self.go_on(&mut book, tools) => at_once,
            (false, true) => None,
            _ => (!book.closed).then_some(soon).flatten(),
        };
        Looked { again, taken_over: overdue }
    }

    /// Whether the first copy could have begun long ago and has not.
    fn is_overdue(&self, book: &mut Book, now: Nanos, patience: Nanos, tools: &Tools<'_>) -> bool {
        let Some(first) = book.pending.front_mut() else { return false };
        match self.ask(first, now) {
            Ok(()) => book.failures = 0,
            Err(error) => self.note_failure(book, &error, tools),
        }
        book.is_overdue(self.line.started(), now, patience)
    }

    /// Whether the copy could begin, if that is not known yet.
    fn ask(&self, pending: &mut Pending, now: Nanos) -> Result<()> {
        if pending.ready_since.is_none() {
            pending.ready_since = self.driver.event_query(pending.ready)?.then_some(now);
        }
        Ok(())
    }

    /// Cancels all that is pending, unless somebody might keep the copies that take its place out of the driver.
    /// Whether it did.
    fn take_over(&self, book: &mut Book, tools: &Tools<'_>) -> bool {
        let alone = tools.callers.begin_to_take(self.driver.host());
        if alone {
            book.take_over(&self.line);
        }
        alone
    }

    /// Goes on with a carrier that was taken over. Whether there is more to do at once.
    fn go_on(&self, book: &mut Book, tools: &Tools<'_>) -> bool {
        let more = self.go_further(book, tools);
        if !more && std::mem::take(&mut book.taking) {
            tools.callers.have_taken();
        }
        more
    }

    fn go_further(&self, book: &mut Book, tools: &Tools<'_>) -> bool {
        let started = self.line.started();
        // A launch that has ended by copying is done before the next has started.
        self.tidy(book, tools.events);
        let (settled, rescued) = book.settle(started, self.line.outcome());
        tools.records.counters.guard_rescued(rescued);
        if settled {
            self.rescue(book, tools);
        } else if let Err(error) = self.driver.stream_query(self.copies) {
            // What does not say what became of it may have died.
            self.note_failure(book, &error, tools);
        }
        if book.pending.is_empty() && !book.closed {
            match self.driver.stream_query(self.copies) {
                Ok(drained) => book.taken_over = !drained,
                Err(error) => self.note_failure(book, &error, tools),
            }
        }
        !book.is_settled()
    }

    /// Submits what nobody else will copy, in order.
    fn rescue(&self, book: &mut Book, tools: &Tools<'_>) {
        let mut copying = None;
        for index in 0..book.pending.len() {
            let pending = &mut book.pending[index];
            if pending.maker == Maker::Kernel {
                copying = Some(pending.number);
            }
            while pending.maker >= Maker::Rescuer && pending.maker < Maker::Written {
                // What fails once may succeed at the next look; what goes on failing has its reason.
                let by_kernel = book.failures >= ENGINE_FAILURES_MAX;
                if let Err(error) = self.advance(pending, copying, by_kernel, tools) {
                    return self.note_failure(book, &error, tools);
                }
                book.failures = 0;
            }
        }
    }

    /// `copying` is the launch before it that makes its copy itself; `by_kernel` says that the copy engine will not.
    fn advance(&self, pending: &mut Pending, copying: Option<u32>, by_kernel: bool, tools: &Tools<'_>) -> Result<()> {
        let driver = &*self.driver;
        match pending.maker {
            Maker::Rescuer => driver.stream_wait_event(self.rescues, pending.ready)?,
            // SAFETY: whoever asked for the copy keeps its ranges until it has completed, and it has not: only its
            // kernel, which was cancelled, or this copy makes it complete.
            Maker::Joined => unsafe { self.copy_instead(pending, by_kernel, tools)? },
            _ => {
                // Two threads may give one stream copies that know nothing of each other; `done` only ever grows.
                if let Some(number) = copying {
                    driver.mem_op(self.rescues, self.line.wait_done(number))?;
                }
                driver.mem_op(self.rescues, self.line.write_done(pending.number))?;
            }
        }
        pending.maker = match pending.maker {
            Maker::Rescuer => Maker::Joined,
            Maker::Joined => Maker::Copied,
            _ => Maker::Written,
        };
        Ok(())
    }

    /// By copy engine, which needs no multiprocessor. The driver refuses that where the application has freed the
    /// memory in stream order since, though the stream has not got there; a kernel still reaches it.
    ///
    /// # Safety
    /// The ranges are valid until the copy has completed.
    unsafe fn copy_instead(&self, pending: &Pending, by_kernel: bool, tools: &Tools<'_>) -> Result<()> {
        if by_kernel {
            let mut launches = pending.descriptors.chunks(INLINE_DESCRIPTORS);
            // SAFETY: passed on to the caller; the descriptors name the same ranges.
            return launches
                .try_for_each(|some| unsafe { tools.kernel.launch(some, pending.workers, None, self.rescues) });
        }
        let mut shapes = pending.shapes.iter();
        // SAFETY: passed on to the caller.
        shapes.try_for_each(|shape| unsafe { copy_shape(&*self.driver, pending.direction, shape, self.rescues) })
    }

    /// A driver call failed. When that happens again and again, nobody shall wait for a copy that nobody makes: what is
    /// not done is lost, and the context fails from then on.
    fn note_failure(&self, book: &mut Book, error: &Error, tools: &Tools<'_>) {
        tools.records.counters.failed();
        book.failures += 1;
        if book.failures < FAILURES_MAX {
            return;
        }
        (book.closed, book.taken_over) = (true, true);
        self.line.cancel(book.last);
        self.tidy(book, tools.events);
        // Said before anybody is let go, who then asks. Where the context itself has failed, the driver says so.
        if !book.pending.is_empty() && self.driver.stream_query(self.rescues).is_ok() {
            tools.records.standing.lose(book.pending.len() as u64, error);
        }
        self.line.finish(book.last);
        self.tidy(book, tools.events);
    }

    /// Whether nothing is under way.
    pub(super) fn is_idle(&self, tools: &Tools<'_>) -> bool {
        let mut book = self.book(self.driver.host());
        self.tidy(&mut book, tools.events);
        book.pending.is_empty()
    }

    /// Whether nothing is left in its streams. An error means that the context is gone, and they with it.
    pub(super) fn is_drained(&self) -> bool {
        let streams = [self.copies, self.waits, self.rescues];
        streams.iter().all(|stream| self.driver.stream_query(*stream).unwrap_or(true))
    }

    /// Leaves nothing under way that is known to need the rescuer. Whether that is so now; else to be asked again.
    pub(super) fn stand_back(&self, notice: &Notice, tools: &Tools<'_>) -> bool {
        let mut book = self.book(self.driver.host());
        self.tidy(&mut book, tools.events);
        if !book.taken_over {
            match self.prospect(&mut book, notice, tools) {
                Prospect::Well => return true,
                Prospect::Open => return false,
                Prospect::Ill if self.take_over(&mut book, tools) => {}
                // Somebody keeps everybody out, and would wait for what was taken over.
                Prospect::Ill => return true,
            }
        }
        self.go_on(&mut book, tools);
        book.is_settled()
    }

    /// What becomes of the copies that have not begun, as far as can be told.
    fn prospect(&self, book: &mut Book, notice: &Notice, tools: &Tools<'_>) -> Prospect {
        let now = self.driver.host().now();
        let started = self.line.started();
        let follows = book.copies_now(started);
        let Some(first) = book.first_to_begin(started, notice.memory.as_ref()) else {
            return Prospect::Well;
        };
        if let Err(error) = self.ask(first, now) {
            self.note_failure(book, &error, tools);
            return Prospect::Open;
        }
        match first.ready_since {
            Some(since) if now < since + notice.begins_within => Prospect::Open,
            Some(_) => Prospect::Ill,
            // It stands behind a copy that is being made, and becomes able to begin when that is done, not earlier.
            None if follows && !notice.suspects => Prospect::Well,
            None if now < notice.since + notice.ready_within => Prospect::Open,
            None if notice.suspects => Prospect::Ill,
            None => Prospect::Well,
        }
    }

    /// Takes nothing any more, and leaves nothing behind that needs somebody to look at it. Whether that is so now.
    /// What has not begun is taken over; with `insists`, even if threads are inside.
    pub(super) fn close(&self, insists: bool, tools: &Tools<'_>) -> bool {
        let mut book = self.book(self.driver.host());
        self.tidy(&mut book, tools.events);
        if !book.closed {
            // What has begun ends by itself.
            let waits = !book.taken_over && book.first_to_begin(self.line.started(), None).is_some();
            if waits && insists {
                tools.callers.take_regardless();
                book.take_over(&self.line);
            } else if waits && !self.take_over(&mut book, tools) {
                return false;
            }
            book.closed = true;
        }
        self.go_on(&mut book, tools);
        book.is_settled()
    }

    /// Destroys the streams, when what is in them has ended.
    pub(super) fn end(&mut self, events: &Pool<Event>) {
        for stream in [self.copies, self.waits, self.rescues] {
            if stream != Stream::DEFAULT {
                // Kernels write to words that go next. An error means that the context is gone, and they with it.
                let _ = self.driver.stream_synchronize(stream);
                let _ = self.driver.stream_destroy(stream);
            }
        }
        let book = unpoisoned(self.book.get_mut());
        book.pending.drain(..).for_each(|pending| events.give(pending.ready));
    }
}

/// What carriers share.
pub(super) struct Tools<'a> {
    pub(super) events: &'a Pool<Event>,
    pub(super) records: &'a Records,
    pub(super) kernel: &'a CopyKernel,
    pub(super) callers: &'a Callers,
}

#[cfg(test)]
mod tests;
