//! The dispatcher's lock as used in the models of the threads around it: a thread sleeps until it is free. Trying all
//! orders of spinning threads would take too long; `lock/models.rs` does that for the lock alone.

use hal::primitive::{Mutex, MutexGuard, lock, try_lock};

/// As [`super::Lock`].
pub(crate) struct Lock<T>(Mutex<T>);

pub(crate) type Locked<'l, T> = MutexGuard<'l, T>;

impl<T> Lock<T> {
    pub fn new(value: T) -> Lock<T> {
        Lock(Mutex::new(value))
    }

    pub fn lock(&self) -> Locked<'_, T> {
        lock(&self.0)
    }

    pub fn lock_again(&self) -> Locked<'_, T> {
        lock(&self.0)
    }

    pub fn try_lock(&self) -> Option<Locked<'_, T>> {
        try_lock(&self.0)
    }

    pub fn knocks(&self) -> u64 {
        0
    }

    pub fn visits(&self) -> u64 {
        0
    }

    pub fn step_aside(&self, _answered: &mut u64) {}
}
