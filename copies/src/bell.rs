//! How a thread of the layer sleeps and is woken: by virtual time where time is virtual, and by parking otherwise.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::Thread;
use std::time::Duration;

use hal::{Host, Nanos};

/// Rings for one listener.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    rung: AtomicU64,
    /// Whether the listener sleeps until it is rung, with no time to look again.
    asleep: AtomicBool,
    ended: AtomicBool,
    listener: OnceLock<Thread>,
}

impl Bell {
    /// Something is new that can wait for the listener's next look. Costs no system call.
    pub(crate) fn post(&self) {
        self.rung.fetch_add(1, Ordering::SeqCst);
    }

    /// Something is new that can wait for the listener's next look, if there will be one.
    pub(crate) fn ring(&self) {
        self.post();
        if self.asleep.swap(false, Ordering::SeqCst) {
            self.wake();
        }
    }

    /// Something is new that cannot wait for the listener's next look.
    pub(crate) fn wake(&self) {
        self.post();
        if let Some(listener) = self.listener.get() {
            listener.unpark();
        }
    }

    /// The listener shall end.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::SeqCst);
        self.wake();
    }

    /// Whether the listener shall end.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    /// How often it was rung so far.
    pub(crate) fn count(&self) -> u64 {
        self.rung.load(Ordering::SeqCst)
    }

    /// Makes the calling thread the listener.
    pub(crate) fn listen(&self) {
        let _ = self.listener.set(std::thread::current());
        // A thread that rings after this sees the listener, and the listener sees a ring from before: without a step
        // that both take in one order, each could miss the other.
        self.post();
    }

    /// Sleeps until `news` or, where there is a time to look again, until then. In real time only waking ends a sleep
    /// with such a time: `news` can wait for that look.
    #[expect(clippy::disallowed_methods, reason = "a host with real time: the thread that rings wakes this one")]
    pub(crate) fn wait(&self, host: &dyn Host, again: Option<Nanos>, news: &mut (dyn FnMut() -> bool + Send)) {
        if host.is_virtual() {
            host.wait_until(again, news);
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
    use driver::RealHost;

    const RINGS: u64 = if cfg!(miri) { 12 } else { 1000 };

    /// A sleep that no test waits out.
    const LONG: Nanos = Nanos::from_ms(20_000);

    /// Rings many times by `ring` for a listener who looks again after `nap`, if at all. The ringer waits to be heard,
    /// so that every ring meets a listener who falls asleep; one that is lost fails.
    fn all_are_heard(ring: impl Fn(&Bell), nap: Option<Nanos>) {
        let (bell, work, heard) = (Bell::default(), AtomicU64::new(0), AtomicU64::new(0));
        let host = RealHost::new();
        let mut lost = false;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                bell.listen();
                while heard.load(Ordering::Relaxed) < RINGS {
                    let seen = bell.count();
                    heard.store(work.load(Ordering::Relaxed), Ordering::Relaxed);
                    let again = nap.map(|nap| host.now() + nap);
                    bell.wait(&host, again, &mut || bell.count() != seen);
                }
            });
            for number in (1..=RINGS).chain([RINGS]) {
                work.store(number, Ordering::Relaxed);
                ring(&bell);
                let patience = host.now() + Nanos(LONG.0 / 2);
                while heard.load(Ordering::Relaxed) < number && !lost {
                    lost = host.now() > patience;
                    std::thread::yield_now();
                }
                if lost {
                    // Ends the listener, who is asleep.
                    heard.store(RINGS, Ordering::Relaxed);
                    bell.wake();
                    break;
                }
            }
        });
        assert!(!lost, "the listener sleeps");
    }

    #[test]
    fn no_ring_is_lost_on_a_listener_who_falls_asleep() {
        all_are_heard(Bell::ring, None);
    }

    #[test]
    fn a_wake_does_not_wait_for_the_next_look() {
        all_are_heard(Bell::wake, Some(LONG));
    }

    #[test]
    fn a_sleep_ends_when_it_is_time_to_look_again() {
        let (bell, host) = (Bell::default(), RealHost::new());
        let again = host.now() + Nanos::from_ms(1);
        while host.now() < again {
            bell.wait(&host, Some(again), &mut || false);
        }
        bell.wait(&host, Some(again), &mut || false);
    }
}
