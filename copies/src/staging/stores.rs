//! Copies from memory to memory, by ordinary or by streaming stores.
#![allow(unsafe_code)] // moves bytes between addresses

use priority::Direction;

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
#[cfg(all(target_arch = "x86_64", not(miri)))]
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

/// Copies between a slot and the program's memory, as far as that may be accessed. `false` if some byte may not be: the
/// kernel copies, so there is no fault. It takes a third more time than a copy of the thread's own.
///
/// # Safety
/// Both ranges are those of a copy between a slot and the program, of this direction, and no other thread uses them.
pub(super) unsafe fn copy_without_fault(direction: Direction, program: *mut u8, slot: *mut u8, bytes: usize) -> bool {
    let [theirs, ours] = [program, slot].map(|start| libc::iovec { iov_base: start.cast(), iov_len: bytes });
    // The kernel looks pages of the far side up one by one, and faults are cheaper on the near side: that is theirs.
    // SAFETY: the far side is a slot, which the caller vouches for; the kernel checks the near one.
    let moved = unsafe {
        match direction {
            Direction::HostToDevice => {
                libc::process_vm_writev(libc::getpid(), &raw const theirs, 1, &raw const ours, 1, 0)
            }
            _ => libc::process_vm_readv(libc::getpid(), &raw const theirs, 1, &raw const ours, 1, 0),
        }
    };
    moved == bytes as isize
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

    /// Two pages, of which the second may not be accessed.
    #[test]
    #[cfg_attr(miri, ignore)] // the kernel copies
    fn the_kernel_copies_without_a_fault() {
        const PAGE: usize = 4096;
        let (kind, access) = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, libc::PROT_READ | libc::PROT_WRITE);
        // SAFETY: a fresh mapping at an address of the system's choice, whose second half no reference points into.
        let program = unsafe {
            let start = libc::mmap(std::ptr::null_mut(), 2 * PAGE, access, kind, -1, 0);
            assert_ne!(start, libc::MAP_FAILED);
            assert_eq!(libc::mprotect(start.add(PAGE), PAGE, libc::PROT_NONE), 0);
            start.cast::<u8>()
        };
        let mut slot = vec![7_u8; 2 * PAGE];
        let (up, down, ours) = (Direction::HostToDevice, Direction::DeviceToHost, slot.as_mut_ptr());
        // SAFETY: both have two pages.
        let moved = |direction, bytes| unsafe { copy_without_fault(direction, program, ours, bytes) };
        assert!(moved(down, PAGE));
        // SAFETY: the first page may be accessed.
        unsafe {
            assert!(*program == 7 && *program.add(PAGE - 1) == 7);
            program.write(9);
        }
        assert!(moved(up, PAGE) && !moved(up, PAGE + 1) && !moved(down, PAGE + 1));
        assert_eq!([slot[0], slot[1], slot[PAGE]], [9, 7, 7]);
        // SAFETY: the mapping above.
        unsafe { libc::munmap(program.cast(), 2 * PAGE) };
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
