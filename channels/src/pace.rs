//! Pace: bulk submission yields to urgent submission.
//!
//! The driver has one lock. While a thread submits bulk chunks, each call of an urgent caller takes 7 to 20 us instead
//! of 4 (facts, section 5). So an urgent caller announces itself, and bulk submitters pause between chunks.

use std::sync::atomic::{AtomicU32, Ordering};

use hal::{Host, Nanos};

/// The number of urgent callers that are inside the driver.
#[derive(Debug, Default)]
pub struct Pace {
    urgent: AtomicU32,
}

/// An urgent caller is inside the driver while this lives.
#[derive(Debug)]
pub struct Urgent<'a> {
    pace: &'a Pace,
}

/// A submitter waits for urgent callers at most this long per chunk, so that waiting cannot become a deadlock.
const YIELD_MAX: Nanos = Nanos::from_us(200);

impl Pace {
    /// No urgent caller is inside the driver.
    #[must_use]
    pub fn new() -> Pace {
        Pace::default()
    }

    /// An urgent caller enters the driver.
    pub fn urgent(&self) -> Urgent<'_> {
        self.urgent.fetch_add(1, Ordering::SeqCst);
        Urgent { pace: self }
    }

    /// Waits until no urgent caller is inside the driver, but not for long.
    pub fn yield_to_urgent(&self, host: &dyn Host) {
        if self.urgent.load(Ordering::SeqCst) == 0 {
            return;
        }
        let deadline = host.now() + YIELD_MAX;
        host.wait_until(Some(deadline), &mut || self.urgent.load(Ordering::SeqCst) == 0);
    }
}

impl Drop for Urgent<'_> {
    fn drop(&mut self) {
        self.pace.urgent.fetch_sub(1, Ordering::SeqCst);
    }
}
