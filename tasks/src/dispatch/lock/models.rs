//! Loom models of the lock: loom sees each access to the state behind it, and the order that the lock gives them.

use loom::sync::Arc;
use loom::thread;

use super::Lock;

/// Two threads change the state, each twice, one of them as the one with the turn does.
#[test]
fn the_state_is_changed_by_one_thread_at_a_time() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(4);
    model.check(|| {
        let lock = Arc::new(Lock::new(0));
        let other = Arc::clone(&lock);
        let other = thread::spawn(move || {
            *other.lock() += 1;
            *other.lock() += 1;
        });
        let mut answered = lock.knocks();
        *lock.lock() += 1;
        if lock.knocks() != answered {
            lock.step_aside(&mut answered);
        }
        *lock.lock_again() += 1;
        other.join().unwrap();
        assert_eq!(*lock.lock(), 4);
    });
}

/// A thread that finds the lock free sees all that the one before has done.
#[test]
fn a_thread_that_tries_sees_the_last_change() {
    loom::model(|| {
        let lock = Arc::new(Lock::new(0));
        let other = Arc::clone(&lock);
        let other = thread::spawn(move || other.try_lock().map(|mut held| *held += 1).is_some());
        let seen = lock.try_lock().map(|held| *held);
        let has_changed = other.join().unwrap();
        assert_eq!(*lock.lock(), u32::from(has_changed));
        assert!(seen.is_some() || has_changed, "the lock was free for one");
    });
}
