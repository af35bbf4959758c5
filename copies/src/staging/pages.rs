//! Pages of the program's memory: made present before a thread of the layer touches them, so that no such thread
//! faults.
#![allow(unsafe_code)] // advice to the system about addresses

use super::areas::Areas;

/// The size of the smallest page.
const PAGE_BYTES: u64 = 4096;

/// The number of pages that are looked at in order to judge a range.
const SAMPLES: u64 = 16;

/// The number of pages that the system is asked about at once.
const ASKED: usize = 512;

/// The advice for smaller ranges costs no more than a look at them.
const LOOK_BYTES_MIN: u64 = 64 << 10;

/// The use of a range of a program's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Its bytes are read.
    Read,
    /// It is written.
    Write,
}

/// The pages of a range of a program's memory, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Pages {
    /// They were in memory.
    Present,
    /// The system may have made some just now, and they are in a cache.
    Made,
    /// The system refuses them, as told at [`populate`].
    Refused,
}

/// Makes the pages of a range present where they are not.
///
/// Where all pages are in memory, and lie in an area without a file, access to one tells whether all may be accessed.
/// That matters because the advice takes 20 us for a MiB of present pages on one thread, and 470 us on each of eight
/// (Linux 6.18 in a virtual machine): it marks each page as used, under locks that the threads share.
pub(super) fn provide(start: u64, bytes: u64, access: Access, areas: &Areas) -> Pages {
    let (first, end) = pages(start, bytes);
    let is_looked_at = bytes >= LOOK_BYTES_MIN && areas.hold(first, end);
    let is_there = is_looked_at && populate(start, 1, access) && are_all_resident(first, end);
    match is_there {
        true => Pages::Present,
        false if populate(start, bytes, access) => Pages::Made,
        false => Pages::Refused,
    }
}

fn are_all_resident(first: u64, end: u64) -> bool {
    let mut found = [0_u8; ASKED];
    (first..end).step_by(ASKED * PAGE_BYTES as usize).all(|at| {
        let bytes = (end - at).min(ASKED as u64 * PAGE_BYTES);
        // SAFETY: `found` has a byte for each page.
        let asked = unsafe { libc::mincore(at as *mut libc::c_void, bytes as usize, found.as_mut_ptr()) };
        asked == 0 && found[..(bytes / PAGE_BYTES) as usize].iter().all(|page| page & 1 == 1)
    })
}

/// Makes the pages of a range present. `false` where the system refuses: a page is not mapped, is not permitted, or
/// lies beyond the end of its file, or the system is older than this advice (Linux 5.14).
pub(super) fn populate(start: u64, bytes: u64, access: Access) -> bool {
    let (first, end) = pages(start, bytes);
    let advice = match access {
        Access::Read => libc::MADV_POPULATE_READ,
        Access::Write => libc::MADV_POPULATE_WRITE,
    };
    loop {
        // SAFETY: this advice changes no byte, and no mapping. A range that is not mapped is an error.
        if unsafe { libc::madvise(first as *mut libc::c_void, (end - first) as usize, advice) } == 0 {
            return true;
        }
        let error = std::io::Error::last_os_error().raw_os_error();
        if error != Some(libc::EINTR) && error != Some(libc::EAGAIN) {
            return false;
        }
    }
}

/// Whether the pages of a range are in memory, judged by a few of them. Those of a cold file are not.
pub(crate) fn are_resident(start: u64, bytes: u64) -> bool {
    let (first, end) = pages(start, bytes);
    let count = (end - first) / PAGE_BYTES;
    let samples = count.min(SAMPLES);
    (0..samples).map(|sample| first + sample * (count - 1) / (samples - 1).max(1) * PAGE_BYTES).all(is_resident)
}

fn is_resident(page: u64) -> bool {
    let mut found = 0_u8;
    // SAFETY: one page is asked about, and its answer is one byte, which `found` has room for.
    let asked = unsafe { libc::mincore(page as *mut libc::c_void, PAGE_BYTES as usize, &raw mut found) };
    asked == 0 && found & 1 == 1
}

/// The range in whole pages.
fn pages(start: u64, bytes: u64) -> (u64, u64) {
    (start / PAGE_BYTES * PAGE_BYTES, (start + bytes).next_multiple_of(PAGE_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fresh pages, of which the second half may not be touched.
    struct Mapped(*mut libc::c_void);

    const HALF: u64 = 16 * PAGE_BYTES;

    impl Mapped {
        fn new() -> Mapped {
            let (all, kind) = (2 * HALF as usize, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            // SAFETY: a fresh mapping at an address of the system's choice.
            let start =
                unsafe { libc::mmap(std::ptr::null_mut(), all, libc::PROT_READ | libc::PROT_WRITE, kind, -1, 0) };
            assert_ne!(start, libc::MAP_FAILED);
            // SAFETY: the second half of the mapping, which no reference points into.
            unsafe { libc::mprotect(start.add(HALF as usize), HALF as usize, libc::PROT_NONE) };
            Mapped(start)
        }
    }

    impl Drop for Mapped {
        fn drop(&mut self) {
            // SAFETY: the mapping of `new`, which no reference points into.
            unsafe { libc::munmap(self.0, 2 * HALF as usize) };
        }
    }

    #[test]
    fn pages_become_present_where_they_may_be_touched() {
        let mapped = Mapped::new();
        let start = mapped.0 as u64;
        assert!(!are_resident(start, HALF), "fresh pages");
        assert!(populate(start + 5, HALF - 10, Access::Write));
        assert!(are_resident(start + 5, HALF - 10));
        let areas = Areas::of(start, 2 * HALF);
        let known = if areas.hold(start, start + HALF) { Pages::Present } else { Pages::Made };
        assert_eq!(provide(start, HALF, Access::Write, &areas), known);
        assert_eq!(provide(start, HALF, Access::Write, &Areas::default()), Pages::Made);
        for access in [Access::Read, Access::Write] {
            assert!(!populate(start + HALF, 1, access), "{access:?}: a page without permission");
            assert!(!populate(start, HALF + 1, access), "{access:?}: a range that ends in one");
            assert_eq!(provide(start, 2 * HALF, access, &areas), Pages::Refused, "{access:?}: two areas");
            assert_eq!(provide(start + HALF, HALF, access, &areas), Pages::Refused, "{access:?}: the second one");
            assert!(!populate(PAGE_BYTES, PAGE_BYTES, access), "{access:?}: a page that is not mapped");
        }
        assert!(!are_resident(start, 2 * HALF));
        // Pages that were written before the permission was taken away are in memory, and are refused all the same.
        // SAFETY: the first half of the mapping, which no reference points into.
        assert_eq!(unsafe { libc::mprotect(start as *mut libc::c_void, HALF as usize, libc::PROT_NONE) }, 0);
        let areas = Areas::of(start, HALF);
        assert!(are_resident(start, HALF));
        assert_eq!(provide(start, HALF, Access::Read, &areas), Pages::Refused, "without permission");
    }
}
