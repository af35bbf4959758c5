//! How the rescuer sleeps: until somebody rings, or until it is time to look again. Ringing costs a submitter next to
//! nothing unless the rescuer had nothing to look at.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::Thread;
use std::time::Duration;

use hal::{Host, Nanos};

/// Rings for one listener.
#[derive(Debug, Default)]
pub(super) struct Bell {
    rung: AtomicU64,
    asleep: AtomicBool,
    listener: OnceLock<Thread>,
}

impl Bell {
    /// Something is new.
    pub(super) fn ring(&self) {
        self.rung.fetch_add(1, Ordering::SeqCst);
        if self.asleep.swap(false, Ordering::SeqCst) {
            self.wake();
        }
    }

    /// Something is new that cannot wait for the listener's next look.
    pub(super) fn wake(&self) {
        self.rung.fetch_add(1, Ordering::SeqCst);
        if let Some(listener) = self.listener.get() {
            listener.unpark();
        }
    }

    /// How often it was rung so far.
    pub(super) fn count(&self) -> u64 {
        self.rung.load(Ordering::SeqCst)
    }

    /// Makes the calling thread the listener.
    pub(super) fn listen(&self) {
        let _ = self.listener.set(std::thread::current());
    }

    /// Sleeps until it is rung after `seen` or, where there is a time to look again, until then: then only waking ends
    /// the sleep before, because what is new can wait for that look.
    pub(super) fn wait(&self, host: &dyn Host, seen: u64, again: Option<Nanos>) {
        let news = || self.count() != seen;
        if host.is_virtual() {
            host.wait_until(again, &mut { news });
            return;
        }
        match again {
            Some(again) => {
                let span = again.since(host.now());
                if span != Nanos::ZERO {
                    std::thread::park_timeout(Duration::from_nanos(span.0));
                }
            }
            None => {
                self.asleep.store(true, Ordering::SeqCst);
                while !news() {
                    std::thread::park();
                }
                self.asleep.store(false, Ordering::SeqCst);
            }
        }
    }
}
