//! A pool of events, because making one costs more than recording it.

use std::sync::Mutex;

use hal::{Driver, Event, EventFlags, Result};

use crate::lock::lock;

/// How many there are to begin with.
const SPARE: usize = 16;

/// Events without timing that nobody uses at the moment.
#[derive(Default)]
pub(crate) struct Events {
    free: Mutex<Vec<Event>>,
}

impl Events {
    /// Makes some to begin with: nobody says that making one never waits for the device.
    pub(crate) fn provide(&self, driver: &dyn Driver) -> Result<()> {
        for _ in 0..SPARE {
            self.give(driver.event_create(EventFlags::DISABLE_TIMING)?);
        }
        Ok(())
    }

    /// An event to record.
    pub(crate) fn take(&self, driver: &dyn Driver) -> Result<Event> {
        let spare = lock(&self.free).pop();
        match spare {
            Some(event) => Ok(event),
            None => driver.event_create(EventFlags::DISABLE_TIMING),
        }
    }

    /// Gives it back. What was captured keeps its meaning: a later record does not change earlier waits.
    pub(crate) fn give(&self, event: Event) {
        lock(&self.free).push(event);
    }

    /// Destroys all that are free.
    pub(crate) fn clear(&self, driver: &dyn Driver) {
        let free = std::mem::take(&mut *lock(&self.free));
        for event in free {
            // An error means that the context is gone, and the event with it.
            let _ = driver.event_destroy(event);
        }
    }
}
