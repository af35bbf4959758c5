//! The state of a program's thread that calls into the layer's code: preserved, as the program left it.
#![allow(unsafe_code)] // the C library's and the processor's state of a thread

use std::ffi::c_int;

/// glibc's numbers.
const ENABLE: c_int = 0;
const DISABLE: c_int = 1;

unsafe extern "C" {
    /// No binding has it for Linux.
    safe fn pthread_setcancelstate(state: c_int, before: Option<&mut c_int>) -> c_int;
}

/// While this lives, the thread cannot be cancelled (`pthread_cancel`): the unwinding would come through Rust code,
/// which may not be unwound by others, and the process would abort. A request that comes meanwhile takes effect at the
/// thread's next cancellation point afterwards. Floating-point exceptions do not trap, as Rust code expects. In the end
/// both are as before, and so are `errno` and the exception flags.
#[derive(Debug)]
#[must_use = "it acts until it is dropped"]
pub struct Kept {
    cancels: c_int,
    errno: c_int,
    float: u32,
}

impl Kept {
    /// Begins.
    #[inline]
    pub fn new() -> Kept {
        let mut cancels = DISABLE;
        pthread_setcancelstate(DISABLE, Some(&mut cancels));
        let float = float::get();
        if float & float::MASKED != float::MASKED {
            float::set(float::USUAL);
        }
        // SAFETY: the address is that of the calling thread's own.
        Kept { cancels, errno: unsafe { *libc::__errno_location() }, float }
    }
}

impl Default for Kept {
    fn default() -> Kept {
        Kept::new()
    }
}

impl Drop for Kept {
    #[inline]
    fn drop(&mut self) {
        if float::get() != self.float {
            float::set(self.float);
        }
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = self.errno };
        if self.cancels == ENABLE {
            pthread_setcancelstate(ENABLE, None);
        }
    }
}

/// The control and status word of vector arithmetic.
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod float {
    use std::arch::asm;

    /// All exceptions are masked.
    pub(super) const MASKED: u32 = 0x1f80;
    /// The word that a thread begins with.
    pub(super) const USUAL: u32 = MASKED;

    #[inline]
    pub(super) fn get() -> u32 {
        let mut word = 0_u32;
        // SAFETY: stores the word, and nothing else.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut word, options(nostack, preserves_flags)) };
        word
    }

    #[inline]
    pub(super) fn set(word: u32) {
        // SAFETY: loads a word that this thread has had, or begins with.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const word, options(nostack, preserves_flags, readonly)) };
    }
}

/// Other processors that CUDA runs on do not trap.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
mod float {
    pub(super) const MASKED: u32 = 0;
    pub(super) const USUAL: u32 = 0;

    pub(super) fn get() -> u32 {
        0
    }

    pub(super) fn set(_word: u32) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore)] // it asks the C library
    fn a_callers_state_is_the_same_afterwards() {
        let cancels = || {
            let mut before = -1;
            pthread_setcancelstate(ENABLE, Some(&mut before));
            pthread_setcancelstate(before, None);
            before
        };
        // SAFETY: the calling thread's own.
        let errno = || unsafe { libc::__errno_location() };
        let set = |value| {
            // SAFETY: as above.
            unsafe { *errno() = value };
        };
        set(77);
        let kept = Kept::new();
        set(5);
        assert_eq!(cancels(), DISABLE);
        let inner = Kept::new();
        drop(inner);
        assert_eq!(cancels(), DISABLE, "it is the outer one's");
        drop(kept);
        // SAFETY: as above.
        assert_eq!((cancels(), unsafe { *errno() }), (ENABLE, 77));
    }

    #[test]
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    fn exceptions_do_not_trap_meanwhile_and_leave_no_flag() {
        let one = std::hint::black_box(1.0_f64);
        let before = float::get();
        float::set(0x1f80 & !0x1000); // a result that is not exact traps
        let kept = Kept::new();
        assert!(std::hint::black_box(one / 3.0) > 0.0);
        drop(kept);
        assert_eq!(float::get(), 0x0f80);
        float::set(before);
        let kept = Kept::new();
        assert!(std::hint::black_box(one / 7.0) > 0.0);
        drop(kept);
        assert_eq!(float::get(), before);
    }
}
