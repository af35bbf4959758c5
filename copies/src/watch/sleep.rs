//! How the watcher sleeps. In virtual time it waits for a condition. In real time it spins while urgent copies keep
//! coming, and otherwise naps.

use channels::attention::Attention;
use hal::{Host, Nanos};
use threads::Bell;

/// The time between looks while no copy is out: a submitting thread that is stuck in the driver rings no bell.
pub(super) const NAP_IDLE: Nanos = Nanos::from_ms(5);

/// Sleeps until `news` or the deadline, and notes whether the host lets the thread look in time. In real time `nap_at`
/// gives the length of each nap; a nap of 0 keeps the thread awake.
#[expect(clippy::disallowed_methods, reason = "a host with real time: others may have the processor")]
pub(super) fn sleep(
    bell: &Bell,
    host: &dyn Host,
    deadline: Nanos,
    nap_at: impl Fn(Nanos) -> Nanos,
    news: &mut (dyn FnMut() -> bool + Send),
    attention: &mut Attention,
) {
    if host.is_virtual() {
        bell.wait(host, (deadline != Nanos::MAX).then_some(deadline), news);
        return;
    }
    let mut now = host.now();
    while !news() && now < deadline {
        let wanted = now + nap_at(now);
        if wanted == now {
            host.pause();
            std::thread::yield_now();
        } else {
            bell.wait(host, Some(wanted), news);
        }
        now = host.now();
        attention.look(now, wanted);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
    use std::time::Duration;

    use super::*;
    use driver::RealHost;

    /// Longer than any test waits.
    const LONG: Nanos = Nanos::from_ms(20_000);

    #[test]
    fn news_and_deadlines_end_a_sleep() {
        let (bell, word, host) = (Bell::default(), AtomicBool::new(false), RealHost::new());
        let mut news = || word.load(Ordering::Acquire);
        std::thread::scope(|scope| {
            scope.spawn(|| word.store(true, Ordering::Release));
            sleep(&bell, &host, LONG, |_| Nanos::ZERO, &mut news, &mut Attention::default());
            assert!(news() && host.now() < LONG);
        });
        let deadline = host.now() + Nanos::from_ms(1);
        sleep(&bell, &host, deadline, |_| Nanos::from_us(100), &mut || false, &mut Attention::default());
        assert!(deadline <= host.now());
    }

    /// A thread that naps leaves its processor to others: it looks once for each nap.
    #[test]
    fn a_nap_lasts() {
        let (bell, host, naps) = (Bell::default(), RealHost::new(), AtomicU32::new(0));
        let nap_at = |_| {
            naps.fetch_add(1, Ordering::Relaxed);
            Nanos::from_ms(1)
        };
        let deadline = host.now() + Nanos::from_ms(10);
        sleep(&bell, &host, deadline, nap_at, &mut || false, &mut Attention::default());
        // On a busy host the time may be over before the first.
        assert!(naps.into_inner() <= 10, "each nap lasts for a millisecond at least");
    }

    /// The condition takes so long that the thread cannot look in time.
    #[test]
    fn a_host_that_keeps_the_thread_waiting_is_noticed() {
        let (bell, host, mut attention) = (Bell::default(), RealHost::new(), Attention::default());
        let (began, mut looks) = (host.now(), 0);
        let mut starved = || {
            std::thread::sleep(Duration::from_millis(2));
            looks += 1;
            looks > 2
        };
        sleep(&bell, &host, LONG, |_| Nanos::ZERO, &mut starved, &mut attention);
        // The time of the first look counts: this thread may have been kept waiting since, for longer than the record
        // lasts.
        assert!(attention.is_starved(began));
    }
}
