//! A board: a small file in memory that this process writes without a system call, and that others read.
//!
//! The libraries are guests. A descriptor that is kept could be closed and taken by the program, and a sandbox may
//! forbid to open files later. So the file is made once, mapped and closed, and a change is a few stores. It lies in a
//! memory file system, where a store never waits for a disk, and has all of its pages from the beginning.
//!
//! A file begins with a mark, the number of changes and the length of the text. The number is odd during a change, so
//! a reader that finds the same even number before and after has read a whole text.
#![allow(unsafe_code)] // a mapping, and questions about file systems

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Error, ErrorKind};
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// The bytes of a file.
const BYTES: usize = 64 << 10;
/// The bytes before the text.
const HEAD_BYTES: usize = 24;
const MARK: [u8; 8] = *b"overtake";
/// A reader that meets changes tries so often.
const TRIES: usize = 100;

/// A board of this process. Its pages stay mapped for ever.
pub struct Board {
    pages: NonNull<u8>,
    path: PathBuf,
}

// SAFETY: the pages belong to the board alone, and any one thread may store there.
unsafe impl Send for Board {}

impl Board {
    /// Makes the file, for this user alone. One of the same name is of an earlier program of this process. Nobody may
    /// write it by its name: where it were cut short, a store would end the program.
    ///
    /// # Errors
    /// The system's own errors. Further: the folder is another user's or open to others, or is on no memory file
    /// system.
    #[expect(clippy::disallowed_methods, reason = "a file of our own, made or not at all")]
    pub fn make(folder: &Path, name: &str) -> io::Result<Board> {
        make_folder(folder)?;
        let path = folder.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o400).open(&path)?;
        let pages = map(&file).inspect_err(|_| drop(fs::remove_file(&path)))?;
        Ok(Board { pages, path })
    }

    /// Puts this text up. `false` if it is too long; the old one stays then.
    pub fn write(&mut self, text: &[u8]) -> bool {
        if text.len() > BYTES - HEAD_BYTES {
            return false;
        }
        // SAFETY: the mapping has `BYTES` bytes and begins at a page, so both words lie in it and are aligned; in this
        // process only this exclusive reference leads to them.
        let (changes, length) = unsafe {
            let word = |place| AtomicU64::from_ptr(self.pages.as_ptr().add(place).cast());
            (word(8), word(16))
        };
        let before = changes.load(Ordering::Relaxed);
        changes.store(before.wrapping_add(1), Ordering::Relaxed);
        fence(Ordering::SeqCst);
        length.store(text.len() as u64, Ordering::Relaxed);
        // SAFETY: the text fits behind the head, and no reference leads there.
        unsafe { ptr::copy_nonoverlapping(text.as_ptr(), self.pages.as_ptr().add(HEAD_BYTES), text.len()) };
        changes.store(before.wrapping_add(2), Ordering::Release);
        true
    }

    /// Removes the file. A later text reaches nobody.
    pub fn remove(&self) {
        let _it_may_be_gone = fs::remove_file(&self.path);
    }
}

/// The text of a board; `None` if there is none yet.
///
/// # Errors
/// The system's own errors. Further: the file is no board, or every try has met a change.
pub fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = crate::file::open_itself(path)?;
    let number = |bytes: &[u8]| bytes.try_into().map(u64::from_ne_bytes).unwrap_or_default();
    for _ in 0..TRIES {
        let mut bytes = vec![0; BYTES];
        file.read_exact_at(&mut bytes, 0)?;
        let mut after = [0; 8];
        file.read_exact_at(&mut after, 8)?;
        let (changes, length) = (number(&bytes[8..16]), number(&bytes[16..HEAD_BYTES]));
        if bytes[..8] != MARK || length > (BYTES - HEAD_BYTES) as u64 {
            return Err(Error::new(ErrorKind::InvalidData, "it is no file of overtake's"));
        }
        if changes % 2 == 0 && bytes[8..16] == after {
            bytes.truncate(HEAD_BYTES + length as usize);
            return Ok((changes > 0).then(|| bytes.split_off(HEAD_BYTES)));
        }
    }
    Err(Error::new(ErrorKind::InvalidData, "its writer has stopped in the middle of a change"))
}

/// The user whose rights this process has.
#[must_use]
pub fn user() -> u32 {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::geteuid() }
}

/// Makes the folder, for this user alone, if it is not there.
fn make_folder(folder: &Path) -> io::Result<()> {
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    check(folder, false)
}

/// Whether a folder is one for such files: for one user alone, who is this one unless it `may_be_anothers`.
///
/// # Errors
/// The system's own errors. Further: it is not, or is on no memory file system.
pub fn check(folder: &Path, may_be_anothers: bool) -> io::Result<()> {
    // Not through a link, which another user may have put there.
    let about = fs::symlink_metadata(folder)?;
    let is_owned = may_be_anothers || about.uid() == user();
    if !about.is_dir() || !is_owned || about.mode() & 0o077 != 0 {
        return Err(Error::new(ErrorKind::PermissionDenied, "it is not a folder of this user alone"));
    }
    if is_in_memory(folder)? { Ok(()) } else { Err(Error::new(ErrorKind::Unsupported, "it is on a disk")) }
}

/// Whether there is a process of this number, also where the system hides what it knows of it.
#[must_use]
pub fn is_there(pid: u32) -> bool {
    let Ok(pid) = libc::pid_t::try_from(pid) else { return false };
    // SAFETY: signal 0 is sent to nobody; a positive number is one process.
    pid > 0 && (unsafe { libc::kill(pid, 0) } == 0 || Error::last_os_error().raw_os_error() == Some(libc::EPERM))
}

