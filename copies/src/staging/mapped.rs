//! Files that the program has mapped. A thread of ours reads their bytes past the mapping. To make the pages of a
//! mapping present takes a lock of the address space, and eight threads do that at a third of the rate at which eight
//! read (`README.md`).
//!
//! A process that closes any descriptor of a file loses its locks of that file (`fcntl(2)`), and a program may count on
//! the number of the next descriptor. So a thread that opens files has a table of descriptors of its own.
#![allow(unsafe_code)] // system calls about descriptors and addresses

use std::ffi::{CStr, CString};
use std::marker::PhantomData;

use super::page::PAGE_BYTES;

/// File systems in which a map and a read of a file see the same pages, and neither asks another machine. Not the one
/// that lays folders over each other: there a file that was mapped, and was changed by another process then, has new
/// bytes under the same name and number.
const SYSTEMS: [libc::c_long; 3] = [libc::EXT4_SUPER_MAGIC, libc::XFS_SUPER_MAGIC, libc::TMPFS_MAGIC];

/// `RESOLVE_NO_MAGICLINKS`, and `RESOLVE_CACHED` (Linux 5.12): the call waits for no disk and no other machine, even if
/// something else has been mounted at that path since.
const WITHOUT_WAITING: u64 = 0x02 | 0x20;

/// `struct open_how`.
#[repr(C)]
struct How {
    flags: u64,
    mode: u64,
    resolve: u64,
}

/// `struct pm_scan_arg` of Linux 6.7.
#[repr(C)]
#[derive(Default)]
struct Scan {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    found: u64,
    found_max: u64,
    pages_max: u64,
    inverted: u64,
    all_of: u64,
    any_of: u64,
    told: u64,
}

/// `struct page_region`.
#[repr(C)]
#[derive(Default)]
struct Region {
    start: u64,
    end: u64,
    categories: u64,
}

/// `PAGEMAP_SCAN`: a query of 96 bytes, which the system reads and writes.
const SCAN: libc::c_ulong = 3 << 30 | (size_of::<Scan>() as libc::c_ulong) << 16 | (b'f' as libc::c_ulong) << 8 | 16;

/// Pages of the file, pages in memory, and pages that the system has moved out of it.
const OF_FILE: u64 = 1 << 2;
const PRESENT: u64 = 1 << 3;
const SWAPPED: u64 = 1 << 4;

/// A mapping of a file.
#[derive(Debug)]
pub(super) struct Mapped {
    pub(super) path: CString,
    pub(super) device: libc::dev_t,
    pub(super) inode: u64,
    /// The first address of the mapping, and the byte of the file that lies there.
    pub(super) start: u64,
    pub(super) offset: u64,
    /// A page that the program writes becomes its own, and the file keeps its bytes.
    pub(super) is_private: bool,
}

/// A descriptor in the calling thread's table, closed when this is dropped.
struct Descriptor(libc::c_int);

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: it was opened for this value, in the table of the thread, which it does not leave.
        unsafe { libc::close(self.0) };
    }
}

/// The calling thread has a table of descriptors of its own. It stays on that thread.
#[derive(Debug)]
pub(super) struct OwnTable(PhantomData<*const ()>);

impl OwnTable {
    /// Gives the calling thread an empty table. It sees no descriptor of the program from now on, standard error
    /// included, so that none stays open in it when the program closes it. `None` where the system refuses
    /// (before Linux 5.9).
    pub(super) fn of_this_thread() -> Option<OwnTable> {
        const ALL: [libc::c_uint; 2] = [0, libc::c_uint::MAX];
        // SAFETY: the thread is one of ours and uses no descriptor of the program; with this flag the tables of the
        // other threads stay as they are.
        let made = unsafe { libc::syscall(libc::SYS_close_range, ALL[0], ALL[1], libc::CLOSE_RANGE_UNSHARE) };
        (made == 0).then_some(OwnTable(PhantomData))
    }
}

impl Mapped {
    /// Reads the bytes at these addresses of the mapping into the memory at `to`. `false` if they are not surely those
    /// of the file, or not all of them could be read.
    ///
    /// # Safety
    /// `to` may be written for so many bytes, which are used by no other thread.
    pub(super) unsafe fn read(&self, _own: &OwnTable, start: u64, bytes: u64, to: *mut u8) -> bool {
        let Some(file) = self.open() else { return false };
        if self.is_private && has_pages_of_its_own(start, start + bytes) != Some(false) {
            return false;
        }
        let mut done = 0;
        while done < bytes {
            let at = (start - self.start + self.offset + done) as libc::off_t;
            // SAFETY: passed on to the caller: the rest of its bytes.
            let read = unsafe { libc::pread(file.0, to.add(done as usize).cast(), (bytes - done) as usize, at) };
            match read {
                1.. => done += read as u64,
                0 => return false,
                _ if std::io::Error::last_os_error().raw_os_error() == Some(libc::EINTR) => {}
                _ => return false,
            }
        }
        true
    }

    /// The file, if it is still the one at its path, and in a file system that we know.
    fn open(&self) -> Option<Descriptor> {
        let file = open(&self.path, WITHOUT_WAITING)?;
        let mut found = std::mem::MaybeUninit::<libc::stat>::uninit();
        // SAFETY: the descriptor is open, and the structure has room for the answer.
        if unsafe { libc::fstat(file.0, found.as_mut_ptr()) } != 0 {
            return None;
        }
        // SAFETY: the call has succeeded, so the structure is filled.
        let found = unsafe { found.assume_init() };
        let is_the_same = (found.st_dev, found.st_ino) == (self.device, self.inode);
        (is_the_same && found.st_mode & libc::S_IFMT == libc::S_IFREG && is_known(&file)).then_some(file)
    }
}

fn open(path: &CStr, resolve: u64) -> Option<Descriptor> {
    let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY;
    let how = How { flags: flags as u64, mode: 0, resolve };
    // SAFETY: the path ends with a zero, and the structure is of the size that is told.
    let opened =
        unsafe { libc::syscall(libc::SYS_openat2, libc::AT_FDCWD, path.as_ptr(), &raw const how, size_of::<How>()) };
    (opened >= 0).then_some(Descriptor(opened as libc::c_int))
}

fn is_known(file: &Descriptor) -> bool {
    let mut system = std::mem::MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: the descriptor is open, and the structure has room for the answer.
    if unsafe { libc::fstatfs(file.0, system.as_mut_ptr()) } != 0 {
        return false;
    }
    // SAFETY: the call has succeeded, so the structure is filled.
    SYSTEMS.contains(&unsafe { system.assume_init() }.f_type)
}

/// Whether any page of a range of private memory is the program's own, so that its bytes need not be those of the file.
/// `None` if the system does not tell (before Linux 6.7).
fn has_pages_of_its_own(start: u64, end: u64) -> Option<bool> {
    let pages = open(c"/proc/self/pagemap", 0)?;
    let mut found = Region::default();
    let mut scan = Scan {
        size: size_of::<Scan>() as u64,
        start: start / PAGE_BYTES * PAGE_BYTES,
        end: end.next_multiple_of(PAGE_BYTES),
        found: &raw mut found as u64,
        found_max: 1,
        pages_max: 1,
        inverted: OF_FILE,
        all_of: OF_FILE,
        any_of: PRESENT | SWAPPED,
        told: PRESENT,
        ..Scan::default()
    };
    // SAFETY: the structure is the one that this request reads and writes, and names room for one region.
    let regions = unsafe { libc::ioctl(pages.0, SCAN, &raw mut scan) };
    (regions >= 0).then_some(regions > 0)
}

#[cfg(test)]
pub(crate) mod tests;
