//! Loom models of the end of a task, with threads that ask and futures that wait. The first thread only joins the
//! others: when it took part, no order that loom tried showed it some of their stores.

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
        let polling = flags.clone().map(|flag| {
            let outcome = Arc::clone(&outcome);
            thread::spawn(move || outcome.poll(&Waker::from(flag)).is_some())
        });
        ending.join().unwrap();
        for (polling, flag) in polling.into_iter().zip(&flags) {
            assert!(polling.join().unwrap() || flag.0.load(Ordering::Acquire), "a future waits for ever");
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
        let waker = Waker::from(Arc::clone(&flag));
        let polling = thread::spawn(move || {
            *lock(&is_wanted) = true;
            outcome.poll(&waker).is_some()
        });
        ending.join().unwrap();
        assert!(polling.join().unwrap() || flag.0.load(Ordering::Acquire), "a future waits for ever");
    });
}

/// A thread that sees a task's end sees the work of its function, however it asks, and however the end was set.
#[test]
fn an_end_is_never_seen_without_the_work() {
    static SEEN: [Seen; 6] = [const { Seen::new(false) }; 6];
    let ends: [fn(&Outcome) -> bool; 2] = [Outcome::set_done, Outcome::set_done_alone];
    let asks: [fn(&Outcome) -> bool; 3] =
        [Outcome::is_known, |outcome| outcome.get().is_some(), |outcome| outcome.poll(Waker::noop()).is_some()];
    for (number, seen) in SEEN.iter().enumerate() {
        let (end, ask) = (ends[number / 3], asks[number % 3]);
        loom::model(move || {
            let (outcome, work) = (Outcome::new(&(Weak::<()>::new() as Home)), Arc::new(AtomicBool::new(false)));
            let (its, done) = (Arc::clone(&outcome), Arc::clone(&work));
            let ending = thread::spawn(move || {
                done.store(true, Ordering::Relaxed);
                end(&its);
            });
            let asking = thread::spawn(move || {
                if ask(&outcome) {
                    seen.store(true, Ordering::Relaxed);
                    assert!(work.load(Ordering::Relaxed), "it has ended, and its work is not there");
                }
            });
            asking.join().unwrap();
            ending.join().unwrap();
        });
        assert!(seen.load(Ordering::Relaxed), "no order has shown the end");
    }
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
