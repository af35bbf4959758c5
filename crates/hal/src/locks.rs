//! The one way to take a lock. The state behind our locks is consistent after every statement. So a thread that panics
//! while it holds one leaves no half of a change, and the next thread takes the lock all the same.

use std::sync::{LockResult, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Takes a mutex.
///
/// ```
/// # use overtake_hal as hal;
/// let streams = std::sync::Mutex::new(vec![1]);
/// hal::locks::lock(&streams).push(2);
/// assert_eq!(*hal::locks::lock(&streams), [1, 2]);
/// ```
#[inline]
#[expect(clippy::disallowed_methods, reason = "all others come here")]
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    unpoisoned(mutex.lock())
}

/// Takes a lock for reading.
#[inline]
#[expect(clippy::disallowed_methods, reason = "all others come here")]
pub fn read<T: ?Sized>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    unpoisoned(lock.read())
}

/// Takes a lock for writing.
#[inline]
#[expect(clippy::disallowed_methods, reason = "all others come here")]
pub fn write<T: ?Sized>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    unpoisoned(lock.write())
}

/// The same for the results of other calls on a lock: a wait, or access by `&mut`.
#[inline]
pub fn unpoisoned<T>(result: LockResult<T>) -> T {
    result.unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_inside_closes_no_lock() {
        let (mutex, both) = (Mutex::new(1), RwLock::new(2));
        let inside = std::thread::scope(|scope| {
            let held = scope.spawn(|| {
                let _held = (lock(&mutex), write(&both));
                std::panic::resume_unwind(Box::new("inside"));
            });
            held.join()
        });
        assert!(inside.is_err() && mutex.is_poisoned() && both.is_poisoned());
        *lock(&mutex) += *read(&both);
        *write(&both) += *lock(&mutex);
        assert_eq!((unpoisoned(mutex.into_inner()), unpoisoned(both.into_inner())), (3, 5));
    }
}
