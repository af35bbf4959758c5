//! Finds the drop-in library.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

use console::failure::{Failure, Result};

use super::args::Deployment;

/// The variable that names the library.
pub const VARIABLE: &str = "OVERTAKE_PRELOAD_LIBRARY";
/// Its file name.
pub const FILE: &str = "libovertake_preload.so";
/// The folders of libraries in distributions, beside `bin`.
const INSTALLED: [&str; 3] = ["lib", "lib64", "lib/x86_64-linux-gnu"];
/// The first bytes of every ELF file.
const MAGIC: &[u8; 4] = b"\x7fELF";

/// The library's absolute path: from the command line, else from the variable, else beside the executable.
pub fn find(named: Option<&Path>, variable: Option<OsString>, executable: Option<&Path>) -> Result<PathBuf> {
    if let Some(path) = named {
        return check(path, "--library");
    }
    if let Some(path) = variable.filter(|path| !path.is_empty()) {
        return check(Path::new(&path), VARIABLE);
    }
    let folders = executable.and_then(Path::parent).map(folders).unwrap_or_default();
    let found = folders.iter().map(|folder| folder.join(FILE)).find(|path| path.is_file());
    match found {
        Some(path) => check(&path, "the folder of the executable"),
        None => Err(absent(&folders)),
    }
}

/// The folders of the library for an executable in this folder: installed (`bin` beside `lib`), unpacked beside the
/// executable, or built by cargo. Cargo leaves a library that was not requested by name in `deps`, and puts test
/// programs and examples into their own folders.
fn folders(beside: &Path) -> Vec<PathBuf> {
    let mut folders = vec![beside.to_owned()];
    if let Some(parent) = beside.parent() {
        folders.extend(INSTALLED.map(|name| parent.join(name)));
        if ["deps", "examples"].iter().any(|name| beside.ends_with(name)) {
            folders.push(parent.to_owned());
        }
    }
    folders.push(beside.join("deps"));
    folders
}

fn absent(folders: &[PathBuf]) -> Failure {
    let searched: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    Failure::Other(format!(
        "there is no {FILE} in {}; install it beside this executable or in ../lib, build it with \
         `cargo drop-in`, or name it with --library FILE or {VARIABLE}",
        searched.join(", ")
    ))
}

/// Checks that the loader can load it: the loader skips a library that it cannot load, with one line on standard
/// error at most.
fn check(path: &Path, origin: &str) -> Result<PathBuf> {
    let refused = |why: &str| {
        Failure::Other(format!(
            "{} (from {origin}) {why}; name the file {FILE} with --library FILE or {VARIABLE}",
            path.display()
        ))
    };
    let mut magic = [0; MAGIC.len()];
    let read = os::file::open(path).and_then(|mut file| file.read_exact(&mut magic));
    match read {
        Err(error) if error.kind() != std::io::ErrorKind::UnexpectedEof => {
            return Err(refused(&format!("cannot be read: {error}")));
        }
        Ok(()) if magic == *MAGIC => {}
        _ => return Err(refused("is not a shared library")),
    }
    // Children may run in other folders.
    path.canonicalize().map_err(|error| refused(&format!("has no absolute path: {error}")))
}

/// Refuses a path that the variable of this deployment cannot hold: a separator in it cannot be quoted.
pub fn check_separators(path: &Path, deployment: Deployment) -> Result<()> {
    let separators: &[u8] = match deployment {
        Deployment::Preload => b": \t\n",
        Deployment::Shadow => b":;",
        Deployment::Audit => b":",
    };
    let bytes = path.as_os_str().as_encoded_bytes();
    if !bytes.iter().any(|byte| separators.contains(byte)) {
        return Ok(());
    }
    Err(Failure::Other(format!(
        "{} has a blank or a colon in its path, which the loader takes for the end of a name; move the library, make a \
         link to its folder, or set TMPDIR where it is a temporary folder",
        path.display()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library(folder: &Path) -> PathBuf {
        std::fs::create_dir_all(folder).unwrap();
        let path = folder.join(FILE);
        std::fs::write(&path, b"\x7fELF and more").unwrap();
        path.canonicalize().unwrap()
    }

    #[test]
    fn a_named_library_takes_precedence() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let (named, by_variable, beside) =
            (library(&root.join("a")), library(&root.join("b")), library(&root.join("bin")));
        let executable = root.join("bin/overtake");
        let variable = || Some(by_variable.clone().into_os_string());
        assert_eq!(find(Some(&named), variable(), Some(&executable)).unwrap(), named);
        assert_eq!(find(None, variable(), Some(&executable)).unwrap(), by_variable);
        assert_eq!(find(None, Some(OsString::new()), Some(&executable)).unwrap(), beside);
    }

    #[test]
    fn installed_and_built_layouts_are_known() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for (at, executable) in [
            ("installed/lib", "installed/bin/overtake"),
            ("fedora/lib64", "fedora/bin/overtake"),
            ("debian/lib/x86_64-linux-gnu", "debian/bin/overtake"),
            ("debug", "debug/deps/cli-0123"),
            ("release/deps", "release/overtake"),
        ] {
            let expected = library(&root.join(at));
            std::fs::create_dir_all(root.join(executable).parent().unwrap()).unwrap();
            assert_eq!(find(None, None, Some(&root.join(executable))).unwrap(), expected, "{executable}");
        }
    }

    #[test]
    fn files_that_are_no_libraries_are_refused_with_a_cure() {
        let folder = tempfile::tempdir().unwrap();
        let text = folder.path().join("text");
        std::fs::write(&text, "no").unwrap();
        for path in [text.as_path(), folder.path(), Path::new("/nonexistent")] {
            let error = find(Some(path), None, None).unwrap_err().to_string();
            assert!(error.contains("--library FILE") && error.contains(path.to_str().unwrap()), "{error}");
        }
        let nowhere = find(None, None, Some(&folder.path().join("bin/overtake"))).unwrap_err().to_string();
        assert!(nowhere.contains("cargo drop-in") && nowhere.contains("../lib"), "{nowhere}");
    }

    #[test]
    fn separators_in_the_path_are_refused_where_they_matter() {
        let blank = Path::new("/opt/my tools/x.so");
        assert!(check_separators(blank, Deployment::Preload).is_err());
        assert!(check_separators(blank, Deployment::Audit).is_ok());
        assert!(check_separators(Path::new("/a:b/x.so"), Deployment::Audit).is_err());
    }
}
