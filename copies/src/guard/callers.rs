//! Threads that may keep all others out of the driver, and threads that are about to need it.
//!
//! A copy that has been taken over does not exist until the copy engine has been asked for it. If a thread keeps all
//! others out of the driver before that, and waits there for this very copy, it waits forever. So the two exclude each
//! other: each side first announces its step, and then looks for the other side.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use hal::{Host, Nanos};

/// A copy that the driver takes without waiting has been taken after this time.
const COMES_OUT_WITHIN: Nanos = Nanos::from_us(200);

/// The number of threads of each kind.
#[derive(Debug, Default)]
pub(crate) struct Callers {
    /// Threads about to make a call that may wait for the device, from before they look for copies under way. No copy
    /// is guarded meanwhile.
    coming: AtomicU32,
    /// Threads whose call may wait inside the driver, and keep all others out.
    inside: AtomicU32,
    /// Carriers that are being taken over: not all of the replacing copies have been submitted.
    taking: AtomicU32,
}

impl Callers {
    /// Whether no copy may be guarded.
    pub(super) fn are_coming(&self) -> bool {
        self.coming.load(Ordering::SeqCst) > 0
    }

    fn try_to_enter(&self) -> bool {
        self.inside.fetch_add(1, Ordering::SeqCst);
        let alone = self.taking.load(Ordering::SeqCst) == 0;
        if !alone {
            self.inside.fetch_sub(1, Ordering::SeqCst);
        }
        alone
    }

    /// Most threads find no take-over under way, and look for no host.
    #[inline(always)] // each copy that goes at once enters
    fn enter<'h>(&self, host: impl FnOnce() -> &'h dyn Host) {
        if !self.try_to_enter() {
            self.wait_to_enter(host());
        }
    }

    #[cold]
    fn wait_to_enter(&self, host: &dyn Host) {
        loop {
            // This waits without an attempt to enter: an attempt would count as a thread inside.
            while self.taking.load(Ordering::SeqCst) > 0 {
                host.pause();
            }
            if self.try_to_enter() {
                return;
            }
        }
    }
}

/// The take-over of a carrier, until all the copies that replace cancelled ones are submitted. No thread goes inside
/// while this lives.
#[derive(Debug)]
pub(super) struct Takeover(Arc<Callers>);

impl Takeover {
    /// Begins a take-over, unless a thread inside may keep it out, or there is another one: the copies of two carriers
    /// would take each other's place in the copy queues. While it waits for the threads inside, no thread goes inside,
    /// because with many copying threads there is always one. A thread that does not come out soon waits inside the
    /// driver.
    pub(super) fn begin(callers: &Arc<Callers>, host: &dyn Host) -> Option<Takeover> {
        callers.taking.compare_exchange(0, 1, Ordering::SeqCst, Ordering::SeqCst).ok()?;
        let takeover = Takeover(Arc::clone(callers));
        let patience = host.now() + COMES_OUT_WITHIN;
        while callers.inside.load(Ordering::SeqCst) > 0 {
            if host.now() >= patience {
                return None;
            }
            host.pause();
        }
        Some(takeover)
    }

    /// Begins a take-over in spite of the threads inside. No other thread goes inside from now on.
    pub(super) fn insist(callers: &Arc<Callers>) -> Takeover {
        callers.taking.fetch_add(1, Ordering::SeqCst);
        Takeover(Arc::clone(callers))
    }
}

impl Drop for Takeover {
    fn drop(&mut self) {
        self.0.taking.fetch_sub(1, Ordering::SeqCst);
    }
}

/// While this lives no copy is taken over.
pub(crate) struct Inside<'a>(&'a Callers);

impl<'a> Inside<'a> {
    /// Waits until the copies that replace cancelled ones are submitted.
    #[inline(always)] // as above
    pub(super) fn enter<'h>(callers: &'a Callers, host: impl FnOnce() -> &'h dyn Host) -> Inside<'a> {
        callers.enter(host);
        Inside(callers)
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.inside.fetch_sub(1, Ordering::SeqCst);
    }
}

/// While this lives no copy is guarded, or none is taken over, or both: see [`crate::Overtake::blocking`] and
/// [`crate::Overtake::inside`].
// Keeps the count and not the guard, which must be dropped before its context.
#[derive(Debug, Default)]
pub struct Blocking {
    coming: Option<Arc<Callers>>,
    inside: Option<Arc<Callers>>,
}

impl Blocking {
    /// Lets no copy be guarded from now on.
    pub(super) fn come(callers: &Arc<Callers>) -> Blocking {
        callers.coming.fetch_add(1, Ordering::SeqCst);
        Blocking { coming: Some(Arc::clone(callers)), inside: None }
    }

    /// Lets no copy be taken over from now on.
    pub(super) fn enter(&mut self, callers: &Arc<Callers>, host: &dyn Host) {
        callers.enter(|| host);
        self.inside = Some(Arc::clone(callers));
    }
}

