//! Copies from memory to memory.
#![allow(unsafe_code)] // moves bytes between addresses

/// Larger targets go past the caches: written through them, they would be read from memory first, and would drive out
/// the slots and the program's own data.
pub(super) const STREAMED_BYTES_MIN: u64 = 8 << 20;

/// Shorter rows are not worth the wait at their end.
pub(super) const STREAMED_ROW_MIN: u64 = 4096;

/// The bytes that are stored together.
const LINE: usize = 64;

/// Copies by stores that go past the caches, and waits until other threads see them.
///
/// # Safety
/// As for [`std::ptr::copy_nonoverlapping`].
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(super) unsafe fn copy_streaming(from: *const u8, to: *mut u8, bytes: usize) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    use std::ptr::copy_nonoverlapping;
    let head = to.align_offset(LINE).min(bytes);
    let lines = (bytes - head) / LINE;
    let tail = head + lines * LINE;
    // SAFETY: all offsets are below `bytes`, so the caller vouches for them. From `head` on the target is aligned.
    unsafe {
        copy_nonoverlapping(from, to, head);
        for line in 0..lines {
            let at = head + line * LINE;
            let (from, to) = (from.add(at).cast::<__m128i>(), to.add(at).cast::<__m128i>());
            let loaded = [0, 1, 2, 3].map(|part| _mm_loadu_si128(from.add(part)));
            (0..4).for_each(|part| _mm_stream_si128(to.add(part), loaded[part]));
        }
        copy_nonoverlapping(from.add(tail), to.add(tail), bytes - tail);
        _mm_sfence();
    }
}

/// The same where there are no such stores.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub(super) unsafe fn copy_streaming(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: passed on to the caller.
    unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_arrives_and_no_other_changes() {
        let source: Vec<u8> = (0..600_u32).map(|byte| (byte * 7 + byte / 256) as u8).collect();
        for (offset, skew) in (0..70).flat_map(|offset| [(offset, 0), (offset, 3)]) {
            for bytes in [0, 1, 15, 63, 64, 65, 127, 128, 200, 400] {
                let mut target = vec![0xEE_u8; 600];
                // SAFETY: both vectors have more than 70 + 400 bytes.
                unsafe { copy_streaming(source.as_ptr().add(skew), target.as_mut_ptr().add(offset), bytes) };
                assert_eq!(target[offset..offset + bytes], source[skew..skew + bytes], "{bytes} at {offset}");
                assert!(target[..offset].iter().chain(&target[offset + bytes..]).all(|byte| *byte == 0xEE));
            }
        }
    }
}
