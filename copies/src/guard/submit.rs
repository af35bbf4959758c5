//! How a copy gets onto a carrier, and its stream behind it.
#![allow(unsafe_code)] // copies are unsafe; the caller's promise is passed on

use channels::Refusal;
use hal::{Event, Nanos};

use super::Guard;
use super::carrier::{Carrier, Guarded};

/// How often a thread that waits on the host asks the driver whether something went wrong meanwhile.
const ASK_EVERY: Nanos = Nanos::from_ms(10);

impl Guard {
    /// Copies in the order of the copy's stream. Refused where no carrier is free.
    ///
    /// # Safety
    /// The ranges stay valid until the copy has completed, and the device sees them as the descriptors say.
    pub(crate) unsafe fn submit(&self, copy: &Guarded<'_>) -> Result<(), Refusal> {
        let ready = self.events.mark(&*self.driver, copy.stream)?;
        // SAFETY: passed on to the caller.
        let carried = unsafe { self.carry(copy, ready) };
        let (carrier, leave) = carried.inspect_err(|_| self.events.give(ready))?;
        self.bell.ring();
        let joined = leave.is_some_and(|leave| {
            let waited = self.driver.stream_wait_event(copy.stream, leave);
            self.events.give(leave);
            waited.is_ok()
        });
        if !joined {
            // The stream cannot be made to wait, so its user waits.
            self.records.counters.failed();
            carrier.wait_here(ASK_EVERY)?;
        }
        Ok(())
    }

    /// Has a carrier take the copy: the one that has copies of its stream, else one that no stream has.
    unsafe fn carry(&self, copy: &Guarded<'_>, ready: Event) -> Result<(&Carrier, Option<Event>), Refusal> {
        let (mut present, mut free) = (None, None);
        for carrier in &self.carriers {
            let book = carrier.book();
            match (book.is_of(copy.stream), book.takes(copy.stream)) {
                (true, true) => {
                    present = Some((carrier, book));
                    break;
                }
                // It takes no other copy of this stream: none may go by any other carrier either.
                (true, false) => return Err(Refusal::Unready),
                (false, true) if free.is_none() => free = Some((carrier, book)),
                (false, _) => {}
            }
        }
        let (carrier, book) = present.or(free).ok_or(Refusal::Unready)?;
        // Asked with the book in hand: a thread that is going to block says so, and looks into the books then.
        if self.callers.are_coming() {
            return Err(Refusal::Unready);
        }
        // SAFETY: passed on to the caller.
        let leave = unsafe { carrier.carry(book, copy, ready)? };
        Ok((carrier, leave))
    }
}
