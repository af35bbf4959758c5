//! Mapped files, read by a thread with a table of its own.
#![allow(unsafe_code)] // maps files

use std::fs::{self, File};
use std::io::Read as _;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::super::areas::Areas;
use super::super::page::Access;
use super::*;

pub(crate) const BYTES: u64 = 256 * PAGE_BYTES;

/// The mapping begins so far behind the first byte of the file.
const OFFSET: u64 = 3 * PAGE_BYTES;

/// A file of fresh bytes and a mapping of it. Both end with this value.
pub(crate) struct TestFile {
    path: PathBuf,
    /// The bytes that are mapped.
    pub(crate) content: Vec<u8>,
    pub(crate) start: u64,
}

impl TestFile {
    pub(crate) fn map(kind: libc::c_int) -> TestFile {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let folder = Some(Path::new("/dev/shm")).filter(|folder| folder.is_dir()).map(Path::to_owned);
        let name = format!("overtake-mapped-{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let path = folder.unwrap_or_else(std::env::temp_dir).join(name);
        let mut content: Vec<u8> = (0..OFFSET + BYTES).map(|at| (at * 7 + at / 251) as u8).collect();
        fs::write(&path, &content).unwrap();
        content.drain(..OFFSET as usize);
        let file = File::options().read(true).write(true).open(&path).unwrap();
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let (any, bytes, offset) = (std::ptr::null_mut(), BYTES as usize, OFFSET as libc::off_t);
        // SAFETY: a fresh mapping at an address of the system's choice.
        let start = unsafe { libc::mmap(any, bytes, access, kind, file.as_raw_fd(), offset) };
        assert_ne!(start, libc::MAP_FAILED);
        TestFile { path, content, start: start as u64 }
    }

    fn is_known(&self) -> bool {
        let path = CString::new(self.path.to_str().unwrap()).unwrap();
        open(&path, 0).is_some_and(|file| is_known(&file))
    }

    /// The number of its pages that the mapping has.
    pub(crate) fn present(&self) -> usize {
        let (pages, mut entries) = (File::open("/proc/self/pagemap").unwrap(), [0; 8 * (BYTES / PAGE_BYTES) as usize]);
        pages.read_exact_at(&mut entries, self.start / PAGE_BYTES * 8).unwrap();
        entries.chunks_exact(8).filter(|entry| entry[7] & 0x80 != 0).count()
    }

    /// The bytes of a range, if a thread with a table of its own reads them from the file.
    fn read(&self, at: u64, bytes: u64) -> Option<Vec<u8>> {
        let areas = Areas::of(self.start, BYTES, Access::Read);
        let file = areas.file(self.start + at, self.start + at + bytes)?;
        std::thread::scope(|scope| {
            let read = || {
                let (own, mut there) = (OwnTable::of_this_thread()?, vec![0; bytes as usize]);
                // SAFETY: the vector has room for so many bytes.
                unsafe { file.read(&own, self.start + at, bytes, there.as_mut_ptr()) }.then_some(there)
            };
            scope.spawn(read).join().unwrap()
        })
    }

    fn bytes(&self, at: u64, bytes: u64) -> Vec<u8> {
        self.content[at as usize..(at + bytes) as usize].to_vec()
    }

    /// The program changes one byte of the mapping.
    pub(crate) fn change(&mut self, at: u64) {
        let byte = &mut self.content[at as usize];
        *byte ^= 0xff;
        // SAFETY: the mapping has this byte, and no reference points into it.
        unsafe { (self.start as *mut u8).add(at as usize).write_volatile(*byte) };
    }
}

impl Drop for TestFile {
    fn drop(&mut self) {
        // SAFETY: the mapping of `map`, which no reference points into.
        unsafe { libc::munmap(self.start as *mut libc::c_void, BYTES as usize) };
        let _it_may_be_gone = fs::remove_file(&self.path);
    }
}

/// Whether the system, and its file system here, let files be read past their mappings.
pub(crate) fn is_supported() -> bool {
    let file = TestFile::map(libc::MAP_PRIVATE);
    file.is_known() && file.read(0, 1).is_some()
}

#[test]
fn bytes_are_read_past_the_mapping() {
    if !is_supported() {
        return;
    }
    for kind in [libc::MAP_SHARED, libc::MAP_PRIVATE] {
        let file = TestFile::map(kind);
        for (at, bytes) in [(0, BYTES), (5, 1), (PAGE_BYTES - 1, 2), (BYTES - 3, 3)] {
            assert_eq!(file.read(at, bytes), Some(file.bytes(at, bytes)), "{bytes} at {at}");
        }
        assert_eq!(file.present(), 0, "pages have been made present");
    }
}

#[test]
fn a_page_that_the_program_has_changed_is_not_read_from_the_file() {
    if !is_supported() {
        return;
    }
    let mut file = TestFile::map(libc::MAP_PRIVATE);
    file.change(3 * PAGE_BYTES + 9);
    assert_eq!(file.read(0, BYTES), None);
    assert_eq!(file.read(4 * PAGE_BYTES - 1, 1), None, "another byte of that page");
    let before = file.bytes(0, 3 * PAGE_BYTES);
    assert_eq!(file.read(0, 3 * PAGE_BYTES), Some(before), "the pages before it");
    let mut shared = TestFile::map(libc::MAP_SHARED);
    shared.change(0);
    assert_eq!(shared.read(0, 10), Some(shared.bytes(0, 10)), "the file has the byte");
}

#[test]
fn another_file_at_the_path_is_not_read() {
    if !is_supported() {
        return;
    }
    let (file, other) = (TestFile::map(libc::MAP_SHARED), TestFile::map(libc::MAP_SHARED));
    fs::remove_file(&file.path).unwrap();
    assert_eq!(file.read(0, BYTES), None, "it has been removed");
    // The system's name for a file that has been removed.
    let mut gone = file.path.clone().into_os_string();
    gone.push(" (deleted)");
    fs::rename(&other.path, &gone).unwrap();
    assert_eq!(file.read(0, BYTES), None, "another file has that name");
    fs::remove_file(&gone).unwrap();
    let short = TestFile::map(libc::MAP_SHARED);
    File::options().write(true).open(&short.path).unwrap().set_len(OFFSET + PAGE_BYTES).unwrap();
    assert_eq!(short.read(0, PAGE_BYTES), Some(short.bytes(0, PAGE_BYTES)));
    assert_eq!(short.read(0, PAGE_BYTES + 1), None, "beyond the end of the file");
}

/// A lock of the file that the process holds, as another one would see it.
fn is_locked(file: &File) -> bool {
    let mut lock = whole(libc::F_WRLCK);
    // SAFETY: the structure is filled; the descriptor is open.
    assert_eq!(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut lock) }, 0);
    i32::from(lock.l_type) != libc::F_UNLCK
}

