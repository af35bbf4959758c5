//! Memory that several APIs, or processes, share by a descriptor.
#![allow(unsafe_code)] // the system maps and unmaps by address

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::ptr::NonNull;

/// The whole of a memory file that cannot become shorter.
pub(crate) struct Mapping {
    start: NonNull<u8>,
    bytes: u64,
}

// SAFETY: a mapping is the whole process's. All access goes through `raw::Span`, whose methods document concurrent
// access.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

/// A memory file of so many zeros.
pub(crate) fn create(bytes: u64) -> io::Result<File> {
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: the name is NUL-terminated.
    let descriptor = checked(unsafe { libc::memfd_create(c"overtake-soft".as_ptr(), flags) })?;
    // SAFETY: a descriptor that was just opened, and has no other owner.
    let file = unsafe { File::from_raw_fd(descriptor) };
    file.set_len(bytes)?;
    // SAFETY: a call by value on a live descriptor.
    checked(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, libc::F_SEAL_SHRINK) })?;
    Ok(file)
}

impl Mapping {
    /// Maps a memory file. Other files are refused: a file that becomes shorter would end the process at the next
    /// access.
    pub(crate) fn new(file: &File) -> io::Result<Mapping> {
        // SAFETY: a call by value on a live descriptor.
        let seals = checked(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) })?;
        let bytes = file.metadata()?.len();
        if seals & libc::F_SEAL_SHRINK == 0 || bytes == 0 {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        let (protection, length) = (libc::PROT_READ | libc::PROT_WRITE, bytes as usize);
        // SAFETY: a new mapping at an address of the system's choice touches no memory of the process.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), length, protection, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Mapping { start, bytes })
    }

    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and each backing in it keeps this value. An error is impossible for
        // an address and a length that the system gave.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes as usize) };
    }
}

fn checked(result: i32) -> io::Result<i32> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
