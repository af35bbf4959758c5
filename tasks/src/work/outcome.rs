//! The outcome of a task, shared by its node and its handles.

use std::any::Any;
use std::sync::{Arc, Weak};
use std::task::Waker;

use hal::primitive::{AtomicU8, Mutex, Ordering, fence, lock};
use smallvec::SmallVec;

use crate::work::fault::Error;
use crate::work::levels;

const PENDING: u8 = 0;
/// Pending, and futures wait.
const AWAITED: u8 = 1;
/// This one and those above it are known.
const DONE: u8 = 2;
const FAILED: u8 = 3;

/// The dispatcher of a task. A handle keeps nothing of one that is closed.
pub(crate) type Home = Weak<dyn Any + Send + Sync>;

/// An outcome that is still to come, or has.
#[derive(Debug)]
#[repr(C)] // the parts that each task needs stand beside the count of references, in few lines of the cache
pub(crate) struct Outcome {
    state: AtomicU8,
    /// Here and not in each handle: threads that submit would count handles at one place.
    home: Home,
    told: Mutex<Told>,
}

#[derive(Debug, Default)]
struct Told {
    error: Option<Error>,
    /// There are none before the state is `AWAITED`.
    wakers: Vec<Waker>,
    /// The name of the last task that ended while a handle had this.
    name: Name,
}

/// A name, in its place unless it is long.
type Name = SmallVec<[u8; 32]>;

impl Outcome {
    /// That of a task that has failed before it was one of the dispatcher's.
    pub fn failed(home: &Home, name: &str, error: Error) -> Arc<Outcome> {
        let outcome = Outcome::new(home);
        outcome.keep_name(name);
        outcome.set_failed(error);
        outcome
    }

    /// One that is to come.
    pub fn new(home: &Home) -> Arc<Outcome> {
        Arc::new(Outcome { state: AtomicU8::new(PENDING), told: Mutex::default(), home: Weak::clone(home) })
    }

    /// The dispatcher of its task.
    #[inline]
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// Whether the task has ended.
    #[inline]
    pub fn is_known(&self) -> bool {
        self.state.load(Ordering::Acquire) >= DONE
    }

    /// Whether the task has failed.
    #[inline]
    pub fn has_failed(&self) -> bool {
        self.state.load(Ordering::Acquire) == FAILED
    }

    /// The outcome, if the task has ended.
    pub fn get(&self) -> Option<Result<(), Error>> {
        match self.state.load(Ordering::Acquire) {
            PENDING | AWAITED => None,
            DONE => Some(Ok(())),
            _ => Some(Err(lock(&self.told).error.clone().unwrap_or(Error::Closed { task: None }))),
        }
    }

    /// Whether it has handles. The dispatcher has one of them, of which no other thread can make a second one.
    #[inline]
    pub fn has_handles(outcome: &Arc<Outcome>) -> bool {
        Arc::strong_count(outcome) > 1
    }

    /// The task is about to end: its handles know its name from now on, when the dispatcher does not any more.
    #[inline(never)]
    pub fn keep_name(&self, name: &str) {
        let mut told = lock(&self.told);
        told.name.clear();
        told.name.extend_from_slice(name.as_bytes());
    }

    /// The name of the task, or nothing if it has none, once it has ended.
    pub fn name(&self) -> Option<String> {
        self.is_known().then(|| String::from_utf8_lossy(&lock(&self.told).name).into_owned())
    }

    /// The task has ended well. Its waiting threads see it now. Returns whether futures wait: [`Outcome::wake`] tells
    /// them.
    #[inline]
    pub fn set_done(&self) -> bool {
        self.state.swap(DONE, Ordering::AcqRel) == AWAITED
    }

    /// The same where no future waits: it would have told the dispatcher first, with the lock held that this thread
    /// holds. Returns that none does.
    #[inline]
    pub fn set_done_alone(&self) -> bool {
        // A store does not wait for the processor that has looked at it last.
        self.state.store(DONE, Ordering::Release);
        false
    }

