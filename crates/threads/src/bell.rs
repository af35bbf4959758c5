//! A thread of the layer sleeps and is woken by its bell: in virtual time where time is virtual, and by parking
//! otherwise.

use std::time::Duration;

use hal::primitive::{AtomicBool, AtomicU64, OnceLock, Ordering, Thread, current, park};
use hal::{Host, Nanos};

/// A bell with one listening thread.
#[derive(Debug, Default)]
pub struct Bell {
    rung: AtomicU64,
    /// Whether the listener sleeps until the bell rings, without a time to look again.
    asleep: AtomicBool,
    ended: AtomicBool,
    listener: OnceLock<Thread>,
}

impl Bell {
    /// Leaves news for the listener's next look. Costs no system call.
    pub fn post(&self) {
        self.rung.fetch_add(1, Ordering::SeqCst);
    }

    /// Leaves news for the listener's next look, and wakes a listener that would not look again by itself.
    pub fn ring(&self) {
        self.post();
        if self.asleep.swap(false, Ordering::SeqCst) {
            self.wake();
        }
    }

    /// Leaves news that the listener must see now.
    pub fn wake(&self) {
        self.post();
        if let Some(listener) = self.listener.get() {
            listener.unpark();
        }
    }

    /// Asks the listener to end.
    pub fn end(&self) {
        self.ended.store(true, Ordering::SeqCst);
        self.wake();
    }

    /// Whether the listener has been asked to end.
    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    /// The number of rings so far.
    pub fn count(&self) -> u64 {
        self.rung.load(Ordering::SeqCst)
    }

    /// Makes the calling thread the listener.
    pub fn listen(&self) {
        let _ = self.listener.set(current());
        // A thread that rings after this sees the listener, and the listener sees an earlier ring: both take this step
        // in one order. Without it each could miss the other.
        self.post();
    }

    /// Sleeps until `news`, or until the time to look again if there is one. With such a time and in real time, only a
    /// wake ends the sleep early; `news` can wait for that look. A listener that has been asked to end does not sleep:
    /// it may have counted the ring that asked it before it looks for news.
    #[expect(clippy::disallowed_methods, reason = "a host with real time: the thread that rings wakes this one")]
    pub fn wait(&self, host: &dyn Host, again: Option<Nanos>, news: &mut (dyn FnMut() -> bool + Send)) {
        let mut news = || self.has_ended() || news();
        if host.is_virtual() {
            host.wait_until(again, &mut news);
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
                // A swap, as that of a ringer: the one that comes second sees all that the first left.
                self.asleep.swap(true, Ordering::SeqCst);
                while !news() {
                    park();
                }
                self.asleep.store(false, Ordering::SeqCst);
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use driver::RealHost;

    const RINGS: u64 = if cfg!(miri) { 12 } else { 1000 };

    /// Longer than any test waits.
    const LONG: Nanos = Nanos::from_ms(20_000);

    /// Rings many times by `ring` for a listener that looks again after `nap`, if at all. The ringing thread waits
    /// until each ring is heard, so that every ring meets a listener that is falling asleep. A lost ring fails the
    /// test.
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
                    // Ends the listener, which is asleep.
                    heard.store(RINGS, Ordering::Relaxed);
                    bell.wake();
                    break;
                }
            }
        });
        assert!(!lost, "the listener sleeps");
    }

    #[test]
    fn no_ring_is_lost_on_a_listener_that_falls_asleep() {
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
