//! Pace: bulk submission yields to urgent submission.
//!
//! The driver has one lock. While a thread feeds it bulk chunks, an urgent caller's calls take 7 to 20 us instead of 4
//! (facts, section 5). So an urgent caller says that it is on its way, and bulk submitters hold off between chunks.

use std::sync::atomic::{AtomicU32, Ordering};

use hal::{Host, Nanos};

/// How many urgent callers are inside the driver.
#[derive(Debug, Default)]
pub struct Pace {
    urgent: AtomicU32,
}

/// An urgent caller is inside the driver while this lives.
#[derive(Debug)]
pub struct Urgent<'a> {
    pace: &'a Pace,
}

/// A submitter waits for others at most this long per chunk: politeness must not become a deadlock of its own.
const YIELD_MAX: Nanos = Nanos::from_us(200);

impl Pace {
    /// Nobody is urgent.
    #[must_use]
    pub fn new() -> Pace {
        Pace::default()
    }

    /// An urgent caller enters the driver.
    pub fn urgent(&self) -> Urgent<'_> {
        self.urgent.fetch_add(1, Ordering::SeqCst);
        Urgent { pace: self }
    }

    /// Lets urgent callers go first.
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
