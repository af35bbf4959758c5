//! Where the driver's library is when the loader's own answer is this library: the places that the loader would search
//! next.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use os::variable;

use crate::{cache, driver, object};

/// The loader's cache has some hundred bytes for each library.
const CACHE: &str = "/etc/ld.so.cache";
const CACHE_BYTES_MAX: u64 = 64 << 20;

/// The folders of distributions, containers and WSL.
const FOLDERS: [&str; 9] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/lib64",
    "/usr/lib",
    "/usr/lib/wsl/lib",
    "/usr/local/nvidia/lib64",
    "/usr/local/cuda/compat",
    "/run/opengl-driver/lib",
];

/// The library that `OVERTAKE_LIBCUDA` names.
pub fn named() -> Option<CString> {
    variable::path(::driver::LIBRARY_VARIABLE).and_then(|name| CString::new(name.into_vec()).ok())
}

/// Files of the driver's name that are not this library: on `LD_LIBRARY_PATH`, in the loader's cache, in the usual
/// folders.
pub fn paths() -> impl Iterator<Item = CString> {
    let list = variable::path("LD_LIBRARY_PATH").unwrap_or_default();
    let listed = folders(&list).map(|folder| folder.join(file()));
    let cached = os::file::read(Path::new(CACHE), CACHE_BYTES_MAX);
    let cached = cached.map(|bytes| cache::paths_of(&bytes, file())).unwrap_or_default();
    let usual = FOLDERS.map(|folder| Path::new(folder).join(file()));
    let all: Vec<PathBuf> = listed.chain(cached).chain(usual).collect();
    let own = own_file();
    let other = move |path: &PathBuf| identity(path).is_some_and(|file| Some(file) != own);
    all.into_iter().filter(other).filter_map(|path| CString::new(path.into_os_string().into_vec()).ok())
}

pub fn exists() -> bool {
    named().is_some() || paths().next().is_some()
}

fn file() -> &'static str {
    driver::NAME.to_str().expect("the name is ASCII")
}

/// The folders of a search path. The loader takes an empty entry for the current folder, and semicolons for colons.
fn folders(list: &OsStr) -> impl Iterator<Item = PathBuf> {
    let entries = list.as_bytes().split(|byte| matches!(byte, b':' | b';'));
    let folder = |entry: &[u8]| if entry.is_empty() { PathBuf::from(".") } else { OsStr::from_bytes(entry).into() };
    let empty = list.is_empty();
    entries.map(folder).filter(move |_| !empty)
}

/// Device and inode: two paths with the same ones are one file.
fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().filter(|file| file.is_file()).map(|file| (file.dev(), file.ino()))
}

fn own_file() -> Option<(u64, u64)> {
    identity(Path::new(OsStr::from_bytes(object::own_path_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn search_paths_are_read_as_the_loader_reads_them() {
        let read = |list: &str| folders(OsStr::new(list)).collect::<Vec<_>>();
        assert_eq!(read("/a:/b;/c"), ["/a", "/b", "/c"].map(PathBuf::from));
        assert_eq!(read("/a::"), ["/a", ".", "."].map(PathBuf::from));
        assert!(read("").is_empty());
    }

    #[test]
    fn this_library_is_not_its_own_driver() {
        let own = own_file().expect("the test's own file");
        assert_eq!(identity(&std::env::current_exe().expect("the running test")), Some(own));
        assert_eq!(identity(Path::new("/nonexistent")), None);
        assert_eq!(identity(Path::new("/")), None);
    }
}