fn is_in_memory(folder: &Path) -> io::Result<bool> {
    let name = CString::new(folder.as_os_str().as_bytes())?;
    let mut about = std::mem::MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: a string that ends with NUL, and a place for the answer, which is read only if the call has filled it.
    let kind = unsafe {
        if libc::statfs(name.as_ptr(), about.as_mut_ptr()) != 0 {
            return Err(Error::last_os_error());
        }
        about.assume_init().f_type
    };
    Ok(kind == libc::TMPFS_MAGIC as _)
}

/// Gives the file its pages, and maps them.
fn map(file: &File) -> io::Result<NonNull<u8>> {
    // Written, and not only made long: a store to a page that the system cannot give would end the program.
    let mut bytes = vec![0; BYTES];
    bytes[..8].copy_from_slice(&MARK);
    file.write_all_at(&bytes, 0)?;
    let (access, descriptor) = (libc::PROT_READ | libc::PROT_WRITE, file.as_raw_fd());
    // SAFETY: a new mapping at a place of the system's choice, of a file with so many bytes.
    let address = unsafe { libc::mmap(ptr::null_mut(), BYTES, access, libc::MAP_SHARED, descriptor, 0) };
    if address == libc::MAP_FAILED {
        return Err(Error::last_os_error());
    }
    NonNull::new(address.cast()).ok_or_else(|| Error::other("the system has mapped the file at address 0"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::sync::atomic::AtomicBool;

    use super::*;

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir_in("/dev/shm").unwrap()
    }

    #[test]
    #[cfg_attr(miri, ignore)] // it maps a file
    fn a_text_is_read_as_it_was_written_by_this_user_alone() {
        let folder = folder();
        let mut board = Board::make(&folder.path().join("mine"), "7").unwrap();
        let path = folder.path().join("mine/7");
        assert_eq!(read(&path).unwrap(), None);
        for text in ["the first one, which is longer", "another", ""] {
            assert!(board.write(text.as_bytes()));
            assert_eq!(read(&path).unwrap().unwrap(), text.as_bytes());
        }
        assert!(board.write(&[b'x'; BYTES - HEAD_BYTES]) && !board.write(&[b'y'; BYTES - HEAD_BYTES + 1]));
        assert_eq!(read(&path).unwrap().unwrap(), [b'x'; BYTES - HEAD_BYTES]);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(&folder.path().join("mine"))), (0o400, 0o700));
        let again = Board::make(&folder.path().join("mine"), "7").unwrap();
        assert_eq!(read(&path).unwrap(), None, "the file of an earlier program is replaced");
        again.remove();
        assert!(!path.exists());
    }

    /// Root reads the folders of all users: to open some devices is to use them.
    #[test]
    #[cfg_attr(miri, ignore)] // it asks the system
    fn a_file_that_is_a_link_is_not_opened() {
        let folder = folder();
        let mut board = Board::make(&folder.path().join("mine"), "7").unwrap();
        board.write(b"text");
        let link = folder.path().join("mine/8");
        std::os::unix::fs::symlink(folder.path().join("mine/7"), &link).unwrap();
        assert_eq!(read(&link).unwrap_err().raw_os_error(), Some(libc::ELOOP));
    }

    /// Other users could read what is in it, or change it.
    #[test]
    #[cfg_attr(miri, ignore)] // it asks the system
    fn a_folder_that_others_may_enter_is_refused() {
        let folder = folder();
        let open = folder.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).unwrap();
        let linked = folder.path().join("linked");
        std::os::unix::fs::symlink(folder.path(), &linked).unwrap();
        for path in [open, linked] {
            let refused = Board::make(&path, "7").err().unwrap();
            assert_eq!(refused.kind(), ErrorKind::PermissionDenied, "{}", path.display());
        }
    }

    #[test]
    #[cfg_attr(miri, ignore)] // it asks the system
    fn a_disk_is_refused_and_so_is_a_file_of_somebody_elses() {
        let (refused, folder) = (make_folder("/proc/self".as_ref()).unwrap_err(), folder());
        assert!([ErrorKind::Unsupported, ErrorKind::PermissionDenied].contains(&refused.kind()), "{refused}");
        assert!(!is_in_memory("/proc".as_ref()).unwrap() && is_in_memory("/dev/shm".as_ref()).unwrap());
        let path = folder.path().join("other");
        fs::write(&path, vec![b'z'; BYTES]).unwrap();
        assert_eq!(read(&path).unwrap_err().kind(), ErrorKind::InvalidData);
    }

    #[test]
    #[cfg_attr(miri, ignore)] // it maps a file
    fn a_reader_beside_the_writer_sees_whole_texts_only() {
        let folder = folder();
        let mut board = Board::make(&folder.path().join("mine"), "7").unwrap();
        board.write(b"0");
        let (path, is_over) = (folder.path().join("mine/7"), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0..20_000_usize {
                    let text = vec![b'a' + (number % 26) as u8; 1 + number * 7919 % 40_000];
                    board.write(&text);
                }
                is_over.store(true, Ordering::Relaxed);
            });
            let mut whole = 0;
            while !is_over.load(Ordering::Relaxed) {
                // Every try may meet a change; a text that is read is whole.
                let Ok(Some(text)) = read(&path) else { continue };
                assert!(text.iter().all(|byte| *byte == text[0]), "torn: {} bytes", text.len());
                whole += 1;
            }
            assert!(whole > 0);
        });
    }
}
