//! What the file of a program says of it: the libraries that it is linked with, and where it looks for them.

use std::env;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

/// The most bytes in a table that is read.
const TABLE_BYTES_MAX: u64 = 1 << 20;

/// What the file of a program says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The libraries that it asks for by itself.
    pub libraries: Vec<String>,
    /// The folders that it names for them.
    pub folders: Vec<String>,
    /// Whether no dynamic loader starts it.
    pub is_static: bool,
}

const LOADED: u64 = 1;
const DYNAMIC: u64 = 2;
const INTERPRETER: u64 = 3;
const NEEDED: u64 = 1;
const NAMES: u64 = 5;
const NAMES_BYTES: u64 = 10;
const FOLDERS: [u64; 2] = [15, 29];

/// What the file of a program says. `None` if it is a script, or of another machine's kind.
pub fn about(program: &OsStr) -> Option<About> {
    let read = |path: PathBuf| os::file::open(&path).and_then(|file| of(&file)).ok();
    found(program).and_then(read).flatten()
}

/// The libraries that the program asks for by itself. None if nothing is known of it.
pub fn libraries(program: &OsStr) -> Vec<String> {
    about(program).unwrap_or_default().libraries
}

/// The file that the system would execute.
fn found(program: &OsStr) -> Option<PathBuf> {
    if program.as_encoded_bytes().contains(&b'/') {
        return Some(PathBuf::from(program));
    }
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(program)).find(|path| Path::is_file(path))
}

/// A part of the file. Numbers are of the machine's own order, as all else that it executes.
struct Table(Vec<u8>);

impl Table {
    fn read(file: &File, at: u64, bytes: u64) -> io::Result<Table> {
        if bytes > TABLE_BYTES_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let mut table = vec![0; bytes as usize];
        file.read_exact_at(&mut table, at)?;
        Ok(Table(table))
    }

    /// A number of so many bytes. 0 past the end.
    fn number(&self, at: usize, bytes: usize) -> u64 {
        let mut number = [0; 8];
        if let Some(there) = self.0.get(at..at + bytes) {
            number[..bytes].copy_from_slice(there);
        }
        u64::from_le_bytes(number)
    }

    fn name(&self, at: u64) -> String {
        let rest = self.0.get(at as usize..).unwrap_or_default();
        String::from_utf8_lossy(rest.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
    }
}

/// That of an ELF file of 64 bits, the least significant byte first.
fn of(file: &File) -> io::Result<Option<About>> {
    let header = Table::read(file, 0, 64)?;
    if !header.0.starts_with(b"\x7fELF\x02\x01") {
        return Ok(None);
    }
    let (size, count) = (header.number(54, 2), header.number(56, 2));
    let segments = Table::read(file, header.number(32, 8), size * count)?;
    // Kind, place in the file, address, bytes in the file.
    let segment = |index: u64| {
        [(0, 4), (8, 8), (16, 8), (32, 8)].map(|(at, bytes)| segments.number((index * size) as usize + at, bytes))
    };
    let segments: Vec<[u64; 4]> = (0..count).map(segment).collect();
    let is_static = segments.iter().all(|[kind, ..]| *kind != INTERPRETER);
    let Some([_, place, _, bytes]) = segments.iter().find(|[kind, ..]| *kind == DYNAMIC) else {
        return Ok(Some(About { is_static, ..About::default() }));
    };
    let entries = Table::read(file, *place, *bytes)?;
    let entries: Vec<(u64, u64)> =
        (0..*bytes as usize).step_by(16).map(|at| (entries.number(at, 8), entries.number(at + 8, 8))).collect();
    let value = |tag| entries.iter().find(|(its, _)| *its == tag).map_or(0, |(_, value)| *value);
    let in_file = |address: u64| {
        let holds = |[kind, _, start, bytes]: &&[u64; 4]| {
            *kind == LOADED && address.checked_sub(*start).is_some_and(|offset| offset < *bytes)
        };
        segments.iter().find(holds).map_or(0, |[_, place, start, _]| place.wrapping_add(address - start))
    };
    let names = Table::read(file, in_file(value(NAMES)), value(NAMES_BYTES))?;
    let named = |tags: &[u64]| -> Vec<String> {
        entries.iter().filter(|(tag, _)| tags.contains(tag)).map(|(_, at)| names.name(*at)).collect()
    };
    let folders = named(&FOLDERS).iter().flat_map(|list| list.split(':')).map(str::to_owned).collect();
    Ok(Some(About { libraries: named(&[NEEDED]), folders, is_static }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_names_its_libraries_and_a_script_none() {
        let own = env::current_exe().unwrap();
        let needed = libraries(own.as_os_str());
        assert!(needed.iter().any(|name| name == "libc.so.6"), "{needed:?}");
        assert!(libraries(OsStr::new("sh")).iter().any(|name| name.starts_with("libc.")), "by PATH");
        assert!(about(own.as_os_str()).is_some_and(|about| !about.is_static));
        assert!(libraries(OsStr::new(file!())).is_empty() && libraries(OsStr::new("/")).is_empty());
    }

    /// Whatever numbers a file has, it is read to an end.
    #[test]
    fn a_spoilt_file_has_none_or_an_error() {
        let whole = std::fs::read("/bin/sh").unwrap();
        let path = env::temp_dir().join(format!("overtake-needed-{}", std::process::id()));
        for at in 16..512 {
            let mut spoilt = whole[..whole.len().min(1 << 16)].to_vec();
            spoilt[at] = 0xff;
            std::fs::write(&path, &spoilt).unwrap();
            let _any = os::file::open(&path).and_then(|file| of(&file));
        }
        std::fs::remove_file(&path).unwrap();
    }
}
