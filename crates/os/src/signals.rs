//! Shields the program from the signals that writing a message may raise.
#![allow(unsafe_code)] // signal masks

use std::ffi::c_int;
use std::mem::MaybeUninit;

/// A write raises these: without a reader, at the size limit of a file, and on a terminal of another job.
const RAISED_BY_WRITES: [c_int; 3] = [libc::SIGPIPE, libc::SIGXFSZ, libc::SIGTTOU];

/// Blocks those signals on this thread while it lives. Signals that our own write has raised are removed.
pub(crate) struct Held {
    mask_before: libc::sigset_t,
    pending_before: libc::sigset_t,
}

impl Held {
    /// `None` where the thread's signals cannot be blocked: then nothing may be written.
    pub(crate) fn new() -> Option<Held> {
        let set = set_of(&RAISED_BY_WRITES);
        let (mut mask, mut pending) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: `set` is initialised, and both masks are locals; they are read only where the calls that fill them in
        // have succeeded.
        unsafe {
            if libc::sigpending(pending.as_mut_ptr()) != 0
                || libc::pthread_sigmask(libc::SIG_BLOCK, &set, mask.as_mut_ptr()) != 0
            {
                return None;
            }
            Some(Held { mask_before: mask.assume_init(), pending_before: pending.assume_init() })
        }
    }

    /// Removes the signal that a write has raised. The write's error tells which one.
    pub(crate) fn take(&self, error: c_int) {
        let signal = match error {
            libc::EPIPE => libc::SIGPIPE,
            libc::EFBIG => libc::SIGXFSZ,
            _ => return,
        };
        // SAFETY: an initialised set and a signal's number.
        let was_pending = unsafe { libc::sigismember(&self.pending_before, signal) } == 1;
        if !was_pending {
            let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            // SAFETY: an initialised set and time; a null pointer asks for no details.
            unsafe { libc::sigtimedwait(&set_of(&[signal]), std::ptr::null_mut(), &now) };
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: the mask was filled in by `new`; a null pointer means that the old mask is not returned.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.mask_before, std::ptr::null_mut()) };
    }
}

fn set_of(signals: &[c_int]) -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset initialises the set; the numbers are those of signals.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in signals {
            libc::sigaddset(set.as_mut_ptr(), *signal);
        }
        set.assume_init()
    }
}

#[cfg(test)]
mod tests {
    use std::io::pipe;
    use std::os::fd::AsRawFd as _;

    use super::*;

    fn has(set: &libc::sigset_t, signal: c_int) -> bool {
        // SAFETY: an initialised set and a signal's number.
        unsafe { libc::sigismember(set, signal) == 1 }
    }

    #[test]
    fn the_signals_of_the_program_stay_as_they_were() {
        // SAFETY: restoring the default action, as in a program that is not written in Rust, touches no memory.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
        let (reader, writer) = pipe().unwrap();
        drop(reader);
        assert!(!crate::descriptor::write_at_once(writer.as_raw_fd(), b"a message\n"));
        let after = Held::new().unwrap();
        assert!(!has(&after.mask_before, libc::SIGPIPE) && !has(&after.pending_before, libc::SIGPIPE));
    }

    #[test]
    fn a_signal_that_the_program_holds_back_itself_is_left_to_it() {
        let program = Held::new().unwrap();
        // SAFETY: the signal goes to this thread alone, which blocks it.
        unsafe { libc::pthread_kill(libc::pthread_self(), libc::SIGPIPE) };
        let ours = Held::new().unwrap();
        ours.take(libc::EPIPE);
        drop(ours);
        assert!(has(&Held::new().unwrap().pending_before, libc::SIGPIPE));
        program.take(libc::EPIPE);
    }
}
