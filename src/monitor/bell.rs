//! How the monitor is woken: by time where time is virtual, by unparking where it is real.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::Thread;
use std::time::Duration;

use hal::Host;

/// A submitter rings after it has left the driver, to keep the wake-up out of its own latency. If it never leaves, nobody rings, so a
/// sleeping listener looks for itself this often.
const ALARM_EVERY: Duration = Duration::from_millis(1);

/// Rings for one listener.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    rung: AtomicU64,
    listener: OnceLock<Thread>,
}

impl Bell {
    /// Something is new.
    pub(crate) fn ring(&self) {
        self.rung.fetch_add(1, Ordering::SeqCst);
        if let Some(listener) = self.listener.get() {
            listener.unpark();
        }
    }

    /// How often it rang so far.
    pub(crate) fn count(&self) -> u64 {
        self.rung.load(Ordering::SeqCst)
    }

    /// Makes the calling thread the listener.
    pub(crate) fn listen(&self) {
        let _ = self.listener.set(std::thread::current());
    }

    /// Sleeps until it rings again after `seen` rings, or until `alarm`, which is looked at every [`ALARM_EVERY`] only.
    pub(crate) fn wait(&self, host: &dyn Host, seen: u64, alarm: &dyn Fn() -> bool) {
        if host.is_virtual() {
            host.wait_until(None, &mut || self.count() != seen || alarm());
            return;
        }
        while self.count() == seen && !alarm() {
            std::thread::park_timeout(ALARM_EVERY);
        }
    }
}
