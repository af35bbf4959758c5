//! The dispatcher's lock.
//!
//! The thread with the turn releases it and takes it again at each step, so both have to be cheap. Releasing is one
//! store. The standard library's lock uses an exchange to find out whether a thread sleeps; that waits for all earlier
//! stores, and costs as much as a tenth of a task.
//!
//! So no thread is woken for this lock. A thread that finds it held spins, then yields its processor between two looks,
//! and then sleeps between them. It also *knocks*: the thread with the turn holds the lock most of the time, so others
//! would seldom find it free, and each attempt pulls the lock's cache line away from that thread. For each knock, that
//! thread steps aside once for a moment.
#![allow(unsafe_code)] // a thread has the state while it has the lock
#![cfg_attr(loom, allow(dead_code))] // the models of other threads have `sleeping`

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::AtomicU64;

use hal::primitive::{AtomicBool, Ordering};
#[cfg(loom)]
use loom::cell::{MutPtr, UnsafeCell};
#[cfg(not(loom))]
use std::cell::UnsafeCell;

use crate::work::levels::{self, Level};

/// Pauses between two looks at a lock that is held.
const PAUSES: u32 = 8;
/// So many looks, and then a thread leaves its processor to others, and knocks again.
const LOOKS: u32 = 64;
/// So many times, and then it sleeps, since the thread that has the lock is not running.
#[cfg(not(loom))] // which has no time
const YIELDS: u32 = 256;
/// Pauses for which a thread steps aside. One that has knocked looks a few times meanwhile.
const ASIDE: u32 = 4 * PAUSES;

/// A lock, and the state behind it.
#[derive(Debug)]
pub(crate) struct Lock<T> {
    value: UnsafeCell<T>,
    is_held: AtomicBool,
    /// The knocks so far, and those of threads that have come in since. They order nothing, so loom does not see them.
    knocks: AtomicU64,
    entered: AtomicU64,
    /// How often it has been taken but by [`Lock::lock_again`]. Changed with the lock held.
    visits: AtomicU64,
}

// SAFETY: only the thread that has the lock gets at the state, which may be any thread's.
unsafe impl<T: Send> Sync for Lock<T> {}

/// The state, locked.
pub(crate) struct Locked<'l, T> {
    lock: &'l Lock<T>,
    #[cfg(loom)]
    value: Option<MutPtr<T>>,
    /// It is let go of by the thread that has taken it.
    _of_a_thread: PhantomData<*mut T>,
}

impl<T> Lock<T> {
    pub fn new(value: T) -> Lock<T> {
        let count = || AtomicU64::new(0);
        let [knocks, entered, visits] = [(); 3].map(|()| count());
        Lock { value: UnsafeCell::new(value), is_held: AtomicBool::new(false), knocks, entered, visits }
    }

    /// Takes the lock.
    #[inline]
    pub fn lock(&self) -> Locked<'_, T> {
        levels::take(Level::State);
        if !self.take() {
            self.knock();
        }
        self.visit();
        self.locked()
    }

    /// As [`Lock::lock`], for the thread that steps aside for knocks: it does not knock.
    #[inline]
    pub fn lock_again(&self) -> Locked<'_, T> {
        levels::take(Level::State);
        if !self.take() {
            self.wait();
        }
        self.locked()
    }

    /// Takes the lock, if no other thread has it.
    pub fn try_lock(&self) -> Option<Locked<'_, T>> {
        self.take().then(|| {
            let locked = self.locked();
            levels::take(Level::State);
            self.visit();
            locked
        })
    }

    /// A number that changes when a thread takes the lock that is not the one with the turn, or that one in other ways
    /// than to go on: the state may be another one then.
    #[inline]
    pub fn visits(&self) -> u64 {
        self.visits.load(Ordering::Relaxed)
    }

    /// The lock is held.
    #[inline]
    fn visit(&self) {
        self.visits.store(self.visits.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// The knocks so far.
    #[inline]
    pub fn knocks(&self) -> u64 {
        self.knocks.load(Ordering::Relaxed)
    }

    /// Leaves the lock to a thread that has knocked, for a moment. `answered` are the knocks for which the calling
    /// thread, which has not the lock, has done so. A thread that has knocked may not run, so it is not waited for.
    #[cold]
    #[inline(never)]
    pub fn step_aside(&self, answered: &mut u64) {
        let (knocks, entered) = (self.knocks(), self.entered.load(Ordering::Relaxed));
        if entered == knocks {
            *answered = knocks;
            return;
        }
        *answered += 1;
        for _ in 0..ASIDE {
            if self.entered.load(Ordering::Relaxed) != entered {
                break;
            }
            pause();
        }
    }

    #[inline]
    fn take(&self) -> bool {
        self.is_held.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[inline]
    fn locked(&self) -> Locked<'_, T> {
        Locked {
            lock: self,
            #[cfg(loom)]
            value: Some(self.value.get_mut()),
            _of_a_thread: PhantomData,
        }
    }

    #[cold]
    #[inline(never)]
    fn knock(&self) {
        let mut knocks = 1;
        self.knocks.fetch_add(1, Ordering::Relaxed);
        while !self.look() {
            rest(knocks);
            knocks += 1;
            self.knocks.fetch_add(1, Ordering::Relaxed);
        }
        self.entered.fetch_add(knocks.into(), Ordering::Relaxed);
    }

    #[cold]
    #[inline(never)]
    fn wait(&self) {
        let mut rests = 0;
        while !self.look() {
            rests += 1;
            rest(rests);
        }
    }

    /// Looks for a while whether the lock is free, and takes it then.
    fn look(&self) -> bool {
        if cfg!(loom) {
            return self.take();
        }
        (0..LOOKS).any(|_| {
            (0..PAUSES).for_each(|_| pause());
            // A try takes the line of the lock from the thread that has it, also if it fails.
            !self.is_held.load(Ordering::Relaxed) && self.take()
        })
    }
}

#[expect(clippy::disallowed_methods, reason = "a lock waits for threads, in virtual time too")]
fn pause() {
    std::hint::spin_loop();
}

/// The calling thread leaves its processor to others: the thread that has the lock may be one of those.
#[cfg(not(loom))]
#[expect(clippy::disallowed_methods, reason = "a lock waits for threads, in virtual time too")]
fn rest(times: u32) {
    if times < YIELDS { std::thread::yield_now() } else { std::thread::sleep(std::time::Duration::from_micros(50)) }
}

#[cfg(loom)]
fn rest(_times: u32) {
    loom::thread::yield_now();
}

impl<T> Deref for Locked<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this thread has the lock until this is dropped, and nothing that is borrowed from it lives longer.
        #[cfg(not(loom))]
        return unsafe { &*self.lock.value.get() };
        // SAFETY: the same.
        #[cfg(loom)]
        return unsafe { self.value.as_ref().expect("it is locked").deref() };
    }
}

