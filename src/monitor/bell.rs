//! How the monitor is woken: by time where time is virtual, by unparking where it is real.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::Thread;

use hal::Host;

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

    /// Sleeps until it rings again after `seen` rings.
    pub(crate) fn wait(&self, host: &dyn Host, seen: u64) {
        if host.is_virtual() {
            host.wait_until(None, &mut || self.count() != seen);
            return;
        }
        while self.count() == seen {
            std::thread::park();
        }
    }
}
