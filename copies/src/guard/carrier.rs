//! A carrier: the helper streams and words through which copies of one application stream go by guarded kernel.
#![allow(unsafe_code)] // launches are unsafe; the caller's promise is passed on

use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use channels::Refusal;
use hal::{Driver, Event, Nanos, Result, Stream, StreamFlags};
use priority::Direction;

use super::book::{Book, Carried};
use super::callers::Callers;
use super::load::Load;
use super::scout::Scout;
use crate::kernel::handshake::{Line, Maker, is_reached, verdict};
use crate::kernel::{CopyKernel, Terms, Workers, Yield};
use crate::pool::Pool;
use crate::records::{Fence, Records};

/// A copy that needs a carrier.
pub(crate) struct Guarded {
    /// The application's stream.
    pub(crate) stream: Stream,
    pub(crate) load: Load,
    /// The engine of a rescue.
    pub(crate) direction: Direction,
    /// The warps that copy.
    pub(crate) workers: Workers,
    /// The word that the kernel yields to, if it does.
    pub(crate) yields: Option<Yield>,
    pub(crate) fence: Fence,
}

pub(super) struct Carrier {
    pub(super) driver: Arc<dyn Driver>,
    pub(super) records: Arc<Records>,
    pub(super) kernel: Arc<CopyKernel>,
    pub(super) events: Arc<Pool<Event>>,
    pub(super) callers: Arc<Callers>,
    pub(super) scout: Arc<Scout>,
    /// The stream of the kernels.
    pub(super) copies: Stream,
    /// The stream that waits for the words of completed copies.
    pub(super) waits: Stream,
    /// The stream of copies that kernels did not make, and of the scout before them.
    pub(super) rescues: Stream,
    pub(super) line: Line,
    book: Mutex<Book>,
}

impl Carrier {
    /// Makes the streams of the `index`th carrier in the current context.
    pub(super) fn new(
        driver: &Arc<dyn Driver>,
        records: &Arc<Records>,
        kernel: &Arc<CopyKernel>,
        events: &Arc<Pool<Event>>,
        callers: &Arc<Callers>,
        scout: &Arc<Scout>,
        line: Line,
    ) -> Result<Carrier> {
        let mut carrier = Carrier {
            driver: Arc::clone(driver),
            records: Arc::clone(records),
            kernel: Arc::clone(kernel),
            events: Arc::clone(events),
            callers: Arc::clone(callers),
            scout: Arc::clone(scout),
            copies: Stream::DEFAULT,
            waits: Stream::DEFAULT,
            rescues: Stream::DEFAULT,
            line,
            book: Mutex::default(),
        };
        // A free place on a multiprocessor goes to the most urgent stream first.
        let made = driver.priority_range().and_then(|range| {
            for stream in [&mut carrier.copies, &mut carrier.waits, &mut carrier.rescues] {
                *stream = driver.stream_create(StreamFlags::NON_BLOCKING, range.greatest)?;
            }
            Ok(())
        });
        made.inspect_err(|_| carrier.end())?;
        Ok(carrier)
    }

    /// The book, tidied; `None` if another thread has it.
    pub(super) fn try_book(&self) -> Option<MutexGuard<'_, Book>> {
        let mut book = match self.book.try_lock() {
            Ok(book) => book,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        self.tidy(&mut book);
        Some(book)
    }

