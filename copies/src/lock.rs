//! The one way to take a lock here.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, whatever a panicking holder left behind: what our locks guard is consistent after every statement.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
