//! Real time and real threads.
#![allow(unsafe_code)] // the system's clock

use std::cell::Cell;
use std::time::Duration;

use hal::{Host, Nanos, ThreadToken, Wait};

/// Shorter sleeps spin: the scheduler would oversleep them by more than their length.
const SLEEP_FLOOR: Nanos = Nanos::from_us(200);
/// A wait spins this long at first, because most completions come within it.
const SPIN_SPAN: Nanos = Nanos::from_us(50);
/// Then it yields between looks, for this long; then it sleeps.
const YIELD_SPAN: Nanos = Nanos::from_ms(5);
/// The length of its sleeps between looks.
const NAP: Nanos = Nanos::from_us(50);
/// After so many pauses a thread lets others have its processor: the one that it waits for may need it.
const PAUSES_MAX: u32 = 4096;

thread_local! {
    /// The pauses of this thread.
    static PAUSES: Cell<u32> = const { Cell::new(0) };
}

/// A moment of a thread that spins.
#[expect(clippy::disallowed_methods, reason = "the machine's time passes here")]
fn spin() {
    std::hint::spin_loop();
    let pauses = PAUSES.get().wrapping_add(1);
    PAUSES.set(pauses);
    if pauses.is_multiple_of(PAUSES_MAX) {
        let_others_run();
    }
}

/// A thread with a real-time policy has to sleep: yielding does not let ordinary threads in.
#[cold]
#[expect(clippy::disallowed_methods, reason = "the machine's time passes here")]
fn let_others_run() {
    match os::threads::is_real_time() {
        true => std::thread::sleep(Duration::from_nanos(NAP.0)),
        false => std::thread::yield_now(),
    }
}

/// The operating system's monotonic clock. Time 0 is the making of the host.
#[derive(Debug)]
pub struct RealHost {
    origin: Nanos,
}

impl RealHost {
    /// A host whose time begins now.
    #[must_use]
    pub fn new() -> RealHost {
        RealHost { origin: since_boot() }
    }

    /// Gives the processor a pause, which depends on the time that the wait has lasted and on its deadline.
    #[expect(clippy::disallowed_methods, reason = "the machine's time passes here")]
    fn rest(&self, waited: Nanos, left: Nanos) {
        if waited < SPIN_SPAN {
            std::hint::spin_loop();
        } else if waited < YIELD_SPAN || left < SLEEP_FLOOR {
            std::thread::yield_now();
        } else {
            std::thread::sleep(Duration::from_nanos(NAP.0));
        }
    }
}

/// The monotonic clock, in a third of the instructions of [`std::time::Instant`]: copies by demand read it.
#[inline]
#[expect(clippy::disallowed_methods, reason = "the machine's time begins here")]
fn since_boot() -> Nanos {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes to `time`, which outlives it. Every Linux has this clock, so it does not fail.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    // 2^64 ns are 584 years.
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

impl Default for RealHost {
    fn default() -> RealHost {
        RealHost::new()
    }
}

impl Host for RealHost {
    #[inline]
    fn now(&self) -> Nanos {
        since_boot().since(self.origin)
    }

    #[expect(clippy::disallowed_methods, reason = "the machine's time passes here")]
    fn sleep(&self, span: Nanos) {
        let end = self.now() + span;
        if span >= SLEEP_FLOOR {
            std::thread::sleep(Duration::from_nanos(span.0));
        }
        while self.now() < end {
            spin();
        }
    }

    fn pause(&self) {
        spin();
    }

    fn wait_until(&self, deadline: Option<Nanos>, condition: &mut (dyn FnMut() -> bool + Send)) -> Wait {
        let start = self.now();
        loop {
            if condition() {
                return Wait::Met;
            }
            let now = self.now();
            let left = deadline.map_or(Nanos::MAX, |deadline| deadline.since(now));
            if left == Nanos::ZERO {
                return Wait::Deadline;
            }
            self.rest(now.since(start), left);
        }
    }

    // The operating system knows its threads.
    fn announce(&self, _name: &str) -> ThreadToken {
        ThreadToken(0)
    }

    fn retract(&self, _token: ThreadToken) {}

    fn enter(&self, _token: ThreadToken) {}

    fn leave(&self) {}

    fn outside(&self, block: &mut dyn FnMut()) {
        block();
    }

    fn is_virtual(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn sleep_lasts_at_least_as_long_as_asked() {
        let host = RealHost::new();
        for span in [Nanos::from_us(20), Nanos::from_us(300)] {
            let start = host.now();
            host.sleep(span);
            assert!(host.now().since(start) >= span);
        }
    }

    #[test]
    fn waits_end_by_condition_or_deadline() {
        let host = RealHost::new();
        assert_eq!(
            host.wait_until(Some(Nanos::ZERO), &mut || true),
            Wait::Met,
            "a condition that holds beats a past deadline"
        );
        let deadline = host.now() + Nanos::from_ms(6);
        assert_eq!(host.wait_until(Some(deadline), &mut || false), Wait::Deadline);
        assert!(host.now() >= deadline);
    }

    /// Without a mend the second thread gets the processor when the system takes it from the first by force, after a
    /// second.
    #[test]
    fn a_real_time_thread_that_pauses_lets_the_others_of_its_processor_run() {
        let flag = AtomicBool::new(false);
        let bind = || {
            let mut parameters = libc::sched_param { sched_priority: 1 };
            // SAFETY: a set of processors and parameters, both of the calling thread.
            unsafe {
                let mut one: libc::cpu_set_t = std::mem::zeroed();
                libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut one);
                let first = (0..1024).find(|number| libc::CPU_ISSET(*number, &one)).unwrap();
                one = std::mem::zeroed();
                libc::CPU_SET(first, &mut one);
                libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const one);
                libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw mut parameters) == 0
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                if !bind() {
                    return; // without the right to it no thread has such a policy
                }
                // It inherits the processor and the policy, and gives up the latter.
                let ordinary = scope.spawn(|| {
                    let none = libc::sched_param { sched_priority: 0 };
                    // SAFETY: parameters of the calling thread.
                    unsafe { libc::sched_setscheduler(0, libc::SCHED_OTHER, &raw const none) };
                    flag.store(true, Ordering::Release);
                });
                let (host, mut pauses) = (RealHost::new(), 0_u64);
                while !flag.load(Ordering::Acquire) {
                    host.pause();
                    pauses += 1;
                }
                assert!(host.now() < Nanos::from_ms(400), "{pauses} pauses took {}", host.now());
                drop(ordinary);
            });
        });
    }

    #[test]
    fn a_wait_sees_the_store_of_another_thread() {
        let host = RealHost::new();
        let flag = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(8));
                flag.store(true, Ordering::Release);
            });
            assert_eq!(host.wait_until(None, &mut || flag.load(Ordering::Acquire)), Wait::Met);
        });
    }
}