    /// The task has failed. As [`Outcome::set_done`].
    pub fn set_failed(&self, error: Error) -> bool {
        lock(&self.told).error = Some(error);
        self.state.swap(FAILED, Ordering::AcqRel) == AWAITED
    }

    /// Wakes the futures that wait. This calls code of others: no lock may be held.
    pub fn wake(&self) {
        levels::may_call_user();
        let wakers = std::mem::take(&mut lock(&self.told).wakers);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// The outcome, or the waker is woken when it is known.
    pub fn poll(&self, waker: &Waker) -> Option<Result<(), Error>> {
        levels::may_call_user();
        // To clone and to drop it calls code of others: not with the lock, which goes first.
        let mut own = Some(waker.clone());
        let mut told = lock(&self.told);
        // A thread that ends the task after this sees that futures wait, and wakes them when it gets the lock.
        match self.state.compare_exchange(PENDING, AWAITED, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) | Err(AWAITED) => {
                if !told.wakers.iter().any(|other| other.will_wake(waker)) {
                    told.wakers.extend(own.take());
                }
                None
            }
            Err(_) => {
                drop(told);
                self.get()
            }
        }
    }

    /// Makes it the outcome of a new task. To allocate and free one would cost as much as to dispatch its task; so it
    /// is used again, if no handle has it any more, and no thread that is to wake its futures.
    #[inline]
    pub fn renew(outcome: &mut Arc<Outcome>, home: &Home) {
        // There are no weak references, and no other thread can make one of the last. The fence orders this behind all
        // that other threads did with theirs.
        let is_own = Arc::strong_count(outcome) == 1;
        fence(Ordering::Acquire);
        match outcome.state.load(Ordering::Relaxed) {
            DONE if is_own => outcome.state.store(PENDING, Ordering::Relaxed),
            PENDING if is_own => {}
            _ => Outcome::replace(outcome, home),
        }
    }

    /// A handle has it still: a new one takes its place.
    #[cold]
    #[inline(never)]
    fn replace(outcome: &mut Arc<Outcome>, home: &Home) {
        *outcome = Outcome::new(home);
    }
}

#[cfg(all(test, loom))]
mod models;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn only_outcomes_that_no_handle_has_are_used_again() {
        let home: Home = Weak::<()>::new();
        let [mut free, mut held, mut failed, mut fresh] = [(); 4].map(|()| Outcome::new(&home));
        assert!(!free.set_done() && !held.set_done() && !failed.set_failed(Error::Closed { task: None }));
        assert!(failed.has_failed() && !free.has_failed());
        let (handle, kept) = (Arc::clone(&held), [&free, &fresh].map(Arc::as_ptr));
        for outcome in [&mut free, &mut held, &mut failed, &mut fresh] {
            Outcome::renew(outcome, &home);
            assert!(!outcome.is_known() && outcome.get().is_none());
        }
        assert_eq!([&free, &fresh].map(Arc::as_ptr), kept);
        assert!(handle.is_known() && !Arc::ptr_eq(&held, &handle), "the handle keeps its own");
        assert!(failed.set_failed(Error::Closed { task: None }) || failed.get().is_some_and(|end| end.is_err()));
    }

    #[test]
    fn the_end_of_an_outcome_tells_whether_futures_wait() {
        let outcome = Outcome::new(&(Weak::<()>::new() as Home));
        assert!(outcome.poll(Waker::noop()).is_none() && outcome.poll(Waker::noop()).is_none());
        assert!(outcome.get().is_none() && !lock(&outcome.told).wakers.is_empty());
        assert!(outcome.set_done(), "a future waits");
        outcome.wake();
        assert!(matches!(outcome.poll(Waker::noop()), Some(Ok(()))), "a future that comes late does not wait");
        assert!(lock(&outcome.told).wakers.is_empty());
    }
}
