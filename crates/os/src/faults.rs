//! Faults that a program handles itself: a garbage collector lifts the write barrier of a page, a reader of a mapped
//! file handles its end. Such a fault has to occur in the program's own thread.
#![allow(unsafe_code)] // questions to the kernel

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether this is a guest in a program that it knows nothing about.
static IS_GUEST: AtomicBool = AtomicBool::new(false);

/// From now on the program counts as one that may handle faults. A Rust program does not: there the promise that an
/// address is valid excludes faults, and the standard library's own handler says nothing about the program.
pub fn expect_handlers() {
    IS_GUEST.store(true, Ordering::Relaxed);
}

/// Whether the program handles faults at the moment. If not, a fault ends it, whichever thread has it.
#[must_use]
pub fn are_handled() -> bool {
    IS_GUEST.load(Ordering::Relaxed) && [libc::SIGSEGV, libc::SIGBUS].into_iter().any(has_handler)
}

/// Whether a signal has a handler. The kernel is asked, because libraries that chain handlers replace the C library's
/// question with their own.
fn has_handler(signal: libc::c_int) -> bool {
    // The kernel's structure: the handler, flags, a pointer and a mask.
    let mut action = [0_usize; 8];
    let (none, mask_bytes) = (std::ptr::null::<usize>(), size_of::<u64>());
    // SAFETY: the kernel writes its structure, which has four words, and changes nothing.
    let asked = unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, none, action.as_mut_ptr(), mask_bytes) };
    asked == 0 && ![libc::SIG_DFL, libc::SIG_IGN].contains(&action[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore)] // it asks the kernel
    fn handlers_are_told_from_the_ways_of_the_system() {
        extern "C" fn handler(_: libc::c_int) {}
        let handler: extern "C" fn(libc::c_int) = handler;
        for (way, is_handler) in [(libc::SIG_IGN, false), (handler as libc::sighandler_t, true), (libc::SIG_DFL, false)]
        {
            // SAFETY: the signal comes to no thread of this test.
            unsafe { libc::signal(libc::SIGURG, way) };
            assert_eq!(has_handler(libc::SIGURG), is_handler);
        }
        assert!(!are_handled(), "no guest");
    }
}
