//! Numbers for the application's threads, and the notice that a thread has ended.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::process::process;

/// A thread that has copied in its own default stream; dropped when it ends.
struct Here(u64);

impl Here {
    /// Numbers are never used again. Addresses of thread-local data are.
    fn new() -> Here {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Here(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        // No panic may leave the end of a thread. The payload is forgotten, because dropping it could panic again.
        let told =
            catch_unwind(AssertUnwindSafe(|| process().into_iter().for_each(|process| process.streams.end(self.0))));
        told.unwrap_or_else(std::mem::forget);
    }
}

thread_local! {
    static HERE: Here = Here::new();
}

/// The calling thread's number; `None` where it is ending, because its end could not be announced any more.
pub(crate) fn number() -> Option<u64> {
    HERE.try_with(|here| here.0).ok()
}
