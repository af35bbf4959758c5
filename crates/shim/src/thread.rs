//! Numbers for the program's threads, and the notice that a thread has ended.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::process::process;

/// Marks a thread that has copied in its own default stream; dropped when the thread ends.
struct Here(u64);

impl Here {
    /// Numbers are never used again, but addresses of thread-local data are.
    fn new() -> Here {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Here(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        // No panic may leave the end of a thread. Its payload is forgotten, because dropping it could panic again.
        let told = catch_unwind(AssertUnwindSafe(|| {
            let Some(process) = process() else { return };
            process.captures.forget_thread(self.0);
            process.streams.end(self.0);
        }));
        told.unwrap_or_else(std::mem::forget);
    }
}

thread_local! {
    static HERE: Here = Here::new();
}

/// The calling thread's number; `None` if it is ending, because a later end could not be noticed.
pub(crate) fn number() -> Option<u64> {
    HERE.try_with(|here| here.0).ok()
}
