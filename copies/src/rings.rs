//! What every bell has to keep, whoever listens to it: for the unit tests of the bells.

use std::sync::atomic::{AtomicU64, Ordering};

use hal::{Host, Nanos};

use driver::RealHost;

/// A sleep that no test waits out.
pub(crate) const LONG: Nanos = Nanos::from_ms(20_000);

/// A bell, as a listener and a ringer use it.
pub(crate) struct Bell<'a> {
    /// Makes the calling thread the listener.
    pub(crate) listen: &'a (dyn Fn() + Sync),
    /// How often it was rung so far.
    pub(crate) count: &'a (dyn Fn() -> u64 + Sync),
    /// Sleeps until it is rung after that count.
    pub(crate) wait: &'a (dyn Fn(&dyn Host, u64) + Sync),
    /// Says that something is new.
    pub(crate) ring: &'a dyn Fn(),
    /// Ends a sleep in any case.
    pub(crate) wake: &'a dyn Fn(),
}

/// Rings so many times. The ringer waits to be heard, so that every ring meets a listener who falls asleep; one that is
/// lost fails.
pub(crate) fn are_all_heard(rings: u64, bell: &Bell<'_>) {
    let (work, heard, host) = (AtomicU64::new(0), AtomicU64::new(0), RealHost::new());
    let &Bell { listen, count, wait, ring, wake } = bell;
    let mut lost = false;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            listen();
            while heard.load(Ordering::Relaxed) < rings {
                let seen = count();
                heard.store(work.load(Ordering::Relaxed), Ordering::Relaxed);
                wait(&host, seen);
            }
        });
        for number in (1..=rings).chain([rings]) {
            work.store(number, Ordering::Relaxed);
            ring();
            let patience = host.now() + Nanos(LONG.0 / 2);
            while heard.load(Ordering::Relaxed) < number && !lost {
                lost = host.now() > patience;
                std::thread::yield_now();
            }
            if lost {
                // Ends the listener, who is asleep.
                heard.store(rings, Ordering::Relaxed);
                wake();
                break;
            }
        }
    });
    assert!(!lost, "the listener sleeps");
}
