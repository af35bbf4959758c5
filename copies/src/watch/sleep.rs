//! How the watcher sleeps: by virtual time where time is virtual; where it is real, by spinning as long as urgent
//! copies keep coming, and in naps otherwise.

use channels::attention::Attention;
use hal::{Host, Nanos};

use crate::bell::Bell;

/// While nothing is out, it looks this often: a submitter that never comes back out of the driver rings no bell.
pub(super) const NAP_IDLE: Nanos = Nanos::from_ms(5);

/// Sleeps until `news` or the deadline, and notes whether the host lets the thread look when it wants to. In real time
/// each nap is as long as `nap_at` says then; none at all keeps the thread awake.
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
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use super::*;
    use driver::RealHost;

    /// A sleep that no test waits out.
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

    /// The question takes so long to answer that the thread cannot look when it wants to.
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
        // Not by the clock: this thread may have been kept waiting since, for longer than that is remembered.
        assert!(attention.is_starved(began));
    }
}
