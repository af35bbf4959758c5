//! Submits a copy to a carrier, and makes its stream wait for the copy.
#![allow(unsafe_code)] // copies are unsafe; the caller's promise is passed on

use channels::Refusal;
use hal::{Event, Nanos, Stream};

use super::Guard;
use super::carrier::{Carrier, Guarded};

/// A thread that waits on the host asks the driver for errors this often.
const ASK_EVERY: Nanos = Nanos::from_ms(10);

/// The smallest set of memory.
const SPARE_BYTES: u64 = 4;

impl Guard {
    /// Makes the copy in the order of its stream. Refused if no carrier is free.
    ///
    /// # Safety
    /// The ranges stay valid until the copy has completed, and the device sees them at the addresses of the
    /// descriptors.
    pub(crate) unsafe fn submit(&self, copy: Guarded) -> Result<(), Refusal> {
        let stream = copy.stream;
        let ready = self.events.mark(&*self.driver, stream)?;
        // SAFETY: passed on to the caller.
        let carried = unsafe { self.carry(copy, ready) };
        let (carrier, leave) = carried.inspect_err(|_| self.events.give(ready))?;
        self.bell.ring();
        let joined = leave.is_some_and(|leave| {
            let waited = self.driver.stream_wait_event(stream, leave);
            self.events.give(leave);
            waited.is_ok()
        });
        if !joined {
            // The stream cannot be made to wait, so the caller waits. The copy is under way and is not made again: an
            // error is that of the context.
            self.records.counters.failed();
            let _ = carrier.wait_here(ASK_EVERY);
        }
        Ok(())
    }

    /// Ends the effect of a copy by the engine on the guarded copies that come after it in its stream: those of 2 MiB
    /// take 3 to 6 us longer until the stream has had work that is neither a copy nor a write (`reports/demand`). A
    /// set of 4 bytes is such work, and needs no multiprocessor (`reports/driver`). If it fails, copies take longer.
    pub(crate) fn leave_engine(&self, stream: Stream) {
        let left = self.driver.memset_d8_async(self.spare, 0, SPARE_BYTES, stream);
        left.unwrap_or_else(|_| self.records.counters.failed());
    }

    /// Gives the copy to the carrier that has copies of its stream, or else to one that no stream has.
    unsafe fn carry(&self, copy: Guarded, ready: Event) -> Result<(&Carrier, Option<Event>), Refusal> {
        let (mut present, mut free) = (None, None);
        for carrier in &self.carriers {
            let book = carrier.book();
            match (book.is_of(copy.stream), book.takes(copy.stream)) {
                (true, true) => {
                    present = Some((carrier, book));
                    break;
                }
                // This carrier takes no other copy of the stream now. No other carrier may take one either.
                (true, false) => return Err(Refusal::Unready),
                (false, true) if free.is_none() => free = Some((carrier, book)),
                (false, _) => {}
            }
        }
        let (carrier, book) = present.or(free).ok_or(Refusal::Unready)?;
        // Asked while this thread has the book. A thread that will block announces that first, and then looks into the
        // books.
        if self.callers.are_coming() {
            return Err(Refusal::Unready);
        }
        // SAFETY: passed on to the caller.
        let leave = unsafe { carrier.carry(book, copy, ready)? };
        Ok((carrier, leave))
    }
}

#[cfg(test)]
mod tests;
