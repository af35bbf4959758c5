//! The batches of programs' calls of many small copies, and the times in which such calls go to the driver.

use std::sync::atomic::{AtomicU64, Ordering};

use hal::Nanos;

use super::batches::Batches;

/// Where the copy engine has replaced a kernel, the program's own kernels fill the device. A launch would wait for that
/// as well, and the driver's copies need no multiprocessor.
const PAUSE: Nanos = Nanos::from_ms(10_000);

/// They take none of a queue's batches.
pub(crate) struct Calls {
    pub(crate) batches: Batches,
    /// The kernels that had been replaced at the last call.
    replaced: AtomicU64,
    paused_until_ns: AtomicU64,
}

impl Calls {
    pub(crate) fn new(batches: Batches) -> Calls {
        Calls { batches, replaced: AtomicU64::new(0), paused_until_ns: AtomicU64::new(0) }
    }

    /// Whether a call goes to the driver, because one of so many kernels in all has been replaced lately.
    pub(crate) fn are_paused(&self, replaced: u64, now: Nanos) -> bool {
        // A call that finds another one's count is one call late or early.
        if self.replaced.swap(replaced, Ordering::Relaxed) != replaced {
            self.paused_until_ns.store((now + PAUSE).0, Ordering::Relaxed);
        }
        now.0 < self.paused_until_ns.load(Ordering::Relaxed)
    }
}
