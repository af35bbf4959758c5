//! Copies from memory to memory.
#![allow(unsafe_code)] // moves bytes between addresses

use terms::Direction;

/// Larger targets of the host go past the caches: written through them, they would be read from memory first, and would
/// drive out the slots and the program's own data.
const STREAMED_BYTES_MIN: u64 = 8 << 20;

/// Slots of copies to the device of at most this size go past the caches: the engine reads from memory faster than from
/// the cache of the core that has written. In a larger copy that costs the threads more than the engine gains: on an
/// H100 4 MiB had 18 GB/s in place of 13, 16 MiB 24 in place of 22, and 64 MiB 29 in place of 33.
const STREAMED_SLOTS_BYTES_MAX: u64 = 16 << 20;

/// Whether a copy of so many bytes stores past the caches. With `yields` few threads make its pieces, one at a time.
pub(super) fn are_streamed(direction: Direction, bytes: u64, yields: bool) -> bool {
    match direction {
        Direction::HostToDevice => yields || bytes <= STREAMED_SLOTS_BYTES_MAX,
        _ => bytes >= STREAMED_BYTES_MIN,
    }
}

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
    fn copies_go_past_the_caches_where_that_is_faster() {
        let (up, down, mib) = (Direction::HostToDevice, Direction::DeviceToHost, 1_u64 << 20);
        assert!(are_streamed(up, 4 * mib, false) && are_streamed(up, 16 * mib, false));
        assert!(!are_streamed(up, 64 * mib, false) && are_streamed(up, 64 * mib, true), "one piece at a time");
        assert!([false, true].map(|yields| are_streamed(down, 8 * mib, yields)) == [true, true]);
        assert!([false, true].map(|yields| are_streamed(down, 4 * mib, yields)) == [false, false]);
    }

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
