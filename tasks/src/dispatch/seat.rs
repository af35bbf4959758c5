//! Small numbers for threads.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A number for the calling thread, from 1 up. Threads that start after each other have different ones.
#[inline]
pub(crate) fn seat() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    thread_local! {
        static SEAT: Cell<usize> = Cell::new(NEXT.fetch_add(1, Ordering::Relaxed));
    }
    SEAT.get()
}

/// The thread that has been somewhere last: the things there are in its processor's cache.
#[derive(Debug, Default)]
pub(crate) struct Last(AtomicUsize);

impl Last {
    /// The calling thread is there.
    #[inline]
    pub fn note(&self) {
        let seat = seat();
        // A store would take the line from the threads that look.
        if self.0.load(Ordering::Relaxed) != seat {
            self.0.store(seat, Ordering::Relaxed);
        }
    }

    /// Whether it is the calling thread.
    pub fn is_this(&self) -> bool {
        self.0.load(Ordering::Relaxed) == seat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_thread_knows_itself() {
        let last = Last::default();
        assert!(!last.is_this(), "there was none");
        last.note();
        assert!(last.is_this());
        let other = std::thread::scope(|scope| scope.spawn(|| (last.is_this(), last.note())).join().unwrap().0);
        assert!(!other && !last.is_this(), "the other thread was there since");
    }
}