    /// The book, tidied. This thread waits for it in the host's time: the thread that has it makes driver calls, but
    /// none that waits for the device.
    pub(super) fn book(&self) -> MutexGuard<'_, Book> {
        loop {
            if let Some(book) = self.try_book() {
                return book;
            }
            self.driver.host().pause();
        }
    }

    /// Forgets the copies that are done.
    pub(super) fn tidy(&self, book: &mut Book) {
        book.tidy(self.line.done()).into_iter().for_each(|event| self.events.give(event));
    }

    /// The program has destroyed the stream of this handle.
    pub(super) fn forget(&self, stream: Stream) {
        self.book().forget(stream);
    }

    /// Makes `number` the last launch, as after so many of them without a take-over. No copy is under way.
    pub(super) fn skip_to(&self, number: u32) {
        self.book().last = number;
        self.line.skip_to(number);
    }

    /// Runs a kernel that is cancelled before it begins, and waits for it. So the driver's work for a first launch is
    /// done, and the words are tested. Returns whether the kernel obeyed.
    pub(super) fn try_out(&self, yields: Yield) -> Result<bool> {
        // No kernel has been launched, so all launches up to 0 are cancelled and done.
        let terms = self.terms(Workers { blocks: 1, warps: 1 }, Some(yields), 0);
        // SAFETY: the kernel copies nothing; the words outlive the streams (see `Guard`).
        unsafe { self.kernel.launch(&[], terms)? };
        self.driver.stream_synchronize(self.copies)?;
        Ok(verdict(0, self.line.started(), self.line.outcome()) == Maker::Rescuer)
    }

    /// Those of launch `number`.
    fn terms(&self, workers: Workers, yields: Option<Yield>, number: u32) -> Terms {
        Terms { workers, yields, handshake: Some(self.line.handshake(number)), stream: self.copies }
    }

    /// Launches the copy's kernel to run after `ready`. Returns the event that the application's stream has to wait
    /// for, or `None` if the driver refused to record it. An error means that no kernel was launched.
    ///
    /// # Safety
    /// The ranges of the shapes stay valid until the copy has completed, and the device sees them at the addresses of
    /// the descriptors.
    pub(super) unsafe fn carry(
        &self,
        mut book: MutexGuard<'_, Book>,
        copy: Guarded,
        ready: Event,
    ) -> std::result::Result<Option<Event>, Refusal> {
        // No thread takes over while this one has the book, and cancelled kernels have ended: see `Book::takes`.
        debug_assert!(!book.taken_over && !book.closed, "a carrier that takes no copy was given one");
        self.line.pass(book.done());
        let number = book.last.wrapping_add(1);
        self.driver.stream_wait_event(self.copies, ready)?;
        // SAFETY: passed on to the caller; the words outlive the streams (see `Guard`).
        unsafe { copy.load.launch(&self.kernel, self.terms(copy.workers, copy.yields, number))? };
        let carried = Carried {
            number,
            ready,
            ready_since: None,
            load: copy.load,
            direction: copy.direction,
            workers: copy.workers,
            maker: Maker::Kernel,
            fence: copy.fence,
        };
        book.add(copy.stream, carried);
        // From here on the copy is under way, even if a call fails.
        let waited = self.driver.mem_op(self.waits, self.line.wait_done(number));
        let leave = waited.and_then(|()| self.events.mark(&*self.driver, self.waits));
        Ok(leave.inspect_err(|_| self.records.counters.failed()).ok())
    }

    /// Waits on the host until the copies so far are done, if their stream cannot be made to wait.
    pub(super) fn wait_here(&self, ask_every: Nanos) -> Result<()> {
        let (host, last) = (self.driver.host(), self.book().last);
        let mut is_done = || is_reached(self.line.done(), last);
        while !is_done() {
            host.wait_until(Some(host.now() + ask_every), &mut is_done);
            hal::beside_captures(&*self.driver, || self.driver.stream_query(self.copies))?;
        }
        Ok(())
    }

    /// Whether no copy is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.book().copies.is_empty()
    }

    /// Whether its streams have no work left. An error means that the context is gone, and its streams with it. Copies
    /// that are done are forgotten: when the rescuer has ended, nobody else asks.
    pub(super) fn is_drained(&self) -> bool {
        drop(self.book());
        let streams = [self.copies, self.waits, self.rescues];
        streams.iter().all(|stream| self.driver.stream_query(*stream).unwrap_or(true))
    }

    /// Waits for the work of the streams, and destroys them.
    pub(super) fn end(&mut self) {
        for stream in [self.copies, self.waits, self.rescues] {
            if stream != Stream::DEFAULT {
                // Kernels write to words that are freed next. An error means that the context is gone, and its streams
                // with it.
                let _ = self.driver.stream_synchronize(stream);
                let _ = self.driver.stream_destroy(stream);
            }
        }
        self.book().copies.drain(..).for_each(|copy| self.events.give(copy.ready));
    }
}

#[cfg(test)]
mod tests;
