//! Forks of the process: the child has only the thread that forked.
#![allow(unsafe_code)] // the C library's list of functions that a child calls

use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

/// The forks between the process that watched first and this one.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// The process in which a value was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    forks: u32,
}

impl Process {
    /// This process. Its children are told apart from now on, if they are made by the C library's `fork`.
    #[must_use]
    pub fn this() -> Process {
        static WATCH: Once = Once::new();
        WATCH.call_once(|| {
            // SAFETY: the function is one of this library, which is part of the program or is never unloaded. It is
            // safe in a child: it only adds to an atomic.
            let code = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
            if code != 0 {
                log::warn!("forks of this process go unnoticed, as there is no memory to watch for them");
            }
        });
        Process { forks: FORKS.load(Ordering::Relaxed) }
    }

    /// Whether the caller is in that process. This costs a load.
    #[inline]
    #[must_use]
    pub fn is_this(self) -> bool {
        self.forks == FORKS.load(Ordering::Relaxed)
    }
}

extern "C" fn in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore)] // it forks
    fn a_child_is_told_apart() {
        let parent = Process::this();
        // SAFETY: the child only loads, and ends without a destructor.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let is_told = !parent.is_this() && Process::this().is_this();
            // SAFETY: ends the child.
            unsafe { libc::_exit(if is_told { 7 } else { 1 }) };
        }
        let mut status = 0;
        // SAFETY: waits for the child above.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 7, "{status}");
        assert!(parent.is_this());
    }
}
