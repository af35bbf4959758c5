//! A pool of events, because making one costs more than recording it.

use std::sync::{Mutex, PoisonError};

use hal::{Driver, Event, EventFlags, Result};

/// Events without timing that nobody uses at the moment.
#[derive(Default)]
pub(crate) struct Events {
    free: Mutex<Vec<Event>>,
}

impl Events {
    /// An event to record.
    pub(crate) fn take(&self, driver: &dyn Driver) -> Result<Event> {
        let spare = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match spare {
            Some(event) => Ok(event),
            None => driver.event_create(EventFlags::DISABLE_TIMING),
        }
    }

    /// Gives it back. What was captured keeps its meaning: a later record does not change earlier waits.
    pub(crate) fn give(&self, event: Event) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }

    /// Destroys all that are free.
    pub(crate) fn clear(&self, driver: &dyn Driver) {
        for event in self.free.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // An error means that the context is gone, and the event with it.
            let _ = driver.event_destroy(event);
        }
    }
}
