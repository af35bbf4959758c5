//! The areas of the program's address space that the host's side of a copy lies in: private memory without a file, and
//! mapped files.
//!
//! In private memory without a file no access faults for lack of one. Where its pages are in memory, and one of them
//! may be accessed, a thread of ours may access all.
#![allow(unsafe_code)] // asks the system about addresses

use std::ffi::CStr;
use std::ops::Range;

use super::mapped::Mapped;
use super::page::Access;

/// Nothing is known about further areas of a copy.
const AREAS_MAX: usize = 16;

/// Bits of an area: it may be read, and it is shared.
const READABLE: u64 = 1;
const SHARED: u64 = 8;

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

/// An area, and the file that is mapped there.
#[derive(Debug)]
struct Area {
    range: Range<u64>,
    file: Option<Mapped>,
}

impl Area {
    fn holds(&self, start: u64, end: u64) -> bool {
        self.range.start <= start && end <= self.range.end
    }
}

/// The areas of a copy, as far as they are known.
#[derive(Debug, Default)]
pub(crate) struct Areas(Vec<Area>);

impl Areas {
    /// Those of a range, which is accessed so. None if the system does not tell (before Linux 6.11).
    pub(crate) fn of(start: u64, bytes: u64, access: Access) -> Areas {
        // SAFETY: a path of this program.
        let maps = unsafe { libc::open(c"/proc/self/maps".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
        if maps < 0 {
            return Areas::default();
        }
        let areas = among(maps, start..start + bytes, access);
        // SAFETY: opened above, and known here only.
        unsafe { libc::close(maps) };
        areas
    }

    /// Whether one area of private memory without a file holds all of a range.
    pub(super) fn hold(&self, start: u64, end: u64) -> bool {
        self.0.iter().any(|area| area.file.is_none() && area.holds(start, end))
    }

    /// The file that all of a range is mapped from.
    pub(super) fn file(&self, start: u64, end: u64) -> Option<&Mapped> {
        self.0.iter().find(|area| area.holds(start, end))?.file.as_ref()
    }
}

fn among(maps: libc::c_int, range: Range<u64>, access: Access) -> Areas {
    let (mut areas, mut at) = (Vec::new(), range.start);
    while at < range.end && areas.len() < AREAS_MAX {
        let Some(found) = ask(maps, at, &mut []).filter(|found| found.end > at) else { break };
        at = found.end;
        let range = found.start..found.end;
        if found.inode == 0 && found.device == [0, 0] {
            areas.push(Area { range, file: None });
        } else if access == Access::Read && found.area_flags & READABLE != 0 {
            let file = mapped(maps, &found);
            areas.extend(file.map(|file| Area { range, file: Some(file) }));
        }
    }
    Areas(areas)
}

/// The file of an area. `None` if it has no path.
fn mapped(maps: libc::c_int, area: &Query) -> Option<Mapped> {
    let mut name = [0; libc::PATH_MAX as usize];
    let found = ask(maps, area.start, &mut name)?;
    let is_same = (found.start, found.end, found.inode) == (area.start, area.end, area.inode);
    let path = CStr::from_bytes_until_nul(&name).ok().filter(|path| is_same && path.to_bytes().starts_with(b"/"))?;
    Some(Mapped {
        path: path.to_owned(),
        device: libc::makedev(found.device[0], found.device[1]),
        inode: found.inode,
        start: found.start,
        offset: found.offset,
        is_private: found.area_flags & SHARED == 0,
    })
}

/// Asks about the area at an address, and for its name if there is room for one.
fn ask(maps: libc::c_int, address: u64, name: &mut [u8]) -> Option<Query> {
    let mut query = Query { size: size_of::<Query>() as u64, address, ..Query::default() };
    if !name.is_empty() {
        (query.name, query.name_bytes) = (name.as_mut_ptr() as u64, name.len() as u32);
    }
    // SAFETY: the structure is the one that this request reads and writes, and names as much room as there is.
    let asked = unsafe { libc::ioctl(maps, QUERY, &raw mut query) };
    (asked == 0).then_some(query)
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
        let areas = Areas::of(start + 5, 2 * bytes - 10, Access::Read);
        if areas.0.is_empty() {
            return; // an older system
        }
        assert!(areas.hold(start + 5, start + bytes) && areas.hold(start + bytes, start + 2 * bytes));
        assert!(!areas.hold(start + 5, start + bytes + 1), "two areas");
        assert!(areas.file(start + 5, start + bytes).is_none());
        let shared = mapped(libc::MAP_SHARED);
        assert!(!Areas::of(shared, bytes, Access::Write).hold(shared, shared + bytes), "shared memory is a file");
        assert!(Areas::of(4096, 4096, Access::Read).0.is_empty(), "not mapped");
    }
}