impl<T> DerefMut for Locked<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as for `deref`; this is borrowed for as long, so there is no other reference.
        #[cfg(not(loom))]
        return unsafe { &mut *self.lock.value.get() };
        // SAFETY: the same.
        #[cfg(loom)]
        return unsafe { self.value.as_ref().expect("it is locked").deref() };
    }
}

impl<T> Drop for Locked<'_, T> {
    #[inline]
    fn drop(&mut self) {
        #[cfg(loom)]
        drop(self.value.take());
        self.lock.is_held.store(false, Ordering::Release);
        levels::give_back(Level::State);
    }
}

#[cfg(loom)]
pub(crate) mod sleeping;

#[cfg(all(test, loom))]
mod models;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    /// Threads that change the state lose no change, and each gets in beside one that takes the lock all the time.
    #[test]
    fn threads_change_the_state_one_at_a_time() {
        const CHANGES: u32 = if cfg!(miri) { 10 } else { 200 };
        let change = |mut held: Locked<'_, u32>| {
            let seen = *held;
            // The others run meanwhile.
            std::thread::yield_now();
            *held = seen + 1;
        };
        let (lock, others) = (Lock::new(0), AtomicU32::new(3));
        let mut steps = 0;
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    (0..CHANGES).for_each(|_| change(lock.lock()));
                    others.fetch_sub(1, Ordering::Relaxed);
                });
            }
            let mut answered = lock.knocks();
            while others.load(Ordering::Relaxed) > 0 {
                change(lock.lock_again());
                steps += 1;
                if lock.knocks() != answered {
                    lock.step_aside(&mut answered);
                }
            }
        });
        assert_eq!(*lock.lock(), 3 * CHANGES + steps);
        assert_eq!(lock.knocks(), lock.entered.load(Ordering::Relaxed), "each that has knocked has come in");
    }

    #[test]
    fn a_thread_steps_aside_once_for_each_knock() {
        let (lock, mut answered) = (Lock::new(()), 0);
        lock.knocks.store(2, Ordering::Relaxed);
        lock.step_aside(&mut answered);
        assert_eq!(answered, 1, "the others may not run");
        lock.entered.store(2, Ordering::Relaxed);
        lock.knocks.store(4, Ordering::Relaxed);
        lock.entered.store(4, Ordering::Relaxed);
        lock.step_aside(&mut answered);
        assert_eq!(answered, 4, "all have come in");
    }

    #[test]
    fn a_lock_that_is_held_is_not_taken() {
        let lock = Lock::new(());
        let held = lock.lock();
        assert!(lock.try_lock().is_none());
        drop(held);
        assert!(lock.try_lock().is_some());
    }

    #[cfg(debug_assertions)]
    #[test]
    fn locks_are_taken_in_their_order() {
        use crate::work::levels::{Level, OfUser, give_back, may_call_user, may_step, take};
        let panics = |body: &dyn Fn()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).is_err();
        let (one, other) = (Lock::new(()), Lock::new(()));
        take(Level::Submissions);
        assert!(panics(&|| take(Level::Submissions)) && panics(&may_step) && panics(&may_call_user));
        let held = one.lock();
        assert!(panics(&|| drop(other.lock())), "they are two dispatchers'");
        assert!(panics(&|| drop(OfUser)));
        drop(held);
        give_back(Level::Submissions);
        let held = one.lock();
        may_step();
        assert!(panics(&|| take(Level::Submissions)) && panics(&|| drop(one.lock())) && panics(&|| drop(OfUser)));
        drop(held);
        drop((other.lock(), OfUser));
    }

    /// As any lock of the dispatcher, it is let go of by a thread that panics.
    #[test]
    fn a_panic_lets_go_of_it() {
        let lock = Lock::new(());
        let thrown = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _held = lock.lock();
            std::panic::resume_unwind(Box::new(()));
        }));
        assert!(thrown.is_err() && lock.try_lock().is_some());
    }
}
