//! Model checks of the end of a task, beside threads that ask and futures that wait.

use std::sync::atomic::AtomicBool as Seen;
use std::task::Wake;

use hal::primitive::AtomicBool;
use loom::thread;

use super::*;

#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

/// A future that is told to wait is woken.
#[test]
fn no_future_waits_for_ever() {
    loom::model(|| {
        let (outcome, flags) = (Outcome::new(&(Weak::<()>::new() as Home)), [(); 2].map(|()| Arc::<Flag>::default()));
        let its = Arc::clone(&outcome);
        let ending = thread::spawn(move || {
            if its.set_done() {
                its.wake();
            }
        });
        let (other, flag) = (Arc::clone(&outcome), Arc::clone(&flags[1]));
        let polling = thread::spawn(move || other.poll(&Waker::from(flag)).is_some());
        let is_known = outcome.poll(&Waker::from(Arc::clone(&flags[0]))).is_some();
        let other_is_known = polling.join().unwrap();
        ending.join().unwrap();
        for (is_known, flag) in [is_known, other_is_known].into_iter().zip(&flags) {
            assert!(is_known || flag.0.load(Ordering::Acquire), "a future waits for ever");
        }
    });
}

/// A future that has said that it waits is woken, by a thread that looks whether one has.
#[test]
fn no_future_waits_for_a_thread_that_has_not_heard_of_it() {
    loom::model(|| {
        let (outcome, flag) = (Outcome::new(&(Weak::<()>::new() as Home)), Arc::<Flag>::default());
        let is_wanted = Arc::new(Mutex::new(false));
        let (its, said) = (Arc::clone(&outcome), Arc::clone(&is_wanted));
        let ending = thread::spawn(move || {
            let said = lock(&said);
            let has_waiters = if *said { its.set_done() } else { its.set_done_alone() };
            drop(said);
            if has_waiters {
                its.wake();
            }
        });
        *lock(&is_wanted) = true;
        let is_known = outcome.poll(&Waker::from(Arc::clone(&flag))).is_some();
        ending.join().unwrap();
        assert!(is_known || flag.0.load(Ordering::Acquire), "a future waits for ever");
    });
}

/// A thread that sees a failure sees its reason too.
#[test]
fn a_failure_is_never_seen_without_its_reason() {
    static IS_SEEN: Seen = Seen::new(false);
    loom::model(|| {
        let outcome = Outcome::new(&(Weak::<()>::new() as Home));
        let its = Arc::clone(&outcome);
        let ending = thread::spawn(move || its.set_failed(Error::Forked));
        // As in the model of a set, a thread of its own.
        let its = Arc::clone(&outcome);
        let asking = thread::spawn(move || {
            if its.is_known() {
                IS_SEEN.store(true, Ordering::Relaxed);
                assert!(its.has_failed());
                assert!(matches!(its.get(), Some(Err(Error::Forked))));
            }
        });
        asking.join().unwrap();
        assert!(!ending.join().unwrap(), "no future waits");
        assert!(matches!(outcome.get(), Some(Err(Error::Forked))));
    });
    assert!(IS_SEEN.load(Ordering::Relaxed), "no order has shown it before the end");
}
