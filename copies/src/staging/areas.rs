//! Areas of the program's address space in which no access can fault for lack of a file: private memory that maps none.
//! If the pages of such an area are in memory and one of them may be accessed, threads of the layer may access all.
#![allow(unsafe_code)] // asks the system about addresses

use std::ops::Range;

/// A copy in more areas is treated as if nothing were known about them.
const AREAS_MAX: usize = 16;

/// `struct procmap_query` of Linux 6.11.
#[repr(C)]
#[derive(Default)]
struct Query {
    size: u64,
    flags: u64,
    address: u64,
    start: u64,
    end: u64,
    area_flags: u64,
    page_bytes: u64,
    offset: u64,
    inode: u64,
    device: [u32; 2],
    name_bytes: u32,
    build_id_bytes: u32,
    name: u64,
    build_id: u64,
}

/// `PROCMAP_QUERY`: a query of 104 bytes, which the system reads and writes.
const QUERY: libc::c_ulong = 3 << 30 | (size_of::<Query>() as libc::c_ulong) << 16 | (b'f' as libc::c_ulong) << 8 | 17;

/// The areas of private memory without a file that the host's side of a copy lies in.
#[derive(Debug, Default)]
pub(crate) struct Areas(Vec<Range<u64>>);

impl Areas {
    /// Those of a range. None if any byte of it lies elsewhere, or if the system does not tell (before Linux 6.11).
    pub(crate) fn of(start: u64, bytes: u64) -> Areas {
        // SAFETY: a path of this program.
        let maps = unsafe { libc::open(c"/proc/self/maps".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
        if maps < 0 {
            return Areas::default();
        }
        let areas = among(maps, start, start + bytes);
        // SAFETY: opened above, and known here only.
        unsafe { libc::close(maps) };
        areas.unwrap_or_default()
    }

    /// Whether one area holds all of a range.
    pub(super) fn hold(&self, start: u64, end: u64) -> bool {
        self.0.iter().any(|area| area.start <= start && end <= area.end)
    }
}

fn among(maps: libc::c_int, start: u64, end: u64) -> Option<Areas> {
    let (mut areas, mut at) = (Areas::default(), start);
    while at < end {
        let mut query = Query { size: size_of::<Query>() as u64, address: at, ..Query::default() };
        // SAFETY: the structure is the one that this request reads and writes; no name is asked for.
        let asked = unsafe { libc::ioctl(maps, QUERY, &raw mut query) };
        let is_private = query.inode == 0 && query.device == [0, 0];
        if asked != 0 || !is_private || query.end <= at || areas.0.len() == AREAS_MAX {
            return None;
        }
        areas.0.push(query.start..query.end);
        at = query.end;
    }
    Some(areas)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: usize = 1 << 20;

    /// A mapping of two areas, of which only the first may be written.
    fn mapped(kind: i32) -> u64 {
        let (both, access) = (2 * BYTES, libc::PROT_READ | libc::PROT_WRITE);
        // SAFETY: a fresh mapping at an address of the system's choice, which ends with the process.
        unsafe {
            let start = libc::mmap(std::ptr::null_mut(), both, access, kind | libc::MAP_ANONYMOUS, -1, 0);
            assert_ne!(start, libc::MAP_FAILED);
            assert_eq!(libc::mprotect(start.add(BYTES), BYTES, libc::PROT_READ), 0);
            start as u64
        }
    }

    #[test]
    fn only_private_memory_without_a_file_is_held() {
        let bytes = BYTES as u64;
        let start = mapped(libc::MAP_PRIVATE);
        let areas = Areas::of(start + 5, 2 * bytes - 10);
        if areas.0.is_empty() {
            return; // an older system
        }
        assert!(areas.hold(start + 5, start + bytes) && areas.hold(start + bytes, start + 2 * bytes));
        assert!(!areas.hold(start + 5, start + bytes + 1), "two areas");
        let shared = mapped(libc::MAP_SHARED);
        assert!(Areas::of(shared, bytes).0.is_empty(), "shared memory is a file");
        assert!(Areas::of(4096, 4096).0.is_empty(), "not mapped");
    }
}
