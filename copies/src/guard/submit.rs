//! How a copy gets onto a carrier, and its stream behind it.
#![allow(unsafe_code)] // copies are unsafe; the caller's promise is passed on

use channels::Refusal;
use hal::{Event, Nanos};

use super::Guard;
use super::book::User;
use super::carrier::{Carried, Carrier, Guarded, Offer};

/// How often whoever waits on the host asks the driver whether something went wrong meanwhile.
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
        let (carrier, carried) = carried.inspect_err(|_| self.events.give(ready))?;
        self.bell.ring();
        let joined = carried.leave.is_some_and(|leave| {
            let waited = self.driver.stream_wait_event(copy.stream, leave);
            self.events.give(leave);
            waited.is_ok()
        });
        if !joined {
            // The stream cannot be made to wait, so its user waits.
            self.records.counters.failed();
            carrier.wait_here(carried.number, ASK_EVERY)?;
        }
        Ok(())
    }

    unsafe fn carry(&self, copy: &Guarded<'_>, ready: Event) -> Result<(&Carrier, Carried), Refusal> {
        let user = User::here(copy.stream);
        let mut free = None;
        // Asked with the book in hand: whoever is going to block looks into the books after he has said so.
        let blocked = || self.callers.are_coming();
        for carrier in &self.carriers {
            match carrier.offer(user, &self.events) {
                Offer::Present(_) | Offer::Free(_) if blocked() => return Err(Refusal::Unready),
                Offer::Present(book) => {
                    drop(free);
                    // SAFETY: passed on to the caller.
                    return unsafe { carrier.carry(book, copy, ready, &self.tools()) }
                        .map(|carried| (carrier, carried));
                }
                Offer::Refused => return Err(Refusal::Unready),
                Offer::Free(book) if free.is_none() => free = Some((carrier, book)),
                Offer::Free(_) | Offer::Taken => {}
            }
        }
        let (carrier, book) = free.ok_or(Refusal::Unready)?;
        // SAFETY: passed on to the caller.
        unsafe { carrier.carry(book, copy, ready, &self.tools()) }.map(|carried| (carrier, carried))
    }
}