fn whole(kind: libc::c_int) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    }
}

/// A process that closes any descriptor of a file loses its locks of that file.
#[test]
fn locks_of_the_program_stay() {
    if !is_supported() {
        return;
    }
    let file = TestFile::map(libc::MAP_SHARED);
    let [holds, looks] = [(); 2].map(|()| File::options().read(true).write(true).open(&file.path).unwrap());
    // SAFETY: the structure is filled; the descriptor is open.
    assert_eq!(unsafe { libc::fcntl(holds.as_raw_fd(), libc::F_SETLK, &whole(libc::F_WRLCK)) }, 0);
    assert!(is_locked(&looks));
    assert_eq!(file.read(0, BYTES), Some(file.bytes(0, BYTES)));
    assert!(is_locked(&looks), "the lock has been lost");
}

/// The reader of a pipe sees its end when the program closes the other side.
#[test]
fn no_descriptor_of_the_program_stays_open_in_a_thread() {
    let (mut reader, writer) = std::io::pipe().unwrap();
    let [(has_table, table), (may_end, ends)] = [(); 2].map(|()| std::sync::mpsc::channel::<bool>());
    let thread = std::thread::spawn(move || {
        has_table.send(OwnTable::of_this_thread().is_some()).unwrap();
        ends.recv()
    });
    if table.recv().unwrap() {
        drop(writer);
        let mut poll = libc::pollfd { fd: reader.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one structure, which is filled.
        assert_eq!(unsafe { libc::poll(&raw mut poll, 1, 1_000) }, 1, "the other side is still open");
        assert_eq!(reader.read(&mut [0]).unwrap(), 0);
    }
    may_end.send(true).unwrap();
    thread.join().unwrap().unwrap();
}
