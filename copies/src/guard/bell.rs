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
        // Whoever rings after this sees the listener, and the listener sees whoever rang before: without a step that
        // both take in one order, each could miss the other.
        self.rung.fetch_add(1, Ordering::SeqCst);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rings::{self, LONG};
    use driver::RealHost;

    const RINGS: u64 = if cfg!(miri) { 12 } else { 2000 };

    #[test]
    fn no_ring_is_lost_on_a_listener_who_falls_asleep() {
        let bell = Bell::default();
        rings::are_all_heard(
            RINGS,
            &rings::Bell {
                listen: &|| bell.listen(),
                count: &|| bell.count(),
                wait: &|host, seen| bell.wait(host, seen, None),
                ring: &|| bell.ring(),
                wake: &|| bell.wake(),
            },
        );
    }

    /// A wake ends a sleep that has a time to look again.
    #[test]
    fn a_wake_does_not_wait_for_the_next_look() {
        let (bell, listens, stop, host) =
            (Bell::default(), AtomicBool::default(), AtomicBool::default(), RealHost::new());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                bell.listen();
                while !stop.load(Ordering::SeqCst) {
                    listens.store(true, Ordering::SeqCst);
                    bell.wait(&host, bell.count(), Some(host.now() + LONG));
                }
            });
            while !listens.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            stop.store(true, Ordering::SeqCst);
            bell.wake();
        });
        assert!(host.now() < LONG, "the listener slept on");
    }
}