impl Drop for Blocking {
    fn drop(&mut self) {
        if let Some(callers) = &self.inside {
            callers.inside.fetch_sub(1, Ordering::SeqCst);
        }
        if let Some(callers) = &self.coming {
            callers.coming.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, AtomicU64};

    use super::*;
    use driver::RealHost;

    /// A host whose time passes by 50 us at each pause, with an event of the test.
    struct Clock<F> {
        now: AtomicU64,
        at_pause: F,
    }

    fn clock<F: Fn(Nanos) + Send + Sync>(at_pause: F) -> Clock<F> {
        Clock { now: AtomicU64::new(Nanos::from_ms(1).0), at_pause }
    }

    impl<F: Fn(Nanos) + Send + Sync> Host for Clock<F> {
        fn now(&self) -> Nanos {
            Nanos(self.now.load(Ordering::SeqCst))
        }

        fn sleep(&self, span: Nanos) {
            self.now.fetch_add(span.0, Ordering::SeqCst);
        }

        fn pause(&self) {
            self.sleep(Nanos::from_us(50));
            (self.at_pause)(self.now());
        }

        fn wait_until(&self, _: Option<Nanos>, _: &mut (dyn FnMut() -> bool + Send)) -> hal::Wait {
            unreachable!("no caller waits for a condition")
        }

        fn announce(&self, _: &str) -> hal::ThreadToken {
            hal::ThreadToken(0)
        }

        fn retract(&self, _: hal::ThreadToken) {}

        fn enter(&self, _: hal::ThreadToken) {}

        fn leave(&self) {}

        fn outside(&self, block: &mut dyn FnMut()) {
            block();
        }

        fn is_virtual(&self) -> bool {
            true
        }
    }

    fn taking(callers: &Callers) -> u32 {
        callers.taking.load(Ordering::SeqCst)
    }

    fn inside(callers: &Callers) -> u32 {
        callers.inside.load(Ordering::SeqCst)
    }

    #[test]
    fn a_thread_that_comes_out_soon_is_waited_for_and_no_other() {
        let callers = Arc::new(Callers::default());
        let stays = clock(|_| ());
        let guest = Mutex::new(Some(Inside::enter(&callers, || &stays)));
        assert!(Takeover::begin(&callers, &stays).is_none(), "it stays inside");
        assert_eq!(stays.now(), Nanos::from_ms(1) + COMES_OUT_WITHIN, "and had so long to come out");
        assert_eq!(taking(&callers), 0, "others may go inside");
        let comes_out = clock(|now| drop(guest.lock().unwrap().take_if(|_| now >= Nanos::from_us(1_150))));
        let takeover = Takeover::begin(&callers, &comes_out);
        assert_eq!((comes_out.now(), taking(&callers)), (Nanos::from_us(1_150), 1));
        assert!(Takeover::begin(&callers, &clock(|_| ())).is_none() && taking(&callers) == 1, "there is one");
        drop(takeover);
        assert_eq!(taking(&callers), 0);
    }

    #[test]
    fn no_thread_goes_inside_while_something_is_half_taken_over() {
        let (callers, idle) = (Arc::new(Callers::default()), clock(|_| ()));
        let first = Inside::enter(&callers, || &idle);
        let takeover = Mutex::new(Some(Takeover::insist(&callers)));
        assert!(!callers.try_to_enter(), "although a thread is inside already");
        assert_eq!(inside(&callers), 1, "a thread that has tried in vain is not inside");
        drop(first);
        let taken = clock(|now| drop(takeover.lock().unwrap().take_if(|_| now >= Nanos::from_us(1_100))));
        let second = Inside::enter(&callers, || &taken);
        assert_eq!((taken.now(), inside(&callers)), (Nanos::from_us(1_100), 1));
        drop(second);
        assert_eq!(inside(&callers), 0);
        assert!(Takeover::begin(&callers, &taken).is_some() && !callers.are_coming());
    }

    /// Threads enter and leave all the time while others take over: never both at once, and both succeed.
    #[test]
    fn threads_take_over_or_are_inside() {
        let rounds = if cfg!(miri) { 20 } else { 2_000 };
        let (callers, host) = (Arc::new(Callers::default()), RealHost::new());
        let (taking, taken, ended) = (AtomicBool::new(false), AtomicU32::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !ended.load(Ordering::SeqCst) {
                        let inside = Inside::enter(&callers, || &host);
                        assert!(!taking.load(Ordering::SeqCst), "entered while something was half taken over");
                        drop(inside);
                    }
                });
            }
            for _ in 0..rounds {
                if let Some(takeover) = Takeover::begin(&callers, &host) {
                    taking.store(true, Ordering::SeqCst);
                    taken.fetch_add(1, Ordering::SeqCst);
                    std::hint::spin_loop();
                    taking.store(false, Ordering::SeqCst);
                    drop(takeover);
                }
            }
            ended.store(true, Ordering::SeqCst);
        });
        let taken = taken.load(Ordering::SeqCst);
        assert!(cfg!(miri) || taken > rounds / 2, "{taken} of {rounds} got to take over");
    }

    #[test]
    fn a_thread_that_blocks_is_coming_and_then_inside() {
        let (callers, host) = (Arc::new(Callers::default()), RealHost::new());
        let mut blocking = Blocking::come(&callers);
        assert!(callers.are_coming() && Takeover::begin(&callers, &host).is_some());
        blocking.enter(&callers, &host);
        assert!(Takeover::begin(&callers, &host).is_none());
        let takeover = Takeover::insist(&callers);
        assert!(!callers.try_to_enter(), "no other thread goes inside while the take-over lasts");
        drop((takeover, blocking));
        assert!(!callers.are_coming() && Takeover::begin(&callers, &host).is_some());
    }
}
