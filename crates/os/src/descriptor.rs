//! Writes to a descriptor that belongs to the program: at once and in one piece, or not at all.
#![allow(unsafe_code)] // system calls on descriptors

use std::ffi::{CStr, CString, c_int};
use std::mem::MaybeUninit;

use crate::signals::Held;

/// A pipe takes this many bytes in one piece.
pub(crate) const BYTES_MAX: usize = libc::PIPE_BUF;

/// Writes all bytes without waiting and without raising a signal. Returns whether all of them were written.
pub(crate) fn write_at_once(descriptor: c_int, bytes: &[u8]) -> bool {
    let Some(held) = Held::new() else { return false };
    match kind(descriptor) {
        Some(libc::S_IFSOCK) => send(descriptor, bytes, &held),
        Some(libc::S_IFREG) => write(descriptor, bytes, &held),
        Some(_) => match reopen(descriptor) {
            Reopened::Own(own) => {
                let written = write(own, bytes, &held);
                // SAFETY: opened by `reopen`, and used here alone.
                unsafe { libc::close(own) };
                written
            }
            Reopened::NoReader => false,
            Reopened::Impossible => has_room(descriptor) && write(descriptor, bytes, &held),
        },
        None => false,
    }
}

/// Makes later writes to a descriptor of our own wait for room.
pub(crate) fn let_wait(descriptor: c_int) -> std::io::Result<()> {
    // SAFETY: plain numbers.
    let flags = unsafe { libc::fcntl(descriptor, libc::F_GETFL) };
    // SAFETY: plain numbers.
    let set = unsafe { libc::fcntl(descriptor, libc::F_SETFL, flags & !libc::O_NONBLOCK) };
    if flags < 0 || set < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}

/// The type of the file behind a descriptor; `None` where the descriptor is closed.
fn kind(descriptor: c_int) -> Option<libc::mode_t> {
    let mut status = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: `status` is a local, and it is read only after the call has filled it in.
    unsafe { (libc::fstat(descriptor, status.as_mut_ptr()) == 0).then(|| status.assume_init().st_mode & libc::S_IFMT) }
}

/// The attempt to open the file behind a descriptor a second time.
enum Reopened {
    Own(c_int),
    NoReader,
    Impossible,
}

/// Opens a pipe or a device a second time, so that writes do not wait. The flag must not be set on the program's own
/// descriptor: every process that inherited the descriptor would see the flag.
fn reopen(descriptor: c_int) -> Reopened {
    let path = CString::new(format!("/proc/thread-self/fd/{descriptor}")).unwrap_or_default();
    let flags = libc::O_WRONLY | libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC;
    match open(&path, flags) {
        Ok(own) => Reopened::Own(own),
        Err(libc::ENXIO) => Reopened::NoReader,
        // There is no /proc, or the terminal belongs to another user.
        Err(_) => Reopened::Impossible,
    }
}

fn open(path: &CStr, flags: c_int) -> Result<c_int, c_int> {
    // SAFETY: the path is NUL-terminated, and nothing is created.
    let opened = unsafe { libc::open(path.as_ptr(), flags) };
    if opened >= 0 { Ok(opened) } else { Err(error()) }
}

/// Whether a write of [`BYTES_MAX`] finds room now. Another process may take that room first; therefore [`reopen`] is
/// tried before.
fn has_room(descriptor: c_int) -> bool {
    let mut asked = libc::pollfd { fd: descriptor, events: libc::POLLOUT, revents: 0 };
    // SAFETY: one local structure.
    let answered = unsafe { libc::poll(&mut asked, 1, 0) };
    answered == 1 && asked.revents == libc::POLLOUT
}

fn write(descriptor: c_int, bytes: &[u8], held: &Held) -> bool {
    // SAFETY: the bytes live as long as the call.
    let written = unsafe { libc::write(descriptor, bytes.as_ptr().cast(), bytes.len()) };
    went(written, bytes, held)
}

fn send(descriptor: c_int, bytes: &[u8], held: &Held) -> bool {
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: the bytes live as long as the call.
    let sent = unsafe { libc::send(descriptor, bytes.as_ptr().cast(), bytes.len(), flags) };
    went(sent, bytes, held)
}

fn went(count: isize, bytes: &[u8], held: &Held) -> bool {
    if count < 0 {
        held.take(error());
    }
    usize::try_from(count).is_ok_and(|count| count == bytes.len())
}

/// The number of the last system call's error on this thread.
fn error() -> c_int {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, pipe};
    use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
    use std::os::unix::net::UnixStream;

    use super::*;

    /// Restores the default action of these signals, as in a program that is not written in Rust: a raised signal
    /// ends the test.
    fn let_signals_kill() {
        for signal in [libc::SIGPIPE, libc::SIGXFSZ] {
            // SAFETY: restoring a default action touches no memory.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
    }

    fn fill(descriptor: c_int) {
        let own = match reopen(descriptor) {
            // SAFETY: it was opened just now, and no other owner exists.
            Reopened::Own(own) => unsafe { OwnedFd::from_raw_fd(own) },
            _ => panic!("a pipe can be opened anew"),
        };
        let block = [b'x'; BYTES_MAX];
        // SAFETY: the block lives as long as the call.
        while unsafe { libc::write(own.as_raw_fd(), block.as_ptr().cast(), block.len()) } > 0 {}
    }

    #[test]
    fn a_write_to_a_pipe_without_a_reader_raises_no_signal() {
        let_signals_kill();
        let (reader, writer) = pipe().unwrap();
        drop(reader);
        assert!(!write_at_once(writer.as_raw_fd(), b"a message\n"));
        let held = Held::new().unwrap();
        assert!(!has_room(writer.as_raw_fd()) && !write(writer.as_raw_fd(), b"a message\n", &held));
    }

    #[test]
    fn a_write_to_a_full_pipe_does_not_wait_and_later_ones_succeed() {
        let (mut reader, writer) = pipe().unwrap();
        fill(writer.as_raw_fd());
        assert!(!write_at_once(writer.as_raw_fd(), b"a message\n"));
        assert!(!has_room(writer.as_raw_fd()));
        reader.read_exact(&mut [0; BYTES_MAX]).unwrap();
        assert!(write_at_once(writer.as_raw_fd(), b"a message\n"));
    }

    #[test]
    fn a_socket_is_written_to_without_waiting() {
        let_signals_kill();
        let (here, mut there) = UnixStream::pair().unwrap();
        assert!(write_at_once(here.as_raw_fd(), b"a message\n"));
        let mut read = [0; 10];
        there.read_exact(&mut read).unwrap();
        assert_eq!(&read, b"a message\n");
        while write_at_once(here.as_raw_fd(), &[b'x'; BYTES_MAX]) {}
        drop(there);
        assert!(!write_at_once(here.as_raw_fd(), b"a message\n"));
    }

    #[test]
    fn descriptors_that_cannot_be_written_to_are_left_alone() {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        assert!(!write_at_once(full.as_raw_fd(), b"a message\n"));
        assert!(!write_at_once(-1, b"a message\n"));
    }

    #[test]
    fn a_file_is_appended_to_where_the_program_stands() {
        use std::io::Write as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("errors");
        let mut file = std::fs::File::create(&path).unwrap();
        file.write_all(b"the program's\n").unwrap();
        assert!(write_at_once(file.as_raw_fd(), b"ours\n"));
        file.write_all(b"the program's\n").unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), "the program's\nours\nthe program's\n");
    }
}
