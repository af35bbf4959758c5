//! Prefetch hints: memory that is about to be used, and probably not in the processor's cache.
#![allow(unsafe_code)] // the processor's instruction

/// The bytes of a line of the cache.
pub(crate) const LINE: usize = 64;

/// Brings the line of this place into the cache of the calling thread's processor, for changes, and does not
/// wait for them. Any address will do.
#[inline(always)]
#[cfg_attr(any(miri, not(target_arch = "x86_64")), expect(unused_variables, reason = "there is no such hint"))]
pub(crate) fn prefetch(place: *const u8) {
    // SAFETY: the instruction changes nothing that a program sees, and never faults.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) place, options(nostack, preserves_flags, readonly));
    }
}
