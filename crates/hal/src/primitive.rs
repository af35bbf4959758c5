//! The one source of atomics, locks and parking for code that loom checks: under `--cfg loom` they are loom's.
//!
//! A model checks the code itself and no copy of it: `RUSTFLAGS="--cfg loom" cargo test`, as `.ci/run` has it.

#[cfg(loom)]
pub use loom::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering, fence};
#[cfg(loom)]
pub use loom::sync::{Mutex, MutexGuard};
#[cfg(loom)]
pub use loom::thread::{Thread, current, park};
#[cfg(not(loom))]
pub use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering, fence};
#[cfg(not(loom))]
pub use std::sync::{Mutex, MutexGuard, OnceLock};
#[cfg(not(loom))]
pub use std::thread::{Thread, current, park};

use std::sync::TryLockError;

use crate::locks::unpoisoned;

/// Locks, even if a holder has panicked.
#[inline]
#[expect(clippy::disallowed_methods, reason = "loom has a mutex of its own")]
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    unpoisoned(mutex.lock())
}

/// Locks, if no thread has the lock. `None` says that one may have it.
#[inline]
pub fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// The standard library's, as loom sees it: a reader that finds nothing is ordered with no writer.
#[cfg(loom)]
#[derive(Debug)]
pub struct OnceLock<T> {
    is_set: AtomicBool,
    value: std::sync::OnceLock<T>,
}

#[cfg(loom)]
impl<T> Default for OnceLock<T> {
    fn default() -> OnceLock<T> {
        OnceLock { is_set: AtomicBool::new(false), value: std::sync::OnceLock::new() }
    }
}

#[cfg(loom)]
#[allow(missing_docs)] // the standard library's
impl<T> OnceLock<T> {
    pub fn set(&self, value: T) -> Result<(), T> {
        self.value.set(value)?;
        self.is_set.store(true, Ordering::Release);
        Ok(())
    }

    pub fn get(&self) -> Option<&T> {
        if self.is_set.load(Ordering::Acquire) { self.value.get() } else { None }
    }
}
