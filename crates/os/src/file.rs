//! The one door for files that a person or a variable names. Only regular files of bounded size are read, and files
//! are written whole or not at all. A pipe without a writer, a device that never ends, and a file that would fill the
//! memory are reported as errors.

use std::fs::{File, OpenOptions};
use std::io::{self, Error, ErrorKind, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;

use crate::descriptor;

/// The most bytes in a text that a person has written.
pub const TEXT_BYTES_MAX: u64 = 1 << 20;

/// Reads a text that a person has written: rules, options, a scenario.
///
/// # Errors
/// The system's own errors. Further: the file is not regular, is longer than [`TEXT_BYTES_MAX`], or is not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    let bytes = read(path, TEXT_BYTES_MAX)?;
    String::from_utf8(bytes).map_err(|_| Error::new(ErrorKind::InvalidData, "it is no text: not UTF-8"))
}

/// Reads a file of at most `bytes_max` bytes.
///
/// # Errors
/// The system's own errors. Further: the file is not regular, or is longer.
pub fn read(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let mut bytes = Vec::new();
    // The length that the system reports need not be true: for files of /proc it is 0.
    file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(Error::new(ErrorKind::FileTooLarge, format!("it is longer than {bytes_max} bytes")));
    }
    Ok(bytes)
}

/// Writes a file whole or not at all: a reader never sees half of it. A file or pipe of that name is replaced and
/// never opened.
///
/// # Errors
/// The system's own errors.
#[expect(clippy::disallowed_methods, reason = "a file of our own, made or not at all")]
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut draft_name = path.as_os_str().to_owned();
    draft_name.push(".part");
    let draft = Path::new(&draft_name);
    let create = || OpenOptions::new().write(true).create_new(true).open(draft);
    let created = create().or_else(|error| match error.kind() {
        // A process that was killed has left its draft behind.
        ErrorKind::AlreadyExists => std::fs::remove_file(draft).and_then(|()| create()),
        _ => Err(error),
    });
    created?.write_all(bytes).and_then(|()| std::fs::rename(draft, path)).inspect_err(|_| {
        let _it_is_gone_or_stays = std::fs::remove_file(draft);
    })
}

/// Empties or makes a file that a person has named for output. A device, or a pipe that has a reader, will do too.
///
/// # Errors
/// The system's own errors. Further: the path is a pipe without a reader.
#[expect(clippy::disallowed_methods, reason = "without waiting, and looked at after")]
pub fn create(path: &Path) -> io::Result<File> {
    let opened = waitless(OpenOptions::new().write(true).create(true)).open(path);
    let file = opened.map_err(|error| match error.raw_os_error() {
        Some(libc::ENXIO) => Error::new(ErrorKind::InvalidInput, "it is a pipe without a reader"),
        _ => error,
    })?;
    if file.metadata()?.is_file() {
        file.set_len(0)?;
    } else {
        descriptor::let_wait(file.as_raw_fd())?;
    }
    Ok(file)
}

const WAITLESS: i32 = libc::O_NONBLOCK | libc::O_NOCTTY;

fn waitless(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags(WAITLESS)
}

/// Opens a regular file for reading, without waiting.
///
/// # Errors
/// The system's own errors. Further: the file is not regular.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(path, 0)
}

/// The same, and not through a link: another user may have put it there, and to open some devices is to use them.
///
/// # Errors
/// As [`open`]. Further: it is a link.
pub fn open_itself(path: &Path) -> io::Result<File> {
    open_with(path, libc::O_NOFOLLOW)
}

#[expect(clippy::disallowed_methods, reason = "without waiting, and looked at after")]
fn open_with(path: &Path, flags: i32) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(WAITLESS | flags).open(path)?;
    let kind = file.metadata()?.file_type();
    match () {
        () if kind.is_file() => Ok(file),
        () if kind.is_dir() => Err(not_regular("a folder")),
        () if kind.is_fifo() => Err(not_regular("a pipe")),
        () => Err(not_regular("a device")),
    }
}

fn not_regular(kind: &str) -> Error {
    Error::new(ErrorKind::InvalidInput, format!("it is {kind}, and not a regular file"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn pipe_at(path: &Path) {
        assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    }

    #[test]
    fn files_that_never_end_are_errors_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let (pipe, unread) = (folder.path().join("pipe"), folder.path().join("unread"));
        pipe_at(&pipe);
        pipe_at(&unread);
        for (path, word) in [(&*pipe, "a pipe"), ("/dev/zero".as_ref(), "a device"), (folder.path(), "a folder")] {
            let error = read_text(path).unwrap_err().to_string();
            assert!(error.contains(word) && error.contains("not a regular file"), "{error}");
        }
        // Not the pipe from above: a child that another test has just forked may still hold its reader.
        assert!(create(&unread).unwrap_err().to_string().contains("a pipe without a reader"));
    }

    #[test]
    fn output_may_go_to_a_pipe_that_is_read_and_replaces_a_files_content() {
        let folder = tempfile::tempdir().unwrap();
        let (pipe, path) = (folder.path().join("pipe"), folder.path().join("file"));
        pipe_at(&pipe);
        let reader = waitless(OpenOptions::new().read(true)).open(&pipe).unwrap();
        let mut writer = create(&pipe).unwrap();
        writer.write_all(b"all of it").unwrap();
        drop(writer);
        assert_eq!(io::read_to_string(reader).unwrap(), "all of it");
        std::fs::write(&path, "the old text").unwrap();
        create(&path).unwrap().write_all(b"new").unwrap();
        assert_eq!(read_text(&path).unwrap(), "new");
    }

    #[test]
    fn length_is_bounded_even_if_the_file_tells_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long");
        File::create(&path).unwrap().set_len(TEXT_BYTES_MAX).unwrap();
        assert_eq!(read(&path, TEXT_BYTES_MAX).unwrap().len() as u64, TEXT_BYTES_MAX);
        assert!(read(&path, TEXT_BYTES_MAX - 1).unwrap_err().to_string().contains("longer than 1048575 bytes"));
        assert!(read("/proc/self/maps".as_ref(), 10).is_err(), "the system reports a length of 0");
    }

    #[test]
    fn a_file_is_written_whole_and_never_into_an_existing_pipe() {
        let folder = tempfile::tempdir().unwrap();
        let (path, draft) = (folder.path().join("report"), folder.path().join("report.part"));
        pipe_at(&path);
        pipe_at(&draft);
        write_whole(&path, b"all of it").unwrap();
        assert_eq!(read_text(&path).unwrap(), "all of it");
        assert!(!draft.exists());
    }
}
