//! How the monitor sleeps and is woken: by virtual time where time is virtual; where it is real, by spinning as long as
//! urgent copies keep coming, and by parking otherwise.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::Thread;
use std::time::Duration;

use channels::attention::Attention;
use hal::{Host, Nanos};

/// While nothing is out, it looks this often: a submitter that never comes back out of the driver rings no bell.
const NAP_IDLE: Nanos = Nanos::from_ms(5);

/// Rings for one listener.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    rung: AtomicU64,
    listener: OnceLock<Thread>,
}

/// What the listener is waiting for besides the bell.
pub(crate) struct Vigil<'a> {
    /// Something to do has come up. Reads words only.
    pub(crate) alarm: &'a dyn Fn() -> bool,
    /// A decision is due.
    pub(crate) deadline: Nanos,
    /// Whether copies are out.
    pub(crate) watching: bool,
    /// Until when to stay awake.
    pub(crate) awake_until: Nanos,
    /// How long to sleep between looks while copies are out: nobody who is urgent wakes the listener, and what he holds
    /// up meanwhile is bulk.
    pub(crate) nap: Nanos,
}

impl Bell {
    /// Bulk is on its way, or the monitor shall end.
    pub(crate) fn ring(&self) {
        self.post();
        if let Some(listener) = self.listener.get() {
            listener.unpark();
        }
    }

    /// Something is new that can wait for the listener's next look. Costs no system call.
    pub(crate) fn post(&self) {
        self.rung.fetch_add(1, Ordering::SeqCst);
    }

    /// How often it was rung or posted to so far.
    pub(crate) fn count(&self) -> u64 {
        self.rung.load(Ordering::SeqCst)
    }

    /// Makes the calling thread the listener.
    pub(crate) fn listen(&self) {
        let _ = self.listener.set(std::thread::current());
        // Whoever rings after this sees the listener, and the listener sees whoever rang before: without a step that
        // both take in one order, each could miss the other.
        self.post();
    }

    /// Sleeps until something is new after `seen`, the alarm sounds or the deadline has passed, and
    /// notes whether the host lets it look when it wants to.
    pub(crate) fn wait(&self, host: &dyn Host, seen: u64, vigil: &Vigil<'_>, attention: &mut Attention) {
        let news = || self.count() != seen || (vigil.alarm)();
        if host.is_virtual() {
            let deadline = (vigil.deadline != Nanos::MAX).then_some(vigil.deadline);
            host.wait_until(deadline, &mut { news });
            return;
        }
        let mut now = host.now();
        while !news() && now < vigil.deadline {
            let mut nap = Nanos::ZERO;
            if now < vigil.awake_until {
                host.pause();
                std::thread::yield_now();
            } else {
                nap = if vigil.watching { vigil.nap } else { NAP_IDLE };
                std::thread::park_timeout(Duration::from_nanos(nap.0));
            }
            let wanted = now + nap;
            now = host.now();
            attention.look(now, wanted);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::rings::{self, LONG};
    use driver::RealHost;

    const RINGS: u64 = if cfg!(miri) { 12 } else { 500 };

    fn vigil(alarm: &dyn Fn() -> bool) -> Vigil<'_> {
        Vigil { alarm, deadline: Nanos::MAX, watching: true, awake_until: Nanos::ZERO, nap: LONG }
    }

    #[test]
    fn no_ring_is_lost() {
        let bell = Bell::default();
        rings::are_all_heard(
            RINGS,
            &rings::Bell {
                listen: &|| bell.listen(),
                count: &|| bell.count(),
                wait: &|host, seen| bell.wait(host, seen, &vigil(&|| false), &mut Attention::default()),
                ring: &|| bell.ring(),
                wake: &|| bell.ring(),
            },
        );
    }

    #[test]
    fn alarms_and_deadlines_end_a_wait() {
        let (bell, word, host) = (Bell::default(), AtomicBool::new(false), RealHost::new());
        let alarm = || word.load(Ordering::Acquire);
        std::thread::scope(|scope| {
            scope.spawn(|| word.store(true, Ordering::Release));
            let vigil = Vigil { deadline: LONG, awake_until: LONG, ..vigil(&alarm) };
            bell.wait(&host, bell.count(), &vigil, &mut Attention::default());
            assert!(alarm() && host.now() < LONG);
        });
        let deadline = host.now() + Nanos::from_ms(1);
        let vigil = Vigil { deadline, nap: Nanos::from_us(100), ..vigil(&|| false) };
        bell.wait(&host, bell.count(), &vigil, &mut Attention::default());
        assert!(deadline <= host.now());
    }

    /// The alarm takes so long to ask that the thread cannot look when it wants to.
    #[test]
    fn a_host_that_keeps_it_waiting_is_noticed() {
        let (bell, host, mut attention) = (Bell::default(), RealHost::new(), Attention::default());
        let starved = || {
            std::thread::sleep(Duration::from_millis(2));
            false
        };
        let deadline = host.now() + Nanos::from_ms(5);
        bell.wait(&host, bell.count(), &Vigil { deadline, awake_until: LONG, ..vigil(&starved) }, &mut attention);
        // Not by the clock: this thread may have been kept waiting since, for longer than that is remembered.
        assert!(attention.is_starved(deadline));
    }
}
